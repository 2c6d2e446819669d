#include "tests/unit/core/lab.h"

enum err lab_register(struct lab *lab, int64_t ordinal, int64_t examples)
{
    return lab_register_tests(lab, ordinal, examples, 2);
}

enum err lab_register_tests(struct lab *lab, int64_t ordinal, int64_t examples, int64_t test_examples)
{
    static int secrets;
    char secret[SHA256_HEX_SIZE];
    (void)snprintf(secret, sizeof secret, "%064d", ++secrets);
    struct op_device_register op = {.base = lab_base(lab), .token_sha256 = arena_strdup(&lab->arena, secret)};
    op.body =
        json_pack("{s:s, s:I, s:I, s:I, s:[i], s:i}", "dataset", LAB_DATASET, "ordinal", ordinal,
                  "num_examples", examples, "num_test_examples", test_examples, "input", 2, "classes", 2);
    enum err e = lab_write(lab, op_device_register, &op);
    json_decref(op.body);
    if (e == ERR_OK) {
        memcpy(lab->devices[ordinal], op.out.id, ID_SIZE);
        lab->examples[ordinal] = examples;
        lab_advance(lab);
    }
    return e;
}

const char *lab_secret(struct lab *lab)
{
    static int n;
    return arena_printf(&lab->arena, "%064d", 500000 + ++n);
}

enum err lab_enrol(struct lab *lab, const char *body, struct op_worker_register *op)
{
    *op =
        (struct op_worker_register){.base = {.core = lab->core, .arena = &lab->arena, .caller = "enrolment"},
                                    .body = lab_json(body),
                                    .token_sha256 = lab_secret(lab)};
    enum err e = store_write_wait(lab->store, op_worker_register, op);
    lab->fault = op->base.fault;
    json_decref(op->body);
    if (!e)
        lab_advance(lab);
    return e;
}

void lab_devices(struct lab *lab, int count, int64_t examples)
{
    for (int k = 0; k < count; k++)
        ck_assert_int_eq(lab_register(lab, k, examples), ERR_OK);
}

bool lab_claim(struct lab *lab, int64_t ordinal, struct task_offer *out)
{
    struct op_task_claim op = {
        .base = lab_base(lab), .worker_id = "", .device_id = lab->devices[ordinal], .max = 1};
    ck_assert_int_eq(lab_write(lab, op_task_claim, &op), ERR_OK);
    if (op.out_count == 0)
        return false;
    *out = op.out[0];
    return true;
}

struct task_report lab_report(struct lab *lab, const struct task_offer *offer, int64_t steps)
{
    struct task_report r;
    task_report_init(&r);
    r.attempt = offer->task.attempt;
    r.num_examples = lab->examples[offer->task.ordinal];
    if (offer->task.type == TASK_TRAIN) {
        r.steps_assigned = offer->task.steps_assigned;
        r.steps_done = steps;
        r.batch_size = offer->batch_size;
        r.seed = arena_printf(&lab->arena, "%lld", (long long)offer->seed);
        r.proximal_mu = offer->proximal_mu;
        r.learning_rate = offer->learning_rate;
    }
    return r;
}

static bool put_bytes(struct blobs *b, const void *bytes, size_t n, int64_t *out_id)
{
    struct blob_put *put;
    if (b->ops->put_begin(b, &put))
        return false;
    if (b->ops->put_write(put, bytes, n)) {
        b->ops->put_abort(put);
        return false;
    }
    return b->ops->put_end(put, out_id) == ERR_OK;
}

int64_t lab_put_file(struct lab *lab, const struct task_offer *offer, const float values[LAB_PARAMS],
                     char out_sha[65], int64_t *out_size)
{
    struct arch *arch;
    struct buf file = BUF_INIT(64 * KIB);
    struct fault fault = FAULT_NONE;
    int64_t blob_id;
    json_t *model = lab_json(offer->model);
    ck_assert_int_eq(arch_parse(model, &arch, &fault), ERR_OK);
    ck_assert_int_eq(arch->tensors.num_params, LAB_PARAMS);
    ck_assert_int_eq(safetensors_encode(&arch->tensors, offer->task.type == TASK_EVALUATE ? "grad." : "",
                                        values, lab->carried, NULL, 0, &file),
                     ERR_OK);
    while (!put_bytes(lab->blobs, file.data, file.len, &blob_id))
        ;
    ck_assert_int_eq(sha256_hex(file.data, file.len, out_sha), ERR_OK);
    *out_size = (int64_t)file.len;
    buf_release(&file);
    arch_free(arch);
    json_decref(model);
    return blob_id;
}

enum err lab_send_values(struct lab *lab, const struct task_offer *offer, const struct task_report *report,
                         const float values[LAB_PARAMS], struct op_task_update *out)
{
    char sha[SHA256_HEX_SIZE] = "";
    bool has_body = offer->task.type == TASK_TRAIN || (offer->task.wants & WANT_GRADIENT);
    *out = (struct op_task_update){.base = lab_base(lab),
                                   .task_id = offer->task.id,
                                   .worker_id = offer->task.worker_id,
                                   .device_id = offer->task.device_id,
                                   .report = *report,
                                   .received_at = lab->clock.ms};
    if (has_body)
        out->blob_id = lab_put_file(lab, offer, values, sha, &out->size_bytes);
    /* As the API does: over body and report. */
    out->body_sha256 = arena_printf(&lab->arena, "%s-%lld-%.17g-%s", sha, (long long)report->steps_done,
                                    report->eval_train_loss, report->stop_reason);
    enum err e = lab_write(lab, op_task_update, out);
    if (out->blob_id && (e || out->out_duplicate))
        ck_assert_int_eq(lab->blobs->ops->remove(lab->blobs, out->blob_id), ERR_OK);
    return e;
}

enum err lab_send(struct lab *lab, const struct task_offer *offer, const struct task_report *report,
                  float value, struct op_task_update *out)
{
    const float values[LAB_PARAMS] = {value, value, value, value, value, value};
    return lab_send_values(lab, offer, report, values, out);
}

enum err lab_fail(struct lab *lab, const struct task_offer *offer, const char *code,
                  const struct task_report *report)
{
    struct op_task_fail op = {.base = lab_base(lab),
                              .task_id = offer->task.id,
                              .worker_id = offer->task.worker_id,
                              .device_id = offer->task.device_id,
                              .code = code,
                              .detail = "as the test wants",
                              .report = *report,
                              .received_at = lab->clock.ms};
    return lab_write(lab, op_task_fail, &op);
}

static void evaluate(struct task_report *r, const struct task_offer *offer, double loss)
{
    if (!(offer->task.wants & WANT_EVALUATION))
        return;
    r->eval_train_loss = loss;
    r->eval_train_examples = offer->task.num_examples;
    r->eval_test_loss = loss / 2;
    r->eval_test_examples = offer->task.num_test_examples;
    r->eval_test_correct = 1;
}

void lab_answer(struct lab *lab, const struct task_offer *offer, float value, double loss)
{
    struct op_task_update op;
    struct task_report r = lab_report(lab, offer, offer->task.max_steps);
    evaluate(&r, offer, loss);
    bool is_incomplete = offer->task.type == TASK_TRAIN && !offer->accept_partial &&
                         offer->task.max_steps < offer->task.steps_assigned;
    enum err e =
        is_incomplete ? lab_fail(lab, offer, "incomplete", &r) : lab_send(lab, offer, &r, value, &op);
    ck_assert_msg(e == ERR_OK, "ordinal %lld: %s: %s: %s", (long long)offer->task.ordinal, err_name(e),
                  lab->fault.field, lab->fault.detail);
    lab_advance(lab);
}

void lab_work(struct lab *lab, int64_t ordinal, float value, double loss)
{
    struct task_offer offer;
    ck_assert_msg(lab_claim(lab, ordinal, &offer), "device %lld has nothing to do", (long long)ordinal);
    lab_answer(lab, &offer, value, loss);
}

void lab_work_all(struct lab *lab, int count)
{
    struct task_offer offer;
    for (bool any = true; any;) {
        any = false;
        for (int k = 0; k < count; k++) {
            if (!lab_claim(lab, k, &offer))
                continue;
            any = true;
            lab_answer(lab, &offer, (float)(k + offer.task.round), 1.0 / (double)(1 + k));
        }
    }
}

enum err lab_put_weights(struct lab *lab, const char *run_id, const struct task_offer *offer,
                         const float values[LAB_PARAMS])
{
    char file_sha[SHA256_HEX_SIZE], params_sha[SHA256_HEX_SIZE];
    struct op_run_weights op = {.base = lab_base(lab), .run_id = run_id};
    op.blob_id = lab_put_file(lab, offer, values, file_sha, &op.size_bytes);
    ck_assert_int_eq(params_sha256(values, LAB_PARAMS, params_sha), ERR_OK);
    op.weights_sha256 = file_sha;
    op.aggregate_sha256 = params_sha;
    return lab_write(lab, op_run_weights, &op);
}

struct directive_arg {
    struct lab *lab;
    const struct task_offer *offer;
    enum directive out;
};

static enum err read_directive(struct store_txn *txn, void *arg)
{
    struct directive_arg *a = arg;
    a->out = core_task_directive(a->lab->core, txn, a->offer->task.id, a->offer->task.worker_id,
                                 a->offer->task.device_id);
    return ERR_OK;
}

enum directive lab_directive(struct lab *lab, const struct task_offer *offer)
{
    struct directive_arg a = {.lab = lab, .offer = offer};
    ck_assert_int_eq(lab->store->ops->read(lab->store, read_directive, &a), ERR_OK);
    return a.out;
}
