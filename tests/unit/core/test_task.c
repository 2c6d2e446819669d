/* What a device may claim and say. */
#include "tests/unit/core/lab.h"

#include <math.h>

/* One run of two devices in round 0; device 0 has claimed its task. */
static const char *begin(struct lab *lab, const char *changes, struct task_offer *offer)
{
    lab_open(lab);
    lab_devices(lab, 2, 4);
    const char *id = lab_submit(lab, changes);
    ck_assert(lab_claim(lab, 0, offer));
    return id;
}

START_TEST(test_a_task_says_everything)
{
    struct lab lab;
    struct task_offer offer;
    const char *id = begin(&lab,
                           "{\"strategy\": {\"params\": {\"proximal_mu\": 0.25}}, \"training\": "
                           "{\"batch_size\": 3, \"local_epochs\": 2}}",
                           &offer);
    ck_assert_str_eq(offer.task.run_id, id);
    ck_assert_int_eq(offer.task.type, TASK_TRAIN);
    ck_assert_int_eq(offer.task.status, TASK_CLAIMED);
    ck_assert_int_eq(offer.task.attempt, 1);
    ck_assert_int_eq(offer.task.model_version, 0);
    ck_assert_int_eq(offer.task.num_examples, 4);
    ck_assert_int_eq(offer.task.steps_assigned, 4); /* 2 epochs of 2 batches */
    ck_assert_int_eq(offer.task.max_steps, 4);
    ck_assert(offer.task.max_seconds == 60);
    ck_assert_str_eq(offer.dataset, LAB_DATASET);
    ck_assert_str_eq(offer.optimizer, "sgd");
    ck_assert_str_eq(offer.weights_sha256, lab_model(&lab, id, 0).weights_sha256);
    ck_assert_int_eq(offer.local_epochs, 2);
    ck_assert_int_eq(offer.local_steps, 0);
    ck_assert_int_eq(offer.batch_size, 3);
    ck_assert_int_eq(offer.seed, 1);
    ck_assert(offer.learning_rate == 0.1);
    ck_assert(offer.proximal_mu == 0.25);
    ck_assert(offer.accept_partial);
    ck_assert_int_eq(offer.time_left_ms, 60000);
    json_t *model = lab_json(offer.model);
    ck_assert_int_eq(json_integer_value(json_array_get(json_object_get(model, "input"), 0)), 2);
    json_decref(model);
    lab_close(&lab);
}
END_TEST

START_TEST(test_a_lost_claim_is_offered_again_and_supersedes)
{
    struct lab lab;
    struct task_offer first, again;
    struct op_task_update op;
    begin(&lab, "{}", &first);
    ck_assert(lab_claim(&lab, 0, &again));
    ck_assert_str_eq(first.task.id, again.task.id);
    ck_assert_int_eq(again.task.attempt, 2);
    struct task_report r = lab_report(&lab, &first, 4);
    ck_assert_int_eq(lab_send(&lab, &first, &r, 1, &op), ERR_SUPERSEDED);
    ck_assert_int_eq(lab_fail(&lab, &first, "x", &r), ERR_SUPERSEDED);
    r = lab_report(&lab, &again, 4);
    ck_assert_int_eq(lab_send(&lab, &again, &r, 1, &op), ERR_OK);
    ck_assert(!lab_claim(&lab, 0, &again));
    lab_close(&lab);
}
END_TEST

START_TEST(test_a_claim_needs_a_sane_maximum)
{
    struct lab lab;
    struct task_offer offer;
    begin(&lab, "{}", &offer);
    static const int64_t bad[] = {0, -1, LIMIT_CLAIM + 1};
    for (size_t i = 0; i < 3; i++) {
        struct op_task_claim op = {.base = {.core = lab.core, .arena = &lab.arena},
                                   .worker_id = "",
                                   .device_id = lab.devices[0],
                                   .max = bad[i]};
        ck_assert_int_eq(store_write_wait(lab.store, op_task_claim, &op), ERR_INVALID_FIELD);
        ck_assert_str_eq(op.base.fault.field, "max");
    }
    lab_close(&lab);
}
END_TEST

START_TEST(test_the_same_update_twice_counts_once)
{
    struct lab lab;
    struct task_offer offer;
    struct op_task_update first, second;
    const char *id = begin(&lab, "{}", &offer);
    struct task_report r = lab_report(&lab, &offer, 4);
    ck_assert_int_eq(lab_send(&lab, &offer, &r, 1, &first), ERR_OK);
    ck_assert(first.out_accepted && !first.out_duplicate);
    ck_assert_str_eq(first.out_reason, "");
    ck_assert_int_eq(lab_send(&lab, &offer, &r, 1, &second), ERR_OK);
    ck_assert(second.out_accepted && second.out_duplicate);
    ck_assert_str_eq(first.out_update_id, second.out_update_id);
    ck_assert_int_eq(lab_round(&lab, id, 0).received, 1);
    ck_assert_int_eq(lab_send(&lab, &offer, &r, 2, &second), ERR_DUPLICATE_CONFLICT);
    lab_work(&lab, 1, 1, 0);
    /* After the round, and after the run. */
    ck_assert_int_eq(lab_send(&lab, &offer, &r, 1, &second), ERR_OK);
    ck_assert(second.out_duplicate);
    lab_work_all(&lab, 2);
    ck_assert_int_eq(lab_run(&lab, id).outcome, RUN_COMPLETED);
    ck_assert_int_eq(lab_send(&lab, &offer, &r, 1, &second), ERR_OK);
    ck_assert(second.out_duplicate && second.out_accepted);
    lab_close(&lab);
}
END_TEST

START_TEST(test_a_late_update_never_leaks_into_the_next_round)
{
    struct lab lab;
    struct task_offer late;
    struct op_task_update op;
    float w[LAB_PARAMS];
    const char *id = begin(&lab, "{}", &late);
    lab_work(&lab, 1, 1, 0);
    lab_wait(&lab, 65000);
    ck_assert_int_eq(lab_run(&lab, id).round, 1);
    struct task_report r = lab_report(&lab, &late, 4);
    ck_assert_int_eq(lab_send(&lab, &late, &r, 99, &op), ERR_STALE_ROUND);
    ck_assert_int_eq(lab_fail(&lab, &late, "x", &r), ERR_STALE_ROUND);
    lab_work(&lab, 0, 2, 0);
    lab_work(&lab, 1, 4, 0);
    lab_params(&lab, id, 2, w);
    ck_assert(w[0] == 3.0f);
    lab_close(&lab);
}
END_TEST

START_TEST(test_anothers_task_is_forbidden)
{
    struct lab lab;
    struct task_offer offer, foreign;
    struct op_task_update op;
    begin(&lab, "{}", &offer);
    struct task_report r = lab_report(&lab, &offer, 4);
    foreign = offer;
    foreign.task.device_id = lab.devices[1];
    ck_assert_int_eq(lab_send(&lab, &foreign, &r, 1, &op), ERR_FORBIDDEN);
    ck_assert_int_eq(lab_fail(&lab, &foreign, "x", &r), ERR_FORBIDDEN);
    foreign.task.device_id = foreign.task.worker_id = "";
    ck_assert_int_eq(lab_send(&lab, &foreign, &r, 1, &op), ERR_FORBIDDEN);
    foreign.task.id = "no such task";
    ck_assert_int_eq(lab_send(&lab, &foreign, &r, 1, &op), ERR_NOT_FOUND);
    lab_close(&lab);
}
END_TEST

/* How each field of a good report is spoilt. */
enum { F_INT, F_NUM, F_TEXT };
static const struct {
    size_t offset;
    int kind;
    int64_t i;
    double d;
    const char *text;
    enum err err;
    const char *field;
} spoilt[] = {
#define OFF(f) offsetof(struct task_report, f)
    {OFF(num_examples), F_INT, 3, 0, "", ERR_CONFIG_MISMATCH, "num_examples"},
    {OFF(steps_assigned), F_INT, 5, 0, "", ERR_CONFIG_MISMATCH, "steps_assigned"},
    {OFF(batch_size), F_INT, 2, 0, "", ERR_CONFIG_MISMATCH, "batch_size"},
    {OFF(proximal_mu), F_NUM, 0, 1, "", ERR_CONFIG_MISMATCH, "proximal_mu"},
    {OFF(learning_rate), F_NUM, 0, 0.2, "", ERR_CONFIG_MISMATCH, "learning_rate"},
    {OFF(seed), F_TEXT, 0, 0, "2", ERR_CONFIG_MISMATCH, "seed"},
    {OFF(steps_done), F_INT, 5, 0, "", ERR_INVALID_UPDATE, "steps_done"},
    {OFF(steps_done), F_INT, -1, 0, "", ERR_INVALID_UPDATE, "steps_done"},
    {OFF(steps_done), F_INT, -2, 0, "", ERR_INVALID_UPDATE, "steps_done"},
    {OFF(samples_seen), F_INT, -5, 0, "", ERR_INVALID_UPDATE, "samples_seen"},
    {OFF(eval_train_examples), F_INT, 5, 0, "", ERR_INVALID_UPDATE, "eval_train_examples"},
    {OFF(eval_test_examples), F_INT, 3, 0, "", ERR_INVALID_UPDATE, "eval_test_examples"},
    {OFF(eval_test_correct), F_INT, 1, 0, "", ERR_INVALID_UPDATE, "eval_test_correct"},
    {OFF(attempt), F_INT, 2, 0, "", ERR_INVALID_UPDATE, "attempt"},
    {OFF(attempt), F_INT, 0, 0, "", ERR_SUPERSEDED, "attempt"},
};

START_TEST(test_bad_reports_are_refused_by_field_and_not_counted)
{
    struct lab lab;
    struct task_offer offer;
    struct op_task_update op;
    const char *id = begin(&lab, "{}", &offer);
    int64_t bytes = lab.blobs->ops->total_bytes(lab.blobs);
    for (size_t i = 0; i < sizeof spoilt / sizeof *spoilt; i++) {
        struct task_report r = lab_report(&lab, &offer, 4);
        char *member = (char *)&r + spoilt[i].offset;
        if (spoilt[i].kind == F_INT)
            memcpy(member, &spoilt[i].i, sizeof spoilt[i].i);
        else if (spoilt[i].kind == F_NUM)
            memcpy(member, &spoilt[i].d, sizeof spoilt[i].d);
        else
            memcpy(member, &spoilt[i].text, sizeof spoilt[i].text);
        ck_assert_int_eq(lab_send(&lab, &offer, &r, 1, &op), spoilt[i].err);
        ck_assert_str_eq(lab.fault.field, spoilt[i].field);
        ck_assert_str_ne(lab.fault.detail, "");
    }
    ck_assert_int_eq(lab_round(&lab, id, 0).received, 0);
    ck_assert_int_eq(lab.blobs->ops->total_bytes(lab.blobs), bytes);
    struct task_report r = lab_report(&lab, &offer, 4);
    ck_assert_int_eq(lab_send(&lab, &offer, &r, 1, &op), ERR_OK);
    lab_close(&lab);
}
END_TEST

START_TEST(test_echoes_may_be_left_out)
{
    struct lab lab;
    struct task_offer offer;
    struct op_task_update op;
    struct task_report r;
    begin(&lab, "{}", &offer);
    task_report_init(&r);
    r.steps_done = 4;
    ck_assert_int_eq(lab_send(&lab, &offer, &r, 1, &op), ERR_OK);
    lab_close(&lab);
}
END_TEST

START_TEST(test_an_unclaimed_task_takes_no_update)
{
    struct lab lab;
    struct task_offer offer;
    struct task_row *tasks;
    struct op_task_update op;
    const char *id = begin(&lab, "{}", &offer);
    ck_assert_uint_eq(lab_tasks(&lab, id, 0, &tasks), 2);
    offer.task = tasks[1];
    struct task_report r = lab_report(&lab, &offer, 4);
    r.attempt = -1;
    ck_assert_int_eq(lab_send(&lab, &offer, &r, 1, &op), ERR_INVALID_UPDATE);
    lab_close(&lab);
}
END_TEST

START_TEST(test_partial_work_is_refused_where_it_does_not_count)
{
    struct lab lab;
    struct task_offer offer;
    struct op_task_update op;
    begin(&lab, "{\"strategy\": {\"params\": {\"accept_partial\": false}}}", &offer);
    ck_assert(!offer.accept_partial);
    struct task_report r = lab_report(&lab, &offer, 3);
    ck_assert_int_eq(lab_send(&lab, &offer, &r, 1, &op), ERR_INVALID_UPDATE);
    ck_assert_ptr_nonnull(strstr(lab.fault.detail, "incomplete"));
    ck_assert_int_eq(lab_fail(&lab, &offer, "incomplete", &r), ERR_OK);
    ck_assert_int_eq(lab_fail(&lab, &offer, "incomplete", &r), ERR_OK); /* said twice is said once */
    ck_assert_int_eq(lab_fail(&lab, &offer, "other", &r), ERR_STALE_ROUND);
    r = lab_report(&lab, &offer, 4);
    ck_assert_int_eq(lab_send(&lab, &offer, &r, 1, &op), ERR_STALE_ROUND);
    lab_close(&lab);
}
END_TEST

START_TEST(test_a_failure_needs_a_code)
{
    struct lab lab;
    struct task_offer offer;
    begin(&lab, "{}", &offer);
    struct task_report r = lab_report(&lab, &offer, 0);
    ck_assert_int_eq(lab_fail(&lab, &offer, "", &r), ERR_INVALID_FIELD);
    ck_assert_str_eq(lab.fault.field, "code");
    lab_close(&lab);
}
END_TEST

START_TEST(test_a_released_task_is_ready_again)
{
    struct lab lab;
    struct task_offer offer, again;
    begin(&lab, "{}", &offer);
    lab_topics_clear(&lab);
    struct op_task_release op = {.base = {.core = lab.core, .arena = &lab.arena},
                                 .task_id = offer.task.id,
                                 .worker_id = "",
                                 .device_id = lab.devices[0]};
    ck_assert_int_eq(store_write_wait(lab.store, op_task_release, &op), ERR_OK);
    ck_assert_int_eq(op.out.status, TASK_READY);
    ck_assert(lab_was_notified(&lab, "device", lab.devices[0]));
    ck_assert(lab_claim(&lab, 0, &again));
    ck_assert_int_eq(again.task.attempt, 2);
    op.device_id = lab.devices[1];
    ck_assert_int_eq(store_write_wait(lab.store, op_task_release, &op), ERR_FORBIDDEN);
    lab_close(&lab);
}
END_TEST

static enum err parse(struct lab *lab, const char *key, const char *value, bool strict,
                      struct task_report *out)
{
    const struct safetensors_pair pair = {key, value};
    lab->fault = FAULT_NONE;
    return task_report_parse(&pair, 1, strict, &lab->arena, out, &lab->fault);
}

START_TEST(test_metrics_of_a_report_are_kept)
{
    struct lab lab;
    struct task_offer offer;
    struct op_task_update op;
    struct task_report said;
    const char *id = begin(&lab, "{\"num_rounds\": 1}", &offer);
    const struct report_metric metrics[] = {{"bleu", 12.5, 3}, {"lost", NAN, 1}};
    struct task_report r = lab_report(&lab, &offer, 4);
    r.train_loss_start = 2;
    r.train_loss_end = 1;
    r.gamma = 0.25;
    r.update_norm = 7;
    /* It diverged: reported, and not a number. */
    ck_assert_int_eq(parse(&lab, "eval_train_loss", "NaN", true, &said), ERR_OK);
    r.said_nan = said.said_nan;
    r.eval_train_examples = 4;
    r.metrics = metrics;
    r.num_metrics = 2;
    ck_assert_int_eq(lab_send(&lab, &offer, &r, 1, &op), ERR_OK);
    ck_assert(lab_metric(&lab, id, 0, "bleu", 0) == 12.5);
    ck_assert(lab_metric(&lab, id, 0, "gamma", 0) == 0.25);
    ck_assert(lab_metric(&lab, id, 0, "update_norm", 0) == 7);
    ck_assert(lab_metric(&lab, id, 0, "train_loss_end", 0) == 1);
    ck_assert(isnan(lab_metric(&lab, id, 0, "grad_norm_start", 0)));
    ck_assert(lab_claim(&lab, 1, &offer));
    r = lab_report(&lab, &offer, 4);
    r.gamma = 0.75;
    ck_assert_int_eq(lab_send(&lab, &offer, &r, 1, &op), ERR_OK);
    lab_advance(&lab);
    struct round_row round = lab_round(&lab, id, 0);
    ck_assert(round.mean_gamma == 0.5);
    json_t *all = lab_json(round.metrics);
    ck_assert(json_number_value(json_object_get(all, "bleu")) == 12.5);
    ck_assert_str_eq(json_string_value(json_object_get(all, "train_loss")), "NaN");
    ck_assert_str_eq(json_string_value(json_object_get(all, "lost")), "NaN");
    json_decref(all);
    struct task_row *tasks;
    ck_assert_uint_eq(lab_tasks(&lab, id, 0, &tasks), 2);
    json_t *report = lab_json(lab_said(&lab, tasks[0].update_id));
    ck_assert(json_number_value(json_object_get(report, "gamma")) == 0.25);
    ck_assert_ptr_null(json_object_get(report, "grad_norm_end"));
    json_decref(report);
    lab_close(&lab);
}
END_TEST

START_TEST(test_a_tasks_times_are_kept)
{
    struct lab lab;
    struct task_offer offer;
    struct op_task_update op;
    struct task_row *tasks;
    const char *id = begin(&lab, "{}", &offer);
    int64_t claimed = lab.clock.ms;
    lab.clock.ms += 5000;
    struct task_report r = lab_report(&lab, &offer, 4);
    r.download_ms = 1000.5;
    r.compute_ms = 2000;
    ck_assert_int_eq(lab_send(&lab, &offer, &r, 1, &op), ERR_OK);
    ck_assert_uint_eq(lab_tasks(&lab, id, 0, &tasks), 2);
    ck_assert_int_eq(tasks[0].claimed_at, claimed);
    ck_assert_int_eq(tasks[0].downloaded_at, claimed + 1000);
    ck_assert_int_eq(tasks[0].trained_at, claimed + 5000);
    ck_assert_int_eq(tasks[0].uploaded_at, claimed + 5000);
    ck_assert_int_gt(tasks[0].bytes_in, 0);
    lab_close(&lab);
}
END_TEST

START_TEST(test_evaluations_must_hold_what_was_asked)
{
    struct lab lab;
    struct task_offer offer;
    struct op_task_update op;
    struct task_row *tasks;
    lab_open(&lab);
    lab_devices(&lab, 3, 4);
    const char *id =
        lab_submit(&lab, "{\"selection\": {\"population\": 3}, \"evaluation\": {\"on\": \"all_devices\"}}");
    ck_assert_uint_eq(lab_tasks(&lab, id, 0, &tasks), 3);
    for (size_t i = 0; i < 3; i++) {
        if (tasks[i].type != TASK_EVALUATE)
            continue;
        ck_assert(lab_claim(&lab, tasks[i].ordinal, &offer));
        struct task_report r = lab_report(&lab, &offer, 0);
        ck_assert_int_eq(lab_send(&lab, &offer, &r, 0, &op), ERR_INVALID_UPDATE);
        const struct report_metric accuracy = {"test_accuracy", 0.5, 2};
        r.metrics = &accuracy;
        r.num_metrics = 1;
        ck_assert_int_eq(lab_send(&lab, &offer, &r, 0, &op), ERR_OK);
        ck_assert(lab_metric(&lab, id, 0, "test_accuracy", tasks[i].ordinal) == 0.5);
    }
    lab_close(&lab);
}
END_TEST

START_TEST(test_report_texts)
{
    struct lab lab;
    struct task_report r;
    static const struct {
        const char *key, *value;
    } bad[] = {{"attempt", "x"},
               {"attempt", ""},
               {"attempt", "1.5"},
               {"steps_done", "99999999999999999999"},
               {"gamma", "much"},
               {"gamma", "nan"},
               {"gamma", "-0.5"},
               {"gamma", "-Infinity"},
               {"grad_norm_start", "-1"},
               {"grad_norm_end", "-1e-300"},
               {"update_norm", "-1"},
               {"compute_ms", "-1"},
               {"compute_ms", "Infinity"},
               {"download_ms", "-0.001"},
               {"download_ms", "Infinity"},
               {"seed", "-1"},
               {"content", "gradient"},
               {"encoding", "gzip"},
               {"stop_reason", "bored"},
               {"metrics", "x"},
               {"metrics", "{}"},
               {"metrics", "[{}]"},
               {"metrics", "[{\"name\": \"a\", \"value\": \"b\"}]"},
               {"metrics", "[{\"name\": \"a\", \"value\": 1, \"weight\": -1}]"},
               {"metrics", "[{\"name\": \"a\", \"value\": 1}, {\"name\": \"a\", \"value\": 2}]"}};
    lab_open(&lab);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_int_ne(parse(&lab, bad[i].key, bad[i].value, false, &r), ERR_OK);
        ck_assert_msg(strncmp(lab.fault.field, bad[i].key, strlen(bad[i].key)) == 0, "%s for %s",
                      lab.fault.field, bad[i].key);
    }
    ck_assert_int_eq(parse(&lab, "format", "pt", false, &r), ERR_OK);
    ck_assert_int_eq(parse(&lab, "steps_don", "1", true, &r), ERR_UNKNOWN_FIELD);
    ck_assert_str_eq(lab.fault.field, "steps_don");
    ck_assert_int_eq(parse(&lab, "steps_done", "7", true, &r), ERR_OK);
    ck_assert_int_eq(r.steps_done, 7);
    ck_assert_int_eq(r.attempt, -1);
    ck_assert(isnan(r.gamma));
    ck_assert_str_eq(r.content, "weights");
    ck_assert_str_eq(r.stop_reason, "");
    ck_assert_int_eq(parse(&lab, "gamma", "0.1", true, &r), ERR_OK);
    ck_assert(r.gamma == 0.1);
    /* What a device that diverged says. */
    ck_assert_int_eq(parse(&lab, "gamma", "Infinity", true, &r), ERR_OK);
    ck_assert_int_eq(parse(&lab, "update_norm", "NaN", true, &r), ERR_OK);
    ck_assert_int_eq(parse(&lab, "train_loss_end", "-3", true, &r), ERR_OK);
    ck_assert_int_eq(parse(&lab, "train_loss_end", "Infinity", true, &r), ERR_OK);
    ck_assert(isinf(r.train_loss_end));
    ck_assert_int_eq(
        parse(&lab, "metrics", "[{\"name\": \"a\", \"value\": \"NaN\", \"weight\": 2}]", true, &r), ERR_OK);
    ck_assert_uint_eq(r.num_metrics, 1);
    ck_assert(isnan(r.metrics[0].value) && r.metrics[0].weight == 2);
    lab_close(&lab);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_a_task_says_everything,
                                  test_a_lost_claim_is_offered_again_and_supersedes,
                                  test_a_claim_needs_a_sane_maximum,
                                  test_the_same_update_twice_counts_once,
                                  test_a_late_update_never_leaks_into_the_next_round,
                                  test_anothers_task_is_forbidden,
                                  test_bad_reports_are_refused_by_field_and_not_counted,
                                  test_echoes_may_be_left_out,
                                  test_an_unclaimed_task_takes_no_update,
                                  test_partial_work_is_refused_where_it_does_not_count,
                                  test_a_failure_needs_a_code,
                                  test_a_released_task_is_ready_again,
                                  test_metrics_of_a_report_are_kept,
                                  test_a_tasks_times_are_kept,
                                  test_evaluations_must_hold_what_was_asked,
                                  test_report_texts};
    return unit_run("task", tests, sizeof tests / sizeof *tests);
}
