/* PUT .../models/0/weights: initial weights for a run that has not started. The file may be written by any
 * tool; it is written anew in the canonical form, so that equal weights are equal bytes and have one hash.
 * That is done a piece at a time, between the other requests of the thread, however large the model. */
#include <stdlib.h>
#include <string.h>
#include "common/base/str.h"
#include "server/api/arch_cache.h"
#include "server/api/canonical.h"
#include "server/api/fields.h"
#include "server/api/handlers.h"
#include "server/api/run_json.h"
#include "server/api/upload.h"

struct weights_put {
    struct pending pending;
    struct op_run_weights op;
    struct reading r; /* for the look at the run */
    struct run_row run;
    struct arch_ref *arch;
    struct upload upload;
    struct canonical *canonical;
    int64_t blob_id; /* a file that no row names: the canonical one, then the one whose place it took */
    char weights_sha256[SHA256_HEX_SIZE], aggregate_sha256[SHA256_HEX_SIZE];
};

static void weights_release(void *value)
{
    struct weights_put *w = value;
    canonical_free(w->canonical);
    upload_release(&w->upload);
    if (w->blob_id) {
        struct upload unnamed = {.api = w->r.api, .blob_id = w->blob_id};
        upload_release(&unnamed);
    }
    arch_unref(w->arch);
}

static enum err read_target(struct store_txn *txn, void *arg)
{
    struct weights_put *w = arg;
    enum err e = run_of_path(&w->r, txn, &w->run);
    if (e != ERR_OK)
        return e;
    if (!str_eq(request_param(w->r.rq, "version"), "0"))
        return fault_set(
            w->r.fault, ERR_NOT_FOUND, NULL,
            "Only version 0, the initial weights, can be put. Later versions come from training.");
    if (w->run.status != RUN_PENDING)
        return fault_set(
            w->r.fault, ERR_CONFLICT, NULL,
            "Initial weights can be put only while the run is pending. Submit the run with autostart "
            "false, put the weights, then start it.");
    return arch_cache_get(w->r.api->archs, txn, w->run.id, w->r.arena, &w->arch);
}

static enum err sink_open(void *ctx, struct request *rq, void **out_sink, struct fault *fault)
{
    struct weights_put *w = arena_alloc(request_arena(rq), sizeof *w);
    if (!w)
        return ERR_NO_MEMORY;
    struct api *api = ctx;
    w->r = (struct reading){.api = api, .rq = rq, .arena = request_arena(rq), .fault = fault};
    w->upload.api = api;
    enum err e = api_failure(fault, api->store->ops->read(api->store, read_target, w));
    if (e == ERR_OK)
        e = upload_begin(&w->upload, api, rq, &arch_of(w->arch)->tensors, "", fault);
    if (e != ERR_OK)
        weights_release(w);
    else
        *out_sink = w;
    return e;
}

static enum err sink_write(void *sink, const void *bytes, size_t n, size_t *out_taken, struct fault *fault)
{
    struct weights_put *w = sink;
    return upload_write(&w->upload, w->r.rq, bytes, n, out_taken, fault);
}

const struct body_sink_ops api_weights_sink = {
    .open = sink_open, .write = sink_write, .abort = weights_release};

static enum err stored(void *ctx, struct request *rq, struct fault *fault)
{
    (void)ctx;
    (void)fault;
    struct weights_put *w = request_get(rq, REQUEST_STATE);
    w->blob_id = w->op.out_former_blob;
    struct obj o = obj_new();
    obj_text(&o, "run_id", w->run.id);
    obj_int(&o, "version", 0);
    obj_int(&o, "size_bytes", w->op.size_bytes);
    obj_text(&o, "weights_sha256", w->weights_sha256);
    obj_text(&o, "aggregate_sha256", w->aggregate_sha256);
    return reply_json(rq, 200, obj_end(&o));
}

/* One piece of the conversion; comes back until it is done. */
static enum err convert(void *ctx, struct request *rq, struct fault *fault)
{
    struct api *api = ctx;
    struct weights_put *w = request_get(rq, REQUEST_STATE);
    bool is_done = false, must_wait;
    enum err e = room_wait(api->room, &w->upload.waiter, rq, convert, &must_wait);
    if (e == ERR_OK && must_wait)
        return ERR_OK;
    if (e == ERR_OK)
        e = canonical_step(w->canonical, &is_done);
    if (e != ERR_OK)
        return api_failure(fault, e);
    if (!is_done) {
        request_defer(rq);
        request_continue(rq, convert);
        return ERR_OK;
    }
    e = canonical_end(w->canonical, &w->blob_id, &w->op.size_bytes, w->weights_sha256, w->aggregate_sha256);
    if (e != ERR_OK)
        return api_failure(fault, e);
    w->op.base = api_op_base(api, rq);
    w->op.run_id = w->run.id;
    w->op.blob_id = w->blob_id;
    w->op.weights_sha256 = w->weights_sha256;
    w->op.aggregate_sha256 = w->aggregate_sha256;
    return api_write(api, rq, &w->pending, op_run_weights, &w->op, &w->op.base, stored);
}

enum err api_weights_put(void *ctx, struct request *rq, struct fault *fault)
{
    struct api *api = ctx;
    struct weights_put *w = request_sink_take(rq);
    request_set(rq, REQUEST_STATE, w, weights_release);
    enum err e = upload_end(&w->upload, fault);
    if (e == ERR_OK)
        e = canonical_new(api->blobs, w->upload.blob_id, safetensors_stream_header(w->upload.stream),
                          &arch_of(w->arch)->tensors, &w->canonical);
    return e == ERR_OK ? convert(ctx, rq, fault) : api_failure(fault, e);
}
