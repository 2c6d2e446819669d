/* Who is selected, how much each device does, and how mu follows the loss. */
#include "tests/unit/core/lab.h"

#include <math.h>

static int64_t at(const json_t *list, size_t i)
{
    return json_integer_value(json_array_get(list, i));
}

/* Rounds 0..4 of seed 6 over 30 devices: the paper's selections and stragglers. */
START_TEST(test_golden_schedule)
{
    struct lab lab;
    json_t *golden = unit_golden("schedule_golden.json");
    lab_open(&lab);
    for (int k = 0; k < 30; k++)
        ck_assert_int_eq(lab_register(&lab, k, 20 + k), ERR_OK);
    const char *id = lab_submit(
        &lab, "{\"seed\": 6, \"num_rounds\": 5, \"training\": {\"local_epochs\": 20, \"batch_size\": 10},"
              "\"selection\": {\"devices_per_round\": 10, \"population\": 30},"
              "\"systems\": {\"straggler_fraction\": 0.9}}");
    for (size_t t = 0; t < 5; t++) {
        const json_t *round = json_array_get(json_object_get(golden, "seed_6"), t),
                     *selected = json_object_get(round, "selected");
        struct task_row *tasks;
        ck_assert_uint_eq(lab_tasks(&lab, id, (int64_t)t, &tasks), 10);
        for (size_t i = 0; i < 10; i++) {
            const struct task_row *task = NULL;
            for (size_t k = 0; k < 10; k++)
                if (tasks[k].ordinal == at(selected, i))
                    task = &tasks[k];
            ck_assert_ptr_nonnull(task);
            int64_t per_epoch = (task->num_examples + 9) / 10;
            bool is_straggler = at(json_object_get(round, "rank"), i) >= 1;
            ck_assert_int_eq(task->is_straggler, is_straggler);
            ck_assert_int_eq(task->steps_assigned, 20 * per_epoch);
            ck_assert_int_eq(task->max_steps,
                             per_epoch *
                                 (is_straggler ? at(json_object_get(round, "straggler_epochs"), i) : 20));
        }
        lab_work_all(&lab, 30);
    }
    ck_assert_int_eq(lab_run(&lab, id).is_deterministic, 1);
    json_decref(golden);
    lab_close(&lab);
}
END_TEST

START_TEST(test_a_straggler_of_fedavg_never_finishes)
{
    struct lab lab;
    struct task_row *tasks;
    lab_open(&lab);
    lab_devices(&lab, 10, 4);
    const char *id = lab_submit(
        &lab, "{\"num_rounds\": 8, \"training\": {\"local_epochs\": 2, \"batch_size\": 4}, \"strategy\": "
              "{\"name\": "
              "\"fedavg\", \"params\": null}, \"selection\": {\"devices_per_round\": 10, \"population\": 10},"
              "\"systems\": {\"straggler_fraction\": 0.5}}");
    for (int64_t t = 0; t < 8; t++) {
        ck_assert_uint_eq(lab_tasks(&lab, id, t, &tasks), 10);
        int stragglers = 0;
        for (size_t i = 0; i < 10; i++) {
            stragglers += tasks[i].is_straggler != 0;
            ck_assert_int_eq(tasks[i].steps_assigned, 2);
            if (tasks[i].is_straggler)
                ck_assert_int_eq(tasks[i].max_steps, 1); /* 1 or 2 epochs were drawn, but two would be all */
            else
                ck_assert_int_eq(tasks[i].max_steps, 2);
        }
        ck_assert_int_eq(stragglers, 5);
        lab_work_all(&lab, 10);
        struct round_row round = lab_round(&lab, id, t);
        ck_assert_int_eq(round.received, 5);
        ck_assert_int_eq(round.dropped, 5);
    }
    lab_close(&lab);
}
END_TEST

START_TEST(test_partial_work_is_in_batches_where_the_job_is_one_epoch)
{
    struct lab lab;
    struct task_row *tasks;
    bool is_between = false;
    lab_open(&lab);
    lab_devices(&lab, 4, 100);
    static const char *const jobs[] = {"{\"local_epochs\": 1, \"batch_size\": 1}",
                                       "{\"local_epochs\": null, \"local_steps\": 100}"};
    for (size_t j = 0; j < 2; j++) {
        char changes[400];
        (void)snprintf(changes, sizeof changes,
                       "{\"num_rounds\": 1, \"training\": %s, \"selection\": {\"devices_per_round\": 4, "
                       "\"population\": 4},"
                       "\"systems\": {\"straggler_fraction\": 1}}",
                       jobs[j]);
        const char *id = lab_submit(&lab, changes);
        ck_assert_uint_eq(lab_tasks(&lab, id, 0, &tasks), 4);
        for (size_t i = 0; i < 4; i++) {
            ck_assert_int_eq(tasks[i].steps_assigned, 100);
            ck_assert_int_ge(tasks[i].max_steps, 1);
            ck_assert_int_le(tasks[i].max_steps, 100);
            is_between = is_between || (tasks[i].max_steps > 1 && tasks[i].max_steps < 100);
        }
    }
    ck_assert(is_between);
    lab_close(&lab);
}
END_TEST

/* Two devices of equal size whose losses give f(w_t); the weights do not matter. */
static void dynamic_round(struct lab *lab, const char *id, int64_t t, double loss, double expected_mu)
{
    struct task_offer offer;
    struct round_row round = lab_round(lab, id, t);
    ck_assert_int_eq(round.status, ROUND_SELECTING);
    ck_assert_int_eq(round.evaluators, 2);
    ck_assert_int_eq(round.selected, 0);
    for (int k = 0; k < 2; k++) {
        ck_assert(lab_claim(lab, k, &offer));
        ck_assert_int_eq(offer.task.type, TASK_EVALUATE);
        ck_assert_int_eq(lab_round(lab, id, t).status, ROUND_SELECTING);
        lab_answer(lab, &offer, 0, loss + (k == 0 ? 0.125 : -0.125));
    }
    round = lab_round(lab, id, t);
    ck_assert_int_eq(round.status, ROUND_TRAINING);
    ck_assert_msg(fabs(round.proximal_mu - expected_mu) < 1e-12, "round %lld: mu %.17g", (long long)t,
                  round.proximal_mu);
    for (int k = 0; k < 2; k++) {
        ck_assert(lab_claim(lab, k, &offer));
        ck_assert_int_eq(offer.task.type, TASK_TRAIN);
        ck_assert_int_eq(offer.task.wants, 0);
        ck_assert(offer.proximal_mu == round.proximal_mu);
        lab_answer(lab, &offer, 1, 0);
    }
    ck_assert_int_eq(lab_round(lab, id, t).status, ROUND_CLOSED);
}

START_TEST(test_mu_rises_with_the_loss_and_sinks_after_five_falls)
{
    static const struct {
        double loss, mu;
    } rounds[] = {{4, 0.5},   {5, 0.6}, {5, 0.6},   {4.5, 0.6}, {4, 0.6},
                  {3.5, 0.6}, {3, 0.6}, {2.5, 0.5}, {2, 0.5},   {3, 0.6}};
    struct lab lab;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(
        &lab,
        "{\"num_rounds\": 10, \"strategy\": {\"params\": {\"proximal_mu\": {\"dynamic\": {\"start\": 0.5}}}},"
        "\"evaluation\": null}");
    for (int64_t t = 0; t < 10; t++) {
        dynamic_round(&lab, id, t, rounds[t].loss, rounds[t].mu);
        if (t == 4)
            lab_restart(&lab); /* the state lies in the store */
    }
    ck_assert_int_eq(lab_round(&lab, id, 10).type, ROUND_FINAL);
    lab_work_all(&lab, 2);
    ck_assert_int_eq(lab_run(&lab, id).outcome, RUN_COMPLETED);
    ck_assert_int_eq(lab_run(&lab, id).is_deterministic, 1);
    lab_close(&lab);
}
END_TEST

/* The learning rate is 0.1: from mu = 20 on the term alone diverges. */
START_TEST(test_a_mu_that_grows_too_large_is_warned_of_once)
{
    static const struct {
        double loss, mu;
        size_t warnings;
    } rounds[] = {{4, 19, 0}, {5, 20, 1}, {6, 21, 1}, {6, 21, 1}, {7, 22, 1}};
    struct lab lab;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(&lab, "{\"num_rounds\": 5, \"strategy\": {\"params\": {\"proximal_mu\": "
                                      "{\"dynamic\": {\"start\": 19, \"step\": 1}}}}, \"evaluation\": null}");
    for (int64_t t = 0; t < 5; t++) {
        dynamic_round(&lab, id, t, rounds[t].loss, rounds[t].mu);
        ck_assert_uint_eq(lab_count_events(&lab, id, "warning"), rounds[t].warnings);
    }
    lab_close(&lab);
}
END_TEST

START_TEST(test_a_silent_evaluator_does_not_hold_up_the_training)
{
    struct lab lab;
    struct task_offer offer;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(&lab, "{\"strategy\": {\"params\": {\"proximal_mu\": {\"dynamic\": "
                                      "{\"start\": 0.5}}}}, \"evaluation\": null}");
    lab_work(&lab, 0, 0, 1);
    lab_wait(&lab, 65000);
    struct round_row round = lab_round(&lab, id, 0);
    ck_assert_int_eq(round.status, ROUND_TRAINING);
    ck_assert_int_eq(round.evaluated, 1);
    ck_assert(round.proximal_mu == 0.5);
    ck_assert_int_eq(round.deadline_at, lab.clock.ms + 60000); /* a new one, for the training */
    ck_assert(lab_claim(&lab, 1, &offer));
    ck_assert_int_eq(offer.task.type, TASK_TRAIN);
    ck_assert_int_eq(lab_run(&lab, id).is_deterministic, 0);
    /* Nor does its silence hold up the end: the last update closes the round. */
    lab_answer(&lab, &offer, 1, 0);
    lab_work(&lab, 0, 1, 0);
    round = lab_round(&lab, id, 0);
    ck_assert_int_eq(round.status, ROUND_CLOSED);
    ck_assert_int_eq(round.received, 2);
    lab_close(&lab);
}
END_TEST

START_TEST(test_mu_may_become_dynamic_between_rounds)
{
    struct lab lab;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(&lab, "{\"num_rounds\": 3, \"evaluation\": {\"on\": \"all_devices\"}}");
    ck_assert_int_eq(
        lab_config(&lab, id,
                   "{\"strategy\": {\"params\": {\"proximal_mu\": {\"dynamic\": {\"start\": 0.25}}}}}"),
        ERR_OK);
    lab_work(&lab, 0, 1, 1);
    lab_work(&lab, 1, 1, 1);
    dynamic_round(&lab, id, 1, 1, 0.25);
    dynamic_round(&lab, id, 2, 2, 0.35);
    lab_close(&lab);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_golden_schedule,
                                  test_a_straggler_of_fedavg_never_finishes,
                                  test_partial_work_is_in_batches_where_the_job_is_one_epoch,
                                  test_mu_rises_with_the_loss_and_sinks_after_five_falls,
                                  test_a_mu_that_grows_too_large_is_warned_of_once,
                                  test_a_silent_evaluator_does_not_hold_up_the_training,
                                  test_mu_may_become_dynamic_between_rounds};
    return unit_run("plan_of_work", tests, sizeof tests / sizeof *tests);
}
