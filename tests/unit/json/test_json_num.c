#include <math.h>
#include "common/json/json_num.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/unit.h"

START_TEST(test_there_and_back)
{
    static const double values[] = {0,      -0.0,     1,         0.1,      1.0 / 3,           -1e300,
                                    1e-320, INFINITY, -INFINITY, 12345678, 4503599627370497.5};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        json_t *json = json_num(values[i]);
        char *text = json_dumps(json, JSON_ENCODE_ANY);
        ck_assert_ptr_nonnull(text);
        json_t *parsed = json_loads(text, JSON_DECODE_ANY, NULL);
        double back = 5;
        ck_assert_msg(json_num_read(parsed, &back) == ERR_OK, "%s", text);
        ck_assert_msg(back == values[i] && signbit(back) == signbit(values[i]), "%s", text);
        json_decref(json);
        json_decref(parsed);
        free(text);
    }
}
END_TEST

START_TEST(test_nan_is_a_string)
{
    json_t *json = json_num(NAN);
    double back = 0;
    ck_assert_str_eq(json_string_value(json), "NaN");
    ck_assert_int_eq(json_num_read(json, &back), ERR_OK);
    ck_assert(isnan(back));
    json_decref(json);
    json = json_num(-INFINITY);
    ck_assert_str_eq(json_string_value(json), "-Infinity");
    json_decref(json);
}
END_TEST

START_TEST(test_integers)
{
    json_t *json = json_num_int(INT64_MIN);
    double back = 0;
    ck_assert_int_eq(json_integer_value(json), INT64_MIN);
    ck_assert_int_eq(json_num_read(json, &back), ERR_OK);
    ck_assert_double_eq(back, -0x1p63);
    json_decref(json);
}
END_TEST

START_TEST(test_what_is_no_number)
{
    double back = 5;
    json_t *values[] = {json_string("nan"), json_string("1"), json_string(""),
                        json_true(),        json_null(),      json_object()};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        ck_assert_int_eq(json_num_read(values[i], &back), ERR_INVALID_FIELD);
        json_decref(values[i]);
    }
    ck_assert_int_eq(json_num_read(NULL, &back), ERR_INVALID_FIELD);
    ck_assert_double_eq(back, 5);
}
END_TEST

START_TEST(test_no_memory)
{
    static const double values[] = {1, NAN, INFINITY, -INFINITY};
    alloc_fail_jansson();
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        alloc_fail_at(0);
        ck_assert_ptr_null(json_num(values[i]));
        ck_assert(alloc_fail_end());
    }
    alloc_fail_at(0);
    ck_assert_ptr_null(json_num_int(7));
    ck_assert(alloc_fail_end());
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_there_and_back, test_nan_is_a_string, test_integers,
                                  test_what_is_no_number, test_no_memory};
    return unit_run("json_num", tests, sizeof tests / sizeof *tests);
}
