/* Events in, decisions out. */
#include "common/base/limits.h"
#include "tests/unit/lanes/desk.h"
#include "tests/support/alloc_fail.h"

#define ONE(capacity)                                                                                        \
    1, (const int64_t[])                                                                                     \
    {                                                                                                        \
        capacity                                                                                             \
    }
#define TWO(a, b)                                                                                            \
    2, (const int64_t[])                                                                                     \
    {                                                                                                        \
        a, b                                                                                                 \
    }

START_TEST(test_a_job_larger_than_the_device_is_refused)
{
    struct desk *d = desk_make(&policy_srtf, TWO(100, 80), 1, 0);
    struct lanes_request r = desk_request(50, 51);
    struct fault fault = FAULT_NONE;
    lanes_job_id id;
    ck_assert_int_eq(scheduler_submit(d->s, 0, &r, &id, &fault), ERR_PAYLOAD_TOO_LARGE);
    ck_assert_uint_eq(id, 0);
    ck_assert_msg(strstr(fault.detail, "needs 101 bytes") && strstr(fault.detail, "has 100"), "%s",
                  fault.detail);
    r = desk_request(INT64_MAX, INT64_MAX);
    ck_assert_int_eq(scheduler_submit(d->s, 0, &r, &id, NULL), ERR_INVALID_FIELD);
    r = desk_request(-1, 5);
    ck_assert_int_eq(scheduler_submit(d->s, 0, &r, &id, NULL), ERR_INVALID_FIELD);
    r = desk_request(1, 1);
    r.weight = 0;
    ck_assert_int_eq(scheduler_submit(d->s, 0, &r, &id, NULL), ERR_INVALID_FIELD);
    r = desk_request(1, 1);
    r.steps = -1;
    ck_assert_int_eq(scheduler_submit(d->s, 0, &r, &id, NULL), ERR_INVALID_FIELD);
    desk_said(d, "");
    (void)desk_submit(d, 50, 50);
    desk_said(d, "enter 1:0.0, run 1:0.0");
    desk_free(d);
}
END_TEST

START_TEST(test_at_most_so_many_jobs)
{
    struct desk *d = desk_make(&policy_srtf, ONE(100), 1, 0);
    struct lanes_request r = desk_request(1, 1);
    lanes_job_id id;
    for (int i = 0; i < 16; i++)
        (void)desk_submit(d, 1, 1);
    ck_assert_int_eq(scheduler_submit(d->s, 0, &r, &id, NULL), ERR_UNAVAILABLE);
    scheduler_cancel(d->s, 0, 16);
    ck_assert_int_eq(scheduler_submit(d->s, 0, &r, &id, NULL), ERR_OK);
    ck_assert_uint_eq(id, 17); /* no id comes twice */
    desk_free(d);
}
END_TEST

START_TEST(test_preemption_is_between_iterations)
{
    struct desk *d = desk_make(&policy_priority, ONE(100), 1, 0);
    struct lanes_request r = desk_request(10, 10);
    lanes_job_id urgent;
    (void)desk_submit(d, 10, 10);
    desk_said(d, "enter 1:0.0, run 1:0.0");
    r.tag = 2;
    r.priority = 1;
    ck_assert_int_eq(scheduler_submit(d->s, 5, &r, &urgent, NULL), ERR_OK);
    desk_said(d, "enter 2:0.1");
    desk_step(d, 1);
    desk_said(d, "run 2:0.1");
    desk_last_step(d, urgent);
    desk_said(d, "leave 2 finished, run 1:0.0");
    desk_free(d);
}
END_TEST

START_TEST(test_cancel_and_death_end_after_the_iteration)
{
    struct desk *d = desk_make(&policy_fifo, ONE(30), 1, 0);
    lanes_job_id a = desk_submit(d, 10, 10), b = desk_submit(d, 10, 10);
    (void)desk_submit(d, 10, 10);
    desk_said(d, "enter 1:0.0, run 1:0.0, enter 2:0.0");
    scheduler_cancel(d->s, 1, a);
    desk_said(d, "");
    scheduler_client_died(d->s, 2, 2); /* b, which does not run */
    desk_said(d, "leave 2 client_died, enter 3:0.0");
    desk_step(d, a);
    desk_said(d, "leave 1 cancelled, run 3:0.0");
    scheduler_cancel(d->s, 3, b); /* long gone */
    scheduler_cancel(d->s, 3, 999);
    desk_said(d, "");
    /* A last iteration is a last one, whoever died meanwhile. */
    scheduler_client_died(d->s, 4, 3);
    desk_last_step(d, 3);
    desk_said(d, "leave 3 finished");
    desk_free(d);
}
END_TEST

START_TEST(test_executor_lost)
{
    struct desk *d = desk_make(&policy_fifo, ONE(100), 1, 0);
    struct lanes_job_view job;
    lanes_job_id a = desk_submit(d, 10, 10), b = desk_submit(d, 10, 10);
    for (int i = 0; i < 3; i++)
        desk_step(d, a);
    scheduler_checkpointed(d->s, a, 2);
    scheduler_checkpointed(d->s, a, 99); /* of steps that it never did */
    desk_said(d, "enter 1:0.0, run 1:0.0, enter 2:0.1, run 1:0.0, run 1:0.0, run 1:0.0");
    scheduler_executor_lost(d->s, d->now, 0);
    desk_said(d, "");
    ck_assert(scheduler_job(d->s, a, &job));
    ck_assert_int_eq(job.state, LANES_WAITING);
    ck_assert_int_eq(job.steps_done, 2);
    ck_assert_int_eq(job.strikes, 1);
    ck_assert(scheduler_job(d->s, b, &job) && job.strikes == 0);
    ck_assert(!scheduler_device(d->s, 0).is_there);
    desk_step(d, a); /* a late word of the dead one */
    desk_said(d, "");
    scheduler_executor_back(d->s, d->now, 0);
    desk_said(d, "enter 1:0.0, enter 2:0.1, run 1:0.0");
    scheduler_executor_lost(d->s, d->now, 0);
    desk_said(d, "leave 1 struck");
    scheduler_executor_back(d->s, d->now, 0);
    desk_said(d, "enter 2:0.0, run 2:0.0");
    ck_assert_uint_eq(scheduler_num_jobs(d->s), 1);
    desk_free(d);
}
END_TEST

START_TEST(test_two_devices)
{
    struct desk *d = desk_make(&policy_fifo, TWO(100, 60), 1, 0);
    (void)desk_submit(d, 10, 10);
    (void)desk_submit(d, 10, 10);
    (void)desk_submit(d, 50, 30); /* only the first can hold it */
    (void)desk_submit(d, 10, 10);
    desk_said(d, "enter 1:0.0, run 1:0.0, enter 2:1.0, run 2:1.0, enter 3:0.1, enter 4:1.1");
    scheduler_executor_lost(d->s, 1, 1); /* its jobs go to the other one as far as they fit */
    desk_said(d, "");
    desk_step(d, 1);
    desk_said(d, "move 1:0.1, enter 2:0.1, run 1:0.1");
    scheduler_executor_back(d->s, 2, 1);
    desk_said(d, "enter 4:1.0, run 4:1.0");
    desk_free(d);
}
END_TEST

/* An idle device takes over what waits for its turn at another. */
START_TEST(test_an_idle_device_gets_work)
{
    struct desk *d = desk_make(&policy_fifo, TWO(100, 100), 1, 0);
    (void)desk_submit(d, 10, 10);
    (void)desk_submit(d, 10, 10);
    (void)desk_submit(d, 10, 10);
    desk_said(d, "enter 1:0.0, run 1:0.0, enter 2:1.0, run 2:1.0, enter 3:0.1");
    desk_last_step(d, 2);
    desk_said(d, "leave 2 finished, evict 3, enter 3:1.0, run 3:1.0");
    scheduler_cancel(d->s, d->now, 1);
    desk_step(d, 1);
    desk_said(d, "leave 1 cancelled"); /* 3 runs where it is */
    desk_free(d);
}
END_TEST

START_TEST(test_resize)
{
    struct desk *d = desk_make(&policy_fifo, ONE(100), 1, 0);
    struct lanes_job_view job;
    lanes_job_id a = desk_submit(d, 20, 20), b = desk_submit(d, 20, 20);
    (void)desk_submit(d, 5, 60);
    desk_said(d, "enter 1:0.0, run 1:0.0, enter 2:0.1");
    scheduler_resize(d->s, 1, 0, 50);
    /* 3 fits no more at all; one lane less is not enough; 2 goes, 1 runs and stays. */
    desk_said(d, "leave 3 too_large, move 2:0.0, evict 2");
    ck_assert_int_eq(scheduler_device(d->s, 0).capacity_bytes, 50);
    scheduler_resize(d->s, 2, 0, 30);
    ck_assert_int_eq(scheduler_device(d->s, 0).capacity_bytes, 40); /* in use until the iteration is over */
    desk_said(d, "leave 2 too_large");
    desk_step(d, a);
    desk_said(d, "leave 1 too_large");
    ck_assert_int_eq(scheduler_device(d->s, 0).capacity_bytes, 30);
    ck_assert(!scheduler_job(d->s, b, &job));
    scheduler_resize(d->s, 30, 0, 200);
    (void)desk_submit(d, 100, 100);
    desk_said(d, "enter 4:0.0, run 4:0.0");
    desk_free(d);
}
END_TEST

START_TEST(test_overtaking_is_bounded)
{
    struct desk *d = desk_make(&policy_srtf, ONE(100), 1, 3);
    struct lanes_job_view big;
    lanes_job_id first = desk_submit(d, 10, 30);
    lanes_job_id waits = desk_submit(d, 50, 50); /* only alone */
    for (int i = 0; i < 3; i++)
        (void)desk_submit(d, 1, 1);
    desk_said(d, "enter 1:0.0, run 1:0.0, enter 3:0.1, enter 4:0.2, enter 5:0.3");
    (void)desk_submit(d, 1, 1); /* would fit, but 2 was overtaken three times */
    desk_said(d, "");
    ck_assert(scheduler_job(d->s, waits, &big));
    ck_assert_int_eq(big.overtaken, 3);
    ck_assert_int_eq(scheduler_overtakes(d->s), 3);
    desk_last_step(d, first);
    for (lanes_job_id id = 3; id <= 5; id++)
        desk_last_step(d, id);
    desk_said(d, "leave 1 finished, run 3:0.1, leave 3 finished, run 4:0.2, leave 4 finished, run 5:0.3, "
                 "leave 5 finished, enter 2:0.0, run 2:0.0");
    desk_free(d);
}
END_TEST

START_TEST(test_place_in_the_queue)
{
    struct desk *d = desk_make(&policy_fifo, ONE(100), 1, 0);
    struct lanes_job_view job;
    (void)desk_submit(d, 40, 40);
    (void)desk_submit(d, 40, 40);
    (void)desk_submit(d, 10, 10);
    desk_step(d, 1); /* a step takes 10 ns, so nine take 90; 2 and 3 have the same 10 steps */
    ck_assert(scheduler_job(d->s, 1, &job) && job.position == 0);
    ck_assert(scheduler_job(d->s, 2, &job));
    ck_assert_int_eq(job.position, 1);
    ck_assert_int_eq(job.estimated_start_ns, d->now + 90);
    ck_assert(scheduler_job(d->s, 3, &job));
    ck_assert_int_eq(job.position, 2);
    ck_assert_int_eq(job.estimated_start_ns, d->now + 90); /* beside 2 */
    desk_free(d);
}
END_TEST

START_TEST(test_policy_changes)
{
    struct desk *d = desk_make(&policy_fifo, ONE(100), 1, 0);
    (void)desk_submit(d, 10, 10);
    (void)desk_submit(d, 10, 10);
    desk_step(d, 1);
    desk_said(d, "enter 1:0.0, run 1:0.0, enter 2:0.1, run 1:0.0");
    scheduler_set_policy(d->s, d->now, &policy_las);
    desk_step(d, 1);
    desk_said(d, "run 2:0.1");
    ck_assert_ptr_eq(scheduler_order(d->s), &policy_las);
    ck_assert_str_eq(scheduler_reason(d->s), "");
    desk_free(d);
}
END_TEST

/* Shares count from when `fair` takes over, not from what it remembers of an earlier time. */
START_TEST(test_fair_takes_over_again)
{
    struct desk *d = desk_make(&policy_fair, ONE(100), 1, 0);
    (void)desk_submit(d, 10, 10);
    for (int i = 0; i < 20; i++)
        desk_step(d, 1);
    scheduler_set_policy(d->s, d->now, &policy_fifo);
    (void)desk_submit(d, 10, 10);
    scheduler_set_policy(d->s, d->now, &policy_fair);
    buf_clear(&d->words);
    desk_step(d, 1);
    desk_step(d, 2);
    desk_step(d, 1);
    desk_step(d, 2);
    desk_said(d, "run 2:0.1, run 1:0.0, run 2:0.1, run 1:0.0");
    desk_free(d);
}
END_TEST

START_TEST(test_bad_configurations)
{
    const struct lanes_config good = {
        .max_jobs = 1, .num_devices = 1, .capacity_bytes = {1}, .policy = &policy_auto};
    struct lanes_config bad[6] = {good, good, good, good, good, good};
    struct scheduler *s;
    bad[0].max_jobs = 0;
    bad[1].max_jobs = LIMIT_LANES_JOBS + 1;
    bad[2].num_devices = LANES_MAX_DEVICES + 1;
    bad[3].capacity_bytes[0] = 0;
    bad[4].max_concurrent = LANES_MAX_CONCURRENT + 1;
    bad[5].overtake_limit = -1;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct fault fault = FAULT_NONE;
        ck_assert_int_eq(scheduler_new(&bad[i], &s, &fault), ERR_INVALID_FIELD);
        ck_assert_ptr_null(s);
        ck_assert_str_ne(fault.detail, "");
    }
    for (long n = 0;; n++) {
        alloc_fail_at(n);
        enum err e = scheduler_new(&good, &s, NULL);
        bool failed = alloc_fail_end();
        scheduler_free(s);
        if (!failed) {
            ck_assert_int_eq(e, ERR_OK);
            ck_assert_int_gt(n, 10);
            break;
        }
        ck_assert_int_eq(e, ERR_NO_MEMORY);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_a_job_larger_than_the_device_is_refused,
                                  test_at_most_so_many_jobs,
                                  test_preemption_is_between_iterations,
                                  test_cancel_and_death_end_after_the_iteration,
                                  test_executor_lost,
                                  test_two_devices,
                                  test_an_idle_device_gets_work,
                                  test_resize,
                                  test_overtaking_is_bounded,
                                  test_place_in_the_queue,
                                  test_policy_changes,
                                  test_fair_takes_over_again,
                                  test_bad_configurations};
    return unit_run("scheduler", tests, sizeof tests / sizeof *tests);
}
