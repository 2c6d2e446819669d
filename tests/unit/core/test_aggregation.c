/* From updates to the next model: weights, order, formats, and what is refused. */
#include "tests/unit/core/lab.h"

#include <math.h>

static void work_in_order(struct lab *lab, const int *order, int count)
{
    for (int i = 0; i < count; i++) {
        struct task_offer offer;
        struct op_task_update op;
        float values[LAB_PARAMS];
        ck_assert(lab_claim(lab, order[i], &offer));
        for (int p = 0; p < LAB_PARAMS; p++)
            values[p] = (float)sin(1.0 + 7.0 * order[i] + p + 100.0 * (double)offer.task.round) / 3.0f;
        struct task_report r = lab_report(lab, &offer, offer.task.max_steps);
        ck_assert_int_eq(lab_send_values(lab, &offer, &r, values, &op), ERR_OK);
        lab_advance(lab);
    }
}

START_TEST(test_one_and_three_examples_weigh_a_quarter_and_three)
{
    struct lab lab;
    float w[LAB_PARAMS];
    lab_open(&lab);
    ck_assert_int_eq(lab_register(&lab, 0, 1), ERR_OK);
    ck_assert_int_eq(lab_register(&lab, 1, 3), ERR_OK);
    const char *id =
        lab_submit(&lab, "{\"num_rounds\": 1, \"training\": {\"batch_size\": 10}}"); /* one batch each */
    lab_work(&lab, 0, 1, 0);
    lab_work(&lab, 1, 2, 0);
    lab_params(&lab, id, 1, w);
    for (int i = 0; i < LAB_PARAMS; i++)
        ck_assert(w[i] == 1.75f);
    const char *uniform =
        lab_submit(&lab, "{\"num_rounds\": 1, \"strategy\": {\"params\": {\"weighting\": \"uniform\"}}}");
    lab_work(&lab, 0, 1, 0);
    lab_work(&lab, 1, 2, 0);
    lab_params(&lab, uniform, 1, w);
    ck_assert(w[0] == 1.5f);
    const char *capped =
        lab_submit(&lab, "{\"num_rounds\": 1, \"strategy\": {\"params\": {\"max_weight_fraction\": 0.6}}}");
    lab_work(&lab, 0, 1, 0);
    lab_work(&lab, 1, 2, 0);
    lab_params(&lab, capped, 1, w);
    ck_assert(fabsf(w[0] - 1.6f) < 1e-6f);
    lab_close(&lab);
}
END_TEST

START_TEST(test_the_order_of_arrival_changes_nothing)
{
    static const int orders[][5] = {{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {2, 0, 4, 1, 3}};
    char first[2][SHA256_HEX_SIZE];
    for (size_t o = 0; o < 3; o++) {
        struct lab lab;
        lab_open(&lab);
        for (int k = 0; k < 5; k++)
            ck_assert_int_eq(lab_register(&lab, orders[o][k], 3 + 2 * orders[o][k]), ERR_OK);
        const char *id = lab_submit(&lab, "{\"selection\": {\"devices_per_round\": 5, \"population\": 5}}");
        for (int t = 0; t < 2; t++) {
            work_in_order(&lab, orders[o], 5);
            struct round_row round = lab_round(&lab, id, t);
            ck_assert_int_eq(round.status, ROUND_CLOSED);
            if (o == 0)
                memcpy(first[t], round.aggregate_sha256, sizeof first[t]);
            ck_assert_str_eq(round.aggregate_sha256, first[t]);
        }
        lab_close(&lab);
    }
}
END_TEST

START_TEST(test_fedavg_is_fedprox_with_mu_0_bit_for_bit)
{
    static const int order[] = {0, 1, 2};
    struct lab lab;
    lab_open(&lab);
    for (int k = 0; k < 3; k++)
        ck_assert_int_eq(lab_register(&lab, k, 5 + k), ERR_OK);
    const char *changes = "{\"num_rounds\": 3, \"model\": {\"init\": \"glorot_uniform\"}, \"selection\": "
                          "{\"devices_per_round\": 3, "
                          "\"population\": 3}, \"systems\": {\"straggler_fraction\": 0}, \"strategy\": ";
    char prox_spec[600], avg_spec[600];
    (void)snprintf(prox_spec, sizeof prox_spec,
                   "%s {\"name\": \"fedprox\", \"params\": {\"proximal_mu\": 0}}}", changes);
    (void)snprintf(avg_spec, sizeof avg_spec, "%s {\"name\": \"fedavg\", \"params\": null}}", changes);
    const char *prox = lab_submit(&lab, prox_spec);
    for (int t = 0; t < 3; t++)
        work_in_order(&lab, order, 3);
    const char *avg = lab_submit(&lab, avg_spec);
    for (int t = 0; t < 3; t++)
        work_in_order(&lab, order, 3);
    for (int t = 0; t < 3; t++) {
        ck_assert_str_eq(lab_round(&lab, prox, t).aggregate_sha256, lab_round(&lab, avg, t).aggregate_sha256);
        ck_assert_str_eq(lab_round(&lab, prox, t).weights_sha256, lab_round(&lab, avg, t).weights_sha256);
        ck_assert(lab_round(&lab, avg, t).proximal_mu == 0);
    }
    lab_close(&lab);
}
END_TEST

START_TEST(test_deltas_are_added_to_the_model)
{
    struct lab lab;
    struct task_offer offer;
    struct op_task_update op;
    float before[LAB_PARAMS], after[LAB_PARAMS];
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(&lab, "{\"num_rounds\": 1, \"model\": {\"init\": \"he_normal\"}}");
    lab_params(&lab, id, 0, before);
    for (int k = 0; k < 2; k++) {
        ck_assert(lab_claim(&lab, k, &offer));
        struct task_report r = lab_report(&lab, &offer, 4);
        r.content = "delta";
        ck_assert_int_eq(lab_send(&lab, &offer, &r, 0.5f, &op), ERR_OK);
    }
    lab_advance(&lab);
    lab_params(&lab, id, 1, after);
    for (int i = 0; i < LAB_PARAMS; i++)
        ck_assert(after[i] == before[i] + 0.5f);
    lab_close(&lab);
}
END_TEST

START_TEST(test_an_average_past_the_floats_fails_the_round_and_keeps_the_model)
{
    struct lab lab;
    struct task_offer offer;
    struct op_task_update op;
    const float huge[LAB_PARAMS] = {3e38f, 0, 0, 0, 0, 0};
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(&lab, "{}");
    for (int t = 0; t < 2; t++)
        for (int k = 0; k < 2; k++) {
            ck_assert(lab_claim(&lab, k, &offer));
            struct task_report r = lab_report(&lab, &offer, 4);
            r.content = "delta"; /* 3e38 + 3e38 in the second round */
            ck_assert_int_eq(lab_send_values(&lab, &offer, &r, huge, &op), ERR_OK);
            lab_advance(&lab);
        }
    struct round_row round = lab_round(&lab, id, 1);
    ck_assert_int_eq(round.outcome, ROUND_FAILED);
    ck_assert_str_eq(round.reason, "the average of the updates is not finite; the model stays");
    ck_assert_int_eq(round.model_version_out, 2);
    ck_assert_str_eq(lab_model(&lab, id, 1).aggregate_sha256, lab_model(&lab, id, 2).aggregate_sha256);
    ck_assert_uint_eq(lab_count_events(&lab, id, "warning"), 1);
    ck_assert_int_eq(lab_run(&lab, id).outcome, RUN_COMPLETED);
    lab_close(&lab);
}
END_TEST

START_TEST(test_devices_without_examples_have_no_weight)
{
    struct lab lab;
    lab_open(&lab);
    ck_assert_int_eq(lab_register(&lab, 0, 0), ERR_OK);
    ck_assert_int_eq(lab_register(&lab, 1, 0), ERR_OK);
    const char *id = lab_submit(&lab, "{\"num_rounds\": 1}");
    lab_work(&lab, 0, 9, 0);
    lab_work(&lab, 1, 9, 0);
    struct round_row round = lab_round(&lab, id, 0);
    ck_assert_int_eq(round.received, 2);
    ck_assert_int_eq(round.outcome, ROUND_FAILED);
    ck_assert_str_eq(lab_model(&lab, id, 0).aggregate_sha256, lab_model(&lab, id, 1).aggregate_sha256);
    lab_close(&lab);
}
END_TEST

START_TEST(test_carried_tensors_stay)
{
    struct lab lab;
    struct task_offer offer;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(
        &lab,
        "{\"num_rounds\": 1, \"model\": {\"input\": null, \"layers\": null, \"init\": null, \"tensors\": ["
        "{\"name\": \"a\", \"shape\": [2], \"dtype\": \"F32\"},"
        "{\"name\": \"steps\", \"shape\": [3], \"dtype\": \"I64\"},"
        "{\"name\": \"b\", \"shape\": [2, 2], \"dtype\": \"F32\"}]}}");
    const float values[LAB_PARAMS] = {1, 2, 3, 4, 5, 6};
    const int64_t carried[3] = {7, 8, 9};
    for (int k = 0; k < 2; k++) {
        struct op_task_update op;
        ck_assert(lab_claim(&lab, k, &offer));
        struct task_report r = lab_report(&lab, &offer, 4);
        lab.carried = carried;
        ck_assert_int_eq(lab_send_values(&lab, &offer, &r, values, &op), ERR_OK);
        lab_advance(&lab);
    }
    struct model_row model = lab_model(&lab, id, 1);
    char file[2048];
    ck_assert_int_lt(model.size_bytes, (int64_t)sizeof file);
    ck_assert_int_eq(lab.blobs->ops->read(lab.blobs, model.blob_id, 0, file, (size_t)model.size_bytes),
                     ERR_OK);
    const char *data = file + model.size_bytes - 6 * 4 - 3 * 8;
    int64_t zeros[3] = {0};
    ck_assert_mem_eq(data, values, 8);           /* a */
    ck_assert_mem_eq(data + 8, zeros, 24);       /* steps: of the model, not of the updates */
    ck_assert_mem_eq(data + 32, values + 2, 16); /* b */
    char sha[SHA256_HEX_SIZE];
    ck_assert_int_eq(params_sha256(values, LAB_PARAMS, sha), ERR_OK);
    ck_assert_str_eq(model.aggregate_sha256, sha);
    lab_close(&lab);
}
END_TEST

START_TEST(test_gradients_give_dissimilarity_and_variance)
{
    struct lab lab;
    struct task_offer offer;
    struct task_row *tasks;
    lab_open(&lab);
    ck_assert_int_eq(lab_register(&lab, 0, 1), ERR_OK);
    ck_assert_int_eq(lab_register(&lab, 1, 3), ERR_OK);
    const char *id = lab_submit(
        &lab, "{\"num_rounds\": 1, \"evaluation\": {\"dissimilarity\": true, \"grad_variance\": true}}");
    size_t n = lab_tasks(&lab, id, 0, &tasks);
    ck_assert_uint_eq(n, 4);
    for (size_t i = 0; i < n; i++)
        ck_assert_int_eq(tasks[i].wants, tasks[i].type == TASK_EVALUATE ? WANT_GRADIENT : 0);
    for (int i = 0; i < 4; i++) {
        struct op_task_update op;
        int k = i % 2;
        ck_assert(lab_claim(&lab, k, &offer));
        struct task_report r = lab_report(&lab, &offer, offer.task.max_steps);
        float g = k == 0 ? 2 : -1;
        ck_assert_int_eq(lab_send(&lab, &offer, &r, g, &op), ERR_OK);
        lab_advance(&lab);
    }
    /* g_0 = 2, g_1 = -1, p = 1/4, 3/4: g = -1/4; per element E||g_k||^2 = 7/4, ||g||^2 = 1/16. */
    struct round_row round = lab_round(&lab, id, 0);
    ck_assert_int_eq(round.outcome, ROUND_COMPLETED);
    ck_assert(fabs(round.dissimilarity_b - sqrt(28.0)) < 1e-12);
    ck_assert(fabs(round.grad_variance_weighted - 6 * (7.0 / 4 - 1.0 / 16)) < 1e-12);
    ck_assert(fabs(round.grad_variance_uniform - 6 * (2.25 * 2.25 + 0.75 * 0.75) / 2) < 1e-12);
    float w[LAB_PARAMS];
    lab_params(&lab, id, 1, w);
    ck_assert(w[0] == -0.25f); /* of the weights, 2 and -1 as well */
    lab_close(&lab);
}
END_TEST

START_TEST(test_a_gradient_is_asked_for_and_must_come)
{
    struct lab lab;
    struct task_offer offer;
    struct task_row *tasks;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(&lab, "{\"evaluation\": {\"on\": \"selected\", \"grad_variance\": true}}");
    ck_assert_uint_eq(lab_tasks(&lab, id, 0, &tasks), 4);
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(tasks[i].wants,
                         tasks[i].type == TASK_EVALUATE ? WANT_GRADIENT | WANT_EVALUATION : 0);
    do
        ck_assert(lab_claim(&lab, 0, &offer));
    while (offer.task.type != TASK_EVALUATE && (lab_answer(&lab, &offer, 1, 1), true));
    struct task_report r = lab_report(&lab, &offer, 0);
    struct op_task_update op = {.base = {.core = lab.core, .arena = &lab.arena},
                                .task_id = offer.task.id,
                                .worker_id = "",
                                .device_id = lab.devices[0],
                                .report = r,
                                .body_sha256 = "x"};
    ck_assert_int_eq(store_write_wait(lab.store, op_task_update, &op), ERR_INVALID_UPDATE);
    ck_assert_ptr_nonnull(strstr(op.base.fault.detail, "grad."));
    lab_close(&lab);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_one_and_three_examples_weigh_a_quarter_and_three,
                                  test_the_order_of_arrival_changes_nothing,
                                  test_fedavg_is_fedprox_with_mu_0_bit_for_bit,
                                  test_deltas_are_added_to_the_model,
                                  test_an_average_past_the_floats_fails_the_round_and_keeps_the_model,
                                  test_devices_without_examples_have_no_weight,
                                  test_carried_tensors_stay,
                                  test_gradients_give_dissimilarity_and_variance,
                                  test_a_gradient_is_asked_for_and_must_come};
    return unit_run("aggregation", tests, sizeof tests / sizeof *tests);
}
