#include "server/core/tensor_file.h"

#include <stdio.h>
#include <string.h>

static enum err header_read(struct tensor_file *f, struct arena *arena, struct fault *fault)
{
    uint8_t bytes[8];
    uint64_t len = 0;
    enum err e = f->blobs->ops->read(f->blobs, f->blob_id, 0, bytes, sizeof bytes);
    if (e)
        return e;
    for (size_t i = 0; i < sizeof bytes; i++)
        len |= (uint64_t)bytes[i] << (8 * i);
    if (len > LIMIT_SAFETENSORS_HEADER)
        return fault_set(fault, ERR_CORRUPT, NULL, "a header of %llu bytes", (unsigned long long)len);
    char *json = arena_alloc(arena, (size_t)len + 1);
    if (!json)
        return ERR_NO_MEMORY;
    f->header = json;
    f->header_len = (size_t)len;
    return f->blobs->ops->read(f->blobs, f->blob_id, (int64_t)sizeof bytes, json, (size_t)len);
}

static bool has_header_of(const struct tensor_file *f, const struct tensor_file *known)
{
    return known && f->header_len == known->header_len &&
           memcmp(f->header, known->header, f->header_len) == 0;
}

static enum err places_find(const struct safetensors_header *h, const struct tensor_table *table,
                            const char *prefix, struct arena *arena, struct tensor_file *out)
{
    char name[2 * LIMIT_TENSOR_NAME];
    out->places = arena_calloc(arena, table->count, sizeof *out->places);
    if (!out->places)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < table->count; i++) {
        (void)snprintf(name, sizeof name, "%s%s", prefix, table->items[i].name);
        const struct safetensors_entry *entry = safetensors_find(h, name);
        if (entry)
            out->places[i] = (struct tensor_place){.begin = entry->begin, .dtype = entry->dtype};
    }
    return ERR_OK;
}

static enum err header_understand(struct tensor_file *f, const struct tensor_table *table, const char *prefix,
                                  struct arena *arena, struct fault *fault)
{
    struct safetensors_header h;
    enum err e = safetensors_header_parse(f->header, f->header_len, arena, &h, fault);
    if (!e)
        e = safetensors_match(&h, table, prefix, fault);
    if (e)
        return e;
    f->data_offset = h.header_bytes;
    return places_find(&h, table, prefix, arena, f);
}

enum err tensor_file_open(struct blobs *blobs, int64_t blob_id, const struct tensor_table *table,
                          const char *prefix, const struct tensor_file *known, struct arena *arena,
                          struct tensor_file *out, struct fault *fault)
{
    *out = (struct tensor_file){.blobs = blobs, .blob_id = blob_id};
    enum err e = header_read(out, arena, fault);
    if (!e && has_header_of(out, known)) {
        out->data_offset = known->data_offset;
        out->places = known->places;
    } else if (!e) {
        e = header_understand(out, table, prefix, arena, fault);
    }
    switch (e) {
    case ERR_INVALID_SAFETENSORS:
    case ERR_NAME_MISMATCH:
    case ERR_SHAPE_MISMATCH:
    case ERR_DTYPE_MISMATCH:
    case ERR_NOT_FOUND:
    case ERR_RANGE_NOT_SATISFIABLE:
        return ERR_CORRUPT;
    default: /* of the storage or of memory: another try may succeed */
        return e;
    }
}

enum err tensor_file_read_bytes(const struct tensor_file *f, size_t index, int64_t first, size_t n, void *out)
{
    int64_t offset = (int64_t)(f->data_offset + f->places[index].begin) + first;
    enum err e = n > 0 ? f->blobs->ops->read(f->blobs, f->blob_id, offset, out, n) : ERR_OK;
    return e == ERR_NOT_FOUND || e == ERR_RANGE_NOT_SATISFIABLE ? ERR_CORRUPT : e;
}

enum err tensor_file_read(const struct tensor_file *f, size_t index, int64_t first, size_t n, void *scratch,
                          float *out)
{
    enum dtype dtype = f->places[index].dtype;
    size_t size = dtype_size(dtype);
    enum err e = tensor_file_read_bytes(f, index, first * (int64_t)size, n * size, scratch);
    if (e)
        return e;
    if (dtype == DTYPE_F16)
        f16_to_f32(scratch, out, n);
    else if (dtype == DTYPE_BF16)
        bf16_to_f32(scratch, out, n);
    else
        memcpy(out, scratch, n * sizeof *out);
    return ERR_OK;
}
