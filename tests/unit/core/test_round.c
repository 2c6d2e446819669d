/* How a round closes: answers, counters, the clock, over-selection, evaluation. */
#include "tests/unit/core/lab.h"

#include <math.h>

static void assert_counts(struct lab *lab, const char *id, int64_t n, int64_t received, int64_t dropped,
                          int64_t failed, int64_t late)
{
    struct round_row r = lab_round(lab, id, n);
    ck_assert_int_eq(r.status, ROUND_CLOSED);
    ck_assert_int_eq(r.received, received);
    ck_assert_int_eq(r.dropped, dropped);
    ck_assert_int_eq(r.failed, failed);
    ck_assert_int_eq(r.late, late);
    ck_assert_int_eq(r.selected, received + dropped + failed + late);
}

START_TEST(test_every_selected_device_is_counted_once)
{
    struct lab lab;
    struct task_offer offer;
    struct op_task_update op;
    lab_open(&lab);
    lab_devices(&lab, 5, 4);
    const char *id =
        lab_submit(&lab, "{\"num_rounds\": 1, \"selection\": {\"devices_per_round\": 5, \"population\": 5}}");
    lab_work(&lab, 0, 1, 0);
    ck_assert(lab_claim(&lab, 1, &offer)); /* partial */
    struct task_report r = lab_report(&lab, &offer, 3);
    ck_assert_int_eq(lab_send(&lab, &offer, &r, 3, &op), ERR_OK);
    ck_assert(op.out_accepted && op.out_partial && !op.out_duplicate);
    ck_assert(lab_claim(&lab, 2, &offer));
    r = lab_report(&lab, &offer, 2);
    ck_assert_int_eq(lab_fail(&lab, &offer, "incomplete", &r), ERR_OK);
    ck_assert(lab_claim(&lab, 3, &offer));
    r = lab_report(&lab, &offer, 1);
    ck_assert_int_eq(lab_fail(&lab, &offer, "out_of_memory", &r), ERR_OK);
    lab_advance(&lab);
    ck_assert_int_eq(lab_round(&lab, id, 0).status, ROUND_TRAINING);
    lab_wait(&lab, 65000);
    assert_counts(&lab, id, 0, 2, 1, 1, 1);
    struct round_row round = lab_round(&lab, id, 0);
    ck_assert_int_eq(round.partial, 1);
    ck_assert_int_eq(round.steps_assigned, 20);
    ck_assert_int_eq(round.steps_done, 4 + 3 + 2 + 1);
    ck_assert_int_eq(round.outcome, ROUND_COMPLETED);
    struct task_row *tasks;
    static const int64_t statuses[] = {TASK_COMPLETED, TASK_COMPLETED, TASK_DROPPED, TASK_FAILED, TASK_LATE};
    ck_assert_uint_eq(lab_tasks(&lab, id, 0, &tasks), 5);
    for (size_t i = 0; i < 5; i++)
        ck_assert_int_eq(tasks[i].status, statuses[i]);
    ck_assert_str_eq(tasks[3].code, "out_of_memory");
    ck_assert_uint_eq(lab_count_events(&lab, id, "task_dropped"), 1);
    ck_assert_uint_eq(lab_count_events(&lab, id, "task_failed"), 1);
    /* Partial work weighs as much as whole work: (4 * 1 + 4 * 3) / 8. */
    float w[LAB_PARAMS];
    lab_params(&lab, id, 1, w);
    ck_assert(w[0] == 2.0f);
    ck_assert_int_eq(lab_run(&lab, id).is_deterministic, 0);
    json_t *event = lab_event(&lab, id, "round_closed");
    ck_assert_int_eq(json_integer_value(json_object_get(event, "selected")), 0); /* of the final round */
    json_decref(event);
    lab_close(&lab);
}
END_TEST

START_TEST(test_the_clock_alone_closes_a_round)
{
    struct lab lab;
    struct task_offer offer;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(&lab, "{\"num_rounds\": 1}");
    lab_work(&lab, 0, 1, 0);
    ck_assert(lab_claim(&lab, 1, &offer));
    ck_assert_int_eq(offer.time_left_ms, 60000);
    int64_t next = lab_advance(&lab);
    ck_assert_int_le(next, LAB_START_MS + 65000);
    lab_wait(&lab, 64999);
    ck_assert_int_eq(lab_round(&lab, id, 0).status, ROUND_TRAINING);
    lab_wait(&lab, 1);
    assert_counts(&lab, id, 0, 1, 0, 0, 1);
    ck_assert_int_eq(lab_run(&lab, id).outcome, RUN_COMPLETED);
    ck_assert_int_eq(lab_run(&lab, id).is_deterministic, 0);
    ck_assert_str_ne(lab_run(&lab, id).nondeterminism, "");
    struct task_report r = lab_report(&lab, &offer, 4);
    struct op_task_update op;
    ck_assert_int_eq(lab_send(&lab, &offer, &r, 9, &op), ERR_RUN_NOT_RUNNING);
    lab_close(&lab);
}
END_TEST

START_TEST(test_too_few_updates_extend_the_deadline_three_times)
{
    struct lab lab;
    struct task_offer offer;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(&lab, "{\"reporting\": {\"min_updates\": 2}}");
    lab_work(&lab, 0, 1, 0);
    ck_assert(lab_claim(&lab, 1, &offer));
    for (int k = 1; k <= 3; k++) {
        lab_wait(&lab, 65000);
        struct round_row round = lab_round(&lab, id, 0);
        ck_assert_int_eq(round.status, ROUND_TRAINING);
        ck_assert_int_eq(round.extensions, k);
        ck_assert_int_eq(round.deadline_at, lab.clock.ms + 60000);
    }
    struct task_row *tasks;
    ck_assert_uint_eq(lab_tasks(&lab, id, 0, &tasks), 2);
    ck_assert_int_eq(tasks[1].deadline_at, lab.clock.ms + 60000);
    lab_wait(&lab, 65000);
    assert_counts(&lab, id, 0, 1, 0, 0, 1);
    struct round_row round = lab_round(&lab, id, 0);
    ck_assert_int_eq(round.outcome, ROUND_SKIPPED);
    ck_assert_str_eq(round.reason, "1 updates, at least 2 are needed; the model stays");
    ck_assert_int_eq(round.model_version_out, 1);
    ck_assert_str_eq(lab_model(&lab, id, 0).weights_sha256, lab_model(&lab, id, 1).weights_sha256);
    ck_assert_uint_eq(lab_count_events(&lab, id, "round_extended"), 3);
    ck_assert(lab_has_round(&lab, id, 1)); /* and it goes on */
    lab_close(&lab);
}
END_TEST

START_TEST(test_an_extended_round_still_takes_its_updates)
{
    struct lab lab;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(&lab, "{\"reporting\": {\"min_updates\": 2}}");
    lab_work(&lab, 0, 1, 0);
    lab_wait(&lab, 65000);
    lab_work(&lab, 1, 1, 0);
    assert_counts(&lab, id, 0, 2, 0, 0, 0);
    ck_assert_int_eq(lab_round(&lab, id, 0).outcome, ROUND_COMPLETED);
    lab_close(&lab);
}
END_TEST

START_TEST(test_too_few_updates_skip_or_fail)
{
    struct lab lab;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *skips = lab_submit(
        &lab, "{\"num_rounds\": 1, \"reporting\": {\"min_updates\": 2, \"on_too_few\": \"skip\"}}");
    lab_work(&lab, 0, 1, 0);
    lab_wait(&lab, 65000);
    ck_assert_int_eq(lab_round(&lab, skips, 0).outcome, ROUND_SKIPPED);
    ck_assert_int_eq(lab_run(&lab, skips).outcome, RUN_COMPLETED);
    const char *fails = lab_submit(
        &lab, "{\"num_rounds\": 1, \"reporting\": {\"min_updates\": 2, \"on_too_few\": \"fail\"}}");
    lab_work(&lab, 0, 1, 0);
    lab_wait(&lab, 65000);
    ck_assert_int_eq(lab_round(&lab, fails, 0).outcome, ROUND_FAILED);
    struct run_row run = lab_run(&lab, fails);
    ck_assert_int_eq(run.outcome, RUN_FAILED);
    ck_assert_str_eq(run.status_reason, "round 0 failed: 1 updates, at least 2 are needed; the model stays");
    ck_assert_uint_eq(lab_count_events(&lab, fails, "run_finished"), 1);
    lab_close(&lab);
}
END_TEST

START_TEST(test_no_update_at_all_keeps_the_model)
{
    struct lab lab;
    struct task_offer offer;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(&lab, "{\"num_rounds\": 1}");
    for (int k = 0; k < 2; k++) {
        ck_assert(lab_claim(&lab, k, &offer));
        struct task_report r = lab_report(&lab, &offer, 0);
        ck_assert_int_eq(lab_fail(&lab, &offer, "no_power", &r), ERR_OK);
    }
    lab_advance(&lab); /* all have answered: no clock is needed */
    assert_counts(&lab, id, 0, 0, 0, 2, 0);
    ck_assert_int_eq(lab_round(&lab, id, 0).outcome, ROUND_SKIPPED);
    ck_assert_str_eq(lab_model(&lab, id, 0).aggregate_sha256, lab_model(&lab, id, 1).aggregate_sha256);
    lab_close(&lab);
}
END_TEST

START_TEST(test_without_deadline_a_round_waits)
{
    struct lab lab;
    struct task_offer offer;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(&lab, "{\"reporting\": {\"deadline_s\": 0}}");
    ck_assert(lab_claim(&lab, 0, &offer));
    ck_assert_int_eq(offer.time_left_ms, -1);
    lab_answer(&lab, &offer, 1, 0);
    lab_wait(&lab, (int64_t)10 * 86400 * 1000);
    ck_assert_int_eq(lab_round(&lab, id, 0).status, ROUND_TRAINING);
    lab_close(&lab);
}
END_TEST

START_TEST(test_over_selection_takes_the_first_and_cancels_the_rest)
{
    struct lab lab;
    struct task_offer offers[6], last;
    struct op_task_update op;
    lab_open(&lab);
    lab_devices(&lab, 6, 4);
    const char *id = lab_submit(
        &lab, "{\"selection\": {\"devices_per_round\": 4, \"population\": 6, \"over_selection\": 1.5}}");
    ck_assert_int_eq(lab_round(&lab, id, 0).selected, 6);
    for (int k = 0; k < 6; k++)
        ck_assert(lab_claim(&lab, k, &offers[k]));
    for (int k = 0; k < 4; k++)
        lab_answer(&lab, &offers[k], 1, 0);
    assert_counts(&lab, id, 0, 4, 0, 0, 2);
    struct task_row *tasks;
    ck_assert_uint_eq(lab_tasks(&lab, id, 0, &tasks), 6);
    ck_assert_int_eq(tasks[4].status, TASK_CANCELLED);
    ck_assert_int_eq(lab_directive(&lab, &offers[5]), DIRECTIVE_CANCEL);
    struct task_report r = lab_report(&lab, &offers[5], 4);
    ck_assert_int_eq(lab_send(&lab, &offers[5], &r, 9, &op), ERR_STALE_ROUND);
    ck_assert_int_eq(lab_run(&lab, id).is_deterministic, 0);
    ck_assert(lab_claim(&lab, 0, &last));
    ck_assert_int_eq(last.task.round, 1);
    lab_close(&lab);
}
END_TEST

START_TEST(test_directives)
{
    struct lab lab;
    struct task_offer offer, other;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(&lab, "{}");
    ck_assert(lab_claim(&lab, 0, &offer));
    ck_assert_int_eq(lab_directive(&lab, &offer), DIRECTIVE_NONE);
    lab_wait(&lab, 60000);
    ck_assert_int_eq(lab_directive(&lab, &offer), DIRECTIVE_RETURN_PARTIAL);
    other = offer;
    other.task.device_id = lab.devices[1];
    ck_assert_int_eq(lab_directive(&lab, &other), DIRECTIVE_CANCEL);
    other.task.id = "00000000000000000000000000000000";
    ck_assert_int_eq(lab_directive(&lab, &other), DIRECTIVE_CANCEL);
    struct op_task_update op;
    struct task_report r = lab_report(&lab, &offer, 2); /* it returns what it has */
    r.stop_reason = "asked";
    ck_assert_int_eq(lab_send(&lab, &offer, &r, 1, &op), ERR_OK);
    ck_assert(op.out_partial);
    ck_assert_int_eq(lab_directive(&lab, &offer), DIRECTIVE_CANCEL);
    ck_assert_int_eq(lab_run(&lab, id).is_deterministic, 0);
    ck_assert(lab_claim(&lab, 1, &other));
    ck_assert_int_eq(lab_action(&lab, id, RUN_ACTION_STOP), ERR_OK);
    ck_assert_int_eq(lab_directive(&lab, &other), DIRECTIVE_CANCEL);
    lab_close(&lab);
}
END_TEST

START_TEST(test_selected_devices_evaluate_within_their_task)
{
    struct lab lab;
    struct task_offer offer;
    lab_open(&lab);
    for (int k = 0; k < 3; k++)
        ck_assert_int_eq(lab_register(&lab, k, 1 + 2 * k), ERR_OK); /* 1, 3, 5 examples */
    const char *id = lab_submit(
        &lab,
        "{\"num_rounds\": 1, \"selection\": {\"population\": 3}, \"evaluation\": {\"on\": \"selected\", "
        "\"gamma\": true}}");
    int selected[2], n = 0;
    for (int k = 0; k < 3; k++)
        if (lab_claim(&lab, k, &offer)) {
            ck_assert_int_eq(offer.task.wants, WANT_EVALUATION | WANT_GAMMA);
            selected[n++] = k;
        }
    ck_assert_int_eq(n, 2);
    lab_work(&lab, selected[0], 1, 1.0);
    ck_assert(lab_metric(&lab, id, 0, "train_loss", selected[0]) == 1.0); /* during the round */
    ck_assert(isnan(lab_metric(&lab, id, 0, "train_loss", -1)));
    lab_work(&lab, selected[1], 1, 2.0);
    double n0 = 1 + 2 * selected[0], n1 = 1 + 2 * selected[1];
    ck_assert(lab_metric(&lab, id, 0, "train_loss", -1) == (n0 * 1.0 + n1 * 2.0) / (n0 + n1));
    ck_assert(lab_metric(&lab, id, 0, "test_loss", -1) == 0.75);
    ck_assert(lab_metric(&lab, id, 0, "test_accuracy", -1) == 0.5);
    json_t *metrics = lab_json(lab_round(&lab, id, 0).metrics);
    ck_assert(json_number_value(json_object_get(metrics, "test_accuracy")) == 0.5);
    json_decref(metrics);
    /* The final round: evaluate tasks, and w_T's metrics. */
    ck_assert_int_eq(lab_round(&lab, id, 1).type, ROUND_FINAL);
    ck_assert_int_eq(lab_round(&lab, id, 1).evaluators, 2);
    ck_assert_int_eq(lab_round(&lab, id, 1).selected, 0);
    lab_work_all(&lab, 3);
    ck_assert_int_eq(lab_round(&lab, id, 1).status, ROUND_CLOSED);
    ck_assert(!isnan(lab_metric(&lab, id, 1, "train_loss", -1)));
    ck_assert_int_eq(lab_run(&lab, id).outcome, RUN_COMPLETED);
    ck_assert_int_eq(lab_run(&lab, id).is_deterministic, 1);
    lab_close(&lab);
}
END_TEST

START_TEST(test_all_devices_evaluate_beside_the_training)
{
    struct lab lab;
    struct task_row *tasks;
    lab_open(&lab);
    lab_devices(&lab, 5, 4);
    const char *id = lab_submit(
        &lab,
        "{\"num_rounds\": 1, \"selection\": {\"population\": 5}, \"evaluation\": {\"on\": \"all_devices\"}}");
    struct round_row round = lab_round(&lab, id, 0);
    ck_assert_int_eq(round.selected, 2);
    ck_assert_int_eq(round.evaluators, 3);
    ck_assert_uint_eq(lab_tasks(&lab, id, 0, &tasks), 5);
    for (size_t i = 0; i < 5; i++)
        ck_assert_int_eq(tasks[i].wants, WANT_EVALUATION);
    /* The training is over before the evaluation is: the round waits for it. */
    for (size_t i = 0; i < 5; i++)
        if (tasks[i].type == TASK_TRAIN)
            lab_work(&lab, tasks[i].ordinal, 1, 1);
    ck_assert_int_eq(lab_round(&lab, id, 0).status, ROUND_TRAINING);
    ck_assert_str_eq(lab_run(&lab, id).status_reason,
                     "round 0 of 1: waiting for evaluations, 0 of 3 are there");
    for (size_t i = 0; i < 5; i++)
        if (tasks[i].type == TASK_EVALUATE)
            lab_work(&lab, tasks[i].ordinal, 1, 1);
    assert_counts(&lab, id, 0, 2, 0, 0, 0);
    ck_assert_int_eq(lab_round(&lab, id, 0).evaluated, 3);
    ck_assert_int_eq(lab_round(&lab, id, 1).evaluators, 5);
    lab_work_all(&lab, 5);
    ck_assert_int_eq(lab_run(&lab, id).outcome, RUN_COMPLETED);
    lab_close(&lab);
}
END_TEST

START_TEST(test_a_silent_evaluator_does_not_hang_the_round)
{
    struct lab lab;
    struct task_row *tasks;
    lab_open(&lab);
    lab_devices(&lab, 5, 4);
    const char *id = lab_submit(
        &lab,
        "{\"num_rounds\": 1, \"selection\": {\"population\": 5}, \"evaluation\": {\"on\": \"all_devices\"}}");
    ck_assert_uint_eq(lab_tasks(&lab, id, 0, &tasks), 5);
    for (size_t i = 0; i < 5; i++)
        if (tasks[i].type == TASK_TRAIN)
            lab_work(&lab, tasks[i].ordinal, 1, 1);
    lab_wait(&lab, 65000);
    assert_counts(&lab, id, 0, 2, 0, 0, 0);
    ck_assert_int_eq(lab_round(&lab, id, 0).outcome, ROUND_COMPLETED);
    ck_assert_int_eq(lab_round(&lab, id, 0).evaluators, 3);
    ck_assert_int_eq(lab_round(&lab, id, 0).evaluated, 0);
    lab_wait(&lab, 65000); /* nor the run's end */
    ck_assert_int_eq(lab_run(&lab, id).outcome, RUN_COMPLETED);
    lab_close(&lab);
}
END_TEST

START_TEST(test_evaluation_every_other_round)
{
    struct lab lab;
    struct task_offer offer;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(
        &lab, "{\"num_rounds\": 3, \"evaluation\": {\"on\": \"selected\", \"every\": 2, \"gamma\": true}}");
    static const int64_t wants[] = {WANT_EVALUATION | WANT_GAMMA, 0, WANT_EVALUATION | WANT_GAMMA,
                                    WANT_EVALUATION};
    for (int t = 0; t < 4; t++)
        for (int k = 0; k < 2; k++) {
            ck_assert(lab_claim(&lab, k, &offer));
            ck_assert_int_eq(offer.task.round, t);
            ck_assert_int_eq(offer.task.wants, wants[t]);
            lab_answer(&lab, &offer, 1, 1);
        }
    ck_assert_int_eq(lab_run(&lab, id).outcome, RUN_COMPLETED);
    lab_close(&lab);
}
END_TEST

START_TEST(test_dropped_devices_count_in_the_evaluation)
{
    struct lab lab;
    struct task_offer offer;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(
        &lab,
        "{\"num_rounds\": 1, \"strategy\": {\"name\": \"fedavg\", \"params\": null}, \"evaluation\": "
        "{\"on\": "
        "\"selected\"}, \"systems\": {\"straggler_fraction\": 0.5}, \"training\": {\"local_epochs\": 5}}");
    int stragglers = 0;
    for (int k = 0; k < 2; k++) {
        ck_assert(lab_claim(&lab, k, &offer));
        ck_assert(!offer.accept_partial);
        ck_assert_int_eq(offer.task.steps_assigned, 20);
        stragglers += offer.task.max_steps < 20;
        lab_answer(&lab, &offer, 1, 1 + k);
    }
    ck_assert_int_eq(stragglers, 1);
    assert_counts(&lab, id, 0, 1, 1, 0, 0);
    ck_assert(lab_metric(&lab, id, 0, "train_loss", -1) == 1.5);
    ck_assert_int_eq(lab_run(&lab, id).is_deterministic, 1);
    lab_close(&lab);
}
END_TEST

START_TEST(test_budgets_follow_the_measured_speed)
{
    struct lab lab;
    struct task_offer offer;
    struct op_task_update op;
    lab_open(&lab);
    lab_devices(&lab, 2, 1000);
    const char *id = lab_submit(&lab, "{\"num_rounds\": 2}");
    for (int k = 0; k < 2; k++) {
        ck_assert(lab_claim(&lab, k, &offer));
        ck_assert_int_eq(offer.task.max_steps, 1000); /* nothing is known yet */
        struct task_report r = lab_report(&lab, &offer, 1000);
        r.compute_ms = k == 0 ? 1000 : 600000; /* 1000 and 1.67 steps a second */
        ck_assert_int_eq(lab_send(&lab, &offer, &r, 1, &op), ERR_OK);
    }
    ck_assert_int_eq(lab_run(&lab, id).is_deterministic, 1);
    lab_advance(&lab);
    ck_assert(lab_claim(&lab, 0, &offer));
    ck_assert_int_eq(offer.task.max_steps, 1000);
    ck_assert(lab_claim(&lab, 1, &offer));
    ck_assert_int_eq(offer.task.steps_assigned, 1000);
    ck_assert_int_eq(offer.task.max_steps, 100); /* of 60 s */
    ck_assert_int_eq(lab_run(&lab, id).is_deterministic, 0);
    lab_close(&lab);
}
END_TEST

START_TEST(test_devices_are_notified_of_their_tasks)
{
    struct lab lab;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    lab_topics_clear(&lab);
    const char *id = lab_submit(&lab, "{}");
    ck_assert(lab_was_notified(&lab, "device", lab.devices[0]));
    ck_assert(lab_was_notified(&lab, "device", lab.devices[1]));
    ck_assert(lab_was_notified(&lab, "run", id));
    ck_assert(lab_was_notified(&lab, "events", ""));
    ck_assert(lab_was_notified(&lab, "advance", ""));
    lab_close(&lab);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_every_selected_device_is_counted_once,
                                  test_the_clock_alone_closes_a_round,
                                  test_too_few_updates_extend_the_deadline_three_times,
                                  test_an_extended_round_still_takes_its_updates,
                                  test_too_few_updates_skip_or_fail,
                                  test_no_update_at_all_keeps_the_model,
                                  test_without_deadline_a_round_waits,
                                  test_over_selection_takes_the_first_and_cancels_the_rest,
                                  test_directives,
                                  test_selected_devices_evaluate_within_their_task,
                                  test_all_devices_evaluate_beside_the_training,
                                  test_a_silent_evaluator_does_not_hang_the_round,
                                  test_evaluation_every_other_round,
                                  test_dropped_devices_count_in_the_evaluation,
                                  test_budgets_follow_the_measured_speed,
                                  test_devices_are_notified_of_their_tasks};
    return unit_run("round", tests, sizeof tests / sizeof *tests);
}
