#include "tests/unit/core/lab.h"

#include <math.h>
#include <pthread.h>

/* -- the machine ----------------------------------------------------------------------------------------- */

static enum err lab_entropy(void *ctx, void *out, size_t n)
{
    struct lab *lab = ctx;
    unsigned char *bytes = out;
    for (size_t i = 0; i < n; i++) {
        lab->entropy_at = lab->entropy_at * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        bytes[i] = (unsigned char)(lab->entropy_at >> 33);
    }
    return ERR_OK;
}

/* They come from whichever thread commits. */
static pthread_mutex_t topics_lock = PTHREAD_MUTEX_INITIALIZER;

static void lab_notified(void *ctx, const char *topic)
{
    struct lab *lab = ctx;
    pthread_mutex_lock(&topics_lock);
    if (lab->num_topics < LAB_MAX_TOPICS)
        (void)snprintf(lab->topics[lab->num_topics++], sizeof lab->topics[0], "%s", topic);
    pthread_mutex_unlock(&topics_lock);
}

static void core_start(struct lab *lab)
{
    const struct core_config config = {
        .store = lab->store,
        .blobs = lab->blobs,
        .clock = clock_fake(&lab->clock),
        .entropy = {lab_entropy, lab},
        .heartbeat_ms = 10000,
    };
    struct fault fault = FAULT_NONE;
    ck_assert_int_eq(core_new(&config, &lab->core), ERR_OK);
    ck_assert_msg(core_recover(lab->core, &fault) == ERR_OK, "%s", fault.detail);
}

void lab_open_over(struct lab *lab, struct store *store, struct blobs *blobs)
{
    *lab = (struct lab){.store = store, .blobs = blobs, .clock = {LAB_START_MS}};
    arena_init(&lab->arena, 256 * MIB);
    lab_open_again(lab);
}

void lab_open(struct lab *lab)
{
    struct store *store;
    struct blobs *blobs;
    ck_assert_int_eq(store_memory_open(&store), ERR_OK);
    ck_assert_int_eq(blobs_memory_open(&blobs), ERR_OK);
    lab_open_over(lab, store, blobs);
}

void lab_close_files(struct lab *lab)
{
    core_free(lab->core);
    lab->store->ops->close(lab->store);
    lab->blobs->ops->close(lab->blobs);
}

void lab_open_again(struct lab *lab)
{
    lab->store->ops->listen(lab->store, lab_notified, lab);
    core_start(lab);
}

void lab_close(struct lab *lab)
{
    lab_close_files(lab);
    arena_release(&lab->arena);
}

void lab_restart(struct lab *lab)
{
    core_free(lab->core);
    core_start(lab);
}

static bool helps_to_retry(enum err e)
{
    return e == ERR_STORAGE_FULL || e == ERR_UNAVAILABLE;
}

int64_t lab_advance(struct lab *lab)
{
    int64_t next_ms;
    enum err e;
    do {
        e = core_advance(lab->core, &next_ms);
        ck_assert_msg(!e || next_ms <= lab->clock.ms + 1000, "after an error it says when to try again");
    } while (helps_to_retry(e));
    ck_assert_int_eq(e, ERR_OK);
    return next_ms;
}

void lab_wait(struct lab *lab, int64_t ms)
{
    lab->clock.ms += ms;
    lab_advance(lab);
}

void lab_topics_clear(struct lab *lab)
{
    lab->num_topics = 0;
}

bool lab_was_notified(const struct lab *lab, const char *kind, const char *id)
{
    char topic[64];
    (void)snprintf(topic, sizeof topic, "%s%s%s", kind, *id ? ":" : "", id);
    for (size_t i = 0; i < lab->num_topics; i++)
        if (strcmp(lab->topics[i], topic) == 0)
            return true;
    return false;
}

static struct op_base base_of(struct lab *lab)
{
    return (struct op_base){.core = lab->core, .arena = &lab->arena, .caller = "tester"};
}

static enum err write_op(struct lab *lab, store_fn fn, void *op)
{
    enum err e;
    do
        e = store_write_wait(lab->store, fn, op);
    while (helps_to_retry(e));
    lab->fault = ((struct op_base *)op)->fault;
    return e;
}

/* -- runs ------------------------------------------------------------------------------------------------ */

json_t *lab_json(const char *text)
{
    json_t *value = NULL;
    struct fault fault = FAULT_NONE;
    ck_assert_msg(json_text_parse(text, strlen(text), &value, &fault) == ERR_OK, "%s in %s", fault.detail,
                  text);
    return value;
}

static void lay_over(json_t *base, json_t *changes)
{
    const char *key;
    json_t *value;
    json_object_foreach(changes, key, value)
    {
        json_t *old = json_object_get(base, key);
        if (json_is_null(value))
            json_object_del(base, key);
        else if (json_is_object(value) && json_is_object(old))
            lay_over(old, value);
        else
            json_object_set(base, key, value);
    }
}

json_t *lab_spec(const char *changes)
{
    json_t *spec = lab_json(
        "{\"name\": \"small\", \"seed\": 1, \"num_rounds\": 2, \"dataset\": \"" LAB_DATASET "\","
        "\"model\": {\"input\": [2], \"layers\": [{\"type\": \"dense\", \"units\": 2}], \"init\": \"zeros\"},"
        "\"training\": {\"local_epochs\": 1, \"batch_size\": 1, \"learning_rate\": 0.1},"
        "\"strategy\": {\"name\": \"fedprox\", \"params\": {\"proximal_mu\": 0}},"
        "\"selection\": {\"devices_per_round\": 2, \"population\": 2},"
        "\"evaluation\": {\"on\": \"none\"},"
        "\"reporting\": {\"deadline_s\": 60, \"grace_s\": 5}}");
    json_t *overlay = lab_json(changes);
    lay_over(spec, overlay);
    json_decref(overlay);
    return spec;
}

enum err lab_create(struct lab *lab, const char *changes, struct run_row *out)
{
    struct op_run_create op = {.base = base_of(lab), .spec = lab_spec(changes)};
    enum err e = write_op(lab, op_run_create, &op);
    json_decref(op.spec);
    *out = op.out;
    return e;
}

const char *lab_submit(struct lab *lab, const char *changes)
{
    struct run_row run;
    enum err e = lab_create(lab, changes, &run);
    ck_assert_msg(e == ERR_OK, "%s: %s: %s", err_name(e), lab->fault.field, lab->fault.detail);
    lab_advance(lab);
    return run.id;
}

enum err lab_action(struct lab *lab, const char *run_id, enum run_action action)
{
    struct op_run_action op = {.base = base_of(lab), .run_id = run_id, .action = action};
    enum err e = write_op(lab, op_run_action, &op);
    lab_advance(lab);
    return e;
}

enum err lab_config(struct lab *lab, const char *run_id, const char *patch)
{
    struct op_run_config op = {.base = base_of(lab), .run_id = run_id, .patch = lab_json(patch)};
    enum err e = write_op(lab, op_run_config, &op);
    json_decref(op.patch);
    return e;
}

/* -- devices --------------------------------------------------------------------------------------------- */

enum err lab_register(struct lab *lab, int64_t ordinal, int64_t examples)
{
    return lab_register_tests(lab, ordinal, examples, 2);
}

enum err lab_register_tests(struct lab *lab, int64_t ordinal, int64_t examples, int64_t test_examples)
{
    static int secrets;
    char secret[SHA256_HEX_SIZE];
    (void)snprintf(secret, sizeof secret, "%064d", ++secrets);
    struct op_device_register op = {.base = base_of(lab), .token_sha256 = arena_strdup(&lab->arena, secret)};
    op.body =
        json_pack("{s:s, s:I, s:I, s:I, s:[i], s:i}", "dataset", LAB_DATASET, "ordinal", ordinal,
                  "num_examples", examples, "num_test_examples", test_examples, "input", 2, "classes", 2);
    enum err e = write_op(lab, op_device_register, &op);
    json_decref(op.body);
    if (e == ERR_OK) {
        memcpy(lab->devices[ordinal], op.out.id, ID_SIZE);
        lab->examples[ordinal] = examples;
        lab_advance(lab);
    }
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
        .base = base_of(lab), .worker_id = "", .device_id = lab->devices[ordinal], .max = 1};
    ck_assert_int_eq(write_op(lab, op_task_claim, &op), ERR_OK);
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
    *out = (struct op_task_update){.base = base_of(lab),
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
    enum err e = write_op(lab, op_task_update, out);
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
    struct op_task_fail op = {.base = base_of(lab),
                              .task_id = offer->task.id,
                              .worker_id = offer->task.worker_id,
                              .device_id = offer->task.device_id,
                              .code = code,
                              .detail = "as the test wants",
                              .report = *report,
                              .received_at = lab->clock.ms};
    return write_op(lab, op_task_fail, &op);
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
    struct op_run_weights op = {.base = base_of(lab), .run_id = run_id};
    op.blob_id = lab_put_file(lab, offer, values, file_sha, &op.size_bytes);
    ck_assert_int_eq(params_sha256(values, LAB_PARAMS, params_sha), ERR_OK);
    op.weights_sha256 = file_sha;
    op.aggregate_sha256 = params_sha;
    return write_op(lab, op_run_weights, &op);
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

/* -- looking --------------------------------------------------------------------------------------------- */

struct look {
    struct lab *lab;
    const char *run_id, *name;
    int64_t n;
    enum record_kind kind;
    void *row;
    void *rows;
    size_t count;
    bool is_there;
};

static enum err look_get(struct store_txn *txn, void *arg)
{
    struct look *l = arg;
    enum err e = store_get(txn, l->kind, &l->lab->arena, l->row);
    l->is_there = e == ERR_OK;
    return e == ERR_NOT_FOUND ? ERR_OK : e;
}

static bool get_row(struct lab *lab, enum record_kind kind, void *row)
{
    struct look l = {.lab = lab, .kind = kind, .row = row};
    ck_assert_int_eq(lab->store->ops->read(lab->store, look_get, &l), ERR_OK);
    return l.is_there;
}

struct run_row lab_run(struct lab *lab, const char *run_id)
{
    struct run_row run;
    record_init(RECORD_RUN, &run);
    run.id = run_id;
    ck_assert(get_row(lab, RECORD_RUN, &run));
    return run;
}

static bool find_round(struct lab *lab, const char *run_id, int64_t n, struct round_row *out)
{
    record_init(RECORD_ROUND, out);
    out->run_id = run_id;
    out->n = n;
    return get_row(lab, RECORD_ROUND, out);
}

bool lab_has_round(struct lab *lab, const char *run_id, int64_t n)
{
    struct round_row round;
    return find_round(lab, run_id, n, &round);
}

struct round_row lab_round(struct lab *lab, const char *run_id, int64_t n)
{
    struct round_row round;
    ck_assert_msg(find_round(lab, run_id, n, &round), "there is no round %lld", (long long)n);
    return round;
}

struct model_row lab_model(struct lab *lab, const char *run_id, int64_t version)
{
    struct model_row model;
    record_init(RECORD_MODEL, &model);
    model.run_id = run_id;
    model.version = version;
    ck_assert_msg(get_row(lab, RECORD_MODEL, &model), "there is no model %lld", (long long)version);
    return model;
}

void lab_params(struct lab *lab, const char *run_id, int64_t version, float out[LAB_PARAMS])
{
    struct model_row model = lab_model(lab, run_id, version);
    char *file = arena_alloc(&lab->arena, (size_t)model.size_bytes), sha[SHA256_HEX_SIZE];
    ck_assert_int_eq(lab->blobs->ops->read(lab->blobs, model.blob_id, 0, file, (size_t)model.size_bytes),
                     ERR_OK);
    ck_assert_int_eq(sha256_hex(file, (size_t)model.size_bytes, sha), ERR_OK);
    ck_assert_str_eq(sha, model.weights_sha256);
    memcpy(out, file + model.size_bytes - LAB_PARAMS * (int64_t)sizeof(float), LAB_PARAMS * sizeof(float));
    ck_assert_int_eq(params_sha256(out, LAB_PARAMS, sha), ERR_OK);
    ck_assert_str_eq(sha, model.aggregate_sha256);
}

static enum err look_tasks(struct store_txn *txn, void *arg)
{
    struct look *l = arg;
    return store_find(txn, QUERY_TASKS_BY_ROUND, &l->lab->arena, 0, &l->rows, &l->count,
                      store_text(l->run_id), store_int(l->n), store_any, store_any);
}

size_t lab_tasks(struct lab *lab, const char *run_id, int64_t round, struct task_row **out)
{
    struct look l = {.lab = lab, .run_id = run_id, .n = round};
    ck_assert_int_eq(lab->store->ops->read(lab->store, look_tasks, &l), ERR_OK);
    *out = l.rows;
    return l.count;
}

double lab_metric(struct lab *lab, const char *run_id, int64_t round, const char *name, int64_t ordinal)
{
    struct metric_row row;
    record_init(RECORD_METRIC, &row);
    row.run_id = run_id;
    row.round = round;
    row.name = name;
    row.ordinal = ordinal;
    return get_row(lab, RECORD_METRIC, &row) ? row.value : (double)NAN;
}

static enum err look_runs(struct store_txn *txn, void *arg)
{
    struct look *l = arg;
    return store_find(txn, QUERY_RUNS, &l->lab->arena, 0, &l->rows, &l->count, store_any, store_any,
                      store_any);
}

size_t lab_count_runs(struct lab *lab)
{
    struct look l = {.lab = lab};
    ck_assert_int_eq(lab->store->ops->read(lab->store, look_runs, &l), ERR_OK);
    return l.count;
}

static enum err look_events(struct store_txn *txn, void *arg)
{
    struct look *l = arg;
    return store_find(txn, QUERY_EVENTS_OF_RUN, &l->lab->arena, 0, &l->rows, &l->count, store_text(l->run_id),
                      store_any);
}

static const struct event_row *events_of(struct lab *lab, const char *run_id, size_t *out_count)
{
    struct look l = {.lab = lab, .run_id = run_id};
    ck_assert_int_eq(lab->store->ops->read(lab->store, look_events, &l), ERR_OK);
    *out_count = l.count;
    return l.rows;
}

size_t lab_count_events(struct lab *lab, const char *run_id, const char *type)
{
    size_t count, found = 0;
    const struct event_row *rows = events_of(lab, run_id, &count);
    for (size_t i = 0; i < count; i++)
        found += strcmp(rows[i].type, type) == 0;
    return found;
}

json_t *lab_event(struct lab *lab, const char *run_id, const char *type)
{
    size_t count;
    const struct event_row *rows = events_of(lab, run_id, &count);
    for (size_t i = count; i-- > 0;)
        if (strcmp(rows[i].type, type) == 0)
            return lab_json(rows[i].data);
    return NULL;
}
