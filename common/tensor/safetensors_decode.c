#include "common/tensor/safetensors.h"

#include <stdio.h>
#include <string.h>
#include "common/tensor/safetensors_internal.h"

#define SHAPE_TEXT 192

static void format_shape(const int64_t *shape, int num_dims, char out[SHAPE_TEXT])
{
    size_t used = 1;
    out[0] = '[';
    for (int i = 0; i < num_dims; i++) {
        int n = snprintf(out + used, SHAPE_TEXT - used, i ? ", %lld" : "%lld", (long long)shape[i]);
        used += (size_t)n;
    }
    (void)snprintf(out + used, SHAPE_TEXT - used, "]");
}

static bool has_prefix_name(const char *full, const char *prefix, const char *name)
{
    size_t n = strlen(prefix);
    return strncmp(full, prefix, n) == 0 && strcmp(full + n, name) == 0;
}

/* Files written in model order are matched without a search. */
static const struct safetensors_entry *find_entry(const struct safetensors_header *h, size_t guess,
                                                  const char *prefix, const char *name)
{
    if (guess < h->num_entries && has_prefix_name(h->entries[guess].name, prefix, name))
        return &h->entries[guess];
    for (size_t i = 0; i < h->num_entries; i++) {
        if (has_prefix_name(h->entries[i].name, prefix, name))
            return &h->entries[i];
    }
    return NULL;
}

static bool is_expected(const struct tensor_spec *spec, const char *prefix)
{
    return dtype_is_float(spec->dtype) || prefix[0] == '\0';
}

static enum err match_entry(const struct safetensors_entry *e, const struct tensor_spec *spec,
                            struct fault *fault)
{
    char expected[SHAPE_TEXT], found[SHAPE_TEXT];
    bool is_right_type = e->dtype == spec->dtype;
    if (dtype_is_float(spec->dtype))
        is_right_type = e->dtype == DTYPE_F32 || e->dtype == DTYPE_F16 || e->dtype == DTYPE_BF16;
    if (!is_right_type)
        return fault_set(fault, ERR_DTYPE_MISMATCH, NULL, "tensor \"%.100s\" is %s; the model expects %s",
                         e->name, dtype_name(e->dtype),
                         dtype_is_float(spec->dtype) ? "F32, F16 or BF16" : dtype_name(spec->dtype));
    bool is_right_shape = e->num_dims == spec->num_dims;
    for (int i = 0; is_right_shape && i < e->num_dims; i++)
        is_right_shape = e->shape[i] == spec->shape[i];
    if (is_right_shape)
        return ERR_OK;
    format_shape(spec->shape, spec->num_dims, expected);
    format_shape(e->shape, e->num_dims, found);
    return fault_set(fault, ERR_SHAPE_MISMATCH, NULL, "tensor \"%.100s\" has shape %s; the model expects %s",
                     e->name, found, expected);
}

static enum err refuse_extra(const struct safetensors_header *h, const struct tensor_table *table,
                             const char *prefix, struct fault *fault)
{
    size_t n = strlen(prefix);
    for (size_t i = 0; i < h->num_entries; i++) {
        const char *name = h->entries[i].name;
        const struct tensor_spec *spec = NULL;
        if (strncmp(name, prefix, n) == 0)
            spec = tensor_table_find(table, name + n);
        if (!spec || !is_expected(spec, prefix))
            return fault_set(
                fault, ERR_NAME_MISMATCH, NULL,
                "tensor \"%.100s\" is not one of the model's; the file must hold exactly the model's tensors",
                name);
    }
    bug("more entries than tensors, yet each is expected");
}

enum err safetensors_match(const struct safetensors_header *h, const struct tensor_table *table,
                           const char *prefix, struct fault *fault)
{
    size_t num_expected = 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct tensor_spec *spec = &table->items[i];
        if (!is_expected(spec, prefix))
            continue;
        const struct safetensors_entry *e = find_entry(h, num_expected++, prefix, spec->name);
        if (!e)
            return fault_set(fault, ERR_NAME_MISMATCH, NULL, "tensor \"%s%.100s\" is missing from the file",
                             prefix, spec->name);
        enum err err = match_entry(e, spec, fault);
        if (err)
            return err;
    }
    if (h->num_entries > num_expected)
        return refuse_extra(h, table, prefix, fault);
    return ERR_OK;
}

static void widen(const uint8_t *bytes, enum dtype dtype, float *out, size_t n)
{
    uint16_t halves[1024]; /* the file's data need not be aligned */
    if (dtype == DTYPE_F32) {
        memcpy(out, bytes, n * sizeof *out);
        return;
    }
    for (size_t from = 0; from < n; from += 1024) {
        size_t some = n - from < 1024 ? n - from : 1024;
        memcpy(halves, bytes + 2 * from, 2 * some);
        if (dtype == DTYPE_F16)
            f16_to_f32(halves, out + from, some);
        else
            bf16_to_f32(halves, out + from, some);
    }
}

enum err safetensors_refuse_non_finite(const char *name, uint64_t index, struct fault *fault)
{
    return fault_set(
        fault, ERR_NON_FINITE, NULL,
        "tensor \"%.100s\", element %llu is NaN or infinite; the training diverged: lower the learning rate",
        name, (unsigned long long)index);
}

static enum err check_finite(const char *name, const float *values, int64_t count, struct fault *fault)
{
    if (params_are_finite(values, count))
        return ERR_OK;
    uint64_t i = 0;
    while (params_are_finite(values + i, 1))
        i++;
    return safetensors_refuse_non_finite(name, i, fault);
}

static enum err decode_params(const struct safetensors_entry *e, const uint8_t *data, float *out,
                              struct fault *fault)
{
    if (e->num_elements == 0)
        return ERR_OK;
    widen(data + e->begin, e->dtype, out, (size_t)e->num_elements);
    return check_finite(e->name, out, e->num_elements, fault);
}

static enum err decode_tensors(const struct safetensors_header *h, const struct tensor_table *table,
                               const char *prefix, const uint8_t *data, float *out_params,
                               uint8_t *out_carried, struct fault *fault)
{
    size_t guess = 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct tensor_spec *spec = &table->items[i];
        if (!is_expected(spec, prefix))
            continue;
        const struct safetensors_entry *e = find_entry(h, guess++, prefix, spec->name);
        if (!dtype_is_float(spec->dtype)) {
            if (e->end > e->begin)
                memcpy(out_carried + spec->offset, data + e->begin, e->end - e->begin);
            continue;
        }
        enum err err = decode_params(e, data, out_params + spec->offset, fault);
        if (err)
            return err;
    }
    return ERR_OK;
}

enum err safetensors_check_length(uint64_t json_bytes, const struct tensor_table *table, struct fault *fault)
{
    uint64_t limit = safetensors_header_limit(table);
    if (json_bytes <= limit)
        return ERR_OK;
    return fault_set(
        fault, ERR_INVALID_SAFETENSORS, NULL,
        "safetensors header: its length field says %llu bytes; for this model at most %llu are allowed",
        (unsigned long long)json_bytes, (unsigned long long)limit);
}

uint64_t safetensors_header_limit(const struct tensor_table *table)
{
    uint64_t limit = 64 * KIB + (uint64_t)table->count * 2 * KIB;
    return limit < LIMIT_SAFETENSORS_HEADER ? limit : LIMIT_SAFETENSORS_HEADER;
}

uint64_t safetensors_get_length(const uint8_t bytes[8])
{
    uint64_t n = 0;
    for (int i = 7; i >= 0; i--)
        n = n << 8 | bytes[i];
    return n;
}

/* The header of a whole file in memory, which says what the model wants and how long the file is. */
static enum err read_header(const void *file, size_t size, const struct tensor_table *table,
                            const char *prefix, struct arena *arena, struct safetensors_header *h,
                            struct fault *fault)
{
    const uint8_t *bytes = file;
    if (size < 8)
        return fault_set(
            fault, ERR_INVALID_SAFETENSORS, NULL,
            "a safetensors file begins with 8 bytes of header length; this one has only %zu bytes", size);
    uint64_t json_bytes = safetensors_get_length(bytes);
    enum err err = safetensors_check_length(json_bytes, table, fault);
    if (err)
        return err;
    if (json_bytes > size - 8)
        return fault_set(fault, ERR_INVALID_SAFETENSORS, NULL,
                         "the file ends within its header: %llu bytes announced, %zu there",
                         (unsigned long long)json_bytes, size - 8);
    err = safetensors_header_parse((const char *)bytes + 8, (size_t)json_bytes, arena, h, fault);
    if (!err)
        err = safetensors_match(h, table, prefix, fault);
    if (err)
        return err;
    if (size - h->header_bytes != h->data_bytes)
        return fault_set(fault, ERR_INVALID_SAFETENSORS, NULL,
                         "the header describes %llu bytes of data, the file has %llu",
                         (unsigned long long)h->data_bytes, (unsigned long long)(size - h->header_bytes));
    return ERR_OK;
}

enum err safetensors_decode(const void *file, size_t size, const struct tensor_table *table,
                            const char *prefix, struct arena *arena, float *out_params, uint8_t *out_carried,
                            struct safetensors_header *header, struct fault *fault)
{
    struct safetensors_header own = {0}, *h = header ? header : &own;
    enum err err = read_header(file, size, table, prefix, arena, h, fault);
    if (err)
        return err;
    return decode_tensors(h, table, prefix, (const uint8_t *)file + h->header_bytes, out_params, out_carried,
                          fault);
}

/* Whether the file's data are the model's parameters as they are. */
static bool is_in_model_order(const struct safetensors_header *h, const struct tensor_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct tensor_spec *spec = &table->items[i];
        const struct safetensors_entry *e = find_entry(h, i, "", spec->name);
        if (spec->dtype != DTYPE_F32 || e->dtype != DTYPE_F32 ||
            e->begin != (uint64_t)spec->offset * sizeof(float))
            return false;
    }
    return true;
}

enum err safetensors_decode_in_place(void *file, size_t size, const struct tensor_table *table,
                                     struct arena *arena, bool *out_is_done, struct fault *fault)
{
    struct safetensors_header h = {0};
    *out_is_done = false;
    enum err err = read_header(file, size, table, "", arena, &h, fault);
    if (err || !is_in_model_order(&h, table))
        return err;
    float *params = file;
    memmove(params, (const char *)file + h.header_bytes, h.data_bytes);
    for (size_t i = 0; !err && i < table->count; i++)
        err = check_finite(table->items[i].name, params + table->items[i].offset,
                           table->items[i].num_elements, fault);
    *out_is_done = !err;
    return err;
}
