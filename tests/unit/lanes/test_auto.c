/* G15: auto beside the best of the fixed policies; and that it says why. */
#include <math.h>
#include "common/base/rng.h"
#include "tests/unit/lanes/lab.h"

static const struct lanes_policy *const fixed[] = {&policy_fifo, &policy_srtf, &policy_las,
                                                   &policy_fair, &policy_pack, &policy_priority};

static double draw(uint64_t scenario, uint64_t i)
{
    return rng_uniform(rng_key(15, RNG_MISC, scenario, 0, 0), i);
}

static double exponential(uint64_t scenario, uint64_t i, double mean)
{
    return -mean * log(1 - draw(scenario, i));
}

/* auto's average completion time over the best fixed policy's. */
static double auto_over_best(struct lab *l, const char *what)
{
    double best = INFINITY;
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        best = fmin(best, lab_run(l, fixed[i]).average_completion_s);
    double ratio = lab_run(l, &policy_auto).average_completion_s / best;
    ck_assert_msg(*scheduler_reason(virtual_scheduler(l->run)) != '\0', "%s: it does not say why", what);
    return ratio;
}

START_TEST(test_g15_head_of_line)
{
    struct lab l = lab_make(1000);
    for (int round = 0; round < 4; round++) {
        int64_t at = 800 * round * SECOND;
        lab_add(&l, at, 400, SECOND, 10, 10);
        for (int k = 0; k < 8; k++)
            lab_add(&l, at + (10 + 40 * k) * SECOND, 20, SECOND, 10, 10);
    }
    ck_at_most("head of line", auto_over_best(&l, "head of line"), 1.1);
    lab_end(&l);
}
END_TEST

START_TEST(test_g15_equal_jobs)
{
    struct lab l = lab_make(1000);
    for (int i = 0; i < 40; i++)
        lab_add(&l, (i / 8) * 300 * SECOND, 50, SECOND, 10, 10);
    ck_at_most("equal jobs", auto_over_best(&l, "equal jobs"), 1.1);
    lab_end(&l);
}
END_TEST

START_TEST(test_g15_heavy_tail)
{
    struct lab l = lab_make(14000 * MEGA);
    lab_add_trace100(&l);
    ck_at_most("heavy tail", auto_over_best(&l, "heavy tail"), 1.1);
    lab_end(&l);
}
END_TEST

/* A small device: what is in memory decides, more than who runs. */
START_TEST(test_g15_memory_bound)
{
    struct lab l = lab_make(1000);
    double at = 0;
    for (uint64_t i = 0; i < 80; i++) {
        int64_t persistent = 100 + (int64_t)(draw(3, 4 * i) * 500);
        lab_add(&l, (int64_t)(at * 1e9), 5 + (int64_t)(draw(3, 4 * i + 1) * 100), SECOND, persistent,
                (int64_t)(draw(3, 4 * i + 2) * 350));
        at += exponential(3, 4 * i + 3, 60);
    }
    ck_at_most("memory bound", auto_over_best(&l, "memory bound"), 1.1);
    lab_end(&l);
}
END_TEST

START_TEST(test_g15_priority_mix)
{
    struct lab l = lab_make(1000);
    double at = 0;
    for (uint64_t i = 0; i < 80; i++) {
        struct virtual_job *job =
            lab_add(&l, (int64_t)(at * 1e9), 1 + (int64_t)exponential(4, 3 * i, 40), SECOND, 20, 100);
        job->priority = (int)(draw(4, 3 * i + 1) * 4);
        at += exponential(4, 3 * i + 2, 48);
    }
    ck_at_most("priority mix", auto_over_best(&l, "priority mix"), 1.1);
    lab_end(&l);
}
END_TEST

/* Jobs that say they are as long as others are: srtf is misled, and auto sees that. */
START_TEST(test_it_leaves_srtf_where_lengths_are_wrong)
{
    struct lab l = lab_make(1000);
    double at = 0;
    for (uint64_t i = 0; i < 120; i++) {
        bool is_long = draw(5, 2 * i) < 0.15;
        lab_add(&l, (int64_t)(at * 1e9), is_long ? 400 : 10, SECOND, 20, 100)->told_steps = is_long ? 5 : 40;
        at += exponential(5, 2 * i + 1, 80);
    }
    double srtf = lab_run(&l, &policy_srtf).average_completion_s;
    double here = lab_run(&l, &policy_auto).average_completion_s;
    const struct scheduler *s = virtual_scheduler(l.run);
    ck_at_most("auto over srtf", here / srtf, 0.95);
    ck_assert_str_ne(scheduler_order(s)->name, "srtf");
    ck_assert_msg(strstr(scheduler_reason(s), "s on average for the last 32 jobs"), "%s",
                  scheduler_reason(s));
    lab_end(&l);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        test_g15_head_of_line, test_g15_equal_jobs,   test_g15_heavy_tail,
        test_g15_memory_bound, test_g15_priority_mix, test_it_leaves_srtf_where_lengths_are_wrong,
    };
    return unit_run("auto", tests, sizeof tests / sizeof *tests);
}
