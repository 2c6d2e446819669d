#include "server/api/resumable.h"

#include <inttypes.h>
#include <stdio.h>
#include "common/base/log.h"
#include "common/base/str.h"
#include "server/api/arch_cache.h"
#include "server/api/caller.h"
#include "server/api/fields.h"
#include "server/api/handlers.h"
#include "server/api/page.h"
#include "server/api/report.h"
#include "server/api/running_uploads.h"
#include "server/api/task_json.h"
#include "server/api/upload.h"

enum err upload_of_path(const struct request *rq, struct store_txn *txn, struct arena *arena,
                        struct task_row *out_task, struct upload_row *out, struct fault *fault)
{
    const char *id;
    enum err e = task_of_path(rq, txn, arena, out_task, fault);
    if (e == ERR_OK)
        e = api_path_id(rq, "upload", &id, fault);
    return e == ERR_OK ? core_upload_find(txn, out_task->id, id, arena, out, fault) : e;
}

static enum err dropped(const struct upload_row *row, struct fault *fault)
{
    return fault_set(fault, ERR_NOT_FOUND, NULL,
                     "What came of the upload %s was refused and dropped. POST .../uploads begins a new one.",
                     row->id);
}

enum err upload_offset(struct api *api, const struct upload_row *row, int64_t *out, struct fault *fault)
{
    if (*row->body_sha256) {
        *out = row->size_bytes;
        return ERR_OK;
    }
    if (running_upload_began_at(api->uploads, row->blob_id, out))
        return ERR_OK;
    enum err e = api->blobs->ops->size(api->blobs, row->blob_id, out);
    if (e != ERR_NOT_FOUND)
        return api_failure(fault, e);
    struct running_upload *u;
    e = running_upload_begin(api->uploads, row->blob_id, &u, out);
    if (e == ERR_OK)
        e = running_upload_end(u, false, out);
    return e == ERR_NOT_FOUND ? dropped(row, fault) : api_failure(fault, e);
}

enum err upload_headers(struct request *rq, const struct upload_row *row, int64_t offset)
{
    char at[24], length[24];
    (void)snprintf(at, sizeof at, "%" PRId64, offset);
    (void)snprintf(length, sizeof length, "%" PRId64, row->size_bytes);
    enum err e = reply_header(rq, HEADER_UPLOAD_OFFSET, at);
    if (e == ERR_OK)
        e = reply_header(rq, HEADER_UPLOAD_LENGTH, length);
    if (e == ERR_OK)
        e = reply_header(rq, HEADER_UPLOAD_COMPLETE, offset == row->size_bytes ? "?1" : "?0");
    return e == ERR_OK ? reply_header(rq, "Cache-Control", "no-store") : e;
}

/* offset -1: not looked at. */
static json_t *upload_json(const struct upload_row *u, int64_t offset)
{
    struct obj o = obj_new();
    obj_text(&o, "upload_id", u->id);
    obj_text(&o, "task_id", u->task_id);
    obj_int(&o, "attempt", u->attempt);
    obj_int_or_null(&o, "offset", offset);
    obj_int(&o, "size_bytes", u->size_bytes);
    obj_text_or_null(&o, "update_sha256", u->sha256);
    obj_bool(&o, "accepted", *u->body_sha256 != '\0');
    obj_time(&o, "created_at", u->created_at);
    return obj_end(&o);
}

/* ---- POST ---- */

struct opening {
    struct pending pending;
    struct op_upload_open op;
    struct reading r; /* for the look at the task */
    struct task_row task;
    struct arch_ref *arch;
    char sha256[SHA256_HEX_SIZE];
    int64_t blob_id; /* that no row names yet */
};

static void remove_blob(struct api *api, int64_t id)
{
    enum err e = id ? api->blobs->ops->remove(api->blobs, id) : ERR_OK;
    if (e != ERR_OK && e != ERR_NOT_FOUND)
        log_warning("api", "an upload that nothing names stays in the blob store until the next start: %s",
                    err_name(e));
}

static void opening_release(void *value)
{
    struct opening *s = value;
    remove_blob(s->r.api, s->blob_id);
    arch_unref(s->arch);
}

static enum err read_opening(struct store_txn *txn, void *arg)
{
    struct opening *s = arg;
    enum err e = task_of_path(s->r.rq, txn, s->r.arena, &s->task, s->r.fault);
    return e == ERR_OK ? arch_cache_get(s->r.api->archs, txn, s->task.run_id, s->r.arena, &s->arch) : e;
}

static enum err read_length(struct opening *s, struct fault *fault)
{
    const char *text = request_header(s->r.rq, HEADER_UPLOAD_LENGTH);
    uint64_t most = upload_max_bytes(&arch_of(s->arch)->tensors);
    if (!text)
        return fault_set(fault, ERR_MISSING_FIELD, HEADER_UPLOAD_LENGTH,
                         "The header Upload-Length must say how many bytes the whole update has.");
    if (str_to_i64(text, &s->op.size_bytes) != ERR_OK || s->op.size_bytes <= 0)
        return fault_set(fault, ERR_INVALID_FIELD, HEADER_UPLOAD_LENGTH,
                         "It must be a whole number above 0: the bytes of the whole update.");
    if ((uint64_t)s->op.size_bytes > most)
        return fault_set(fault, ERR_PAYLOAD_TOO_LARGE, HEADER_UPLOAD_LENGTH,
                         "The update may have at most %" PRIu64
                         " bytes: the tensors of this run's model and a header.",
                         most);
    return ERR_OK;
}

static enum err read_digest(struct opening *s, struct fault *fault)
{
    const char *text = request_header(s->r.rq, HEADER_REPR_DIGEST);
    s->op.sha256 = "";
    if (!text)
        return ERR_OK;
    enum err e = content_digest_parse(text, s->sha256);
    if (e == ERR_INVALID_FIELD)
        return fault_set(fault, e, HEADER_REPR_DIGEST, "malformed; expected sha-256=:BASE64: (RFC 9530)");
    if (e == ERR_OK)
        s->op.sha256 = s->sha256;
    return ERR_OK;
}

static enum err read_query(struct opening *s, struct fault *fault)
{
    struct report_said said;
    struct task_report report;
    report_said_in_query(s->r.rq, &said);
    enum err e = report_from_header(&said, NULL, s->r.arena, &report, fault);
    s->op.attempt = report.attempt;
    return e == ERR_OK ? report_said_keep(&said, s->r.arena, &s->op.metadata) : e;
}

static enum err empty_blob(struct opening *s)
{
    struct blobs *blobs = s->r.api->blobs;
    struct blob_put *put;
    int64_t size;
    enum err e = blobs->ops->put_begin(blobs, &put);
    return e == ERR_OK ? blobs->ops->put_pause(put, &s->blob_id, &size) : e;
}

static enum err opened(void *ctx, struct request *rq, struct fault *fault)
{
    (void)ctx;
    (void)fault;
    struct opening *s = request_get(rq, REQUEST_STATE);
    const struct upload_row *u = &s->op.out;
    s->blob_id = 0;
    for (size_t i = 0; i < s->op.out_num_former; i++)
        remove_blob(s->r.api, s->op.out_former_blobs[i]);
    const char *location =
        arena_printf(request_arena(rq), API_PREFIX "/tasks/%s/uploads/%s", u->task_id, u->id);
    enum err e = location ? reply_header(rq, "Location", location) : ERR_NO_MEMORY;
    if (e == ERR_OK)
        e = upload_headers(rq, u, 0);
    return e == ERR_OK ? reply_json(rq, 201, upload_json(u, 0)) : e;
}

enum err api_upload_create(void *ctx, struct request *rq, struct fault *fault)
{
    struct api *api = ctx;
    struct opening *s = arena_calloc(request_arena(rq), 1, sizeof *s);
    if (!s)
        return ERR_NO_MEMORY;
    s->r = (struct reading){.api = api, .rq = rq, .arena = request_arena(rq), .fault = fault};
    request_set(rq, REQUEST_STATE, s, opening_release);
    enum err e = api_failure(fault, api->store->ops->read(api->store, read_opening, s));
    if (e == ERR_OK && s->task.type == TASK_EVALUATE && !(s->task.wants & WANT_GRADIENT))
        e = fault_set(fault, ERR_INVALID_UPDATE, NULL,
                      "This evaluate task asks for no tensors: PUT its results to .../update as " MEDIA_JSON
                      ".");
    if (e == ERR_OK)
        e = read_length(s, fault);
    if (e == ERR_OK)
        e = read_digest(s, fault);
    if (e == ERR_OK)
        e = read_query(s, fault);
    if (e == ERR_OK)
        e = empty_blob(s);
    if (e != ERR_OK)
        return api_failure(fault, e);
    const struct caller *c = api_caller(rq);
    core_seen(api->core, c->worker_id, c->device_id);
    s->op.base = api_op_base(api, rq);
    s->op.task_id = s->task.id;
    s->op.worker_id = c->worker_id;
    s->op.device_id = c->device_id;
    s->op.blob_id = s->blob_id;
    return api_write(api, rq, &s->pending, op_upload_open, &s->op, &s->op.base, opened);
}

/* ---- the list ---- */

static json_t *render_upload(struct reading *r, struct store_txn *txn, const void *row)
{
    (void)r;
    (void)txn;
    return upload_json(row, -1);
}

static enum err read_list(struct store_txn *txn, void *arg)
{
    struct reading *r = arg;
    struct task_row task;
    struct page page;
    enum err e = task_of_path(r->rq, txn, r->arena, &task, r->fault);
    if (e == ERR_OK)
        e = page_read_id(r->rq, &page, r->fault);
    if (e != ERR_OK)
        return e;
    const struct store_value args[] = {store_text(task.id), page_after_id(&page)};
    const struct page_source source = {.query = QUERY_UPLOADS_BY_TASK,
                                       .kind = RECORD_UPLOAD,
                                       .args = args,
                                       .num_args = 2,
                                       .render = render_upload,
                                       .cursor = page_cursor_first_text};
    return page_fill(r, txn, &page, &source);
}

enum err api_upload_list(void *ctx, struct request *rq, struct fault *fault)
{
    return api_reply_read(ctx, rq, read_list, fault);
}

/* ---- GET, HEAD and DELETE ---- */

struct looking {
    struct pending pending;
    struct op_upload op;
    struct reading r;
    struct task_row task;
    struct upload_row row;
};

static enum err read_upload(struct store_txn *txn, void *arg)
{
    struct looking *s = arg;
    return upload_of_path(s->r.rq, txn, s->r.arena, &s->task, &s->row, s->r.fault);
}

static enum err looking_new(struct api *api, struct request *rq, struct fault *fault, struct looking **out)
{
    struct looking *s = arena_calloc(request_arena(rq), 1, sizeof *s);
    if (!s)
        return ERR_NO_MEMORY;
    *out = s;
    s->r = (struct reading){.api = api, .rq = rq, .arena = request_arena(rq), .fault = fault};
    s->op.base = api_op_base(api, rq);
    enum err e = api_path_id(rq, "task", &s->op.task_id, fault);
    return e == ERR_OK ? api_path_id(rq, "upload", &s->op.upload_id, fault) : e;
}

/* What came has been committed. */
static enum err looked(void *ctx, struct request *rq, struct fault *fault)
{
    struct api *api = ctx;
    struct looking *s = request_get(rq, REQUEST_STATE);
    int64_t offset = 0;
    s->r.fault = fault;
    enum err e = upload_offset(api, &s->row, &offset, fault);
    if (e == ERR_OK)
        e = upload_headers(rq, &s->row, offset);
    return e == ERR_OK ? reply_json(rq, 200, upload_json(&s->row, offset)) : e;
}

/* HEAD of a device that wants to go on: what a former request of it still brings would make the answer wrong,
 * so it brings nothing any more. */
enum err api_upload_get(void *ctx, struct request *rq, struct fault *fault)
{
    struct api *api = ctx;
    struct looking *s;
    enum err e = looking_new(api, rq, fault, &s);
    if (e == ERR_OK)
        e = api_failure(fault, api->store->ops->read(api->store, read_upload, s));
    if (e != ERR_OK)
        return e;
    bool may_write = api_caller(rq)->role & (ROLE_ADMIN | ROLE_WORKER);
    if (may_write && str_eq(request_method(rq), "HEAD"))
        running_upload_take(api->uploads, s->row.blob_id);
    return api_write(api, rq, &s->pending, op_upload_touch, &s->op, &s->op.base, looked);
}

static enum err deleted(void *ctx, struct request *rq, struct fault *fault)
{
    (void)fault;
    const struct looking *s = request_get(rq, REQUEST_STATE);
    remove_blob(ctx, s->op.out_blob);
    return reply_empty(rq, 204);
}

enum err api_upload_delete(void *ctx, struct request *rq, struct fault *fault)
{
    struct api *api = ctx;
    struct looking *s;
    enum err e = looking_new(api, rq, fault, &s);
    return e == ERR_OK ? api_write(api, rq, &s->pending, op_upload_drop, &s->op, &s->op.base, deleted) : e;
}
