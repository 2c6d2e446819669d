#include <string.h>
#include "common/base/ids.h"
#include "tests/support/unit.h"

static enum err fill_ones(void *ctx, void *out, size_t n)
{
    size_t *asked = ctx;
    *asked += n;
    memset(out, 0xff, n);
    return ERR_OK;
}

static enum err fill_fails(void *ctx, void *out, size_t n)
{
    (void)ctx;
    (void)out;
    (void)n;
    return ERR_INTERNAL;
}

START_TEST(test_layout)
{
    size_t asked = 0;
    struct entropy ones = {fill_ones, &asked};
    char id[ID_SIZE];
    ck_assert_int_eq(id_new(&ones, 0x0123456789abLL, id), ERR_OK);
    ck_assert_str_eq(id, "0123456789ab7fffbfffffffffffffff"); /* RFC 9562, 5.7 */
    ck_assert_uint_eq(asked, 10);
    ck_assert(id_is_valid(id));
}
END_TEST

START_TEST(test_sorts_by_time)
{
    size_t asked = 0;
    struct entropy ones = {fill_ones, &asked};
    char id[ID_SIZE], last[ID_SIZE] = "";
    for (int64_t ms = 250; ms < 70000; ms += 251) {
        ck_assert_int_eq(id_new(&ones, ms, id), ERR_OK);
        ck_assert_str_gt(id, last);
        memcpy(last, id, sizeof id);
    }
}
END_TEST

static enum err fill_zeros(void *ctx, void *out, size_t n)
{
    size_t *asked = ctx;
    *asked += n;
    memset(out, 0, n);
    return ERR_OK;
}

START_TEST(test_ascends_within_a_millisecond)
{
    size_t asked = 0;
    struct entropy zeros = {fill_zeros, &asked};
    struct id_sequence s = {0};
    char id[ID_SIZE], last[ID_SIZE] = "";
    for (int i = 0; i < 70000; i++) {
        ck_assert_int_eq(id_next(&s, &zeros, 0x0123456789abLL, id), ERR_OK);
        ck_assert_str_gt(id, last);
        memcpy(last, id, sizeof id);
    }
    ck_assert_uint_eq(asked, 10);
    ck_assert_str_eq(id, "0123456789ab7000800000000001116f"); /* 69,999 */
    ck_assert(id_is_valid(id));
}
END_TEST

START_TEST(test_another_millisecond_draws_anew)
{
    size_t asked = 0;
    struct entropy zeros = {fill_zeros, &asked};
    struct id_sequence s = {0};
    char id[ID_SIZE];
    const int64_t times[] = {2, 2, 3, 1, 1}; /* a clock may also go back */
    const char *const expected[] = {"00000000000270008000000000000000", "00000000000270008000000000000001",
                                    "00000000000370008000000000000000", "00000000000170008000000000000000",
                                    "00000000000170008000000000000001"};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        ck_assert_int_eq(id_next(&s, &zeros, times[i], id), ERR_OK);
        ck_assert_str_eq(id, expected[i]);
    }
    ck_assert_uint_eq(asked, 30);
}
END_TEST

START_TEST(test_a_used_up_sequence_draws_anew)
{
    size_t asked = 0;
    struct entropy ones = {fill_ones, &asked};
    struct id_sequence s = {0};
    char id[ID_SIZE];
    for (size_t i = 1; i <= 3; i++) {
        ck_assert_int_eq(id_next(&s, &ones, 0x0123456789abLL, id), ERR_OK);
        ck_assert_str_eq(id, "0123456789ab7fffbfffffffffffffff");
        ck_assert_uint_eq(asked, 10 * i);
    }
}
END_TEST

START_TEST(test_no_entropy)
{
    struct entropy none = {fill_fails, NULL};
    char id[ID_SIZE];
    struct id_sequence s = {0};
    ck_assert_int_eq(id_new(&none, 1, id), ERR_INTERNAL);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(id_next(&s, &none, 1, id), ERR_INTERNAL);
}
END_TEST

START_TEST(test_valid)
{
    ck_assert(id_is_valid("0123456789ab7fffbfffffffffffffff"));
    ck_assert(!id_is_valid("0123456789AB7fffbfffffffffffffff"));
    ck_assert(!id_is_valid("0123456789ab7fffbffffffffffffff"));
    ck_assert(!id_is_valid("0123456789ab7fffbffffffffffffffff"));
    ck_assert(!id_is_valid("0123456789ab-fffbfffffffffffffff"));
    ck_assert(!id_is_valid(""));
    ck_assert(!id_is_valid(NULL));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_layout,
                                  test_sorts_by_time,
                                  test_ascends_within_a_millisecond,
                                  test_another_millisecond_draws_anew,
                                  test_a_used_up_sequence_draws_anew,
                                  test_no_entropy,
                                  test_valid};
    return unit_run("ids", tests, sizeof tests / sizeof *tests);
}
