/* Lanes: who gets which memory, and that it is used well. */
#include "tests/unit/lanes/desk.h"
#include "tests/unit/lanes/lab.h"

#define ONE(capacity)                                                                                        \
    1, (const int64_t[])                                                                                     \
    {                                                                                                        \
        capacity                                                                                             \
    }

static void ck_device(const struct desk *d, size_t lanes, int64_t persistent, int64_t in_lanes)
{
    struct lanes_device_view view = scheduler_device(d->s, 0);
    ck_assert_uint_eq(view.num_lanes, lanes);
    ck_assert_int_eq(view.persistent_bytes, persistent);
    ck_assert_int_eq(view.lane_bytes, in_lanes);
}

/* The paper's order: a new lane, the smallest that holds it, the smallest that can grow. */
START_TEST(test_assignment)
{
    struct desk *d = desk_make(&policy_fifo, ONE(100), 1, 0);
    (void)desk_submit(d, 10, 20); /* new: 30 used */
    (void)desk_submit(d, 10, 30); /* new: 70 used */
    desk_said(d, "enter 1:0.0, run 1:0.0, enter 2:0.1");
    (void)desk_submit(d, 10, 25); /* no room for 25 more; lane 1 has 30 */
    (void)desk_submit(d, 5, 20);  /* the smallest that holds it is lane 0 */
    desk_said(d, "enter 3:0.1, enter 4:0.0");
    ck_device(d, 2, 35, 50);
    (void)desk_submit(d, 1, 33); /* the smallest can grow by 13, as 14 are there */
    desk_said(d, "enter 5:0.0");
    ck_device(d, 2, 36, 63);
    (void)desk_submit(d, 32, 1);
    desk_said(d, ""); /* too much even with all in one lane: it waits */
    ck_device(d, 2, 36, 63);
    desk_free(d);
}
END_TEST

/* The smallest that is good, not the first. */
START_TEST(test_the_smallest_lane)
{
    struct desk *d = desk_make(&policy_fifo, ONE(100), 1, 0);
    (void)desk_submit(d, 10, 40);
    (void)desk_submit(d, 10, 20); /* 80 used */
    (void)desk_submit(d, 5, 20);
    desk_said(d, "enter 1:0.0, run 1:0.0, enter 2:0.1, enter 3:0.1");
    (void)desk_submit(d, 5, 45); /* both could grow: the smaller by 25, which is too much, the larger by 5 */
    desk_said(d, "enter 4:0.0");
    desk_free(d);
}
END_TEST

START_TEST(test_lanes_shrink_to_who_stays)
{
    struct desk *d = desk_make(&policy_las, ONE(100), 1, 0);
    lanes_job_id a = desk_submit(d, 10, 50), b = desk_submit(d, 20, 15);
    desk_said(d, "enter 1:0.0, run 1:0.0, enter 2:0.1");
    ck_device(d, 2, 30, 65);
    (void)desk_submit(d, 5, 40); /* into the lane of 50 */
    desk_said(d, "enter 3:0.0");
    scheduler_cancel(d->s, d->now, b);
    desk_said(d, "leave 2 cancelled");
    ck_device(d, 1, 15, 50);
    desk_last_step(d, a);
    desk_said(d, "leave 1 finished, run 3:0.0");
    ck_device(d, 1, 5, 40);
    desk_last_step(d, 3);
    ck_device(d, 0, 0, 0);
    desk_free(d);
}
END_TEST

/* Lanes that are idle are merged where a waiting job then fits, and else are left alone. */
START_TEST(test_merging)
{
    struct desk *d = desk_make(&policy_fifo, ONE(100), 1, 0);
    (void)desk_submit(d, 20, 30);
    (void)desk_submit(d, 20, 30);
    (void)desk_submit(d, 20, 30); /* 60 + 60 > 100, but 60 + 30 fit */
    desk_said(d, "enter 1:0.0, run 1:0.0, enter 2:0.1, move 2:0.0, enter 3:0.0");
    ck_device(d, 1, 60, 30);
    desk_free(d);

    d = desk_make(&policy_fifo, ONE(100), 1, 0);
    (void)desk_submit(d, 20, 20);
    (void)desk_submit(d, 20, 30);
    (void)desk_submit(d, 41, 20); /* not even in one lane */
    desk_said(d, "enter 1:0.0, run 1:0.0, enter 2:0.1");
    ck_device(d, 2, 40, 50);
    desk_free(d);
}
END_TEST

/* A lane that runs is merged at the iteration's end, not before. */
START_TEST(test_merging_waits_for_the_boundary)
{
    struct desk *d = desk_make(&policy_fifo, ONE(100), 1, 0);
    (void)desk_submit(d, 20, 20);
    (void)desk_submit(d, 20, 30);
    (void)desk_submit(d, 30, 30);
    desk_said(d, "enter 1:0.0, run 1:0.0, enter 2:0.1");
    desk_step(d, 1);
    desk_said(d, "move 1:0.1, enter 3:0.1, run 1:0.1");
    ck_device(d, 1, 70, 30);
    desk_free(d);
}
END_TEST

/* G10: P = 20, E = 30, C = 100. Lanes of P + E hold two jobs, ours three. */
START_TEST(test_g10_more_jobs_in_memory)
{
    struct lab l = lab_make(100);
    for (int i = 0; i < 12; i++)
        lab_add(&l, 0, 20, SECOND, 20, 30);
    double ours = (double)lab_run(&l, &policy_srtf).most_resident;
    struct lanes_rules sums = {.lane_holds_persistent = true, .fixed_lanes = true, .never_merge = true};
    double theirs = (double)lab_run_watched(&l, &policy_srtf, &sums, NULL, NULL).most_resident;
    ck_assert(ours == 3 && theirs == 2);
    ck_at_least("jobs in memory", ours / theirs, 1.5);
    ck_assert_uint_eq(lab_run(&l, &policy_salus_fifo).most_resident, 1); /* and with their padding */
    lab_end(&l);
}
END_TEST

START_TEST(test_jobs_without_memory)
{
    struct desk *d = desk_make(&policy_fifo, ONE(10), 1, 0);
    (void)desk_submit(d, 0, 0);
    (void)desk_submit(d, 10, 0);
    desk_said(d, "enter 1:0.0, run 1:0.0, enter 2:0.1");
    ck_device(d, 2, 10, 0);
    desk_last_step(d, 1);
    desk_last_step(d, 2);
    ck_device(d, 0, 0, 0);
    desk_free(d);
}
END_TEST

START_TEST(test_all_lanes_taken)
{
    struct lab l = lab_make(10000);
    for (int i = 0; i < LANES_MAX_LANES + 20; i++)
        lab_add(&l, 0, 3, SECOND, 1, i % 7);
    ck_assert_uint_eq(lab_run(&l, &policy_fair).most_resident, LANES_MAX_LANES + 20);
    lab_end(&l);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_assignment,
                                  test_the_smallest_lane,
                                  test_lanes_shrink_to_who_stays,
                                  test_merging,
                                  test_merging_waits_for_the_boundary,
                                  test_g10_more_jobs_in_memory,
                                  test_jobs_without_memory,
                                  test_all_lanes_taken};
    return unit_run("lanes memory", tests, sizeof tests / sizeof *tests);
}
