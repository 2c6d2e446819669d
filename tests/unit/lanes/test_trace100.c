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

/* A figure of each policy's run over another's. */
static double ratio(const struct virtual_summary *a, const struct virtual_summary *b)
{
    return a->average_completion_s / b->average_completion_s;
}

/* The same, line by line, is in docs/benchmarks.md: ./dev bench lanes. */
START_TEST(test_g2_gains_over_fifo_and_over_salus)
{
    struct lab l = make();
    struct virtual_summary fifo = lab_run(&l, &policy_fifo), srtf = lab_run(&l, &policy_srtf);
    struct virtual_summary las = lab_run(&l, &policy_las), fair = lab_run(&l, &policy_fair);
    struct virtual_summary salus_fifo = lab_run(&l, &policy_salus_fifo);
    struct virtual_summary salus_srtf = lab_run(&l, &policy_salus_srtf);
    struct virtual_summary salus_fair = lab_run(&l, &policy_salus_fair);
    const struct virtual_summary *const all[] = {&fifo,       &srtf,       &las,       &fair,
                                                 &salus_fifo, &salus_srtf, &salus_fair};
    ck_at_least("srtf", ratio(&fifo, &srtf), 4.3);
    ck_at_least("las", ratio(&fifo, &las), 3.0);
    ck_at_least("fair", ratio(&fifo, &fair), 2.7);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        ck_at_most("makespan over fifo's", all[i]->makespan_s / fifo.makespan_s, 1.01);
        ck_assert_uint_eq(all[i]->num_refused, 0);
    }
    ck_at_least("srtf over salus-srtf, which knows every length", ratio(&salus_srtf, &srtf), 1.7);
    ck_at_least("fair over salus-fair", ratio(&salus_fair, &fair), 1.7);
    ck_at_least("fifo over salus-fifo", ratio(&salus_fifo, &fifo), 1.1);
    ck_assert_int_gt(salus_fifo.overtakes, 100);
    ck_assert_int_eq(fifo.overtakes, 0);
    /* Ours has no oracle: it is the same without one, while Salus's is lost. */
    for (size_t i = 0; i < l.n; i++)
        l.rows[i].told_length_ns = 0;
    ck_assert(lab_run(&l, &policy_srtf).average_completion_s == srtf.average_completion_s);
    struct virtual_summary untold = lab_run(&l, &policy_salus_srtf);
    ck_at_least("salus-srtf without its oracle", ratio(&untold, &salus_srtf), 2);
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

/* The same rows give the same nanoseconds, whatever ran before. */
START_TEST(test_exactly_the_same_again)
{
    struct lab l = make();
    int64_t ends[100];
    (void)lab_run(&l, &policy_auto);
    for (size_t i = 0; i < l.n; i++)
        ends[i] = virtual_outcome_at(l.run, i)->end_ns;
    virtual_run(l.run, &policy_auto, l.rows, 10);
    virtual_run(l.run, &policy_auto, l.rows, l.n);
    for (size_t i = 0; i < l.n; i++)
        ck_assert_int_eq(virtual_outcome_at(l.run, i)->end_ns, ends[i]);
    lab_end(&l);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_g2_gains_over_fifo_and_over_salus, test_g2_wrong_lengths,
                                  test_exactly_the_same_again};
    return unit_run("trace100", tests, sizeof tests / sizeof *tests);
}
