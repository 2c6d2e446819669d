#include "server/api/canonical.h"

#include <stdlib.h>
#include "common/base/str.h"

#define PIECE          ((size_t)64 * 1024) /* elements at a time */
#define PIECES_OF_STEP 4

struct canonical {
    struct blobs *blobs;
    int64_t from;
    const struct safetensors_header *header;
    const struct tensor_table *table;
    struct blob_put *put;
    struct sha256 *file, *params; /* of all bytes; of the parameters */
    int64_t size;
    size_t tensor;   /* where the work is */
    int64_t element; /* within it */
    union {
        uint8_t bytes[PIECE * 8];
        uint16_t halves[PIECE];
    } raw;
    float floats[PIECE];
};

static enum err emit(struct canonical *c, const void *bytes, size_t n)
{
    c->size += (int64_t)n;
    enum err e = sha256_update(c->file, bytes, n);
    return e == ERR_OK ? c->blobs->ops->put_write(c->put, bytes, n) : e;
}

static enum err emit_header(struct canonical *c)
{
    struct buf head = BUF_INIT(LIMIT_SAFETENSORS_HEADER + 8);
    enum err e = safetensors_encode_header(c->table, "", NULL, 0, &head);
    if (e == ERR_OK)
        e = emit(c, head.data, head.len);
    buf_release(&head);
    return e;
}

enum err canonical_new(struct blobs *blobs, int64_t blob_id, const struct safetensors_header *header,
                       const struct tensor_table *table, struct canonical **out)
{
    struct canonical *c = calloc(1, sizeof *c);
    if (!c)
        return ERR_NO_MEMORY;
    c->blobs = blobs;
    c->from = blob_id;
    c->header = header;
    c->table = table;
    enum err e = sha256_new(&c->file);
    if (e == ERR_OK)
        e = sha256_new(&c->params);
    if (e == ERR_OK)
        e = blobs->ops->put_begin(blobs, &c->put);
    if (e == ERR_OK)
        e = emit_header(c);
    if (e != ERR_OK)
        canonical_free(c);
    else
        *out = c;
    return e;
}

void canonical_free(struct canonical *c)
{
    if (!c)
        return;
    if (c->put)
        c->blobs->ops->put_abort(c->put);
    sha256_free(c->file);
    sha256_free(c->params);
    free(c);
}

/* The piece's bytes as they stand in the canonical file. */
static const void *widen(struct canonical *c, enum dtype dtype, size_t n, size_t *out_bytes)
{
    *out_bytes = n * dtype_size(dtype);
    if (dtype == DTYPE_F16)
        f16_to_f32(c->raw.halves, c->floats, n);
    else if (dtype == DTYPE_BF16)
        bf16_to_f32(c->raw.halves, c->floats, n);
    else
        return c->raw.bytes;
    *out_bytes = n * sizeof(float);
    return c->floats;
}

static enum err piece(struct canonical *c, const struct tensor_spec *spec)
{
    const struct safetensors_entry *entry = safetensors_find(c->header, spec->name);
    if (!entry)
        return ERR_CORRUPT;
    int64_t left = spec->num_elements - c->element;
    size_t n = left < (int64_t)PIECE ? (size_t)left : PIECE, size = dtype_size(entry->dtype), bytes;
    uint64_t at = c->header->header_bytes + entry->begin + (uint64_t)c->element * size;
    enum err e = c->blobs->ops->read(c->blobs, c->from, (int64_t)at, c->raw.bytes, n * size);
    if (e != ERR_OK)
        return e;
    const void *data = widen(c, entry->dtype, n, &bytes);
    c->element += (int64_t)n;
    if ((e = emit(c, data, bytes)) != ERR_OK || !dtype_is_float(spec->dtype))
        return e;
    return sha256_update(c->params, data, bytes);
}

enum err canonical_step(struct canonical *c, bool *out_is_done)
{
    enum err e = ERR_OK;
    for (int i = 0; e == ERR_OK && i < PIECES_OF_STEP && c->tensor < c->table->count; i++) {
        const struct tensor_spec *spec = &c->table->items[c->tensor];
        if (c->element < spec->num_elements)
            e = piece(c, spec);
        if (c->element >= spec->num_elements) {
            c->tensor++;
            c->element = 0;
        }
    }
    *out_is_done = c->tensor == c->table->count;
    return e;
}

static enum err final_hex(struct sha256 *h, char out[SHA256_HEX_SIZE])
{
    uint8_t digest[SHA256_SIZE];
    enum err e = sha256_final(h, digest);
    if (e == ERR_OK)
        hex_encode(digest, sizeof digest, out);
    return e;
}

enum err canonical_end(struct canonical *c, int64_t *out_blob_id, int64_t *out_size_bytes,
                       char out_weights_sha256[SHA256_HEX_SIZE], char out_aggregate_sha256[SHA256_HEX_SIZE])
{
    *out_size_bytes = c->size;
    enum err e = final_hex(c->file, out_weights_sha256);
    if (e == ERR_OK)
        e = final_hex(c->params, out_aggregate_sha256);
    if (e != ERR_OK)
        return e;
    struct blob_put *put = c->put;
    c->put = NULL;
    return c->blobs->ops->put_end(put, out_blob_id);
}
