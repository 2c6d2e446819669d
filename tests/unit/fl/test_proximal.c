#include <math.h>
#include "common/fl/proximal.h"
#include "tests/support/unit.h"

START_TEST(test_mu_rises_with_the_loss)
{
    struct dynamic_mu d = dynamic_mu_start(0, 0.1, 5);
    dynamic_mu_observe(&d, 2.0);
    ck_assert(d.mu == 0);
    dynamic_mu_observe(&d, 2.5);
    ck_assert(d.mu == 0.1);
    dynamic_mu_observe(&d, 2.5);
    ck_assert(d.mu == 0.1);
    dynamic_mu_observe(&d, 3.0);
    ck_assert(d.mu == 0.1 + 0.1);
}
END_TEST

START_TEST(test_mu_sinks_after_five_falls_in_a_row)
{
    struct dynamic_mu d = dynamic_mu_start(1, 0.1, 5);
    double loss = 10;
    dynamic_mu_observe(&d, loss);
    for (int i = 0; i < 4; i++)
        dynamic_mu_observe(&d, loss -= 1);
    ck_assert(d.mu == 1 && d.falls == 4);
    dynamic_mu_observe(&d, loss); /* equal: neither counts nor starts anew */
    ck_assert(d.mu == 1 && d.falls == 4);
    dynamic_mu_observe(&d, loss -= 1);
    ck_assert(d.mu == 1 - 0.1 && d.falls == 0);
    for (int i = 0; i < 3; i++)
        dynamic_mu_observe(&d, loss -= 0.1);
    dynamic_mu_observe(&d, loss += 1);
    ck_assert(d.mu == 1 - 0.1 + 0.1 && d.falls == 0);
}
END_TEST

START_TEST(test_mu_stays_above_zero)
{
    struct dynamic_mu d = dynamic_mu_start(0.05, 0.1, 1);
    dynamic_mu_observe(&d, 3);
    dynamic_mu_observe(&d, 2);
    ck_assert(d.mu == 0);
    dynamic_mu_observe(&d, 1);
    ck_assert(d.mu == 0);
    dynamic_mu_observe(&d, (double)NAN);
    ck_assert(d.mu == 0 && d.last_loss == 1);
    dynamic_mu_observe(&d, (double)INFINITY);
    ck_assert(d.mu == 0.1);
}
END_TEST

START_TEST(test_stability)
{
    ck_assert(proximal_is_unstable(0.1, 20));
    ck_assert(!proximal_is_unstable(0.1, 19.9));
    ck_assert(!proximal_is_unstable(0.03, 1));
}
END_TEST

START_TEST(test_gamma)
{
    ck_assert(gamma_inexactness(2, 4) == 0.5);
    ck_assert(gamma_inexactness(3, 3) == 1);
    ck_assert(gamma_inexactness(0, 3) == 0);
    ck_assert(gamma_inexactness(0, 0) == 0);
    ck_assert(gamma_inexactness(1e-9, 0) == 0);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_mu_rises_with_the_loss, test_mu_sinks_after_five_falls_in_a_row,
                                  test_mu_stays_above_zero, test_stability, test_gamma};
    return unit_run("proximal", tests, sizeof tests / sizeof *tests);
}
