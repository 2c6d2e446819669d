#include "tests/unit/core/lab.h"

#include <math.h>

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

const char *lab_said(struct lab *lab, const char *update_id)
{
    struct update_report_row row;
    record_init(RECORD_UPDATE_REPORT, &row);
    row.update_id = update_id;
    ck_assert_msg(get_row(lab, RECORD_UPDATE_REPORT, &row), "there is no report of %s", update_id);
    return row.report;
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

static enum err get_token(struct store_txn *txn, void *arg)
{
    struct token_row *row = arg, *rows;
    static struct arena arena = ARENA_INIT(MIB);
    size_t count;
    enum err e = store_find(txn, QUERY_TOKEN_BY_SHA256, &arena, 1, &rows, &count, store_text(row->sha256));
    ck_assert_uint_eq(count, 1);
    *row = rows[0];
    return e;
}

struct token_row lab_token(struct lab *lab, const char *sha256)
{
    struct token_row row = {.sha256 = sha256};
    ck_assert_int_eq(lab->store->ops->read(lab->store, get_token, &row), ERR_OK);
    return row;
}
