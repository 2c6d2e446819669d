#include "server/api/lttb.h"
#include <math.h>
#include <stdbool.h>
#include "tests/support/unit.h"

#define N 1000

static double x[N], y[N];
static size_t keep[N];

static void fill(void)
{
    for (size_t i = 0; i < N; i++) {
        x[i] = (double)i;
        y[i] = sin((double)i / 50);
    }
}

START_TEST(test_short_curves_stay_whole)
{
    fill();
    ck_assert_uint_eq(lttb_select(x, y, 0, 2, keep), 0);
    for (size_t n = 1; n <= 5; n++) {
        ck_assert_uint_eq(lttb_select(x, y, n, 5, keep), n);
        for (size_t i = 0; i < n; i++)
            ck_assert_uint_eq(keep[i], i);
    }
}
END_TEST

START_TEST(test_ends_and_order_are_kept)
{
    fill();
    for (size_t n = 3; n <= N; n += n < 20 ? 1 : 97) {
        for (size_t max = 2; max < n; max += max < 20 ? 1 : 53) {
            ck_assert_uint_eq(lttb_select(x, y, n, max, keep), max);
            ck_assert_uint_eq(keep[0], 0);
            ck_assert_uint_eq(keep[max - 1], n - 1);
            for (size_t i = 1; i < max; i++)
                ck_assert_uint_lt(keep[i - 1], keep[i]);
        }
    }
}
END_TEST

START_TEST(test_a_peak_survives)
{
    for (size_t at = 1; at < N - 1; at += 37) {
        bool found = false;
        fill();
        y[at] = 100;
        size_t n = lttb_select(x, y, N, 10, keep);
        for (size_t i = 0; i < n; i++)
            found = found || keep[i] == at;
        ck_assert_msg(found, "the peak at %zu is gone", at);
    }
}
END_TEST

START_TEST(test_what_is_no_number_takes_no_place)
{
    fill();
    for (size_t i = 1; i < N - 1; i += 2)
        y[i] = NAN;
    size_t n = lttb_select(x, y, N, 50, keep);
    for (size_t i = 0; i < n - 1; i++)
        ck_assert(isfinite(y[keep[i]]));
    for (size_t i = 0; i < N; i++)
        y[i] = NAN;
    ck_assert_uint_eq(lttb_select(x, y, N, 50, keep), 50);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_short_curves_stay_whole, test_ends_and_order_are_kept,
                                  test_a_peak_survives, test_what_is_no_number_takes_no_place};
    return unit_run("lttb", tests, sizeof tests / sizeof tests[0]);
}
