#include "common/tensor/safetensors.h"

#include <stdlib.h>
#include <string.h>
#include "common/base/str.h"

/* A JSON string with the fewest escapes, so that the text is canonical. */
static enum err put_string(struct buf *out, const char *prefix, const char *text)
{
    enum err err = buf_puts(out, "\"");
    if (!err)
        err = buf_puts(out, prefix);
    for (const char *p = text; !err && *p; p++) {
        unsigned char c = (unsigned char)*p;
        if (c == '"' || c == '\\')
            err = buf_printf(out, "\\%c", c);
        else if (c < 0x20)
            err = buf_printf(out, "\\u%04x", c);
        else
            err = buf_append(out, p, 1);
    }
    if (!err)
        err = buf_puts(out, "\"");
    return err;
}

static int compare_pairs(const void *a, const void *b)
{
    const struct safetensors_pair *const *x = a, *const *y = b;
    return strcmp((*x)->key, (*y)->key);
}

static bool pairs_are_valid(const struct safetensors_pair **sorted, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!utf8_is_valid(sorted[i]->key, strlen(sorted[i]->key)))
            return false;
        if (!utf8_is_valid(sorted[i]->value, strlen(sorted[i]->value)))
            return false;
        if (i > 0 && strcmp(sorted[i - 1]->key, sorted[i]->key) == 0)
            return false;
    }
    return true;
}

static enum err put_metadata(const struct safetensors_pair *pairs, size_t n, struct buf *out)
{
    enum err err = ERR_OK;
    if (n == 0)
        return ERR_OK;
    const struct safetensors_pair **sorted = calloc(n, sizeof *sorted);
    if (!sorted)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        sorted[i] = &pairs[i];
    qsort(sorted, n, sizeof *sorted, compare_pairs);
    if (!pairs_are_valid(sorted, n))
        err = ERR_INVALID_FIELD;
    if (!err)
        err = buf_puts(out, "\"__metadata__\":{");
    for (size_t i = 0; !err && i < n; i++) {
        if (i > 0)
            err = buf_puts(out, ",");
        if (!err)
            err = put_string(out, "", sorted[i]->key);
        if (!err)
            err = buf_puts(out, ":");
        if (!err)
            err = put_string(out, "", sorted[i]->value);
    }
    if (!err)
        err = buf_puts(out, "}");
    free(sorted);
    return err;
}

static bool is_written(const struct tensor_spec *spec, const char *prefix)
{
    return dtype_is_float(spec->dtype) || prefix[0] == '\0';
}

static uint64_t spec_bytes(const struct tensor_spec *spec)
{
    return (uint64_t)spec->num_elements * dtype_size(spec->dtype);
}

static enum err put_tensor(const struct tensor_spec *spec, const char *prefix, uint64_t begin,
                           struct buf *out)
{
    enum err err = put_string(out, prefix, spec->name);
    if (!err)
        err = buf_printf(out, ":{\"dtype\":\"%s\",\"shape\":[", dtype_name(spec->dtype));
    for (int i = 0; !err && i < spec->num_dims; i++)
        err = buf_printf(out, "%s%lld", i ? "," : "", (long long)spec->shape[i]);
    if (!err)
        err = buf_printf(out, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)begin,
                         (unsigned long long)(begin + spec_bytes(spec)));
    return err;
}

static enum err put_json(const struct tensor_table *table, const char *prefix,
                         const struct safetensors_pair *metadata, size_t num_metadata, struct buf *out)
{
    uint64_t offset = 0;
    bool is_first = num_metadata == 0;
    enum err err = buf_puts(out, "{");
    if (!err)
        err = put_metadata(metadata, num_metadata, out);
    for (size_t i = 0; !err && i < table->count; i++) {
        const struct tensor_spec *spec = &table->items[i];
        if (!is_written(spec, prefix))
            continue;
        if (!is_first)
            err = buf_puts(out, ",");
        is_first = false;
        if (!err)
            err = put_tensor(spec, prefix, offset, out);
        offset += spec_bytes(spec);
    }
    if (!err)
        err = buf_puts(out, "}");
    return err;
}

enum err safetensors_encode_header(const struct tensor_table *table, const char *prefix,
                                   const struct safetensors_pair *metadata, size_t num_metadata,
                                   struct buf *out)
{
    static const char zeros[8] = {0};
    size_t start = out->len;
    enum err err = buf_append(out, zeros, sizeof zeros);
    if (!err)
        err = put_json(table, prefix, metadata, num_metadata, out);
    if (err) {
        out->len = start;
        return err;
    }
    uint64_t json_bytes = out->len - start - 8;
    for (int i = 0; i < 8; i++)
        out->data[start + (size_t)i] = (char)(json_bytes >> (8 * i) & 0xff);
    return ERR_OK;
}

enum err safetensors_encode(const struct tensor_table *table, const char *prefix, const float *params,
                            const uint8_t *carried, const struct safetensors_pair *metadata,
                            size_t num_metadata, struct buf *out)
{
    size_t start = out->len;
    enum err err = safetensors_encode_header(table, prefix, metadata, num_metadata, out);
    for (size_t i = 0; !err && i < table->count; i++) {
        const struct tensor_spec *spec = &table->items[i];
        if (!is_written(spec, prefix) || spec->num_elements == 0)
            continue;
        if (dtype_is_float(spec->dtype))
            err = buf_append(out, params + spec->offset, spec_bytes(spec));
        else
            err = buf_append(out, carried + spec->offset, spec_bytes(spec));
    }
    if (err)
        out->len = start;
    return err;
}
