/* For the comparison with the Python package (safetensors_roundtrip.py):
 *   safetensors_tool encode FILE    writes a canonical file: parameter i is (i - 8) / 4, carried byte i is i
 *   safetensors_tool decode FILE    reads any file strictly, in memory and as a stream, and prints it as one
 * JSON object */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/json/json_num.h"
#include "common/tensor/safetensors.h"

enum { MOST = 1 << 20 };

static int refuse(const struct fault *fault)
{
    (void)fprintf(stderr, "%s: %s\n", err_code(fault->err), fault->detail);
    return 1;
}

static int encode(const char *path)
{
    const int64_t weight[] = {3, 4}, bias[] = {3}, steps[] = {2}, none[] = {0, 4};
    const struct safetensors_pair metadata[] = {{"round", "3"}, {"note", "\"quoted\" \\ \xc3\xa9\n"}};
    struct tensor_table table;
    struct buf out = BUF_INIT(MOST);
    float params[16];
    uint8_t carried[16];
    tensor_table_init(&table);
    enum err err = tensor_table_add(&table, "0.weight", DTYPE_F32, weight, 2, NULL);
    if (!err)
        err = tensor_table_add(&table, "0.bias", DTYPE_F32, bias, 1, NULL);
    if (!err)
        err = tensor_table_add(&table, "steps", DTYPE_I64, steps, 1, NULL);
    if (!err)
        err = tensor_table_add(&table, "scale", DTYPE_F32, NULL, 0, NULL);
    if (!err)
        err = tensor_table_add(&table, "none", DTYPE_F32, none, 2, NULL);
    for (int i = 0; i < 16; i++) {
        params[i] = (float)(i - 8) / 4;
        carried[i] = (uint8_t)i;
    }
    if (!err)
        err = safetensors_encode(&table, "", params, carried, metadata, 2, &out);
    FILE *f = err ? NULL : fopen(path, "wb");
    bool is_written = f && fwrite(out.data, 1, out.len, f) == out.len;
    if (f && fclose(f) != 0)
        is_written = false;
    buf_release(&out);
    tensor_table_release(&table);
    return is_written ? 0 : 1;
}

/* A table that this file can stand for, so that reading tests the file and not a model. */
static enum err table_of(const struct safetensors_header *h, struct tensor_table *out, struct fault *fault)
{
    for (size_t i = 0; i < h->num_entries; i++) {
        const struct safetensors_entry *e = &h->entries[i];
        enum dtype dtype = e->dtype == DTYPE_F16 || e->dtype == DTYPE_BF16 ? DTYPE_F32 : e->dtype;
        enum err err = tensor_table_add(out, e->name, dtype, e->shape, e->num_dims, fault);
        if (err)
            return err;
    }
    return ERR_OK;
}

static json_t *tensor_json(const struct tensor_spec *spec, const float *params, const uint8_t *carried)
{
    json_t *values = json_array();
    if (dtype_is_float(spec->dtype)) {
        for (int64_t i = 0; i < spec->num_elements; i++)
            (void)json_array_append_new(values, json_num((double)params[spec->offset + i]));
    } else {
        for (int64_t i = 0; i < spec->num_elements * (int64_t)dtype_size(spec->dtype); i++)
            (void)json_array_append_new(values, json_integer(carried[spec->offset + i]));
    }
    return values;
}

static enum err stream(const char *bytes, size_t n, const struct tensor_table *table, struct arena *arena,
                       struct fault *fault)
{
    struct safetensors_stream *s = NULL;
    enum err err = safetensors_stream_new(table, "", arena, &s);
    for (size_t at = 0; !err && at < n; at += 7)
        err = safetensors_stream_feed(s, bytes + at, n - at < 7 ? n - at : 7, fault);
    if (!err)
        err = safetensors_stream_end(s, fault);
    safetensors_stream_free(s);
    return err;
}

static enum err print(const char *bytes, size_t n, struct arena *arena, struct fault *fault)
{
    static float params[MOST];
    static uint8_t carried[MOST];
    struct safetensors_header h;
    struct tensor_table table;
    uint64_t json_bytes = 0;
    tensor_table_init(&table);
    if (n < 8)
        return fault_set(fault, ERR_INVALID_SAFETENSORS, NULL, "shorter than its length field");
    memcpy(&json_bytes, bytes, 8);
    if (json_bytes > n - 8)
        return fault_set(fault, ERR_INVALID_SAFETENSORS, NULL, "ends within its header");
    enum err err = safetensors_header_parse(bytes + 8, (size_t)json_bytes, arena, &h, fault);
    if (!err)
        err = table_of(&h, &table, fault);
    if (!err)
        err = safetensors_decode(bytes, n, &table, "", arena, params, carried, &h, fault);
    if (!err)
        err = stream(bytes, n, &table, arena, fault);
    if (!err) {
        json_t *root = json_object(), *tensors = json_object(), *metadata = json_object();
        for (size_t i = 0; i < table.count; i++)
            (void)json_object_set_new(tensors, table.items[i].name,
                                      tensor_json(&table.items[i], params, carried));
        for (size_t i = 0; i < h.num_metadata; i++)
            (void)json_object_set_new(metadata, h.metadata[i].key, json_string(h.metadata[i].value));
        (void)json_object_set_new(root, "tensors", tensors);
        (void)json_object_set_new(root, "metadata", metadata);
        (void)json_dumpf(root, stdout, JSON_REAL_PRECISION(17));
        json_decref(root);
    }
    tensor_table_release(&table);
    return err;
}

static int decode(const char *path)
{
    static char bytes[MOST];
    struct arena arena = ARENA_INIT(16 * MIB);
    struct fault fault = FAULT_NONE;
    FILE *f = fopen(path, "rb");
    if (!f)
        return 1;
    size_t n = fread(bytes, 1, sizeof bytes, f);
    (void)fclose(f);
    enum err err = print(bytes, n, &arena, &fault);
    arena_release(&arena);
    return err ? refuse(&fault) : 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "encode") == 0)
        return encode(argv[2]);
    if (argc == 3 && strcmp(argv[1], "decode") == 0)
        return decode(argv[2]);
    (void)fprintf(stderr, "usage: safetensors_tool encode|decode FILE\n");
    return 2;
}
