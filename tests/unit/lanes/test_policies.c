/* What each policy is there for, exactly, on a virtual clock. */
#include <math.h>
#include "common/base/rng.h"
#include "tests/unit/lanes/lab.h"

/* -- G1: head of line
 * ---------------------------------------------------------------------------------------- */

static void add_head_of_line(struct lab *l)
{
    lab_add(l, 0, 400, SECOND, 10, 10);
    for (int k = 0; k < 8; k++)
        lab_add(l, (10 + 40 * k) * SECOND, 20, SECOND, 10, 10);
}

START_TEST(test_g1_short_jobs_behind_a_long_one)
{
    struct lab l = lab_make(1000);
    add_head_of_line(&l);
    ck_assert(lab_run(&l, &policy_fifo).average_completion_s * 9 == 3120);
    ck_near("srtf", lab_gain(&l, &policy_srtf), 4.333, 0.01);
    ck_near("las", lab_gain(&l, &policy_las), 4.274, 0.01);
    ck_near("fair", lab_gain(&l, &policy_fair), 3.545, 0.01);
    ck_assert(lab_run(&l, &policy_srtf).average_completion_s == 80);
    ck_assert(lab_run(&l, &policy_las).average_completion_s * 9 == 730);
    for (size_t i = 0; i < num_lanes_policies; i++)
        ck_assert_msg(lab_run(&l, lanes_policies[i]).makespan_s == 560, "%s idles", lanes_policies[i]->name);
    lab_end(&l);
}
END_TEST

/* -- G7: fair shares
 * ----------------------------------------------------------------------------------------- */

/* Looks at what jobs have had when the device has done so many iterations since the newest came. */
struct look {
    int64_t after_ns, until_ns;
    double had[16], before[16]; /* by row, at until_ns and at after_ns */
    size_t n;
};

static void take_look(void *context, const struct scheduler *s, int64_t now_ns)
{
    struct look *look = context;
    if (now_ns > look->until_ns)
        return;
    look->n = scheduler_num_jobs(s);
    for (size_t i = 0; i < look->n; i++) {
        struct lanes_job_view job = scheduler_job_at(s, i);
        double had = (double)job.attained_ns / job.request.weight;
        look->had[job.request.tag] = had;
        if (now_ns <= look->after_ns)
            look->before[job.request.tag] = had;
    }
}

/* Jain's index of n jobs' time by weight, when 100 iterations a job are done. */
static double fairness(const struct lanes_policy *policy, int n, const int *weights, const int64_t *step_ns)
{
    struct lab l = lab_make(1000);
    struct look look = {.until_ns = 100 * n * SECOND};
    for (int i = 0; i < n; i++)
        lab_add(&l, 0, 2000, step_ns ? step_ns[i] : SECOND, 1, 10)->weight = weights ? weights[i] : 1;
    (void)lab_run_watched(&l, policy, NULL, take_look, &look);
    ck_assert_uint_eq(look.n, (size_t)n);
    lab_end(&l);
    return lab_jain(look.had, (size_t)n);
}

START_TEST(test_g7_equal_jobs_get_equal_shares)
{
    const int weights[] = {1, 2, 4};
    const int64_t steps[] = {SECOND / 10, SECOND, SECOND * 7 / 10, SECOND / 3};
    ck_at_least("two", fairness(&policy_fair, 2, NULL, NULL), 0.99);
    ck_at_least("four", fairness(&policy_fair, 4, NULL, NULL), 0.99);
    ck_at_least("eight", fairness(&policy_fair, 8, NULL, NULL), 0.99);
    ck_at_least("weights 1:2:4", fairness(&policy_fair, 3, weights, NULL), 0.99);
    ck_at_least("steps of unequal length", fairness(&policy_fair, 4, NULL, steps), 0.99);
    /* The measure itself can fail. */
    ck_at_most("fifo", fairness(&policy_fifo, 4, NULL, NULL), 0.26);
    ck_at_most("las without weights", fairness(&policy_las, 3, weights, NULL), 0.9);
}
END_TEST

/* The newcomer's part of the first 100 iterations after it came to n - 1 that ran for long. */
static double newcomers_part(const struct lanes_policy *policy, int n)
{
    struct lab l = lab_make(1000);
    const int64_t came = 1000 * SECOND;
    struct look look = {.after_ns = came, .until_ns = came + 100 * SECOND};
    for (int i = 0; i + 1 < n; i++)
        lab_add(&l, 0, 5000, SECOND, 1, 10);
    lab_add(&l, came, 2000, SECOND, 1, 10);
    (void)lab_run_watched(&l, policy, NULL, take_look, &look);
    ck_assert_uint_eq(look.n, (size_t)n);
    lab_end(&l);
    return (look.had[n - 1] - look.before[n - 1]) / (100.0 * (double)SECOND);
}

START_TEST(test_g7_a_newcomer_gets_its_share_and_no_more)
{
    for (int n = 2; n <= 8; n *= 2) {
        ck_at_most("fair", newcomers_part(&policy_fair, n), 1.0 / n + 0.05);
        ck_at_least("fair", newcomers_part(&policy_fair, n), 1.0 / n - 0.05);
        ck_at_least("salus-fair: it has the device to itself", newcomers_part(&policy_salus_fair, n), 0.98);
    }
}
END_TEST

/* Waiting for memory is no service that must be made up for later. */
START_TEST(test_who_waited_for_memory_does_not_run_alone_then)
{
    struct lab l = lab_make(100);
    struct look look = {.after_ns = 300 * SECOND, .until_ns = 400 * SECOND};
    lab_add(&l, 0, 5000, SECOND, 10, 20);
    lab_add(&l, 0, 150, SECOND, 60, 20); /* ends at 300 s */
    lab_add(&l, SECOND, 2000, SECOND, 60, 20);
    (void)lab_run_watched(&l, &policy_fair, NULL, take_look, &look);
    ck_near("its part", (look.had[2] - look.before[2]) / 1e11, 0.5, 0.05);
    lab_end(&l);
}
END_TEST

/* -- G16: nobody starves
 * ------------------------------------------------------------------------------------- */

/* One of 1000 s among short ones of 2 s on average, that come for ever at so much load. */
static double long_ones_slowdown(const struct lanes_policy *policy, double load, bool is_random)
{
    struct lab l = lab_make(1000);
    uint64_t key = rng_key(1, RNG_MISC, 16, 0, 0);
    double at = 1;
    lab_add(&l, 0, 200, 5 * SECOND, 10, 10);
    for (uint64_t i = 0; at < 20000; i++) {
        double size = is_random ? -2 * log(1 - rng_uniform(key, 2 * i)) : 2;
        double gap = is_random ? -2 * log(1 - rng_uniform(key, 2 * i + 1)) : 2;
        lab_add(&l, (int64_t)(at * 1e9), 4, (int64_t)(size / 4 * 1e9) + 1, 10, 10);
        at += gap / load;
    }
    (void)lab_run(&l, policy);
    double there = (double)virtual_outcome_at(l.run, 0)->end_ns;
    lab_end(&l);
    return there / (1000.0 * (double)SECOND);
}

START_TEST(test_g16_a_long_job_among_endless_short_ones)
{
    ck_at_most("evenly", long_ones_slowdown(&policy_srtf, 0.95, false), 12);
    ck_at_most("at random", long_ones_slowdown(&policy_srtf, 0.95, true), 12);
    /* Without aging it would get what is left. */
    ck_at_least("las", long_ones_slowdown(&policy_las, 0.95, false), 18);
    ck_at_least("salus-srtf", long_ones_slowdown(&policy_salus_srtf, 0.95, false), 18);
}
END_TEST

/* -- the others
 * ---------------------------------------------------------------------------------------------- */

START_TEST(test_priority_goes_first)
{
    struct lab l = lab_make(1000);
    lab_add(&l, 0, 100, SECOND, 10, 10);
    lab_add(&l, 5 * SECOND, 10, SECOND, 10, 10)->priority = 2;
    lab_add(&l, 5 * SECOND, 10, SECOND, 10, 10)->priority = 7;
    (void)lab_run(&l, &policy_priority);
    ck_assert_int_eq(virtual_outcome_at(l.run, 2)->end_ns, 15 * SECOND);
    ck_assert_int_eq(virtual_outcome_at(l.run, 1)->end_ns, 25 * SECOND);
    ck_assert_int_eq(virtual_outcome_at(l.run, 0)->end_ns, 120 * SECOND);
    lab_end(&l);
}
END_TEST

START_TEST(test_pack_gives_memory_to_the_smallest)
{
    struct lab l = lab_make(100);
    lab_add(&l, 0, 50, SECOND, 30, 10);
    lab_add(&l, SECOND, 50, SECOND, 60, 30);
    for (int i = 0; i < 5; i++)
        lab_add(&l, 2 * SECOND, 50, SECOND, 10, 10);
    ck_assert_uint_eq(lab_run(&l, &policy_pack).most_resident, 6);
    ck_assert_uint_lt(lab_run(&l, &policy_fifo).most_resident, 6);
    lab_end(&l);
}
END_TEST

START_TEST(test_names)
{
    const struct lanes_policy *policy;
    struct fault fault = FAULT_NONE;
    for (size_t i = 0; i < num_lanes_policies; i++) {
        ck_assert_int_eq(lanes_policy_named(lanes_policies[i]->name, &policy, NULL), ERR_OK);
        ck_assert_ptr_eq(policy, lanes_policies[i]);
    }
    ck_assert_int_eq(lanes_policy_named("lifo", &policy, &fault), ERR_USAGE);
    ck_assert_msg(strstr(fault.detail, "\"lifo\"") && strstr(fault.detail, "salus-fair"), "%s", fault.detail);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        test_g1_short_jobs_behind_a_long_one,          test_g7_equal_jobs_get_equal_shares,
        test_g7_a_newcomer_gets_its_share_and_no_more, test_who_waited_for_memory_does_not_run_alone_then,
        test_g16_a_long_job_among_endless_short_ones,  test_priority_goes_first,
        test_pack_gives_memory_to_the_smallest,        test_names,
    };
    return unit_run("policies", tests, sizeof tests / sizeof *tests);
}
