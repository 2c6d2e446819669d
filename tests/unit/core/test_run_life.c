/* The life of a run, from its submission to its last model. */
#include "tests/unit/core/lab.h"

#include <math.h>

#define ck_assert_reason(lab, id, text) ck_assert_str_eq(lab_run(lab, id).status_reason, text)

START_TEST(test_a_run_goes_from_submission_to_its_end)
{
    struct lab lab;
    float w[LAB_PARAMS];
    lab_open(&lab);
    const char *id = lab_submit(&lab, "{}");
    struct run_row run = lab_run(&lab, id);
    ck_assert_int_eq(run.status, RUN_WAITING_FOR_DEVICES);
    ck_assert_reason(&lab, id,
                     "waiting for devices: 0 of 2 of dataset \"hand\" registered; missing ordinals 0, 1");
    lab_devices(&lab, 2, 4);
    run = lab_run(&lab, id);
    ck_assert_int_eq(run.status, RUN_RUNNING);
    ck_assert_int_eq(run.population, 2);
    struct round_row round = lab_round(&lab, id, 0);
    ck_assert_int_eq(round.status, ROUND_TRAINING);
    ck_assert_int_eq(round.selected, 2);
    ck_assert_int_eq(round.steps_assigned, 8);
    lab_params(&lab, id, 0, w);
    for (int i = 0; i < LAB_PARAMS; i++)
        ck_assert(w[i] == 0.0f);

    lab_work(&lab, 0, 1.0f, 0);
    ck_assert_int_eq(lab_round(&lab, id, 0).received, 1);
    ck_assert_reason(&lab, id, "round 0 of 2: waiting for updates, 1 of 2 devices have answered");
    lab_work(&lab, 1, 3.0f, 0);
    round = lab_round(&lab, id, 0);
    ck_assert_int_eq(round.status, ROUND_CLOSED);
    ck_assert_int_eq(round.outcome, ROUND_COMPLETED);
    ck_assert_int_eq(round.model_version_out, 1);
    ck_assert_int_eq(round.steps_done, 8);
    ck_assert_int_gt(round.bytes_in, 0);
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
    ck_assert_int_eq(round.model_version_in, 2);
    ck_assert_int_eq(round.model_version_out, 2);
    ck_assert_str_eq(round.aggregate_sha256, lab_round(&lab, id, 1).aggregate_sha256);
    ck_assert_uint_eq(lab_count_events(&lab, id, "round_opened"), 3);
    ck_assert_uint_eq(lab_count_events(&lab, id, "round_closed"), 3);
    ck_assert_uint_eq(lab_count_events(&lab, id, "update_accepted"), 4);
    ck_assert_uint_eq(lab_count_events(&lab, id, "run_finished"), 1);
    lab_close(&lab);
}
END_TEST

START_TEST(test_without_autostart_a_run_is_pending)
{
    struct lab lab;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(&lab, "{\"autostart\": false}");
    ck_assert_int_eq(lab_run(&lab, id).status, RUN_PENDING);
    ck_assert_int_eq(lab_action(&lab, id, RUN_ACTION_PAUSE), ERR_CONFLICT);
    ck_assert_int_eq(lab_action(&lab, id, RUN_ACTION_RESUME), ERR_CONFLICT);
    ck_assert_int_eq(lab_action(&lab, id, RUN_ACTION_START), ERR_OK);
    ck_assert_int_eq(lab_run(&lab, id).status, RUN_RUNNING);
    ck_assert_int_eq(lab_action(&lab, id, RUN_ACTION_START), ERR_OK); /* already so */
    lab_close(&lab);
}
END_TEST

START_TEST(test_a_paused_run_ends_its_round_and_opens_no_other)
{
    struct lab lab;
    struct task_offer offer;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(&lab, "{}");
    lab_work(&lab, 0, 1, 0);
    ck_assert_int_eq(lab_action(&lab, id, RUN_ACTION_PAUSE), ERR_OK);
    ck_assert_int_eq(lab_action(&lab, id, RUN_ACTION_PAUSE), ERR_OK);
    ck_assert_int_eq(lab_action(&lab, id, RUN_ACTION_START), ERR_CONFLICT);
    lab_work(&lab, 1, 1, 0);
    ck_assert_int_eq(lab_round(&lab, id, 0).status, ROUND_CLOSED);
    ck_assert(!lab_has_round(&lab, id, 1));
    ck_assert(!lab_claim(&lab, 0, &offer));
    ck_assert_int_eq(lab_run(&lab, id).status, RUN_PAUSED);
    ck_assert_reason(&lab, id, "paused after round 0 of 2: resume to go on");
    lab_restart(&lab);
    lab_wait(&lab, 3600 * 1000);
    ck_assert(!lab_has_round(&lab, id, 1));
    ck_assert_int_eq(lab_action(&lab, id, RUN_ACTION_RESUME), ERR_OK);
    ck_assert_int_eq(lab_action(&lab, id, RUN_ACTION_RESUME), ERR_OK);
    lab_work_all(&lab, 2);
    ck_assert_int_eq(lab_run(&lab, id).outcome, RUN_COMPLETED);
    ck_assert_uint_eq(lab_count_events(&lab, id, "run_paused"), 1);
    ck_assert_uint_eq(lab_count_events(&lab, id, "run_resumed"), 1);
    lab_close(&lab);
}
END_TEST

START_TEST(test_a_resumed_run_goes_on_in_its_open_round)
{
    struct lab lab;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(&lab, "{}");
    lab_work(&lab, 0, 1, 0);
    ck_assert_int_eq(lab_action(&lab, id, RUN_ACTION_PAUSE), ERR_OK);
    ck_assert_int_eq(lab_action(&lab, id, RUN_ACTION_RESUME), ERR_OK);
    ck_assert_reason(&lab, id, "round 0 of 2: waiting for updates, 1 of 2 devices have answered");
    lab_work_all(&lab, 2);
    ck_assert_int_eq(lab_run(&lab, id).outcome, RUN_COMPLETED);
    lab_close(&lab);
}
END_TEST

START_TEST(test_a_stopped_run_stays_stopped)
{
    struct lab lab;
    struct task_offer offer;
    struct op_task_update op;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(&lab, "{}");
    int64_t bytes = lab.blobs->ops->total_bytes(lab.blobs);
    lab_work(&lab, 0, 1, 0);
    ck_assert(lab_claim(&lab, 1, &offer));
    ck_assert_int_eq(lab_action(&lab, id, RUN_ACTION_STOP), ERR_OK);
    struct run_row run = lab_run(&lab, id);
    ck_assert_int_eq(run.status, RUN_FINISHED);
    ck_assert_int_eq(run.outcome, RUN_STOPPED);
    struct round_row round = lab_round(&lab, id, 0);
    ck_assert_int_eq(round.status, ROUND_CLOSED);
    ck_assert_int_eq(round.selected, round.received + round.dropped + round.failed + round.late);
    /* The update's file is gone, the model's is not. */
    ck_assert_int_eq(lab.blobs->ops->total_bytes(lab.blobs), bytes);
    struct task_report r = lab_report(&lab, &offer, 4);
    ck_assert_int_eq(lab_send(&lab, &offer, &r, 1, &op), ERR_RUN_NOT_RUNNING);
    ck_assert_int_eq(lab_action(&lab, id, RUN_ACTION_STOP), ERR_OK);
    ck_assert_int_eq(lab_action(&lab, id, RUN_ACTION_START), ERR_CONFLICT);
    ck_assert_int_eq(lab_action(&lab, id, RUN_ACTION_RESUME), ERR_CONFLICT);
    lab_restart(&lab);
    lab_wait(&lab, 3600 * 1000);
    ck_assert_int_eq(lab_run(&lab, id).outcome, RUN_STOPPED);
    ck_assert(!lab_claim(&lab, 1, &offer));
    lab_close(&lab);
}
END_TEST

START_TEST(test_runs_that_wait_pause_or_never_began_can_be_stopped)
{
    struct lab lab;
    lab_open(&lab);
    const char *pending = lab_submit(&lab, "{\"autostart\": false}"), *waiting = lab_submit(&lab, "{}");
    ck_assert_int_eq(lab_action(&lab, pending, RUN_ACTION_STOP), ERR_OK);
    ck_assert_int_eq(lab_action(&lab, waiting, RUN_ACTION_STOP), ERR_OK);
    lab_devices(&lab, 2, 4);
    ck_assert_int_eq(lab_run(&lab, pending).outcome, RUN_STOPPED);
    ck_assert_int_eq(lab_run(&lab, waiting).outcome, RUN_STOPPED);
    ck_assert(!lab_has_round(&lab, waiting, 0));
    const char *paused = lab_submit(&lab, "{}");
    ck_assert_int_eq(lab_action(&lab, paused, RUN_ACTION_PAUSE), ERR_OK);
    lab_work_all(&lab, 2);
    ck_assert_int_eq(lab_action(&lab, paused, RUN_ACTION_STOP), ERR_OK);
    ck_assert_int_eq(lab_run(&lab, paused).outcome, RUN_STOPPED);
    const char *done = lab_submit(&lab, "{\"num_rounds\": 1}");
    lab_work_all(&lab, 2);
    ck_assert_int_eq(lab_run(&lab, done).outcome, RUN_COMPLETED);
    ck_assert_int_eq(lab_action(&lab, done, RUN_ACTION_STOP), ERR_CONFLICT);
    ck_assert_int_eq(lab_action(&lab, "00000000000000000000000000000000", RUN_ACTION_STOP), ERR_NOT_FOUND);
    lab_close(&lab);
}
END_TEST

START_TEST(test_config_changes_from_the_next_round_on)
{
    struct lab lab;
    struct task_offer offer;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(&lab, "{\"num_rounds\": 3}");
    ck_assert(lab_claim(&lab, 0, &offer));
    ck_assert_int_eq(lab_config(&lab, id,
                                "{\"training\": {\"learning_rate\": 0.5, \"local_steps\": 7},"
                                " \"strategy\": {\"params\": {\"proximal_mu\": 2}}}"),
                     ERR_OK);
    lab_answer(&lab, &offer, 1, 0); /* as it was told before the change */
    lab_work(&lab, 1, 1, 0);
    ck_assert(lab_claim(&lab, 0, &offer));
    ck_assert(offer.learning_rate == 0.5);
    ck_assert(offer.proximal_mu == 2);
    ck_assert_int_eq(offer.local_steps, 7);
    ck_assert_int_eq(offer.local_epochs, 0);
    ck_assert_int_eq(offer.task.steps_assigned, 7);
    json_t *first = lab_json(lab_round(&lab, id, 0).config),
           *second = lab_json(lab_round(&lab, id, 1).config);
    ck_assert(json_number_value(json_object_get(json_object_get(first, "training"), "learning_rate")) == 0.1);
    ck_assert(json_number_value(json_object_get(json_object_get(second, "training"), "learning_rate")) ==
              0.5);
    ck_assert_ptr_null(json_object_get(json_object_get(second, "training"), "local_epochs"));
    json_decref(first);
    json_decref(second);
    ck_assert_uint_eq(lab_count_events(&lab, id, "config_changed"), 1);
    json_t *event = lab_event(&lab, id, "config_changed");
    ck_assert_int_eq(json_integer_value(json_object_get(event, "from_round")), 1);
    json_decref(event);
    ck_assert_uint_eq(lab_count_events(&lab, id, "warning"), 0);
    ck_assert_int_eq(lab_config(&lab, id, "{\"training\": {\"learning_rate\": 1.0}}"), ERR_OK);
    ck_assert_uint_eq(lab_count_events(&lab, id, "warning"), 1); /* learning_rate * proximal_mu = 2 */
    lab_close(&lab);
}
END_TEST

static void work_a_round(struct lab *lab, int64_t round, double rate)
{
    struct task_offer offer;
    for (int64_t device = 0; device < 2; device++) {
        ck_assert(lab_claim(lab, device, &offer));
        ck_assert_int_eq(offer.task.round, round);
        ck_assert_double_eq_tol(offer.learning_rate, rate, 1e-15);
        lab_answer(lab, &offer, 1, 0);
    }
}

/* Devices are told each round's rate and all of the optimizer; both may change while the run goes on, and a
 * setting that the new optimizer does not have is forgotten. */
START_TEST(test_optimizer_and_rate_of_each_round)
{
    struct lab lab;
    struct task_offer offer;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(
        &lab,
        "{\"num_rounds\": 6, \"training\": {\"optimizer\": \"adam\", \"beta2\": 0.99, \"clip_norm\": 3, "
        "\"learning_rate_schedule\": {\"type\": \"step\", \"step_size\": 1, \"gamma\": 0.5, "
        "\"warmup_rounds\": 1}}}");
    work_a_round(&lab, 0, 0.05);
    work_a_round(&lab, 1, 0.1);
    ck_assert_int_eq(lab_config(&lab, id, "{\"training\": {\"momentum\": 0.5}}"), ERR_INVALID_FIELD);
    ck_assert_str_eq(lab.fault.field, "training.momentum");
    ck_assert_int_eq(lab_config(&lab, id, "{\"training\": {\"optimizer\": \"prox_momentum\"}}"), ERR_OK);
    ck_assert(lab_claim(&lab, 0, &offer));
    ck_assert_str_eq(offer.optimizer, "adam"); /* of the round that is under way */
    ck_assert(offer.settings.beta2 == 0.99 && offer.settings.beta1 == 0.9 && offer.settings.clip_norm == 3);
    struct task_report r = lab_report(&lab, &offer, 1);
    r.learning_rate = 0.1;
    struct op_task_update refused;
    ck_assert_int_eq(lab_send(&lab, &offer, &r, 1, &refused), ERR_CONFIG_MISMATCH);
    ck_assert_str_eq(refused.base.fault.field, "learning_rate");
    lab_answer(&lab, &offer, 1, 0);
    lab_work(&lab, 1, 1, 0);
    ck_assert(lab_claim(&lab, 0, &offer));
    ck_assert_str_eq(offer.optimizer, "prox_momentum");
    ck_assert(offer.settings.momentum == 0.9 && offer.settings.clip_norm == 3);
    ck_assert_double_eq_tol(offer.learning_rate, 0.025, 1e-15);
    lab_answer(&lab, &offer, 1, 0);
    ck_assert_int_eq(
        lab_config(&lab, id, "{\"training\": {\"learning_rate_schedule\": null, \"clip_norm\": null}}"),
        ERR_OK);
    lab_work(&lab, 1, 1, 0);
    ck_assert(lab_claim(&lab, 0, &offer));
    ck_assert(offer.learning_rate == 0.1 && !(offer.settings.clip_norm > 0));
    json_t *config = lab_json(lab_round(&lab, id, 4).config), *training = json_object_get(config, "training");
    ck_assert(json_is_null(json_object_get(training, "clip_norm")));
    ck_assert(json_is_null(json_object_get(training, "learning_rate_schedule")));
    ck_assert_ptr_null(json_object_get(training, "beta2"));
    json_decref(config);
    lab_close(&lab);
}
END_TEST

/* Each time to another value; the same change sent again is none. */
static int64_t changed_from(struct lab *lab, const char *id)
{
    char patch[80];
    size_t before = lab_count_events(lab, id, "config_changed");
    (void)snprintf(patch, sizeof patch, "{\"training\": {\"learning_rate\": 0.25%zu}}", before);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(lab_config(lab, id, patch), ERR_OK);
        ck_assert_uint_eq(lab_count_events(lab, id, "config_changed"), before + 1);
    }
    json_t *event = lab_event(lab, id, "config_changed");
    int64_t round = json_integer_value(json_object_get(event, "from_round"));
    json_decref(event);
    return round;
}

START_TEST(test_a_config_change_says_from_which_round_on)
{
    struct lab lab;
    lab_open(&lab);
    const char *id = lab_submit(&lab, "{\"num_rounds\": 3}");
    ck_assert_int_eq(changed_from(&lab, id), 0); /* none is open yet */
    lab_devices(&lab, 2, 4);
    ck_assert_int_eq(changed_from(&lab, id), 1);
    ck_assert_int_eq(lab_action(&lab, id, RUN_ACTION_PAUSE), ERR_OK);
    ck_assert_int_eq(changed_from(&lab, id), 1); /* it goes on to its end */
    lab_work(&lab, 0, 1, 0);
    lab_work(&lab, 1, 1, 0);
    ck_assert_int_eq(lab_round(&lab, id, 0).status, ROUND_CLOSED);
    ck_assert(!lab_has_round(&lab, id, 1));
    ck_assert_int_eq(changed_from(&lab, id), 1); /* closed, and the next is still to be opened */
    ck_assert_int_eq(lab_action(&lab, id, RUN_ACTION_RESUME), ERR_OK);
    lab_advance(&lab);
    ck_assert_int_eq(changed_from(&lab, id), 2);
    lab_close(&lab);
}
END_TEST

START_TEST(test_a_stopped_run_keeps_the_updates_it_is_to_keep)
{
    struct lab lab;
    struct task_offer offer;
    struct op_task_update op;
    int64_t size;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(&lab, "{\"retention\": {\"keep_updates\": \"all\"}}");
    ck_assert(lab_claim(&lab, 0, &offer));
    struct task_report r = lab_report(&lab, &offer, 4);
    ck_assert_int_eq(lab_send(&lab, &offer, &r, 1, &op), ERR_OK);
    ck_assert_int_eq(lab_action(&lab, id, RUN_ACTION_STOP), ERR_OK);
    lab_advance(&lab);
    ck_assert_int_eq(lab.blobs->ops->size(lab.blobs, op.blob_id, &size), ERR_OK);
    lab_restart(&lab);
    lab_advance(&lab);
    ck_assert_int_eq(lab.blobs->ops->size(lab.blobs, op.blob_id, &size), ERR_OK);
    lab_close(&lab);
}
END_TEST

static const struct {
    const char *patch, *field;
    enum err err;
} bad_patches[] = {
    {"{\"training\": {\"learning_rate\": -1}}", "training.learning_rate", ERR_INVALID_FIELD},
    {"{\"training\": {\"lr\": 1}}", "training.lr", ERR_UNKNOWN_FIELD},
    {"{\"training\": 1}", "training", ERR_INVALID_FIELD},
    {"{\"training\": {\"local_steps\": 1, \"local_epochs\": 1}}", "training.local_steps", ERR_INVALID_FIELD},
    {"{\"strategy\": {\"name\": \"fedavg\"}}", "strategy.name", ERR_UNKNOWN_FIELD},
    {"{\"strategy\": {\"params\": {\"proximal_mu\": \"x\"}}}", "strategy.params.proximal_mu",
     ERR_INVALID_FIELD},
    {"{\"strategy\": []}", "strategy", ERR_INVALID_FIELD},
    {"{\"reporting\": {\"min_updates\": 3}}", "reporting.min_updates", ERR_INVALID_FIELD},
    {"{\"num_rounds\": 5}", "num_rounds", ERR_UNKNOWN_FIELD},
    {"{\"selection\": {}}", "selection", ERR_UNKNOWN_FIELD},
    {"[]", "", ERR_INVALID_FIELD},
};

START_TEST(test_bad_config_changes_nothing)
{
    struct lab lab;
    lab_open(&lab);
    const char *id = lab_submit(&lab, "{}");
    struct run_row before = lab_run(&lab, id);
    for (size_t i = 0; i < sizeof bad_patches / sizeof *bad_patches; i++) {
        ck_assert_int_eq(lab_config(&lab, id, bad_patches[i].patch), bad_patches[i].err);
        ck_assert_str_eq(lab.fault.field, bad_patches[i].field);
        ck_assert_str_ne(lab.fault.detail, "");
    }
    struct run_row after = lab_run(&lab, id);
    ck_assert_str_eq(before.config, after.config);
    ck_assert_int_eq(before.last_event, after.last_event);
    ck_assert_int_eq(lab_action(&lab, id, RUN_ACTION_STOP), ERR_OK);
    ck_assert_int_eq(lab_config(&lab, id, "{}"), ERR_CONFLICT);
    lab_close(&lab);
}
END_TEST

START_TEST(test_initial_weights_may_be_put_while_pending)
{
    struct lab lab;
    struct task_offer offer = {.model =
                                   "{\"input\": [2], \"layers\": [{\"type\": \"dense\", \"units\": 2}]}"};
    const float values[LAB_PARAMS] = {1, 2, 3, 4, 5, 6};
    float w[LAB_PARAMS];
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(&lab, "{\"autostart\": false}");
    ck_assert_int_eq(lab_put_weights(&lab, id, &offer, values), ERR_OK);
    ck_assert_int_eq(lab_put_weights(&lab, id, &offer, values), ERR_OK); /* again, in its place */
    ck_assert_int_eq(lab_action(&lab, id, RUN_ACTION_START), ERR_OK);
    lab_params(&lab, id, 0, w);
    ck_assert_mem_eq(w, values, sizeof w);
    ck_assert(lab_claim(&lab, 0, &offer));
    ck_assert_str_eq(offer.weights_sha256, lab_model(&lab, id, 0).weights_sha256);
    ck_assert_int_eq(lab_put_weights(&lab, id, &offer, values), ERR_CONFLICT);
    lab_close(&lab);
}
END_TEST

START_TEST(test_initial_weights_come_from_the_seed)
{
    struct lab lab;
    float a[LAB_PARAMS], b[LAB_PARAMS], c[LAB_PARAMS];
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    lab_params(&lab, lab_submit(&lab, "{\"model\": {\"init\": \"glorot_uniform\"}}"), 0, a);
    lab_params(&lab, lab_submit(&lab, "{\"model\": {\"init\": \"glorot_uniform\"}}"), 0, b);
    lab_params(&lab, lab_submit(&lab, "{\"model\": {\"init\": \"glorot_uniform\"}, \"seed\": 2}"), 0, c);
    ck_assert_mem_eq(a, b, sizeof a);
    ck_assert(memcmp(a, c, sizeof a) != 0);
    ck_assert(a[0] != 0);
    lab_close(&lab);
}
END_TEST

START_TEST(test_several_runs_share_the_devices)
{
    struct lab lab;
    lab_open(&lab);
    lab_devices(&lab, 4, 4);
    const char *one = lab_submit(&lab, "{\"selection\": {\"population\": 4}}");
    const char *two = lab_submit(&lab, "{\"selection\": {\"population\": 4}, \"seed\": 9}");
    lab_work_all(&lab, 4);
    ck_assert_int_eq(lab_run(&lab, one).outcome, RUN_COMPLETED);
    ck_assert_int_eq(lab_run(&lab, two).outcome, RUN_COMPLETED);
    lab_close(&lab);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_a_run_goes_from_submission_to_its_end,
                                  test_without_autostart_a_run_is_pending,
                                  test_a_paused_run_ends_its_round_and_opens_no_other,
                                  test_a_resumed_run_goes_on_in_its_open_round,
                                  test_a_stopped_run_stays_stopped,
                                  test_runs_that_wait_pause_or_never_began_can_be_stopped,
                                  test_config_changes_from_the_next_round_on,
                                  test_optimizer_and_rate_of_each_round,
                                  test_a_config_change_says_from_which_round_on,
                                  test_a_stopped_run_keeps_the_updates_it_is_to_keep,
                                  test_bad_config_changes_nothing,
                                  test_initial_weights_may_be_put_while_pending,
                                  test_initial_weights_come_from_the_seed,
                                  test_several_runs_share_the_devices};
    return unit_run("run_life", tests, sizeof tests / sizeof *tests);
}
