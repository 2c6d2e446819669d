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

START_TEST(test_no_entropy)
{
    struct entropy none = {fill_fails, NULL};
    char id[ID_SIZE];
    ck_assert_int_eq(id_new(&none, 1, id), ERR_INTERNAL);
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
    const TTest *const tests[] = {test_layout, test_sorts_by_time, test_no_entropy, test_valid};
    return unit_run("ids", tests, sizeof tests / sizeof *tests);
}
