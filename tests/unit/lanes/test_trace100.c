/* G2: 100 jobs made from Salus's published table, and Salus's rules beside ours. */
#include <math.h>
#include "common/base/rng.h"
#include "tests/unit/lanes/lab.h"

static struct lab make(void)
{
    struct lab l = lab_make(14000 * MEGA);
    lab_add_trace100(&l);
    return l;
}

START_TEST(test_g2_gains_over_fifo)
{
    struct lab l = make();
    struct virtual_summary fifo = lab_run(&l, &policy_fifo);
    for (size_t i = 0; i < num_lanes_policies; i++) {
        const struct lanes_policy *policy = lanes_policies[i];
        struct virtual_summary s = lab_run(&l, policy);
        double gain = fifo.average_completion_s / s.average_completion_s;
        if (policy == &policy_srtf)
            ck_at_least("srtf", gain, 4.3);
        if (policy == &policy_las)
            ck_at_least("las", gain, 3.0);
        if (policy == &policy_fair)
            ck_at_least("fair", gain, 2.7);
        ck_at_most(policy->name, s.makespan_s / fifo.makespan_s, 1.01);
        ck_assert_uint_eq(s.num_refused, 0);
    }
    lab_end(&l);
}
END_TEST

/* No oracle: what Salus's rules are told changes nothing of ours. */
START_TEST(test_g2_nothing_is_known_but_steps)
{
    struct lab l = make();
    double before = lab_run(&l, &policy_srtf).average_completion_s;
    double told = lab_run(&l, &policy_salus_srtf).average_completion_s;
    for (size_t i = 0; i < l.n; i++)
        l.rows[i].told_length_ns = 0;
    ck_assert(lab_run(&l, &policy_srtf).average_completion_s == before);
    ck_at_least("salus-srtf without its oracle", lab_run(&l, &policy_salus_srtf).average_completion_s / told,
                2);
    lab_end(&l);
}
END_TEST

/* Each job says a number of steps that is wrong by a factor of up to 4, either way. */
START_TEST(test_g2_wrong_lengths)
{
    struct lab l = make();
    double fifo = lab_run(&l, &policy_fifo).average_completion_s;
    for (uint64_t seed = 0; seed < LAB_SEEDS; seed++) {
        for (size_t i = 0; i < l.n; i++) {
            double factor = pow(4, 2 * rng_uniform(rng_key(seed, RNG_MISC, 2, 0, 0), i) - 1);
            double told = round((double)l.rows[i].steps * factor);
            l.rows[i].told_steps = told < 1 ? 1 : (int64_t)told;
        }
        ck_at_least("srtf with wrong lengths", fifo / lab_run(&l, &policy_srtf).average_completion_s, 2.4);
    }
    lab_end(&l);
}
END_TEST

/* The same table line by line is in docs/benchmarks.md: ./dev bench lanes. */
START_TEST(test_ours_beside_salus)
{
    struct lab l = make();
    ck_at_least("srtf / salus-srtf, which knows every length",
                lab_run(&l, &policy_salus_srtf).average_completion_s /
                    lab_run(&l, &policy_srtf).average_completion_s,
                1.7);
    ck_at_least("fair / salus-fair",
                lab_run(&l, &policy_salus_fair).average_completion_s /
                    lab_run(&l, &policy_fair).average_completion_s,
                1.7);
    ck_at_most("fifo / salus-fifo",
               lab_run(&l, &policy_fifo).average_completion_s /
                   lab_run(&l, &policy_salus_fifo).average_completion_s,
               0.95);
    ck_assert_int_gt(lab_run(&l, &policy_salus_fifo).overtakes, 100);
    ck_assert_int_eq(lab_run(&l, &policy_fifo).overtakes, 0);
    lab_end(&l);
}
END_TEST

/* The same rows give the same nanoseconds, whatever ran before. */
START_TEST(test_exactly_the_same_again)
{
    struct lab l = make();
    int64_t ends[100];
    (void)lab_run(&l, &policy_auto);
    for (size_t i = 0; i < l.n; i++)
        ends[i] = virtual_outcome_at(l.run, i)->end_ns;
    virtual_run(l.run, &policy_auto, l.rows, l.n / 2);
    virtual_run(l.run, &policy_auto, l.rows, l.n);
    for (size_t i = 0; i < l.n; i++)
        ck_assert_int_eq(virtual_outcome_at(l.run, i)->end_ns, ends[i]);
    lab_end(&l);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_g2_gains_over_fifo, test_g2_nothing_is_known_but_steps,
                                  test_g2_wrong_lengths, test_ours_beside_salus, test_exactly_the_same_again};
    return unit_run("trace100", tests, sizeof tests / sizeof *tests);
}
