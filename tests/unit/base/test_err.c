#include <signal.h>
#include <string.h>
#include "common/base/err.h"
#include "common/base/str.h"
#include "tests/support/unit.h"

START_TEST(test_table)
{
    ck_assert_str_eq(err_name(ERR_INVALID_FIELD), "INVALID_FIELD");
    ck_assert_str_eq(err_code(ERR_INVALID_FIELD), "invalid_field");
    ck_assert_int_eq(err_http_status(ERR_INVALID_FIELD), 400);
    ck_assert(!err_retry_helps(ERR_INVALID_FIELD));
    ck_assert(err_retry_helps(ERR_RATE_LIMITED));
    for (int i = 0; i < ERR_COUNT; i++) {
        enum err e = (enum err)i;
        ck_assert_ptr_nonnull(err_name(e));
        ck_assert_int_ge(err_http_status(e), 200);
        /* A code leads back to an error with the same code. */
        ck_assert_str_eq(err_code(err_from_code(err_code(e))), err_code(e));
    }
}
END_TEST

START_TEST(test_from_code)
{
    ck_assert_int_eq(err_from_code("stale_round"), ERR_STALE_ROUND);
    ck_assert_int_eq(err_from_code("unavailable"), ERR_UNAVAILABLE);
    ck_assert_int_eq(err_from_code("internal"), ERR_INTERNAL);
    ck_assert_int_eq(err_from_code("no such code"), ERR_INTERNAL);
    ck_assert_int_eq(err_from_code(NULL), ERR_INTERNAL);
}
END_TEST

START_TEST(test_fault_set)
{
    struct fault f = FAULT_NONE;
    ck_assert_int_eq(fault_set(NULL, ERR_IO, "x", "%d", 1), ERR_IO);
    ck_assert_int_eq(fault_set(&f, ERR_CONFLICT, "a.b", "%s is %d", "x", 5), ERR_CONFLICT);
    ck_assert_int_eq(f.err, ERR_CONFLICT);
    ck_assert_str_eq(f.field, "a.b");
    ck_assert_str_eq(f.detail, "x is 5");
    (void)fault_set(&f, ERR_IO, f.field, "file: %s", f.detail); /* made of itself */
    ck_assert_str_eq(f.field, "a.b");
    ck_assert_str_eq(f.detail, "file: x is 5");
    (void)fault_set(&f, ERR_IO, NULL, "%s", "");
    ck_assert_str_eq(f.field, "");
}
END_TEST

START_TEST(test_fault_is_cut)
{
    struct fault f = FAULT_NONE;
    char text[2000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    (void)fault_set(&f, ERR_IO, text, "%s", text);
    ck_assert_uint_eq(strlen(f.field), sizeof f.field - 1);
    ck_assert_uint_eq(strlen(f.detail), sizeof f.detail - 1);
    (void)fault_within(&f, "%s", text);
    ck_assert_uint_eq(strlen(f.field), sizeof f.field - 1);
}
END_TEST

START_TEST(test_fault_is_utf8)
{
    struct fault f = FAULT_NONE;
    (void)fault_set(&f, ERR_IO, "a\xff", "%.1s|\xc3\xa4|\x80", "\xc3\xa4");
    ck_assert_str_eq(f.field, "a?");
    ck_assert_str_eq(f.detail, "?|\xc3\xa4|?");
    char text[300] = "";
    for (size_t i = 0; i + 2 < sizeof text; i += 2)
        memcpy(text + i, "\xc3\xa4", 3);
    (void)fault_set(&f, ERR_IO, text, "%s", "x");
    (void)fault_within(&f, "%s", text);
    ck_assert(utf8_is_valid(f.field, strlen(f.field)));
    ck_assert_uint_eq(strlen(f.field), sizeof f.field - 1);
}
END_TEST

START_TEST(test_fault_within)
{
    struct fault f = FAULT_NONE;
    (void)fault_set(&f, ERR_INVALID_FIELD, "units", "must be positive");
    ck_assert_int_eq(fault_within(&f, "layers[%d]", 1), ERR_INVALID_FIELD);
    ck_assert_str_eq(f.field, "layers[1].units");
    (void)fault_within(&f, "model");
    ck_assert_str_eq(f.field, "model.layers[1].units");
    (void)fault_set(&f, ERR_INVALID_FIELD, "[3]", "must be positive");
    (void)fault_within(&f, "shape");
    ck_assert_str_eq(f.field, "shape[3]");
    (void)fault_set(&f, ERR_INVALID_FIELD, "", "must be positive");
    (void)fault_within(&f, "shape");
    ck_assert_str_eq(f.field, "shape");
    (void)fault_within(&f, "%s", "");
    ck_assert_str_eq(f.field, "shape");
    ck_assert_str_eq(f.detail, "must be positive");
}
END_TEST

START_TEST(test_no_such_error_is_a_bug)
{
    (void)err_name(ERR_COUNT);
}
END_TEST

START_TEST(test_bug_aborts)
{
    bug("%d", 5);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("err");
    TCase *tc = unit_case("err");
    tcase_add_test(tc, test_table);
    tcase_add_test(tc, test_from_code);
    tcase_add_test(tc, test_fault_set);
    tcase_add_test(tc, test_fault_is_cut);
    tcase_add_test(tc, test_fault_is_utf8);
    tcase_add_test(tc, test_fault_within);
    tcase_add_test_raise_signal(tc, test_no_such_error_is_a_bug, SIGABRT);
    tcase_add_test_raise_signal(tc, test_bug_aborts, SIGABRT);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
