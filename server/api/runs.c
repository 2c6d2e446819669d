#include "common/base/str.h"
#include "server/api/handlers.h"
#include "server/api/mutation.h"
#include "server/api/page.h"
#include "server/api/run_json.h"
#include "server/api/sparkline.h"
#include "server/core/names.h"

/* ---- what changes a run ---- */

static json_t *render_created(struct api *api, struct store_txn *txn, struct arena *arena, const void *op)
{
    (void)api;
    return run_json(txn, arena, &((const struct op_run_create *)op)->out);
}

static const char *created_id(const void *op)
{
    return ((const struct op_run_create *)op)->out.id;
}

enum err api_run_create(void *ctx, struct request *rq, struct fault *fault)
{
    struct mutation *m = mutation_new(ctx, rq, sizeof(struct op_run_create));
    if (!m)
        return ERR_NO_MEMORY;
    ((struct op_run_create *)m->op)->spec = api_body(rq);
    m->fn = op_run_create;
    m->status = 201;
    m->render = render_created;
    m->location = API_PREFIX "/runs/";
    m->id = created_id;
    return mutation_start(m, rq, fault);
}

static json_t *render_acted(struct api *api, struct store_txn *txn, struct arena *arena, const void *op)
{
    (void)api;
    return run_json(txn, arena, &((const struct op_run_action *)op)->out);
}

static enum err act(struct api *api, struct request *rq, enum run_action action, struct fault *fault)
{
    struct mutation *m = mutation_new(api, rq, sizeof(struct op_run_action));
    if (!m)
        return ERR_NO_MEMORY;
    struct op_run_action *op = m->op;
    enum err e = api_path_id(rq, "run", &op->run_id, fault);
    if (e == ERR_OK)
        e = api_refuse_fields(rq, fault);
    if (e != ERR_OK)
        return e;
    op->action = action;
    m->fn = op_run_action;
    m->status = 200;
    m->render = render_acted;
    return mutation_start(m, rq, fault);
}

enum err api_run_start(void *ctx, struct request *rq, struct fault *fault)
{
    return act(ctx, rq, RUN_ACTION_START, fault);
}

enum err api_run_pause(void *ctx, struct request *rq, struct fault *fault)
{
    return act(ctx, rq, RUN_ACTION_PAUSE, fault);
}

enum err api_run_resume(void *ctx, struct request *rq, struct fault *fault)
{
    return act(ctx, rq, RUN_ACTION_RESUME, fault);
}

enum err api_run_stop(void *ctx, struct request *rq, struct fault *fault)
{
    return act(ctx, rq, RUN_ACTION_STOP, fault);
}

static json_t *render_config(struct api *api, struct store_txn *txn, struct arena *arena, const void *op)
{
    (void)api;
    return run_json(txn, arena, &((const struct op_run_config *)op)->out);
}

enum err api_run_config(void *ctx, struct request *rq, struct fault *fault)
{
    struct mutation *m = mutation_new(ctx, rq, sizeof(struct op_run_config));
    if (!m)
        return ERR_NO_MEMORY;
    struct op_run_config *op = m->op;
    op->patch = api_body(rq);
    m->fn = op_run_config;
    m->status = 200;
    m->render = render_config;
    enum err e = api_path_id(rq, "run", &op->run_id, fault);
    return e == ERR_OK ? mutation_start(m, rq, fault) : e;
}

/* ---- reads ---- */

static enum err read_run(struct store_txn *txn, void *arg)
{
    struct reading *r = arg;
    struct run_row run;
    enum err e = run_of_path(r, txn, &run);
    if (e == ERR_OK && !(r->out = run_json(txn, r->arena, &run)))
        e = ERR_NO_MEMORY;
    return e;
}

static enum err read_spec(struct store_txn *txn, void *arg)
{
    struct reading *r = arg;
    struct run_row run;
    enum err e = run_of_path(r, txn, &run);
    if (e == ERR_OK && !(r->out = json_loads(run.spec, JSON_DECODE_ANY, NULL)))
        e = ERR_NO_MEMORY; /* the core wrote it, so it is JSON */
    return e;
}

enum err api_run_spec(void *ctx, struct request *rq, struct fault *fault)
{
    return api_reply_read(ctx, rq, read_spec, fault);
}

enum err api_run_get(void *ctx, struct request *rq, struct fault *fault)
{
    return api_reply_read(ctx, rq, read_run, fault);
}

#define MAX_RUNS_WITH_LINES 200 /* of a page: each costs two look-ups a value */

struct runs_look {
    struct reading r;  /* first: reads take it */
    int64_t sparkline; /* 0: none */
};

static json_t *render_row(struct reading *r, struct store_txn *txn, const void *row)
{
    const struct runs_look *look = (const struct runs_look *)r;
    json_t *json = run_json(txn, r->arena, row);
    if (json && look->sparkline && sparklines_put(txn, row, look->sparkline, json) != ERR_OK) {
        json_decref(json);
        return NULL;
    }
    return json;
}

/* ?experiment= takes an id or a name. A name that nobody uses gives an empty list, as any filter does. */
static enum err experiment_filter(struct reading *r, struct store_txn *txn, struct store_value *out)
{
    const char *given = request_query(r->rq, "experiment");
    *out = store_text_or_any(given);
    uint64_t n;
    if (!given || str_to_u64(given, &n) == ERR_OK)
        return ERR_OK;
    struct experiment_row *rows;
    size_t count;
    enum err e = store_find(txn, QUERY_EXPERIMENT_BY_NAME, r->arena, 1, &rows, &count, store_text(given));
    if (e == ERR_OK && count == 1)
        *out = store_text(rows[0].id);
    return e;
}

static enum err read_runs(struct store_txn *txn, void *arg)
{
    struct runs_look *look = arg;
    struct reading *r = &look->r;
    struct page page;
    struct store_value args[3] = {store_any, store_any, store_any};
    enum err e = page_read_id(r->rq, &page, r->fault);
    if (e == ERR_OK)
        e = request_query_int(r->rq, "sparkline", 2, MAX_SPARKLINE, 0, &look->sparkline, r->fault);
    if (e == ERR_OK && look->sparkline && page.limit > MAX_RUNS_WITH_LINES)
        page.limit = MAX_RUNS_WITH_LINES;
    if (e == ERR_OK)
        e = experiment_filter(r, txn, &args[0]);
    if (e != ERR_OK)
        return e;
    const char *status = request_query(r->rq, "status");
    int64_t value;
    if (status) {
        if (run_status_parse(status, &value) != ERR_OK)
            return fault_set(r->fault, ERR_INVALID_FIELD, "status",
                             "It must be pending, waiting_for_devices, running, paused or finished.");
        args[1] = store_int(value);
    }
    args[2] = page_after_id(&page);
    return page_fill(r, txn, &page,
                     &(struct page_source){.query = QUERY_RUNS,
                                           .kind = RECORD_RUN,
                                           .args = args,
                                           .num_args = 3,
                                           .render = render_row,
                                           .cursor = page_cursor_first_text});
}

enum err api_run_list(void *ctx, struct request *rq, struct fault *fault)
{
    struct runs_look look = {.r = {.api = ctx, .rq = rq, .arena = request_arena(rq), .fault = fault}};
    return api_reply_reading(&look.r, read_runs);
}
