#include <math.h>
#include <string.h>
#include "common/crypto/sha256.h"
#include "common/tensor/tensor.h"
#include "tests/support/unit.h"

START_TEST(test_dtypes)
{
    enum dtype d = DTYPE_COUNT;
    ck_assert_int_eq(dtype_parse("BF16", &d), ERR_OK);
    ck_assert_int_eq(d, DTYPE_BF16);
    ck_assert_uint_eq(dtype_size(DTYPE_BF16), 2);
    ck_assert(dtype_is_float(DTYPE_BF16));
    ck_assert(!dtype_is_float(DTYPE_BOOL));
    ck_assert_str_eq(dtype_name(DTYPE_I64), "I64");
    ck_assert_int_eq(dtype_parse("f32", &d), ERR_INVALID_FIELD);
    ck_assert_int_eq(dtype_parse("F8_E4M3", &d), ERR_INVALID_FIELD);
}
END_TEST

START_TEST(test_table_lays_out_parameters_and_carried_apart)
{
    struct tensor_table t, copy;
    const int64_t a[] = {3, 4}, b[] = {5}, c[] = {2};
    tensor_table_init(&t);
    ck_assert_int_eq(tensor_table_add(&t, "0.weight", DTYPE_F32, a, 2, NULL), ERR_OK);
    ck_assert_int_eq(tensor_table_add(&t, "steps", DTYPE_I64, b, 1, NULL), ERR_OK);
    ck_assert_int_eq(tensor_table_add(&t, "scale", DTYPE_F32, NULL, 0, NULL), ERR_OK);
    ck_assert_int_eq(tensor_table_add(&t, "flags", DTYPE_BOOL, c, 1, NULL), ERR_OK);
    ck_assert_int_eq(t.num_params, 13);
    ck_assert_int_eq(t.carried_bytes, 42);
    ck_assert_int_eq(tensor_table_find(&t, "scale")->offset, 12);
    ck_assert_int_eq(tensor_table_find(&t, "scale")->num_elements, 1);
    ck_assert_int_eq(tensor_table_find(&t, "flags")->offset, 40);
    ck_assert_ptr_null(tensor_table_find(&t, "0.bias"));
    ck_assert_int_eq(tensor_table_copy(&t, &copy), ERR_OK);
    ck_assert_int_eq(tensor_table_add(&copy, "more", DTYPE_F32, b, 1, NULL), ERR_OK);
    ck_assert_uint_eq(t.count, 4);
    ck_assert_uint_eq(copy.count, 5);
    ck_assert_int_eq(copy.num_params, 18);
    tensor_table_release(&copy);
    tensor_table_release(&t);
    ck_assert_uint_eq(t.count, 0);
}
END_TEST

static void ck_refused(struct tensor_table *t, const char *name, enum dtype dtype, const int64_t *shape,
                       int num_dims, const char *field)
{
    struct fault fault = FAULT_NONE;
    size_t count = t->count;
    int64_t params = t->num_params;
    ck_assert_int_eq(tensor_table_add(t, name, dtype, shape, num_dims, &fault), ERR_INVALID_FIELD);
    ck_assert_str_eq(fault.field, field);
    ck_assert_uint_gt(strlen(fault.detail), 0);
    ck_assert_uint_eq(t->count, count);
    ck_assert_int_eq(t->num_params, params);
}

START_TEST(test_table_refuses)
{
    struct tensor_table t;
    char name[LIMIT_TENSOR_NAME + 2];
    const int64_t ok[] = {2}, negative[] = {2, -1}, huge[] = {INT64_MAX, 3},
                  large[] = {LIMIT_MODEL_BYTES / 4 + 1};
    const int64_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, empty[] = {0};
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    tensor_table_init(&t);
    ck_assert_int_eq(tensor_table_add(&t, "a", DTYPE_F32, ok, 1, NULL), ERR_OK);
    ck_refused(&t, "", DTYPE_F32, ok, 1, "name");
    ck_refused(&t, "a", DTYPE_F32, ok, 1, "name");
    ck_refused(&t, name, DTYPE_F32, ok, 1, "name");
    ck_refused(&t, "\xff", DTYPE_F32, ok, 1, "name");
    ck_refused(&t, "__metadata__", DTYPE_F32, ok, 1, "name");
    ck_refused(&t, "b", DTYPE_F32, negative, 2, "shape");
    ck_refused(&t, "b", DTYPE_F32, huge, 2, "shape");
    ck_refused(&t, "b", DTYPE_F32, large, 1, "shape");
    ck_refused(&t, "b", DTYPE_F32, nine, 9, "shape");
    ck_refused(&t, "b", DTYPE_F16, ok, 1, "dtype");
    ck_refused(&t, "b", DTYPE_F64, ok, 1, "dtype");
    ck_assert_int_eq(tensor_table_add(&t, "b", DTYPE_F32, empty, 1, NULL), ERR_OK);
    name[LIMIT_TENSOR_NAME] = '\0';
    ck_assert_int_eq(tensor_table_add(&t, name, DTYPE_F32, ok, 1, NULL), ERR_OK);
    tensor_table_release(&t);
}
END_TEST

START_TEST(test_table_has_a_most)
{
    struct tensor_table t;
    tensor_table_init(&t);
    for (int i = 0; i < LIMIT_TENSORS; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%d", i);
        ck_assert_int_eq(tensor_table_add(&t, name, DTYPE_F32, NULL, 0, NULL), ERR_OK);
    }
    ck_refused(&t, "last", DTYPE_F32, NULL, 0, "");
    ck_assert_int_eq(t.items[LIMIT_TENSORS - 1].offset, LIMIT_TENSORS - 1);
    tensor_table_release(&t);
}
END_TEST

START_TEST(test_finite_finds_every_place)
{
    static float values[2500];
    ck_assert(params_are_finite(values, 2500));
    ck_assert(params_are_finite(values, 0));
    for (size_t i = 0; i < 2500; i += 7) {
        values[i] = i % 3 ? NAN : -INFINITY;
        ck_assert(!params_are_finite(values, 2500));
        ck_assert(params_are_finite(values, (int64_t)i));
        values[i] = 3.4e38f;
    }
    ck_assert(params_are_finite(values, 2500));
}
END_TEST

START_TEST(test_sha256_is_of_the_bytes)
{
    const float values[] = {1.0f, -0.0f};
    char hex[SHA256_HEX_SIZE], expected[SHA256_HEX_SIZE];
    ck_assert_int_eq(params_sha256(values, 2, hex), ERR_OK);
    ck_assert_int_eq(sha256_hex("\x00\x00\x80\x3f\x00\x00\x00\x80", 8, expected), ERR_OK);
    ck_assert_str_eq(hex, expected);
}
END_TEST

/* Value of a half by its definition. */
static double half_value(uint16_t h)
{
    double sign = h & 0x8000 ? -1 : 1, mantissa = h & 0x3ff;
    int exponent = (h >> 10) & 0x1f;
    return exponent == 0 ? sign * ldexp(mantissa, -24) : sign * ldexp(1024 + mantissa, exponent - 25);
}

START_TEST(test_all_halves)
{
    for (uint32_t bits = 0; bits <= 0xffff; bits++) {
        uint16_t h = (uint16_t)bits;
        float f;
        f16_to_f32(&h, &f, 1);
        if ((h & 0x7c00) == 0x7c00) {
            ck_assert(h & 0x3ff ? isnan(f) : isinf(f));
        } else {
            ck_assert((double)f == half_value(h));
        }
        ck_assert_int_eq(signbit(f) != 0, (h & 0x8000) != 0);
    }
}
END_TEST

START_TEST(test_bfloat16)
{
    const uint16_t in[] = {0x3f80, 0xc000, 0x0001, 0x7f80, 0x7fc0};
    float out[5];
    bf16_to_f32(in, out, 5);
    ck_assert(out[0] == 1.0f && out[1] == -2.0f && out[2] == 0x1p-133f && isinf(out[3]) && isnan(out[4]));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_dtypes,
                                  test_table_lays_out_parameters_and_carried_apart,
                                  test_table_refuses,
                                  test_table_has_a_most,
                                  test_finite_finds_every_place,
                                  test_sha256_is_of_the_bytes,
                                  test_all_halves,
                                  test_bfloat16};
    return unit_run("tensor", tests, sizeof tests / sizeof *tests);
}
