#include <math.h>
#include <string.h>
#include "common/tensor/safetensors_internal.h"
#include "tests/support/unit.h"

static struct arena arena;
static struct tensor_table table;

static void setup(void)
{
    const int64_t weight[] = {2, 3}, bias[] = {2}, steps[] = {1};
    arena_init(&arena, 16 * MIB);
    tensor_table_init(&table);
    ck_assert_int_eq(tensor_table_add(&table, "0.weight", DTYPE_F32, weight, 2, NULL), ERR_OK);
    ck_assert_int_eq(tensor_table_add(&table, "0.bias", DTYPE_F32, bias, 1, NULL), ERR_OK);
    ck_assert_int_eq(tensor_table_add(&table, "steps", DTYPE_I64, steps, 1, NULL), ERR_OK);
}

static void teardown(void)
{
    tensor_table_release(&table);
    arena_release(&arena);
}

/* A file from JSON text and n data bytes of zero. */
static void make_file(struct buf *out, const char *json, size_t data_bytes)
{
    size_t len = strlen(json);
    for (size_t i = 0; i < 8; i++)
        ck_assert_int_eq(buf_append(out, (char[]){(char)(len >> (8 * i) & 0xff)}, 1), ERR_OK);
    ck_assert_int_eq(buf_puts(out, json), ERR_OK);
    for (size_t i = 0; i < data_bytes; i++)
        ck_assert_int_eq(buf_append(out, "", 1), ERR_OK);
}

static enum err stream_whole(const void *bytes, size_t n, size_t piece, const char *prefix,
                             struct fault *fault)
{
    struct safetensors_stream *s = NULL;
    const char *p = bytes;
    ck_assert_int_eq(safetensors_stream_new(&table, prefix, &arena, &s), ERR_OK);
    enum err err = ERR_OK, fed = ERR_OK;
    for (size_t at = 0; at < n; at += piece) {
        err = safetensors_stream_feed(s, p + at, n - at < piece ? n - at : piece, fault);
        if (fed)
            ck_assert_int_eq(err, fed); /* the first error comes again */
        fed = err;
    }
    err = safetensors_stream_end(s, fault);
    if (fed)
        ck_assert_int_eq(err, fed);
    safetensors_stream_free(s);
    return err;
}

/* Memory reader and stream agree, whatever the pieces. */
static void ck_file(const struct buf *file, const char *prefix, enum err expected, const char *detail_has)
{
    struct fault fault = FAULT_NONE;
    float params[8];
    uint8_t carried[8];
    ck_assert_int_eq(
        safetensors_decode(file->data, file->len, &table, prefix, &arena, params, carried, NULL, &fault),
        expected);
    if (expected)
        ck_assert_msg(strstr(fault.detail, detail_has) != NULL, "detail: %s", fault.detail);
    for (size_t piece = 1; piece < 20; piece += 3) {
        fault = FAULT_NONE;
        ck_assert_int_eq(stream_whole(file->data, file->len, piece, prefix, &fault), expected);
        if (expected)
            ck_assert_msg(strstr(fault.detail, detail_has) != NULL, "detail: %s", fault.detail);
    }
}

static void ck_json(const char *json, size_t data_bytes, enum err expected, const char *detail_has)
{
    struct buf file = BUF_INIT(MIB);
    make_file(&file, json, data_bytes);
    ck_file(&file, "", expected, detail_has);
    buf_release(&file);
}

static const float params_in[8] = {1, -2, 3.5f, 0.25f, 5, 6, 7, -0.0f};
static const uint8_t carried_in[8] = {9, 8, 7, 6, 5, 4, 3, 2};

START_TEST(test_round_trip_is_canonical)
{
    const struct safetensors_pair unsorted[] = {{"round", "3"}, {"attempt", "1 \"\\\n\xc3\xa9"}};
    static const char json[] =
        "{\"__metadata__\":{\"attempt\":\"1 \\\"\\\\\\u000a\xc3\xa9\",\"round\":\"3\"},"
        "\"0.weight\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
        "\"0.bias\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[24,32]},"
        "\"steps\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[32,40]}}";
    struct buf file = BUF_INIT(MIB), head = BUF_INIT(MIB);
    struct safetensors_header h;
    float params[8];
    uint8_t carried[8];
    ck_assert_int_eq(safetensors_encode(&table, "", params_in, carried_in, unsorted, 2, &file), ERR_OK);
    ck_assert_uint_eq(file.len, 8 + sizeof json - 1 + 40);
    ck_assert_mem_eq(file.data + 8, json, sizeof json - 1);
    ck_assert_int_eq(safetensors_encode_header(&table, "", unsorted, 2, &head), ERR_OK);
    ck_assert_uint_eq(head.len, 8 + sizeof json - 1);
    ck_assert_mem_eq(head.data, file.data, head.len);
    ck_assert_int_eq(safetensors_decode(file.data, file.len, &table, "", &arena, params, carried, &h, NULL),
                     ERR_OK);
    ck_assert_mem_eq(params, params_in, sizeof params);
    ck_assert_mem_eq(carried, carried_in, sizeof carried);
    ck_assert_str_eq(safetensors_metadata(&h, "round"), "3");
    ck_assert_str_eq(safetensors_metadata(&h, "attempt"), "1 \"\\\n\xc3\xa9");
    ck_assert_ptr_null(safetensors_metadata(&h, "seed"));
    ck_assert_uint_eq(h.data_bytes, 40);
    ck_assert_uint_eq(h.header_bytes, head.len);
    ck_assert_uint_eq(safetensors_find(&h, "0.bias")->begin, 24);
    ck_file(&file, "", ERR_OK, "");
    buf_release(&file);
    buf_release(&head);
}
END_TEST

START_TEST(test_gradients_carry_a_prefix_and_no_buffers)
{
    struct buf file = BUF_INIT(MIB);
    float params[8];
    ck_assert_int_eq(safetensors_encode(&table, "grad.", params_in, NULL, NULL, 0, &file), ERR_OK);
    ck_assert_ptr_nonnull(strstr(file.data + 8, "{\"grad.0.weight\":"));
    ck_assert_ptr_null(strstr(file.data + 8, "steps"));
    ck_assert_int_eq(
        safetensors_decode(file.data, file.len, &table, "grad.", &arena, params, NULL, NULL, NULL), ERR_OK);
    ck_assert_mem_eq(params, params_in, sizeof params);
    ck_file(&file, "grad.", ERR_OK, "");
    ck_file(&file, "", ERR_NAME_MISMATCH, "0.weight");
    buf_release(&file);
}
END_TEST

START_TEST(test_encode_refuses_bad_metadata)
{
    const struct safetensors_pair twice[] = {{"a", "1"}, {"b", "2"}, {"a", "3"}}, bytes[] = {{"a", "\xff"}};
    struct buf file = BUF_INIT(MIB), small = BUF_INIT(100);
    ck_assert_int_eq(buf_puts(&file, "before"), ERR_OK);
    ck_assert_int_eq(safetensors_encode(&table, "", params_in, carried_in, twice, 3, &file),
                     ERR_INVALID_FIELD);
    ck_assert_int_eq(safetensors_encode(&table, "", params_in, carried_in, bytes, 1, &file),
                     ERR_INVALID_FIELD);
    ck_assert_uint_eq(file.len, 6);
    ck_assert_int_eq(safetensors_encode(&table, "", params_in, carried_in, NULL, 0, &small),
                     ERR_PAYLOAD_TOO_LARGE);
    ck_assert_uint_eq(small.len, 0);
    buf_release(&file);
    buf_release(&small);
}
END_TEST

#define W  "\"0.weight\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}"
#define B  "\"0.bias\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[24,32]}"
#define ST "\"steps\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[32,40]}"

START_TEST(test_order_and_padding_of_others_is_fine)
{
    /* Python's writer puts wide types first and pads the header with blanks. */
    ck_json("{\"steps\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[0,8]},"
            "\"0.bias\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,16]},"
            "\"0.weight\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[16,40]}}     ",
            40, ERR_OK, "");
    ck_json("{" B "," ST "," W "}", 40, ERR_OK, "");
    ck_json("{\"__metadata__\":{}," W "," B "," ST "}", 40, ERR_OK, "");
}
END_TEST

static bool is_scanned(const char *json, struct safetensors_header *out)
{
    return safetensors_header_scan(json, strlen(json), &arena, out);
}

/* Others are read all the same, by the parser. */
START_TEST(test_plain_headers_need_no_parser)
{
    static const char *const others[] = {
        "",
        "[]",
        "{" W,
        "{" W "} x",
        "{" W "," W "}",
        "{\"0\\u002eweight\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}}",
        "{\"b\xc3\xa4r\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}}",
        "{\"a\tb\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[02,3],\"data_offsets\":[0,24]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2.0,3],\"data_offsets\":[0,24]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2e0,3],\"data_offsets\":[0,24]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[-2,3],\"data_offsets\":[0,24]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2,3,],\"data_offsets\":[0,24]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,25]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24,48]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,1000000000000000]}}",
        "{\"a\":{\"dtype\":\"F320000\",\"shape\":[2,3],\"data_offsets\":[0,24]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24],\"x\":1}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"shape\":[2,3],\"data_offsets\":[0,24]}}",
        "{\"a\":{\"shape\":[2,3],\"data_offsets\":[0,24]}}",
        "{\"__metadata__\":{\"a\":1}}",
        "{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}",
        "{\"__metadata__\":{},\"__metadata__\":{}}",
        "{\"__metadata__\":[]}",
    };
    struct safetensors_header h = {0};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_msg(!is_scanned(others[i], &h) && !h.header_bytes, "%s", others[i]);
    ck_assert(is_scanned("{}", &h) && !h.num_entries && !h.num_metadata);
    ck_assert(is_scanned("{ \"__metadata__\" : { \"a b\" : \"\" , \"c\":\"1\" },\n" W " } \n", &h));
    ck_assert_uint_eq(h.num_metadata, 2);
    ck_assert_str_eq(safetensors_metadata(&h, "a b"), "");
    ck_assert_str_eq(safetensors_metadata(&h, "c"), "1");
    ck_assert_uint_eq(h.num_entries, 1);
    const struct safetensors_entry *e = safetensors_find(&h, "0.weight");
    ck_assert(e && e->dtype == DTYPE_F32 && e->num_dims == 2 && e->num_elements == 6);
    ck_assert(e->shape[0] == 2 && e->shape[1] == 3 && e->begin == 0 && e->end == 24);
}
END_TEST

START_TEST(test_many_members_take_the_parser)
{
    struct buf json = BUF_INIT(MIB);
    struct safetensors_header scanned = {0}, parsed;
    struct fault fault = FAULT_NONE;
    ck_assert_int_eq(buf_puts(&json, "{\"__metadata__\":{\"0\":\"\""), ERR_OK);
    for (int i = 1; i <= 64; i++) {
        size_t end = json.len;
        ck_assert_int_eq(buf_puts(&json, "}}"), ERR_OK);
        ck_assert(is_scanned(json.data, &scanned));
        ck_assert_int_eq(safetensors_header_parse(json.data, json.len, &arena, &parsed, &fault), ERR_OK);
        ck_assert_uint_eq(parsed.num_metadata, (size_t)i);
        json.len = end;
        ck_assert_int_eq(buf_printf(&json, ",\"%d\":\"\"", i), ERR_OK);
    }
    ck_assert_int_eq(buf_puts(&json, "}}"), ERR_OK);
    ck_assert(!is_scanned(json.data, &scanned));
    ck_assert_int_eq(safetensors_header_parse(json.data, json.len, &arena, &parsed, &fault), ERR_OK);
    ck_assert_uint_eq(parsed.num_metadata, 65);
    buf_release(&json);
}
END_TEST

START_TEST(test_headers_that_are_refused)
{
    const enum err bad = ERR_INVALID_SAFETENSORS;
    ck_json("", 0, bad, "begin with '{'");
    ck_json("[]", 0, bad, "begin with '{'");
    ck_json(" {" W "," B "," ST "}", 40, bad, "begin with '{'");
    ck_json("{" W "," B "," ST "} x", 40, bad, "header");
    ck_json("{" W "," B "," ST, 40, bad, "header");
    ck_json("{" W "," W "," B "," ST "}", 40, bad, "uplicate");
    ck_json("{" W "," B ",\"steps\":7}", 32, bad, "must be an object");
    ck_json("{" W "," B ",\"steps\":{\"dtype\":\"I65\",\"shape\":[1],\"data_offsets\":[32,40]}}", 40, bad,
            "unknown dtype");
    ck_json("{" W "," B ",\"steps\":{\"shape\":[1],\"data_offsets\":[32,40]}}", 40, bad, "\"dtype\" must");
    ck_json("{" W "," B ",\"steps\":{\"dtype\":\"I64\",\"data_offsets\":[32,40]}}", 40, bad,
            "\"shape\" must");
    ck_json("{" W "," B ",\"steps\":{\"dtype\":\"I64\",\"shape\":[1]}}", 40, bad, "\"data_offsets\" must");
    ck_json("{" W "," B ",\"steps\":{\"dtype\":\"I64\",\"shape\":[1.0],\"data_offsets\":[32,40]}}", 40, bad,
            "integer");
    ck_json("{" W "," B ",\"steps\":{\"dtype\":\"I64\",\"shape\":[-1],\"data_offsets\":[32,40]}}", 40, bad,
            "integer");
    ck_json("{" W "," B
            ",\"steps\":{\"dtype\":\"I64\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[32,40]}}",
            40, bad, "dimensions");
    ck_json("{" W "," B ",\"steps\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[32,41]}}", 41, bad,
            "need 8 bytes");
    ck_json("{" W "," B ",\"steps\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[40,32]}}", 40, bad,
            "begin <= end");
    ck_json("{" W "," B ",\"steps\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[-8,0]}}", 40, bad,
            "begin <= end");
    ck_json("{" W "," B ",\"steps\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[32]}}", 40, bad,
            "two integers");
    ck_json("{" W "," B ",\"steps\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[36,44]}}", 44, bad,
            "gap");
    ck_json("{" W "," B ",\"steps\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[24,32]}}", 32, bad,
            "overlap");
    ck_json("{" W "," B ",\"steps\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[32,40],\"x\":1}}", 40,
            bad, "a field other");
    ck_json("{" W "," B
            ",\"steps\":{\"dtype\":\"I64\",\"shape\":[4294967296,4294967296],\"data_offsets\":[32,40]}}",
            40, bad, "overflow");
    ck_json("{" W "," B
            ",\"steps\":{\"dtype\":\"I64\",\"shape\":[4611686018427387904],\"data_offsets\":[32,32]}}",
            32, bad, "overflow");
    ck_json("{" W "," B
            ",\"steps\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[32,99999999999999999999]}}",
            40, bad, "header");
    ck_json("{\"__metadata__\":{\"a\":1}," W "," B "," ST "}", 40, bad, "must be a string");
    ck_json("{\"__metadata__\":[]," W "," B "," ST "}", 40, bad, "object of strings");
    ck_json("{\"0.weight\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[8,32]}}", 32, bad,
            "expected 0");
}
END_TEST

START_TEST(test_mismatches_name_the_tensor)
{
    ck_json("{" W "," B "}", 32, ERR_NAME_MISMATCH, "\"steps\" is missing");
    ck_json("{" W "," B "," ST ",\"extra\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[40,41]}}", 41,
            ERR_NAME_MISMATCH, "\"extra\" is not one");
    ck_json("{\"0.weight\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[0,24]}," B "," ST "}", 40,
            ERR_SHAPE_MISMATCH, "\"0.weight\" has shape [3, 2]; the model expects [2, 3]");
    ck_json("{\"0.weight\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,24]}," B "," ST "}", 40,
            ERR_SHAPE_MISMATCH, "[6]");
    ck_json("{\"0.weight\":{\"dtype\":\"I32\",\"shape\":[2,3],\"data_offsets\":[0,24]}," B "," ST "}", 40,
            ERR_DTYPE_MISMATCH, "\"0.weight\" is I32");
    ck_json("{" W "," B ",\"steps\":{\"dtype\":\"U64\",\"shape\":[1],\"data_offsets\":[32,40]}}", 40,
            ERR_DTYPE_MISMATCH, "expects I64");
}
END_TEST

START_TEST(test_sizes_that_do_not_fit)
{
    static const char json[] = "{" W "," B "," ST "}";
    struct buf file = BUF_INIT(MIB);
    ck_json(json, 39, ERR_INVALID_SAFETENSORS, "40 bytes of data");
    ck_json(json, 41, ERR_INVALID_SAFETENSORS, "40 bytes of data");
    make_file(&file, json, 40);
    for (size_t len = 0; len < file.len; len++) {
        struct buf cut = BUF_INIT(MIB);
        ck_assert_int_eq(buf_append(&cut, file.data, len), ERR_OK);
        ck_assert_int_eq(buf_reserve(&cut, 1), ERR_OK);
        ck_file(&cut, "", ERR_INVALID_SAFETENSORS, "");
        buf_release(&cut);
    }
    memset(file.data, 0xff, 8); /* a header of 2^64 - 1 bytes */
    ck_file(&file, "", ERR_INVALID_SAFETENSORS, "length field");
    buf_release(&file);
}
END_TEST

/* Sets one element of a file in the given type to NaN or infinity. */
static void ck_non_finite(const char *json, size_t data_bytes, size_t at, const void *bytes, size_t n,
                          const char *detail_has)
{
    struct buf file = BUF_INIT(MIB);
    make_file(&file, json, data_bytes);
    memcpy(file.data + 8 + strlen(json) + at, bytes, n);
    ck_file(&file, "", ERR_NON_FINITE, detail_has);
    buf_release(&file);
}

START_TEST(test_non_finite_names_tensor_and_index)
{
    static const char halves[] = "{\"0.weight\":{\"dtype\":\"F16\",\"shape\":[2,3],\"data_offsets\":[0,12]},"
                                 "\"0.bias\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[12,16]},"
                                 "\"steps\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[16,24]}}";
    const float nan_value = NAN, infinity = -INFINITY;
    static const char all_ones[] = {'\xff', '\xff', '\xff', '\xff'};
    for (size_t i = 0; i < 6; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "\"0.weight\", element %zu is NaN", i);
        ck_non_finite("{" W "," B "," ST "}", 40, 4 * i, &nan_value, 4, text);
        ck_non_finite(halves, 24, 2 * i, "\x00\xfc", 2, text);
    }
    ck_non_finite("{" W "," B "," ST "}", 40, 28, &infinity, 4, "\"0.bias\", element 1");
    ck_non_finite(halves, 24, 14, "\x80\x7f", 2, "\"0.bias\", element 1");
    /* a carried tensor may hold anything */
    struct buf file = BUF_INIT(MIB);
    make_file(&file, "{" W "," B "," ST "}", 40);
    memcpy(file.data + file.len - 8, all_ones, 4);
    ck_file(&file, "", ERR_OK, "");
    buf_release(&file);
}
END_TEST

START_TEST(test_halves_are_widened)
{
    static const char json[] = "{\"0.weight\":{\"dtype\":\"F16\",\"shape\":[2,3],\"data_offsets\":[0,12]},"
                               "\"0.bias\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[12,16]},"
                               "\"steps\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[16,24]}} ";
    struct buf file = BUF_INIT(MIB);
    float params[8];
    uint8_t carried[8];
    make_file(&file, json, 24);
    memcpy(file.data + 8 + sizeof json - 1,
           "\x00\x3c\x00\xc0\x01\x00\xff\x7b\x00\x00\x00\x38\x80\x3f\x00\xc0", 16);
    ck_assert_int_eq(safetensors_decode(file.data, file.len, &table, "", &arena, params, carried, NULL, NULL),
                     ERR_OK);
    const float expected[8] = {1, -2, 0x1p-24f, 65504, 0, 0.5f, 1, -2};
    ck_assert_mem_eq(params, expected, sizeof params);
    ck_file(&file, "", ERR_OK, "");
    buf_release(&file);
}
END_TEST

/* One file, as it would come in, decoded in its own memory. */
static void ck_in_place(const struct buf *file, enum err expected, bool is_done)
{
    struct buf own = BUF_INIT(MIB);
    struct fault fault = FAULT_NONE;
    bool done = !is_done;
    ck_assert_int_eq(buf_append(&own, file->data, file->len), ERR_OK);
    ck_assert_int_eq(safetensors_decode_in_place(own.data, own.len, &table, &arena, &done, &fault), expected);
    ck_assert_int_eq(done, is_done);
    if (is_done)
        ck_assert_mem_eq(own.data, params_in, 8 * sizeof *params_in);
    else if (!expected)
        ck_assert_mem_eq(own.data, file->data, file->len); /* untouched */
    else
        ck_assert_ptr_nonnull(strstr(fault.detail, "0.bias"));
    buf_release(&own);
}

START_TEST(test_our_own_files_are_decoded_in_place)
{
    const int64_t weight[] = {2, 3}, bias[] = {2};
    const struct safetensors_pair pairs[] = {{"any", "thing"}}; /* moves the data off their alignment */
    static const char other_order[] =
        "{\"0.bias\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
        "\"0.weight\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[8,32]}}",
                      halves[] = "{\"0.weight\":{\"dtype\":\"F16\",\"shape\":[2,3],\"data_offsets\":[0,12]},"
                                 "\"0.bias\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[12,20]}}",
                      wrong[] = "{\"0.weight\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
                                "\"0.bias\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[24,28]}}";
    struct buf file = BUF_INIT(MIB);
    float params[8];
    tensor_table_release(&table);
    tensor_table_init(&table);
    ck_assert_int_eq(tensor_table_add(&table, "0.weight", DTYPE_F32, weight, 2, NULL), ERR_OK);
    ck_assert_int_eq(tensor_table_add(&table, "0.bias", DTYPE_F32, bias, 1, NULL), ERR_OK);
    for (size_t n = 0; n < 2; n++) {
        ck_assert_int_eq(safetensors_encode(&table, "", params_in, NULL, pairs, n, &file), ERR_OK);
        ck_in_place(&file, ERR_OK, true);
        buf_clear(&file);
    }
    memcpy(params, params_in, sizeof params);
    params[7] = NAN;
    ck_assert_int_eq(safetensors_encode(&table, "", params, NULL, NULL, 0, &file), ERR_OK);
    ck_in_place(&file, ERR_NON_FINITE, false);
    buf_clear(&file);
    make_file(&file, other_order, 32);
    ck_in_place(&file, ERR_OK, false);
    buf_clear(&file);
    make_file(&file, halves, 20);
    ck_in_place(&file, ERR_OK, false);
    buf_clear(&file);
    make_file(&file, wrong, 28);
    ck_in_place(&file, ERR_SHAPE_MISMATCH, false);
    buf_release(&file);
}
END_TEST

START_TEST(test_empty_tensors_share_a_place)
{
    const int64_t none[] = {0, 4};
    static const char json[] =
        "{\"e\":{\"dtype\":\"F32\",\"shape\":[0,4],\"data_offsets\":[24,24]}," W "," B "," ST "}";
    ck_json(json, 40, ERR_NAME_MISMATCH, "\"e\" is not");
    ck_assert_int_eq(tensor_table_add(&table, "e", DTYPE_F32, none, 2, NULL), ERR_OK);
    ck_json(json, 40, ERR_OK, "");
}
END_TEST

START_TEST(test_header_is_visible_once_it_was_right)
{
    struct buf file = BUF_INIT(MIB);
    struct safetensors_stream *s = NULL;
    ck_assert_int_eq(safetensors_encode(&table, "", params_in, carried_in, NULL, 0, &file), ERR_OK);
    ck_assert_int_eq(safetensors_stream_new(&table, "", &arena, &s), ERR_OK);
    ck_assert_int_eq(safetensors_stream_feed(s, file.data, file.len - 41, NULL), ERR_OK);
    ck_assert_ptr_null(safetensors_stream_header(s));
    ck_assert_int_eq(safetensors_stream_feed(s, file.data + file.len - 41, 1, NULL), ERR_OK);
    ck_assert_ptr_nonnull(safetensors_stream_header(s));
    ck_assert_uint_eq(safetensors_stream_header(s)->num_entries, 3);
    safetensors_stream_free(s);
    buf_release(&file);
}
END_TEST

START_TEST(test_a_small_model_takes_no_large_header)
{
    struct buf json = BUF_INIT(MIB), file = BUF_INIT(2 * MIB);
    ck_assert_int_eq(buf_puts(&json, "{\"__metadata__\":{\"a\":\""), ERR_OK);
    for (size_t i = 0; i < 100 * 1024; i++)
        ck_assert_int_eq(buf_puts(&json, "x"), ERR_OK);
    ck_assert_int_eq(buf_puts(&json, "\"}," W "," B "," ST "}"), ERR_OK);
    make_file(&file, json.data, 40);
    ck_file(&file, "", ERR_INVALID_SAFETENSORS, "at most");
    buf_release(&json);
    buf_release(&file);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("safetensors");
    TCase *tc = unit_case("safetensors");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test_round_trip_is_canonical);
    tcase_add_test(tc, test_gradients_carry_a_prefix_and_no_buffers);
    tcase_add_test(tc, test_encode_refuses_bad_metadata);
    tcase_add_test(tc, test_order_and_padding_of_others_is_fine);
    tcase_add_test(tc, test_plain_headers_need_no_parser);
    tcase_add_test(tc, test_many_members_take_the_parser);
    tcase_add_test(tc, test_headers_that_are_refused);
    tcase_add_test(tc, test_mismatches_name_the_tensor);
    tcase_add_test(tc, test_sizes_that_do_not_fit);
    tcase_add_test(tc, test_non_finite_names_tensor_and_index);
    tcase_add_test(tc, test_halves_are_widened);
    tcase_add_test(tc, test_our_own_files_are_decoded_in_place);
    tcase_add_test(tc, test_empty_tensors_share_a_place);
    tcase_add_test(tc, test_header_is_visible_once_it_was_right);
    tcase_add_test(tc, test_a_small_model_takes_no_large_header);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
