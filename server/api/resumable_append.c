/* PATCH .../uploads/{upload}: a piece of the update. What arrives is kept, also where the connection breaks.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/base/log.h"
#include "common/base/str.h"
#include "server/api/caller.h"
#include "server/api/handlers.h"
#include "server/api/resumable.h"
#include "server/api/room.h"
#include "server/api/running_uploads.h"

struct part {
    struct pending pending;
    struct op_upload op;
    struct api *api;
    struct request *rq;
    struct fault *fault; /* of the look */
    struct task_row task;
    struct upload_row row;
    struct running_upload *running; /* NULL: the bytes are there already; they are compared */
    struct room_waiter waiter;
    int64_t received_at, begin, size;
};

static enum err read_target(struct store_txn *txn, void *arg)
{
    struct part *p = arg;
    return upload_of_path(p->rq, txn, request_arena(p->rq), &p->task, &p->row, p->fault);
}

static enum err read_offset(const struct request *rq, int64_t *out, struct fault *fault)
{
    const char *text = request_header(rq, HEADER_UPLOAD_OFFSET);
    if (!text)
        return fault_set(
            fault, ERR_MISSING_FIELD, HEADER_UPLOAD_OFFSET,
            "The header Upload-Offset must say where in the update these bytes begin: what HEAD says.");
    if (str_to_i64(text, out) != ERR_OK || *out < 0)
        return fault_set(fault, ERR_INVALID_FIELD, HEADER_UPLOAD_OFFSET,
                         "It must be a whole number, at least 0: what HEAD of this upload says.");
    return ERR_OK;
}

/* Where the upload is; what may be sent from there. */
static enum err check_place(struct part *p, int64_t offset, struct fault *fault)
{
    uint64_t length = request_content_length(p->rq);
    bool is_repeat = !p->running && length != REQUEST_LENGTH_UNKNOWN && p->begin <= p->row.size_bytes &&
                     length == (uint64_t)(p->row.size_bytes - p->begin);
    if (is_repeat)
        return ERR_OK;
    if (p->begin != offset) {
        char at[24];
        (void)snprintf(at, sizeof at, "%" PRId64, offset);
        enum err e = reply_fault_header(p->rq, HEADER_UPLOAD_OFFSET, at);
        return e != ERR_OK ? e
                           : fault_set(fault, ERR_CONFLICT, HEADER_UPLOAD_OFFSET,
                                       "The upload is at offset %" PRId64 ", not at %" PRId64
                                       ": go on from there, as the header Upload-Offset of this reply says.",
                                       offset, p->begin);
    }
    if (length != REQUEST_LENGTH_UNKNOWN && length > (uint64_t)(p->row.size_bytes - offset))
        return fault_set(fault, ERR_PAYLOAD_TOO_LARGE, NULL,
                         "Of the %" PRId64 " bytes that Upload-Length announced, %" PRId64
                         " are still to come.",
                         p->row.size_bytes, p->row.size_bytes - offset);
    return ERR_OK;
}

static void let_go(struct part *p)
{
    int64_t offset;
    room_forget(p->api->room, &p->waiter);
    if (p->running && running_upload_end(p->running, false, &offset) != ERR_OK)
        log_debug("api", "upload %s: not all of what came could be kept", p->row.id);
    p->running = NULL;
}

/* Where all bytes are there already, they are only compared. */
static enum err take_hold(struct part *p, int64_t *out_offset, struct fault *fault)
{
    struct api *api = p->api;
    if (!*p->row.body_sha256 && api->blobs->ops->size(api->blobs, p->row.blob_id, out_offset) != ERR_OK) {
        enum err e = running_upload_begin(api->uploads, p->row.blob_id, &p->running, out_offset);
        if (e == ERR_NOT_FOUND)
            return fault_set(
                fault, e, NULL,
                "What came of the upload was refused and dropped. POST .../uploads begins a new one.");
        return api_failure(fault, e);
    }
    *out_offset = p->row.size_bytes;
    return ERR_OK;
}

static enum err sink_open(void *ctx, struct request *rq, void **out_sink, struct fault *fault)
{
    struct part *p = arena_calloc(request_arena(rq), 1, sizeof *p);
    if (!p)
        return ERR_NO_MEMORY;
    p->api = ctx;
    p->rq = rq;
    p->fault = fault;
    p->received_at = clock_now_ms(&p->api->clock);
    int64_t offset = 0;
    enum err e = read_offset(rq, &p->begin, fault);
    if (e == ERR_OK)
        e = api_failure(fault, p->api->store->ops->read(p->api->store, read_target, p));
    if (e == ERR_OK)
        e = take_hold(p, &offset, fault);
    if (e == ERR_OK)
        e = check_place(p, offset, fault);
    if (e != ERR_OK)
        let_go(p);
    else
        *out_sink = p;
    return e;
}

static enum err check_room(const struct part *p, size_t n, struct fault *fault)
{
    if ((int64_t)n <= p->row.size_bytes - p->begin - p->size)
        return ERR_OK;
    return fault_set(fault, ERR_PAYLOAD_TOO_LARGE, NULL,
                     "These are more than the %" PRId64 " bytes that Upload-Length announced.",
                     p->row.size_bytes);
}

/* Once its round is closed an update's bytes may be gone, and what the upload's name stands for is known all
 * the same: the receipt is repeated. */
static enum err compare(struct part *p, const char *bytes, size_t n, struct fault *fault)
{
    char stored[4096];
    enum err e = ERR_OK;
    for (size_t done = 0; done < n && e == ERR_OK;) {
        size_t some = n - done < sizeof stored ? n - done : sizeof stored;
        e = p->api->blobs->ops->read(p->api->blobs, p->row.blob_id, p->begin + p->size + (int64_t)done,
                                     stored, some);
        if (e == ERR_NOT_FOUND && *p->row.body_sha256)
            return ERR_OK;
        if (e == ERR_OK && memcmp(stored, bytes + done, some) != 0)
            e = fault_set(fault, ERR_DUPLICATE_CONFLICT, NULL,
                          "The upload is complete, with other bytes: an update cannot be replaced.");
        done += some;
    }
    return api_failure(fault, e);
}

static enum err append(struct part *p, const void *bytes, size_t n, struct fault *fault)
{
    enum err e = running_upload_write(p->running, bytes, n);
    if (e == ERR_CONFLICT)
        return fault_set(fault, e, NULL, "Another request of this device goes on with this upload.");
    return api_failure(fault, e);
}

static enum err sink_write(void *sink, const void *bytes, size_t n, size_t *out_taken, struct fault *fault)
{
    struct part *p = sink;
    bool must_wait = false;
    enum err e = !p->running || running_upload_has_room(p->running, n)
                     ? ERR_OK
                     : room_wait(p->api->room, &p->waiter, p->rq, NULL, &must_wait);
    *out_taken = 0;
    if (e != ERR_OK || must_wait)
        return api_failure(fault, e);
    *out_taken = n;
    e = check_room(p, n, fault);
    if (e == ERR_OK)
        e = p->running ? append(p, bytes, n, fault) : compare(p, bytes, n, fault);
    p->size += e == ERR_OK ? (int64_t)n : 0;
    return e;
}

/* The client left, or the piece was refused. Where it does not fit its Content-Digest nobody knows which of
 * its bytes are wrong, so all go. */
static void sink_abort(void *sink)
{
    struct part *p = sink;
    bool was_running = p->running != NULL;
    let_go(p);
    if (!was_running || !request_body_is_wrong(p->rq))
        return;
    enum err e = p->api->blobs->ops->remove(p->api->blobs, p->row.blob_id);
    log_info("api", "upload %s: a piece did not fit its Content-Digest: dropped%s%s", p->row.id,
             e == ERR_OK ? "" : ", later: ", e == ERR_OK ? "" : err_name(e));
}

const struct body_sink_ops api_upload_sink = {.open = sink_open, .write = sink_write, .abort = sink_abort};

/* The bytes are durable. */
static enum err appended(void *ctx, struct request *rq, struct fault *fault)
{
    (void)ctx;
    (void)fault;
    struct part *p = request_get(rq, REQUEST_STATE);
    enum err e = upload_headers(rq, &p->row, p->begin);
    return e == ERR_OK ? reply_empty(rq, 204) : e;
}

/* Its bytes went while they came in: with its round, say, and then that is what the device must hear. */
static enum err dropped_meanwhile(struct part *p, struct fault *fault)
{
    p->fault = fault;
    enum err e = p->api->store->ops->read(p->api->store, read_target, p);
    if (e != ERR_OK)
        return api_failure(fault, e);
    return fault_set(fault, ERR_NOT_FOUND, NULL, "The upload was dropped meanwhile.");
}

enum err api_upload_append(void *ctx, struct request *rq, struct fault *fault)
{
    struct api *api = ctx;
    struct part *p = request_sink_take(rq);
    const struct caller *c = api_caller(rq);
    bool is_whole = p->begin + p->size == p->row.size_bytes;
    enum err e = ERR_OK;
    core_seen(api->core, c->worker_id, c->device_id);
    if (p->running) {
        e = running_upload_end(p->running, is_whole, &p->begin);
        p->running = NULL;
    }
    if (e == ERR_CONFLICT)
        return fault_set(fault, e, NULL, "Another request of this device goes on with this upload.");
    if (e == ERR_NOT_FOUND)
        return dropped_meanwhile(p, fault);
    if (e != ERR_OK)
        return api_failure(fault, e);
    if (is_whole)
        return upload_finish(api, rq, &p->task, &p->row, p->received_at, fault);
    p->op.base = api_op_base(api, rq);
    p->op.task_id = p->task.id;
    p->op.upload_id = p->row.id;
    return api_write(api, rq, &p->pending, op_upload_touch, &p->op, &p->op.base, appended);
}
