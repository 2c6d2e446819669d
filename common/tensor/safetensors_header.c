#include "common/tensor/safetensors.h"

#include <stdlib.h>
#include <string.h>
#include "common/json/json_spec.h"
#include "common/tensor/safetensors_internal.h"

bool safetensors_count_elements(struct safetensors_entry *e)
{
    e->num_elements = 1;
    for (int i = 0; i < e->num_dims; i++)
        if (__builtin_mul_overflow(e->num_elements, e->shape[i], &e->num_elements))
            return false;
    return true;
}

static enum err refuse_tensor(struct fault *fault, const char *name, const char *what)
{
    return fault_set(fault, ERR_INVALID_SAFETENSORS, NULL, "safetensors header: tensor \"%.100s\": %s", name,
                     what);
}

static enum err parse_dtype(const char *name, const json_t *value, enum dtype *out, struct fault *fault)
{
    const char *text = json_string_value(value);
    if (!text)
        return refuse_tensor(fault, name, "\"dtype\" must be there, and a string");
    if (dtype_parse(text, out))
        return fault_set(fault, ERR_INVALID_SAFETENSORS, NULL,
                         "safetensors header: tensor \"%.100s\": unknown dtype \"%.40s\"", name, text);
    return ERR_OK;
}

static enum err parse_shape(const char *name, const json_t *value, struct safetensors_entry *e,
                            struct fault *fault)
{
    if (!json_is_array(value))
        return refuse_tensor(fault, name, "\"shape\" must be there, and a list of integers");
    if (json_array_size(value) > LIMIT_TENSOR_DIMS)
        return refuse_tensor(fault, name, "the shape has too many dimensions (at most 8)");
    e->num_dims = (int)json_array_size(value);
    for (int i = 0; i < e->num_dims; i++) {
        const json_t *dim = json_array_get(value, (size_t)i);
        if (!json_is_integer(dim) || json_integer_value(dim) < 0)
            return refuse_tensor(fault, name, "each dimension must be an integer, 0 or more");
        e->shape[i] = json_integer_value(dim);
    }
    return safetensors_count_elements(e) ? ERR_OK
                                         : refuse_tensor(fault, name, "the product of the shape overflows");
}

static enum err parse_offsets(const char *name, const json_t *value, struct safetensors_entry *e,
                              struct fault *fault)
{
    const json_t *begin = json_array_get(value, 0), *end = json_array_get(value, 1);
    int64_t bytes;
    if (!json_is_array(value) || json_array_size(value) != 2 || !json_is_integer(begin) ||
        !json_is_integer(end))
        return refuse_tensor(fault, name, "\"data_offsets\" must be there, and two integers");
    if (json_integer_value(begin) < 0 || json_integer_value(end) < json_integer_value(begin))
        return refuse_tensor(fault, name, "\"data_offsets\" must be 0 <= begin <= end");
    e->begin = (uint64_t)json_integer_value(begin);
    e->end = (uint64_t)json_integer_value(end);
    if (__builtin_mul_overflow(e->num_elements, (int64_t)dtype_size(e->dtype), &bytes))
        return refuse_tensor(fault, name, "the size in bytes overflows");
    if ((uint64_t)bytes != e->end - e->begin)
        return fault_set(
            fault, ERR_INVALID_SAFETENSORS, NULL,
            "safetensors header: tensor \"%.100s\": its shape and dtype need %lld bytes, its data_offsets "
            "span %llu",
            name, (long long)bytes, (unsigned long long)(e->end - e->begin));
    return ERR_OK;
}

static enum err parse_entry(const char *name, const json_t *value, struct arena *arena,
                            struct safetensors_entry *e, struct fault *fault)
{
    if (!json_is_object(value))
        return refuse_tensor(fault, name, "must be an object with dtype, shape and data_offsets");
    enum err err = parse_dtype(name, json_object_get(value, "dtype"), &e->dtype, fault);
    if (!err)
        err = parse_shape(name, json_object_get(value, "shape"), e, fault);
    if (!err)
        err = parse_offsets(name, json_object_get(value, "data_offsets"), e, fault);
    if (err)
        return err;
    if (json_object_size(value) != 3)
        return refuse_tensor(fault, name, "has a field other than dtype, shape and data_offsets");
    e->name = arena_strdup(arena, name);
    return e->name ? ERR_OK : fault_set(fault, ERR_NO_MEMORY, NULL, "out of memory for a safetensors header");
}

static enum err parse_metadata(const json_t *value, struct arena *arena, struct safetensors_header *out,
                               struct fault *fault)
{
    const char *key;
    json_t *text;
    if (!json_is_object(value))
        return fault_set(fault, ERR_INVALID_SAFETENSORS, NULL,
                         "safetensors header: \"__metadata__\" must be an object of strings");
    out->metadata = arena_calloc(arena, json_object_size(value) + 1, sizeof *out->metadata);
    if (!out->metadata)
        return fault_set(fault, ERR_NO_MEMORY, NULL, "out of memory for a safetensors header");
    json_object_foreach((json_t *)value, key, text)
    {
        struct safetensors_pair *pair = &out->metadata[out->num_metadata];
        if (!json_is_string(text))
            return fault_set(fault, ERR_INVALID_SAFETENSORS, NULL,
                             "safetensors header: \"__metadata__\": \"%.100s\" must be a string", key);
        pair->key = arena_strdup(arena, key);
        pair->value = arena_strdup(arena, json_string_value(text));
        if (!pair->key || !pair->value)
            return fault_set(fault, ERR_NO_MEMORY, NULL, "out of memory for a safetensors header");
        out->num_metadata++;
    }
    return ERR_OK;
}

static int compare_entries(const void *a, const void *b)
{
    const struct safetensors_entry *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1; /* an empty tensor before the one that starts at the same place */
    return strcmp(x->name, y->name);
}

static enum err check_layout(struct safetensors_header *h, struct fault *fault)
{
    uint64_t expected = 0;
    if (h->num_entries > 1)
        qsort(h->entries, h->num_entries, sizeof *h->entries, compare_entries);
    for (size_t i = 0; i < h->num_entries; i++) {
        const struct safetensors_entry *e = &h->entries[i];
        if (e->begin != expected)
            return fault_set(
                fault, ERR_INVALID_SAFETENSORS, NULL,
                "safetensors header: tensor \"%.100s\" begins at %llu, expected %llu: tensors must neither "
                "overlap nor leave a gap",
                e->name, (unsigned long long)e->begin, (unsigned long long)expected);
        expected = e->end;
    }
    h->data_bytes = expected;
    return ERR_OK;
}

static enum err parse_document(const json_t *root, struct arena *arena, struct safetensors_header *out,
                               struct fault *fault)
{
    const char *name;
    json_t *value;
    if (!json_is_object(root))
        return fault_set(fault, ERR_INVALID_SAFETENSORS, NULL, "safetensors header: must be a JSON object");
    if (json_object_size(root) > LIMIT_TENSORS + 1)
        return fault_set(fault, ERR_INVALID_SAFETENSORS, NULL, "safetensors header: has more than %d tensors",
                         LIMIT_TENSORS);
    out->entries = arena_calloc(arena, json_object_size(root) + 1, sizeof *out->entries);
    if (!out->entries)
        return fault_set(fault, ERR_NO_MEMORY, NULL, "out of memory for a safetensors header");
    json_object_foreach((json_t *)root, name, value)
    {
        enum err err = strcmp(name, "__metadata__") == 0
                           ? parse_metadata(value, arena, out, fault)
                           : parse_entry(name, value, arena, &out->entries[out->num_entries++], fault);
        if (err)
            return err;
    }
    return check_layout(out, fault);
}

enum err safetensors_header_parse(const char *json, size_t len, struct arena *arena,
                                  struct safetensors_header *out, struct fault *fault)
{
    struct fault why = FAULT_NONE;
    json_t *root = NULL;
    *out = (struct safetensors_header){.header_bytes = 8 + (uint64_t)len};
    if (len > LIMIT_SAFETENSORS_HEADER)
        return fault_set(fault, ERR_INVALID_SAFETENSORS, NULL,
                         "safetensors header: %zu bytes, at most %zu are allowed", len,
                         LIMIT_SAFETENSORS_HEADER);
    if (len == 0 || json[0] != '{') /* the format allows blanks behind the object, not before it */
        return fault_set(fault, ERR_INVALID_SAFETENSORS, NULL, "safetensors header: must begin with '{'");
    if (safetensors_header_scan(json, len, arena, out))
        return check_layout(out, fault);
    enum err err = json_text_parse(json, len, &root, &why);
    if (err == ERR_NO_MEMORY)
        return fault_set(fault, err, NULL, "out of memory for a safetensors header");
    if (err)
        return fault_set(fault, ERR_INVALID_SAFETENSORS, NULL, "safetensors header: %.400s", why.detail);
    err = parse_document(root, arena, out, fault);
    json_decref(root);
    return err;
}

const char *safetensors_metadata(const struct safetensors_header *h, const char *key)
{
    for (size_t i = 0; i < h->num_metadata; i++) {
        if (strcmp(h->metadata[i].key, key) == 0)
            return h->metadata[i].value;
    }
    return NULL;
}

const struct safetensors_entry *safetensors_find(const struct safetensors_header *h, const char *name)
{
    for (size_t i = 0; i < h->num_entries; i++) {
        if (strcmp(h->entries[i].name, name) == 0)
            return &h->entries[i];
    }
    return NULL;
}
