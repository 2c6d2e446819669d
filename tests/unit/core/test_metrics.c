/* What the devices' evaluations become when a round closes. */
#include "tests/unit/core/lab.h"

#include <math.h>

#define SPEC                                                                                                 \
    "{\"num_rounds\": 1, \"selection\": {\"population\": 5}, \"evaluation\": {\"on\": \"all_devices\"}}"

/* Every device 0..count-1 does what it has in one round; correct[k] < 0: it has no test data. */
static void answer(struct lab *lab, int count, const int64_t *correct, bool restarts)
{
    static const struct report_metric own = {"test_accuracy_p50", 77, 1};
    struct task_offer offer;
    struct op_task_update op;
    for (int k = 0; k < count; k++) {
        ck_assert(lab_claim(lab, k, &offer));
        struct task_report r = lab_report(lab, &offer, offer.task.max_steps);
        r.eval_train_loss = 1;
        r.eval_train_examples = 4;
        r.eval_test_examples = correct[k] < 0 ? 0 : 20;
        r.eval_test_correct = correct[k];
        r.eval_test_loss = 1;
        /* Nobody's own metric stands in for a percentile. */
        r.metrics = &own;
        r.num_metrics = k == 0;
        ck_assert_int_eq(lab_send(lab, &offer, &r, 1, &op), ERR_OK);
        if (restarts)
            lab_restart(lab);
    }
    lab_advance(lab);
}

static double of_round(struct lab *lab, const char *id, int64_t n, const char *name)
{
    json_t *metrics = lab_json(lab_round(lab, id, n).metrics);
    const json_t *value = json_object_get(metrics, name);
    double d = value ? json_number_value(value) : (double)NAN;
    ck_assert(isnan(d) ? isnan(lab_metric(lab, id, n, name, -1)) : d == lab_metric(lab, id, n, name, -1));
    json_decref(metrics);
    return d;
}

static void check_percentiles(bool restarts)
{
    static const int64_t correct[2][5] = {{18, 2, -1, 10, 6}, {0, 20, 4, 8, 12}};
    struct lab lab;
    lab_open(&lab);
    for (int k = 0; k < 5; k++)
        ck_assert_int_eq(lab_register_tests(&lab, k, 4, 20), ERR_OK);
    const char *id = lab_submit(&lab, SPEC);
    answer(&lab, 5, correct[0], restarts);
    /* Four devices have test data: 0.1, 0.3, 0.5, 0.9; ranks 1, 2 and 4. */
    ck_assert(of_round(&lab, id, 0, "test_accuracy_p10") == 2 / 20.0);
    ck_assert(of_round(&lab, id, 0, "test_accuracy_p50") == 6 / 20.0);
    ck_assert(of_round(&lab, id, 0, "test_accuracy_p90") == 18 / 20.0);
    ck_assert(fabs(of_round(&lab, id, 0, "test_accuracy") - 0.45) < 1e-12);
    answer(&lab, 5, correct[1], restarts);
    ck_assert_int_eq(lab_run(&lab, id).outcome, RUN_COMPLETED);
    ck_assert(of_round(&lab, id, 1, "test_accuracy_p10") == 0);
    ck_assert(of_round(&lab, id, 1, "test_accuracy_p50") == 8 / 20.0);
    ck_assert(of_round(&lab, id, 1, "test_accuracy_p90") == 1);
    lab_close(&lab);
}

START_TEST(test_accuracy_has_percentiles_over_devices)
{
    check_percentiles(false);
}
END_TEST

START_TEST(test_percentiles_survive_restarts)
{
    check_percentiles(true);
}
END_TEST

START_TEST(test_without_test_data_there_are_no_percentiles)
{
    static const int64_t correct[2] = {-1, -1};
    struct lab lab;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(&lab, "{\"num_rounds\": 1, \"evaluation\": {\"on\": \"selected\"}}");
    answer(&lab, 2, correct, false);
    ck_assert(isnan(of_round(&lab, id, 0, "test_accuracy")));
    ck_assert(isnan(of_round(&lab, id, 0, "test_accuracy_p10")));
    ck_assert(of_round(&lab, id, 0, "test_accuracy_p50") ==
              77); /* then it is only a metric of the device's own */
    ck_assert(of_round(&lab, id, 0, "train_loss") == 1);
    lab_close(&lab);
}
END_TEST

/* A device with much test data counts no more than one with little. */
/* Device k reports this loss, with weight 4. */
static void answer_losses(struct lab *lab, const double losses[5])
{
    struct task_offer offer;
    struct op_task_update op;
    for (int k = 0; k < 5; k++) {
        ck_assert(lab_claim(lab, k, &offer));
        struct task_report r = lab_report(lab, &offer, offer.task.max_steps);
        r.eval_train_loss = losses[k];
        r.said_nan = isnan(losses[k]) ? UINT32_MAX : 0;
        r.eval_train_examples = 4;
        ck_assert_int_eq(lab_send(lab, &offer, &r, 1, &op), ERR_OK);
    }
    lab_advance(lab);
}

START_TEST(test_a_diverged_device_does_not_hide_the_others)
{
    static const double mixed[] = {1, NAN, 2, INFINITY, 6}, one[] = {NAN, NAN, INFINITY, 0, NAN},
                        no_one[] = {NAN, NAN, INFINITY, NAN, NAN};
    struct lab lab;
    lab_open(&lab);
    lab_devices(&lab, 5, 4);
    const char *id = lab_submit(&lab, "{\"num_rounds\": 2, \"selection\": {\"population\": 5}, "
                                      "\"evaluation\": {\"on\": \"all_devices\"}}");
    answer_losses(&lab, mixed);
    ck_assert(of_round(&lab, id, 0, "train_loss") == 3);
    ck_assert(isnan(lab_metric(&lab, id, 0, "train_loss", 1))); /* it stays with its device */
    ck_assert(isinf(lab_metric(&lab, id, 0, "train_loss", 3)));
    ck_assert_uint_eq(lab_count_events(&lab, id, "warning"), 1);
    json_t *event = lab_event(&lab, id, "warning");
    const char *detail = json_string_value(json_object_get(event, "detail"));
    ck_assert_msg(strstr(detail, "round 0: 2 of 5 devices") && strstr(detail, "train_loss"), "%s", detail);
    json_decref(event);
    /* One that is finite is enough for a mean; without any there is none to be had. */
    answer_losses(&lab, one);
    ck_assert(of_round(&lab, id, 1, "train_loss") == 0);
    answer_losses(&lab, no_one);
    ck_assert_int_eq(lab_run(&lab, id).outcome, RUN_COMPLETED);
    ck_assert(isnan(lab_metric(&lab, id, 2, "train_loss", -1)));
    ck_assert_uint_eq(lab_count_events(&lab, id, "warning"), 2);
    lab_close(&lab);
}
END_TEST

START_TEST(test_every_device_counts_once)
{
    static const int64_t examples[3] = {1, 1, 100}, right[3] = {1, 1, 0};
    struct lab lab;
    struct task_offer offer;
    struct op_task_update op;
    lab_open(&lab);
    for (int k = 0; k < 3; k++)
        ck_assert_int_eq(lab_register_tests(&lab, k, 4, examples[k]), ERR_OK);
    const char *id = lab_submit(&lab, "{\"num_rounds\": 1, \"selection\": {\"devices_per_round\": 3, "
                                      "\"population\": 3}, \"evaluation\": {\"on\": \"selected\"}}");
    for (int k = 0; k < 3; k++) {
        ck_assert(lab_claim(&lab, k, &offer));
        struct task_report r = lab_report(&lab, &offer, offer.task.max_steps);
        r.eval_test_examples = examples[k];
        r.eval_test_correct = right[k];
        ck_assert_int_eq(lab_send(&lab, &offer, &r, 1, &op), ERR_OK);
    }
    lab_advance(&lab);
    ck_assert(fabs(of_round(&lab, id, 0, "test_accuracy") - 2.0 / 102) < 1e-12);
    ck_assert(of_round(&lab, id, 0, "test_accuracy_p10") == 0);
    ck_assert(of_round(&lab, id, 0, "test_accuracy_p50") == 1);
    lab_close(&lab);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        test_accuracy_has_percentiles_over_devices, test_percentiles_survive_restarts,
        test_without_test_data_there_are_no_percentiles, test_a_diverged_device_does_not_hide_the_others,
        test_every_device_counts_once};
    return unit_run("metrics", tests, sizeof tests / sizeof *tests);
}
