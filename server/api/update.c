/* PUT /tasks/{task}/update: the body streams into the blob store while it is checked against the run's
 * tensors; then one operation decides whether it counts. */
#include <string.h>
#include "common/base/str.h"
#include "common/json/json_spec.h"
#include "server/api/arch_cache.h"
#include "server/api/caller.h"
#include "server/api/fields.h"
#include "server/api/handlers.h"
#include "server/api/report.h"
#include "server/api/task_json.h"
#include "server/api/upload.h"

struct update {
    struct pending pending;
    struct op_task_update op;
    struct api *api;
    struct request *rq;
    struct task_row task;
    struct arch_ref *arch;
    bool is_json;
    struct report_said said;
    struct buf text; /* the body, when it is JSON */
    json_t *json;
    struct upload upload;
    char body_sha256[SHA256_HEX_SIZE];
};

static void update_release(void *value)
{
    struct update *u = value;
    upload_release(&u->upload);
    buf_release(&u->text);
    json_decref(u->json);
    arch_unref(u->arch);
}

/* ---- headers ---- */

struct update_look {
    struct update *update;
    struct fault *fault;
};

static enum err read_update_task(struct store_txn *txn, void *arg)
{
    struct update_look *look = arg;
    struct update *u = look->update;
    struct arena *arena = request_arena(u->rq);
    enum err e = task_of_path(u->rq, txn, arena, &u->task, look->fault);
    return e == ERR_OK ? arch_cache_get(u->api->archs, txn, u->task.run_id, arena, &u->arch) : e;
}

/* What the task may be answered with: train takes weights, evaluate JSON or the gradient it asked for. */
static enum err check_media(const struct update *u, const char *media, struct fault *fault)
{
    bool is_tensors = media_is_tensors(media);
    if (u->task.type == TASK_TRAIN && !is_tensors)
        return fault_set(
            fault, ERR_UNSUPPORTED_MEDIA_TYPE, "Content-Type",
            "The update of a train task is a safetensors file: send Content-Type: " MEDIA_SAFETENSORS ".");
    if (u->task.type == TASK_EVALUATE && is_tensors && !(u->task.wants & WANT_GRADIENT))
        return fault_set(fault, ERR_UNSUPPORTED_MEDIA_TYPE, "Content-Type",
                         "This evaluate task asks for no gradient: send its results as " MEDIA_JSON ".");
    return ERR_OK;
}

static enum err begin(struct update *u, struct fault *fault)
{
    struct update_look look = {.update = u, .fault = fault};
    enum err e = u->api->store->ops->read(u->api->store, read_update_task, &look);
    if (e != ERR_OK)
        return api_failure(fault, e);
    const char *media = request_media_type(u->rq);
    if (request_content_length(u->rq) ==
        0) /* whatever it is called, it is too short: the whole body is judged */
        media = u->task.type == TASK_TRAIN ? MEDIA_SAFETENSORS : MEDIA_JSON;
    if ((e = check_media(u, media, fault)) != ERR_OK)
        return e;
    u->is_json = !media_is_tensors(media);
    if (u->is_json)
        return ERR_OK;
    const char *prefix = u->task.type == TASK_EVALUATE ? "grad." : "";
    return upload_begin(&u->upload, u->api, u->rq, &arch_of(u->arch)->tensors, prefix, fault);
}

static enum err sink_open(void *ctx, struct request *rq, void **out_sink, struct fault *fault)
{
    struct update *u = arena_alloc(request_arena(rq), sizeof *u);
    if (!u)
        return ERR_NO_MEMORY;
    u->api = u->upload.api = ctx;
    u->rq = rq;
    report_said_in_query(rq, &u->said);
    u->op.received_at = clock_now_ms(&u->api->clock);
    buf_init(&u->text, LIMIT_JSON_BODY);
    enum err e = begin(u, fault);
    if (e != ERR_OK)
        update_release(u);
    else
        *out_sink = u;
    return e;
}

static enum err sink_write(void *sink, const void *bytes, size_t n, size_t *out_taken, struct fault *fault)
{
    struct update *u = sink;
    if (!u->is_json)
        return upload_write(&u->upload, u->rq, bytes, n, out_taken, fault);
    *out_taken = n;
    return api_failure(fault, buf_append(&u->text, bytes, n));
}

const struct body_sink_ops api_update_sink = {
    .open = sink_open, .write = sink_write, .abort = update_release};

/* ---- the whole body ---- */

static enum err read_report(struct update *u, struct fault *fault)
{
    static const char *const none[] = {NULL};
    struct arena *arena = request_arena(u->rq);
    if (u->is_json) {
        enum err e = json_text_parse(u->text.data ? u->text.data : "", u->text.len, &u->json, fault);
        return e == ERR_OK ? report_from_json(&u->said, u->json, none, arena, &u->op.report, fault) : e;
    }
    enum err e = upload_end(&u->upload, fault);
    if (e != ERR_OK)
        return e;
    u->op.blob_id = u->upload.blob_id;
    return report_from_header(&u->said, safetensors_stream_header(u->upload.stream), arena, &u->op.report,
                              fault);
}

static enum err receipt(void *ctx, struct request *rq, struct fault *fault)
{
    (void)ctx;
    (void)fault;
    struct update *u = request_get(rq, REQUEST_STATE);
    if (u->op.out_accepted && !u->op.out_duplicate)
        upload_keep(&u->upload);
    return reply_json(rq, 200, receipt_json(&u->op));
}

enum err api_task_update(void *ctx, struct request *rq, struct fault *fault)
{
    struct api *api = ctx;
    struct update *u = request_sink_take(rq);
    request_set(rq, REQUEST_STATE, u, update_release);
    enum err e = read_report(u, fault);
    char sha256[SHA256_HEX_SIZE];
    if (e == ERR_OK)
        e = request_body_sha256(rq, sha256);
    if (e == ERR_OK)
        e = report_digest(sha256, &u->said, request_arena(rq), u->body_sha256);
    if (e != ERR_OK)
        return api_failure(fault, e);
    const struct caller *c = api_caller(rq);
    core_seen(api->core, c->worker_id, c->device_id);
    u->op.base = api_op_base(api, rq);
    u->op.task_id = u->task.id;
    u->op.worker_id = c->worker_id;
    u->op.device_id = c->device_id;
    u->op.body_sha256 = u->body_sha256;
    u->op.size_bytes = (int64_t)request_body_size(rq);
    return api_write(api, rq, &u->pending, op_task_update, &u->op, &u->op.base, receipt);
}
