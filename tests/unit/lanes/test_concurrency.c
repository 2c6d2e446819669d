/* Iterations at once on a device, kept where they are worth it; and devices side by side. */
#include "tests/unit/lanes/lab.h"

/* Six jobs of 120 to 320 s on some devices; work[n - 1]: what n at once do, in thousandths. */
static struct virtual_summary six_jobs(size_t num_devices, const int work[3], int max_concurrent,
                                       int *out_concurrent)
{
    struct virtual_config config = {.lanes = {.max_jobs = 6,
                                              .num_devices = num_devices,
                                              .capacity_bytes = {1000, 1000},
                                              .max_concurrent = max_concurrent,
                                              .policy = &policy_fair},
                                    .work_permille = {work[0], work[1], work[2]}};
    struct virtual_job rows[6];
    struct virtual_run *v;
    for (int i = 0; i < 6; i++)
        rows[i] = (struct virtual_job){.steps = 400,
                                       .told_steps = 400,
                                       .step_ns = SECOND * (i + 3) / 10,
                                       .persistent_bytes = 10,
                                       .ephemeral_bytes = 100,
                                       .weight = 1};
    ck_assert_int_eq(virtual_new(&config, 6, &v, NULL), ERR_OK);
    virtual_run(v, &policy_fair, rows, 6);
    struct virtual_summary s = virtual_summarise(v);
    *out_concurrent = scheduler_device(virtual_scheduler(v), 0).concurrent;
    virtual_free(v);
    return s;
}

START_TEST(test_kept_where_the_device_does_more)
{
    int concurrent;
    double alone = six_jobs(1, (const int[]){1000, 1400, 1410}, 1, &concurrent).makespan_s;
    ck_assert_int_eq(concurrent, 1);
    double two = six_jobs(1, (const int[]){1000, 1400, 1410}, 3, &concurrent).makespan_s;
    ck_assert_int_eq(concurrent, 2); /* the third would bring less than 5 % */
    ck_near("two at once", alone / two, 1.4, 0.06);
    double three = six_jobs(1, (const int[]){1000, 1400, 1800}, 3, &concurrent).makespan_s;
    ck_near("three at once", alone / three, 1.8, 0.12);
}
END_TEST

START_TEST(test_given_up_where_it_does_not)
{
    int concurrent;
    double alone = six_jobs(1, (const int[]){1000, 1030, 1030}, 1, &concurrent).makespan_s;
    double tried = six_jobs(1, (const int[]){1000, 1030, 1030}, 3, &concurrent).makespan_s;
    ck_assert_int_eq(concurrent, 1);
    ck_at_most("tried / alone", tried / alone, 1.0);
    tried = six_jobs(1, (const int[]){1000, 800, 700}, 3, &concurrent).makespan_s;
    ck_assert_int_eq(concurrent, 1);
    ck_at_most("with a loss", tried / alone, 1.05);
}
END_TEST

/* The same six on two devices, one iteration at a time each. */
START_TEST(test_two_devices_take_half_the_time)
{
    int concurrent;
    const int work[3] = {1000, 1000, 1000};
    double one = six_jobs(1, work, 1, &concurrent).makespan_s;
    double two = six_jobs(2, work, 1, &concurrent).makespan_s;
    ck_at_most("two devices over one", two / one, 0.55);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_kept_where_the_device_does_more, test_given_up_where_it_does_not,
                                  test_two_devices_take_half_the_time};
    return unit_run("concurrency", tests, sizeof tests / sizeof *tests);
}
