/* The end of an upload: its bytes are read back from the blob store and checked, a piece at a time between
 * the other requests of the thread, as those of a PUT are while they come in; from there on it is a PUT. */
#include <stdlib.h>
#include <string.h>
#include "common/base/log.h"
#include "common/base/str.h"
#include "server/api/arch_cache.h"
#include "server/api/caller.h"
#include "server/api/report.h"
#include "server/api/resumable.h"
#include "server/api/task_json.h"

#define PIECE          (64 * KIB)
#define PIECES_OF_STEP 32

struct finishing {
    struct pending pending;
    struct op_upload_take take;
    struct api *api;
    struct request *rq;
    const struct task_row *task;
    const struct upload_row *row;
    struct arch_ref *arch;
    struct report_said said;
    struct safetensors_stream *stream;
    struct sha256 *hash;
    char *piece;
    int64_t checked;
    char body_sha256[SHA256_HEX_SIZE];
};

static void finishing_release(void *value)
{
    struct finishing *f = value;
    safetensors_stream_free(f->stream);
    sha256_free(f->hash);
    free(f->piece);
    arch_unref(f->arch);
}

/* The same bytes would be refused again: they go at once, the row with the round. */
static enum err refuse(struct finishing *f, enum err e, struct fault *fault)
{
    int status = err_http_status(e);
    bool is_of_the_bytes =
        e != ERR_OK && !err_retry_helps(e) && status != 401 && status != 403 && status < 500;
    if (!is_of_the_bytes || *f->row->body_sha256)
        return api_failure(fault, e);
    enum err removed = f->api->blobs->ops->remove(f->api->blobs, f->row->blob_id);
    if (removed != ERR_OK && removed != ERR_NOT_FOUND)
        log_warning("api", "upload %s was refused, and its bytes stay until its round closes: %s", f->row->id,
                    err_name(removed));
    return api_failure(fault, e);
}

static enum err taken(void *ctx, struct request *rq, struct fault *fault)
{
    struct api *api = ctx;
    struct finishing *f = request_get(rq, REQUEST_STATE);
    if (f->pending.result != ERR_OK)
        return refuse(f, f->pending.result, fault);
    enum err e = f->take.out_blob ? api->blobs->ops->remove(api->blobs, f->take.out_blob) : ERR_OK;
    if (e != ERR_OK && e != ERR_NOT_FOUND)
        log_warning("api", "a second copy of an update stays in the blob store until the next start: %s",
                    err_name(e));
    e = upload_headers(rq, f->row, f->row->size_bytes);
    return e == ERR_OK ? reply_json(rq, 200, receipt_json(&f->take.update)) : e;
}

static enum err take(struct finishing *f)
{
    const struct caller *c = api_caller(f->rq);
    struct op_task_update *u = &f->take.update;
    u->base = api_op_base(f->api, f->rq);
    u->task_id = f->task->id;
    u->worker_id = c->worker_id;
    u->device_id = c->device_id;
    u->body_sha256 = f->body_sha256;
    u->blob_id = f->row->blob_id;
    u->size_bytes = f->row->size_bytes;
    f->take.upload_id = f->row->id;
    f->pending.hears_failure = true;
    return api_write(f->api, f->rq, &f->pending, op_upload_take, &f->take, &u->base, taken);
}

static enum err check_end(struct finishing *f, struct fault *fault)
{
    uint8_t digest[SHA256_SIZE];
    char sha256[SHA256_HEX_SIZE];
    enum err e = sha256_final(f->hash, digest);
    if (e != ERR_OK)
        return e;
    hex_encode(digest, sizeof digest, sha256);
    if (*f->row->sha256 && !str_eq(f->row->sha256, sha256))
        return fault_set(fault, ERR_DIGEST_MISMATCH, HEADER_REPR_DIGEST,
                         "The update that arrived has SHA-256 %s, Repr-Digest said %s; send it again.",
                         sha256, f->row->sha256);
    e = safetensors_stream_end(f->stream, fault);
    if (e == ERR_OK)
        e = report_from_header(&f->said, safetensors_stream_header(f->stream), request_arena(f->rq),
                               &f->take.update.report, fault);
    return e == ERR_OK ? report_digest(sha256, &f->said, request_arena(f->rq), f->body_sha256) : e;
}

static enum err check_piece(struct finishing *f, struct fault *fault)
{
    int64_t left = f->row->size_bytes - f->checked;
    size_t n = left < (int64_t)PIECE ? (size_t)left : PIECE;
    enum err e = f->api->blobs->ops->read(f->api->blobs, f->row->blob_id, f->checked, f->piece, n);
    if (e == ERR_OK)
        e = sha256_update(f->hash, f->piece, n);
    f->checked += (int64_t)n;
    return e == ERR_OK ? safetensors_stream_feed(f->stream, f->piece, n, fault) : e;
}

static enum err check(void *ctx, struct request *rq, struct fault *fault)
{
    (void)ctx;
    struct finishing *f = request_get(rq, REQUEST_STATE);
    enum err e = ERR_OK;
    for (int i = 0; i < PIECES_OF_STEP && e == ERR_OK && f->checked < f->row->size_bytes; i++)
        e = check_piece(f, fault);
    if (e == ERR_OK && f->checked < f->row->size_bytes) {
        request_defer(rq);
        request_continue(rq, check);
        return ERR_OK;
    }
    if (e == ERR_OK)
        e = check_end(f, fault);
    return e == ERR_OK ? take(f) : refuse(f, e, fault);
}

static enum err read_arch(struct store_txn *txn, void *arg)
{
    struct finishing *f = arg;
    return arch_cache_get(f->api->archs, txn, f->task->run_id, request_arena(f->rq), &f->arch);
}

static enum err check_begin(struct finishing *f)
{
    enum err e = f->api->store->ops->read(f->api->store, read_arch, f);
    if (e == ERR_OK)
        e = report_said_read(f->row->metadata, request_arena(f->rq), &f->said);
    if (e == ERR_OK)
        e = safetensors_stream_new(&arch_of(f->arch)->tensors, f->task->type == TASK_EVALUATE ? "grad." : "",
                                   request_arena(f->rq), &f->stream);
    if (e == ERR_OK)
        e = sha256_new(&f->hash);
    f->piece = e == ERR_OK ? malloc(PIECE) : NULL;
    return e == ERR_OK && !f->piece ? ERR_NO_MEMORY : e;
}

enum err upload_finish(struct api *api, struct request *rq, const struct task_row *task,
                       const struct upload_row *row, int64_t received_at, struct fault *fault)
{
    struct finishing *f = arena_calloc(request_arena(rq), 1, sizeof *f);
    if (!f)
        return ERR_NO_MEMORY;
    f->api = api;
    f->rq = rq;
    f->task = task;
    f->row = row;
    f->take.update.received_at = received_at;
    request_set(rq, REQUEST_STATE, f, finishing_release);
    if (*row->body_sha256) { /* it was taken: the same receipt */
        task_report_init(&f->take.update.report);
        (void)memccpy(f->body_sha256, row->body_sha256, '\0', sizeof f->body_sha256);
        return take(f);
    }
    enum err e = check_begin(f);
    return e == ERR_OK ? check(api, rq, fault) : api_failure(fault, e);
}
