/* The life of a run, from its submission to its last model. */
#include "tests/unit/core/lab.h"

START_TEST(test_a_run_goes_from_submission_to_its_end)
{
    struct lab lab;
    float w[LAB_PARAMS];
    lab_open(&lab);
    const char *id = lab_submit(&lab, "{}");
    struct run_row run = lab_run(&lab, id);
    ck_assert_int_eq(run.status, RUN_WAITING_FOR_DEVICES);
    ck_assert_str_eq(run.status_reason,
                     "waiting for devices: 0 of 2 of dataset \"hand\" registered; missing ordinals 0, 1");
    lab_devices(&lab, 2, 4);
    run = lab_run(&lab, id);
    ck_assert_int_eq(run.status, RUN_RUNNING);
    ck_assert_int_eq(run.population, 2);
    struct round_row round = lab_round(&lab, id, 0);
    ck_assert_int_eq(round.status, ROUND_TRAINING);
    ck_assert_int_eq(round.selected, 2);
    ck_assert_int_eq(round.steps_assigned, 8);

    lab_work(&lab, 0, 1.0f, 0);
    ck_assert_int_eq(lab_round(&lab, id, 0).received, 1);
    lab_work(&lab, 1, 3.0f, 0);
    round = lab_round(&lab, id, 0);
    ck_assert_int_eq(round.status, ROUND_CLOSED);
    ck_assert_int_eq(round.outcome, ROUND_COMPLETED);
    ck_assert_int_eq(round.model_version_out, 1);
    ck_assert_int_eq(round.steps_done, 8);
    lab_params(&lab, id, 1, w);
    for (int i = 0; i < LAB_PARAMS; i++)
        ck_assert(w[i] == 2.0f);

    lab_work(&lab, 1, 5.0f, 0);
    lab_work(&lab, 0, 5.0f, 0);
    run = lab_run(&lab, id);
    ck_assert_int_eq(run.status, RUN_FINISHED);
    ck_assert_int_eq(run.outcome, RUN_COMPLETED);
    ck_assert_str_eq(run.status_reason, "all 2 rounds are done");
    ck_assert_int_eq(run.is_deterministic, 1);
    round = lab_round(&lab, id, 2);
    ck_assert_int_eq(round.type, ROUND_FINAL);
    ck_assert_int_eq(round.status, ROUND_CLOSED);
    ck_assert_str_eq(round.aggregate_sha256, lab_round(&lab, id, 1).aggregate_sha256);
    ck_assert_uint_eq(lab_count_events(&lab, id, "round_closed"), 3);
    ck_assert_uint_eq(lab_count_events(&lab, id, "update_accepted"), 4);
    ck_assert_uint_eq(lab_count_events(&lab, id, "run_finished"), 1);
    lab_close(&lab);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_a_run_goes_from_submission_to_its_end};
    return unit_run("run_life", tests, sizeof tests / sizeof *tests);
}
