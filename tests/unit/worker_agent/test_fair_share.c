#include <check.h>
#include <math.h>
#include "tests/support/unit.h"
#include "worker/fair_share.h"

START_TEST(enough_for_all_is_no_bound)
{
    ck_assert(isinf(fair_share(3, NULL, 0, 5)));
    ck_assert(isinf(fair_share(5, (const double[]){1, 1}, 2, 10)));
    ck_assert(isinf(fair_share(1, (const double[]){1, 8}, 2, 10)));
    ck_assert(isinf(fair_share(0, (const double[]){0}, 1, 0)));
}
END_TEST

START_TEST(what_is_unknown_is_shared_evenly)
{
    ck_assert_double_eq(fair_share(INFINITY, NULL, 0, 5), 5);
    ck_assert_double_eq(fair_share(INFINITY, (const double[]){INFINITY, INFINITY, INFINITY}, 3, 8), 2);
    ck_assert_double_eq(fair_share(10, (const double[]){10, 10, 10}, 3, 8), 2);
}
END_TEST

START_TEST(the_modest_leave_the_rest_to_the_others)
{
    ck_assert_double_eq(fair_share(5, (const double[]){1, 1}, 2, 6), 4);
    ck_assert_double_eq(fair_share(INFINITY, (const double[]){1, 2}, 2, 10), 7);
    /* 1 and 2.5 are served; 6.5 are left for two. 2.5 is more than an even part of the first turn. */
    ck_assert_double_eq(fair_share(50, (const double[]){1, 2.5, 50}, 3, 10), 3.25);
    /* One that needs little may take as much as the largest: its need is only an estimate. */
    ck_assert_double_eq(fair_share(1, (const double[]){50}, 1, 6), 5);
}
END_TEST

/* Together they never take more than there is, and all of it where they want it. */
START_TEST(the_sum_is_the_total)
{
    const double needs[] = {1, 7, 3, 3, 20, 0.5};
    const size_t n = sizeof needs / sizeof *needs;
    for (double total = 0.25; total < 34; total += 0.25) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) {
            double others[8];
            size_t count = 0;
            for (size_t j = 0; j < n; j++) {
                if (j != i)
                    others[count++] = needs[j];
            }
            sum += fmin(needs[i], fair_share(needs[i], others, count, total));
        }
        ck_assert_double_eq_tol(sum, total, 1e-9);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {enough_for_all_is_no_bound, what_is_unknown_is_shared_evenly,
                                  the_modest_leave_the_rest_to_the_others, the_sum_is_the_total};
    return unit_run("fair_share", tests, sizeof tests / sizeof *tests);
}
