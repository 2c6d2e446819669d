#include "common/json/json_emit.h"
#include <math.h>
#include "common/base/limits.h"
#include "common/json/json_spec.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/unit.h"

static void expect_as_jansson(const json_t *value, bool is_sorted)
{
    struct buf out = BUF_INIT(MIB);
    size_t flags = JSON_COMPACT | JSON_ENCODE_ANY | (is_sorted ? JSON_SORT_KEYS : 0);
    char *expected = json_dumps(value, flags);
    ck_assert_ptr_nonnull(expected);
    ck_assert_int_eq(json_emit(value, is_sorted, &out), ERR_OK);
    ck_assert_str_eq(out.data, expected);
    ck_assert_uint_eq(out.len, strlen(expected));
    free(expected);
    buf_release(&out);
}

static void expect_new_as_jansson(json_t *value)
{
    ck_assert_ptr_nonnull(value);
    expect_as_jansson(value, false);
    expect_as_jansson(value, true);
    json_decref(value);
}

START_TEST(test_numbers)
{
    static const double reals[] = {
        0,      -0.0,   1,       -1,     0.1,        0.4375,  1.0 / 3, 1e14, 999999999999999,
        1e15,   1e16,   1e17,    1e22,   -1e300,     1e-5,    1e-320,  1e5,  123456.5,
        -2.5e8, 5e-324, 1.5e100, 1e-100, 0x1.8p-300, 12345678};
    static const int64_t wholes[] = {0, 1, -1, 9, 10, 99, 100, 1234567890123, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        expect_new_as_jansson(json_real(reals[i]));
    for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++)
        expect_new_as_jansson(json_integer(wholes[i]));
}
END_TEST

/* Any bits that are a finite number. */
START_TEST(test_many_numbers)
{
    uint64_t bits = 1;
    for (int i = 0; i < 20000; i++) {
        double value;
        bits = bits * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value))
            expect_new_as_jansson(json_real(value));
        expect_new_as_jansson(json_real((double)(int64_t)bits / 1024));
        expect_new_as_jansson(json_integer((json_int_t)(bits >> (bits & 63))));
    }
}
END_TEST

START_TEST(test_texts)
{
    char all[2] = "";
    for (int c = 1; c < 0x80; c++) {
        all[0] = (char)c;
        expect_new_as_jansson(json_string(all));
        json_t *object = json_object();
        ck_assert_int_eq(json_object_set_new(object, all, json_string("\"a\\b\n\x1f\x7f/")), 0);
        expect_new_as_jansson(object);
    }
    expect_new_as_jansson(json_string(""));
    expect_new_as_jansson(json_string("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 \xe2\x80\xa8"));
    expect_new_as_jansson(json_stringn("a\0b", 3));
}
END_TEST

START_TEST(test_objects_and_arrays)
{
    expect_new_as_jansson(json_object());
    expect_new_as_jansson(json_array());
    expect_new_as_jansson(json_pack("[b, b, n, [], {}, [i, [s]]]", 1, 0, 7, "x"));
    expect_new_as_jansson(
        json_pack("{s:{s:i, s:i}, s:[{s:n, s:n}], s:b}", "b", "z", 1, "a", 2, "a", "y", "x", "ab", 1));
    json_t *many = json_object();
    for (int i = 0; i < 300; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "%d", i * 7919 % 300);
        ck_assert_int_eq(json_object_set_new(many, key, json_integer(i)), 0);
    }
    expect_new_as_jansson(many);
}
END_TEST

START_TEST(test_it_goes_behind_what_is_there)
{
    struct buf out = BUF_INIT(MIB);
    ck_assert_int_eq(buf_puts(&out, "data: "), ERR_OK);
    ck_assert_int_eq(json_emit(json_true(), false, &out), ERR_OK);
    ck_assert_str_eq(out.data, "data: true");
    buf_release(&out);
}
END_TEST

START_TEST(test_a_raw_value_is_written_as_it_stands)
{
    struct arena arena = ARENA_INIT(MIB);
    struct buf out = BUF_INIT(MIB);
    json_t *object = json_object();
    ck_assert_int_eq(json_object_set_new(object, "stored", json_raw(&arena, "{\"b\":1.50,\"a\":[]}")), 0);
    ck_assert_int_eq(json_object_set_new(object, "next", json_integer(2)), 0);
    ck_assert_int_eq(json_emit(object, true, &out), ERR_OK);
    ck_assert_str_eq(out.data, "{\"next\":2,\"stored\":{\"b\":1.50,\"a\":[]}}");
    json_decref(object);
    buf_release(&out);
    arena_release(&arena);
}
END_TEST

START_TEST(test_what_does_not_fit)
{
    struct buf out = BUF_INIT(10);
    json_t *value = json_string("longer than that");
    ck_assert_int_eq(json_emit(value, false, &out), ERR_PAYLOAD_TOO_LARGE);
    json_decref(value);
    ck_assert_int_eq(json_emit(NULL, false, &out), ERR_INTERNAL);
    buf_release(&out);
}
END_TEST

START_TEST(test_no_memory)
{
    json_t *many = json_object();
    for (int i = 0; i < 100; i++) {
        char key[64];
        (void)snprintf(key, sizeof key, "a key that is long enough to need more room %d", i);
        ck_assert_int_eq(json_object_set_new(many, key, json_integer(i)), 0);
    }
    bool has_failed = true;
    for (long n = 0; has_failed; n++) {
        struct buf out = BUF_INIT(MIB);
        alloc_fail_at(n);
        enum err e = json_emit(many, true, &out);
        has_failed = alloc_fail_end();
        ck_assert_int_eq(e, has_failed ? ERR_NO_MEMORY : ERR_OK);
        buf_release(&out);
    }
    json_decref(many);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_numbers,
                                  test_many_numbers,
                                  test_texts,
                                  test_objects_and_arrays,
                                  test_it_goes_behind_what_is_there,
                                  test_a_raw_value_is_written_as_it_stands,
                                  test_what_does_not_fit,
                                  test_no_memory};
    return unit_run("json_emit", tests, sizeof tests / sizeof *tests);
}
