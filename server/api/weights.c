/* GET .../weights: the safetensors file, pulled from the blob store piece by piece. */
#include <stdlib.h>
#include "common/base/str.h"
#include "server/api/alone.h"
#include "server/api/caller.h"
#include "server/api/handlers.h"
#include "server/api/models.h"

#define CHECK_EVERY (8 * MIB) /* a download may last for hours: the caller's token may end meanwhile */

struct weights_look {
    struct reading r; /* first: model_of_path takes it */
    struct model_row model;
};

/* A worker may read the weights of a run in which one of its tasks is open. */
static enum err check_selected(struct reading *r, struct store_txn *txn, const char *run_id)
{
    const struct caller *c = api_caller(r->rq);
    if (!caller_is_worker(c))
        return ERR_OK;
    bool is_device = c->device_id[0] != '\0';
    struct task_row *tasks;
    size_t n;
    enum err e =
        store_find(txn, is_device ? QUERY_TASKS_OPEN_BY_DEVICE : QUERY_TASKS_OPEN_BY_WORKER, r->arena, 0,
                   &tasks, &n, store_text(is_device ? c->device_id : c->worker_id), store_int(TASK_CLAIMED));
    if (e != ERR_OK)
        return e;
    for (size_t i = 0; i < n; i++) {
        if (str_eq(tasks[i].run_id, run_id))
            return ERR_OK;
    }
    return fault_set(
        r->fault, ERR_NOT_SELECTED, NULL,
        "None of your devices has an open task of this run. Claim one first; a token of the role viewer "
        "may read all weights.");
}

static enum err read_weights(struct store_txn *txn, void *arg)
{
    struct weights_look *look = arg;
    enum err e = model_of_path(&look->r, txn, &look->model);
    if (e == ERR_OK)
        e = check_selected(&look->r, txn, look->model.run_id);
    if (e == ERR_OK && look->model.blob_id == 0)
        e = fault_set(
            look->r.fault, ERR_NOT_FOUND, NULL,
            "The weights of version %lld were removed, as the run's retention.keep_models says. The list of "
            "models shows which are available.",
            (long long)look->model.version);
    return e;
}

struct blob_reader {
    struct api *api;
    int64_t blob_id;
    uint64_t size, sent, checked; /* checked: the offset at which the token was looked at */
    const struct caller *caller;  /* the request's */
    char run_id[ID_SIZE];
    int64_t version;
    char worker_token[ID_SIZE]; /* who downloads, if a device does: it counts for the round; else "" */
};

static enum err check_caller(struct store_txn *txn, void *arg)
{
    const struct blob_reader *b = arg;
    struct arena arena = ARENA_INIT(64 * KIB);
    struct fault ignored = FAULT_NONE;
    enum err e = caller_check(b->api, txn, b->caller, &arena, &ignored);
    arena_release(&arena);
    return e;
}

static enum err pull(void *ctx, uint64_t offset, void *buf, size_t n, size_t *out_n)
{
    struct blob_reader *b = ctx;
    struct blobs *blobs = b->api->blobs;
    uint64_t left = b->size - offset;
    if (offset >= b->checked + CHECK_EVERY) {
        enum err e = b->api->store->ops->read(b->api->store, check_caller, b);
        if (e != ERR_OK)
            return e;
        b->checked = offset;
    }
    *out_n = left < n ? (size_t)left : n;
    b->sent += *out_n;
    return blobs->ops->read(blobs, b->blob_id, (int64_t)offset, buf, *out_n);
}

static void count_sent(const struct blob_reader *b)
{
    struct op_weights_sent *op = alone_new(b->api, sizeof *op, b->worker_token);
    if (!op)
        return;
    op->run_id = arena_strdup(op->base.arena, b->run_id);
    op->version = b->version;
    op->bytes = (int64_t)b->sent;
    if (op->run_id)
        alone_start(b->api, op_weights_sent, op);
    else
        alone_drop(op);
}

static void reader_free(void *ctx)
{
    struct blob_reader *b = ctx;
    if (b->worker_token[0] && b->sent > 0)
        count_sent(b);
    free(b);
}

static enum err send_weights(struct api *api, struct request *rq, const struct model_row *m)
{
    const struct caller *c = api_caller(rq);
    struct blob_reader *b = calloc(1, sizeof *b);
    if (!b)
        return ERR_NO_MEMORY;
    b->api = api;
    b->caller = c;
    b->blob_id = m->blob_id;
    b->size = (uint64_t)m->size_bytes;
    b->version = m->version;
    enum err e = str_copy(b->run_id, sizeof b->run_id, m->run_id);
    if (e == ERR_OK && caller_is_worker(c))
        e = str_copy(b->worker_token, sizeof b->worker_token, c->token_id);
    if (e != ERR_OK) {
        free(b);
        return e;
    }
    const struct body_source source = {.size_bytes = b->size,
                                       .media_type = MEDIA_SAFETENSORS,
                                       .etag = m->weights_sha256,
                                       .sha256_hex = m->weights_sha256,
                                       .pull = pull,
                                       .free = reader_free,
                                       .ctx = b};
    return reply_source(rq, &source);
}

enum err api_weights_get(void *ctx, struct request *rq, struct fault *fault)
{
    struct api *api = ctx;
    struct weights_look look = {.r = {.api = api, .rq = rq, .arena = request_arena(rq), .fault = fault}};
    enum err e = api->store->ops->read(api->store, read_weights, &look);
    return e == ERR_OK ? send_weights(api, rq, &look.model) : api_failure(fault, e);
}
