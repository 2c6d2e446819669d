#include <string.h>
#include "common/json/json_spec.h"
#include "server/api/caller.h"
#include "server/api/handlers.h"
#include "server/api/mutation.h"
#include "server/api/report.h"
#include "server/api/task_json.h"

static enum err read_task(struct store_txn *txn, void *arg)
{
    struct reading *r = arg;
    struct task_row task;
    enum err e = task_of_path(r->rq, txn, r->arena, &task, r->fault);
    if (e == ERR_OK && !(r->out = task_render(r, txn, &task)))
        e = ERR_NO_MEMORY;
    return e;
}

enum err api_task_get(void *ctx, struct request *rq, struct fault *fault)
{
    return api_reply_read(ctx, rq, read_task, fault);
}

/* An administrator's tool acts in the place of the task's own device. */
static enum err acting_for(struct store_txn *txn, struct request *rq, struct op_base *base,
                           const char **out_worker, const char **out_device)
{
    const struct caller *c = api_caller(rq);
    *out_worker = c->worker_id;
    *out_device = c->device_id;
    if (caller_is_worker(c))
        return ERR_OK;
    struct task_row task;
    enum err e = task_of_path(rq, txn, base->arena, &task, &base->fault);
    *out_device = task.device_id;
    return e;
}

/* ---- fail ---- */

struct fail {
    struct op_task_fail op; /* first: the mutation takes it for an operation */
    struct request *rq;
};

static enum err run_fail(struct store_txn *txn, void *arg)
{
    struct fail *f = arg;
    enum err e = acting_for(txn, f->rq, &f->op.base, &f->op.worker_id, &f->op.device_id);
    return e == ERR_OK ? op_task_fail(txn, &f->op) : e;
}

struct fail_body {
    const char *code, *detail;
};

static const struct json_field fail_fields[] = {
    JSON_FIELD(struct fail_body, code, JSON_FIELD_TEXT, .is_required = true, .min = 1, .max = LIMIT_NAME),
    JSON_FIELD(struct fail_body, detail, JSON_FIELD_TEXT, .max = LIMIT_TEXT, .allow_null = true),
};

static json_t *render_failed(struct api *api, struct store_txn *txn, struct arena *arena, const void *op)
{
    (void)txn;
    return task_json(api, arena, &((const struct op_task_fail *)op)->out);
}

enum err api_task_fail(void *ctx, struct request *rq, struct fault *fault)
{
    struct api *api = ctx;
    struct mutation *m = mutation_new(api, rq, sizeof(struct fail));
    if (!m)
        return ERR_NO_MEMORY;
    struct fail *f = m->op;
    f->rq = rq;
    f->op.received_at = clock_now_ms(&api->clock);
    enum err e = api_path_id(rq, "task", &f->op.task_id, fault);
    if (e != ERR_OK)
        return e;
    struct fail_body body = {.detail = ""};
    struct report_said said;
    report_said_in_query(rq, &said);
    static const char *const own[] = {"code", "detail", NULL};
    e = json_spec_parse(request_json(rq), fail_fields, sizeof fail_fields / sizeof fail_fields[0],
                        JSON_IGNORE_UNKNOWN, "", request_arena(rq), &body, fault);
    if (e == ERR_OK)
        e = report_from_json(&said, request_json(rq), own, request_arena(rq), &f->op.report, fault);
    if (e != ERR_OK)
        return e;
    f->op.code = body.code;
    f->op.detail = body.detail;
    m->fn = run_fail;
    m->status = 200;
    m->render = render_failed;
    return mutation_start(m, rq, fault);
}

/* ---- release ---- */

struct release {
    struct op_task_release op; /* first, as above */
    struct request *rq;
};

static enum err run_release(struct store_txn *txn, void *arg)
{
    struct release *f = arg;
    enum err e = acting_for(txn, f->rq, &f->op.base, &f->op.worker_id, &f->op.device_id);
    return e == ERR_OK ? op_task_release(txn, &f->op) : e;
}

static json_t *render_released(struct api *api, struct store_txn *txn, struct arena *arena, const void *op)
{
    (void)txn;
    return task_json(api, arena, &((const struct op_task_release *)op)->out);
}

enum err api_task_release(void *ctx, struct request *rq, struct fault *fault)
{
    struct mutation *m = mutation_new(ctx, rq, sizeof(struct release));
    if (!m)
        return ERR_NO_MEMORY;
    struct release *f = m->op;
    f->rq = rq;
    m->fn = run_release;
    m->status = 200;
    m->render = render_released;
    enum err e = api_path_id(rq, "task", &f->op.task_id, fault);
    if (e == ERR_OK)
        e = api_refuse_fields(rq, fault);
    return e == ERR_OK ? mutation_start(m, rq, fault) : e;
}
