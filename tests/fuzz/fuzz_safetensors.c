/* safetensors files, whole and as they stream by in pieces: both say the same. What is taken, written anew,
 * is canonical: read again it gives the same values, and written again the same bytes. What the scanner takes
 * of a header, the parser takes, with the same values.
 *
 * Input: a byte that says how the file is cut into pieces; then the file, or after a '@' its header's JSON up
 * to a line end and the data, in front of which the target sets the header's length. */
#include <stdlib.h>
#include <string.h>
#include "common/base/limits.h"
#include "common/json/json_spec.h"
#include "common/tensor/safetensors_internal.h"
#include "tests/fuzz/fuzz.h"

#define PARAMS      9
#define CARRIED     12
#define HEADERS_MAX (256 * KIB)

static struct tensor_table table;

static void make_table(void)
{
    static const int64_t weight[] = {2, 3}, bias[] = {2}, empty[] = {0, 4}, steps[] = {1}, flags[] = {4};
    struct fault fault = FAULT_NONE;
    if (table.count)
        return;
    tensor_table_init(&table);
    PROVE(!tensor_table_add(&table, "0.weight", DTYPE_F32, weight, 2, &fault));
    PROVE(!tensor_table_add(&table, "0.bias", DTYPE_F32, bias, 1, &fault));
    PROVE(!tensor_table_add(&table, "empty", DTYPE_F32, empty, 2, &fault));
    PROVE(!tensor_table_add(&table, "scale", DTYPE_F32, NULL, 0, &fault));
    PROVE(!tensor_table_add(&table, "steps", DTYPE_I64, steps, 1, &fault));
    PROVE(!tensor_table_add(&table, "flags", DTYPE_BOOL, flags, 1, &fault));
    PROVE(table.num_params == PARAMS && table.carried_bytes == CARRIED);
}

static void prove_same_header(const struct safetensors_header *a, const struct safetensors_header *b)
{
    PROVE(a->num_entries == b->num_entries && a->num_metadata == b->num_metadata);
    PROVE(a->header_bytes == b->header_bytes || a->header_bytes == b->header_bytes + 8);
    PROVE(a->data_bytes == b->data_bytes);
    for (size_t i = 0; i < a->num_entries; i++)
        PROVE(strcmp(a->entries[i].name, b->entries[i].name) == 0 &&
              a->entries[i].begin == b->entries[i].begin);
}

static int64_t whole_at(const json_t *entry, const char *field, int i)
{
    const json_t *value = json_array_get(json_object_get(entry, field), (size_t)i);
    PROVE(json_is_integer(value));
    return json_integer_value(value);
}

static void prove_same_entry(const struct safetensors_entry *e, const json_t *entry)
{
    enum dtype dtype;
    PROVE(json_object_size(entry) == 3);
    PROVE(!dtype_parse(json_string_value(json_object_get(entry, "dtype")), &dtype) && dtype == e->dtype);
    PROVE(json_array_size(json_object_get(entry, "shape")) == (size_t)e->num_dims);
    for (int i = 0; i < e->num_dims; i++)
        PROVE(whole_at(entry, "shape", i) == e->shape[i]);
    PROVE(json_array_size(json_object_get(entry, "data_offsets")) == 2);
    PROVE(whole_at(entry, "data_offsets", 0) == (int64_t)e->begin);
    PROVE(whole_at(entry, "data_offsets", 1) == (int64_t)e->end);
}

static void check_scan(const char *text, size_t n)
{
    struct arena arena = ARENA_INIT(16 * MIB);
    struct safetensors_header h;
    json_t *doc = NULL;
    if (safetensors_header_scan(text, n, &arena, &h)) {
        PROVE(json_text_parse(text, n, &doc, NULL) == ERR_OK);
        const json_t *metadata = json_object_get(doc, "__metadata__");
        PROVE(json_object_size(doc) == h.num_entries + (metadata != NULL));
        PROVE(json_object_size(metadata) == h.num_metadata);
        for (size_t i = 0; i < h.num_metadata; i++)
            PROVE(strcmp(h.metadata[i].value,
                         json_string_value(json_object_get(metadata, h.metadata[i].key))) == 0);
        for (size_t i = 0; i < h.num_entries; i++)
            prove_same_entry(&h.entries[i], json_object_get(doc, h.entries[i].name));
    }
    json_decref(doc);
    arena_release(&arena);
}

/* The error of the stream; pieces of 1 to 17 bytes, or all at once. */
static enum err stream(const uint8_t *file, size_t size, uint8_t cut, const struct safetensors_header *whole)
{
    struct arena arena = ARENA_INIT(16 * MIB);
    struct safetensors_stream *s = NULL;
    struct fault fault = FAULT_NONE;
    uint32_t state = cut;
    PROVE(safetensors_stream_new(&table, "", &arena, &s) == ERR_OK);
    enum err e = ERR_OK;
    for (size_t at = 0; at < size && !e;) {
        state = state * 1664525u + 1013904223u;
        size_t n = cut == 0 ? size : 1 + (state >> 16) % (cut % 17 + 1);
        n = n < size - at ? n : size - at;
        e = safetensors_stream_feed(s, file + at, n, &fault);
        at += n;
    }
    PROVE(!e || safetensors_stream_feed(s, file, 1, NULL) == e); /* it stays refused */
    e = safetensors_stream_end(s, &fault);
    fuzz_prove_told(e, &fault);
    if (!e)
        prove_same_header(whole, safetensors_stream_header(s));
    safetensors_stream_free(s);
    arena_release(&arena);
    return e;
}

static void prove_round_trip(const float *params, const uint8_t *carried, const struct safetensors_header *h)
{
    float params_again[PARAMS];
    uint8_t carried_again[CARRIED];
    struct safetensors_header header;
    struct arena arena = ARENA_INIT(16 * MIB);
    struct buf first = BUF_INIT(16 * MIB), second = BUF_INIT(16 * MIB);
    struct fault fault = FAULT_NONE;
    PROVE(!safetensors_encode(&table, "", params, carried, h->metadata, h->num_metadata, &first));
    PROVE(!safetensors_decode(first.data, first.len, &table, "", &arena, params_again, carried_again, &header,
                              &fault));
    PROVE(memcmp(params, params_again, sizeof params_again) == 0);
    PROVE(memcmp(carried, carried_again, CARRIED) == 0);
    PROVE(header.num_metadata == h->num_metadata);
    for (size_t i = 0; i < h->num_metadata; i++)
        PROVE(strcmp(safetensors_metadata(&header, h->metadata[i].key), h->metadata[i].value) == 0);
    PROVE(!safetensors_encode(&table, "", params_again, carried_again, header.metadata, header.num_metadata,
                              &second));
    PROVE(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
    buf_release(&first);
    buf_release(&second);
    arena_release(&arena);
}

static void check_file(const uint8_t *file, size_t size, uint8_t cut)
{
    float params[PARAMS];
    uint8_t carried[CARRIED];
    struct arena arena = ARENA_INIT(16 * MIB);
    struct safetensors_header header = {0};
    struct fault fault = FAULT_NONE;
    enum err e = safetensors_decode(file, size, &table, "", &arena, params, carried, &header, &fault);
    fuzz_prove_told(e, &fault);
    PROVE(!e || (err_http_status(e) == 422 && e != ERR_INVALID_UPDATE));
    enum err streamed = stream(file, size, cut, &header);
    /* A file of the wrong length with a value that is no number has two faults: either may be named. */
    PROVE(e == streamed || (e && streamed && (e == ERR_NON_FINITE || streamed == ERR_NON_FINITE)));
    if (!e)
        prove_round_trip(params, carried, &header);
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    uint8_t cut = fuzz_byte(&in);
    make_table();
    if (in.left == 0 || *in.at != '@') {
        check_file(in.at, in.left, cut);
        return 0;
    }
    (void)fuzz_byte(&in);
    struct fuzz_input json = fuzz_until(&in, "\n");
    uint8_t *file = malloc(8 + json.left + in.left);
    PROVE(file != NULL);
    check_scan((const char *)json.at, json.left);
    uint64_t length = json.left;
    for (int i = 0; i < 8; i++)
        file[i] = (uint8_t)(length >> 8 * i);
    if (json.left)
        memcpy(file + 8, json.at, json.left);
    if (in.left)
        memcpy(file + 8 + json.left, in.at, in.left);
    check_file(file, 8 + json.left + in.left, cut);
    free(file);
    return 0;
}
