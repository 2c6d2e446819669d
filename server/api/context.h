/* What every handler is given, and the few helpers that most of them need. Private to server/api. */
#ifndef FEDLANE_API_CONTEXT_H
#define FEDLANE_API_CONTEXT_H

#include <stdatomic.h>
#include "common/api/api.h"
#include "server/api/api.h"
#include "server/core/ops.h"
#include "server/httpd/reply.h"
#include "server/httpd/request.h"

struct arch_cache;
struct auth_limit;
struct observations;
struct running_uploads;
struct room;

struct api {
    struct store *store;
    struct blobs *blobs;
    struct core *core;
    struct clock clock;
    struct waiters *waiters;
    int64_t heartbeat_ms;
    const char *data_dir, *web_dir;
    _Atomic(const struct httpd *) httpd;
    struct arch_cache *archs;
    struct running_uploads *uploads;
    struct room *room;
    struct observations *observed;
    struct auth_limit *auth_limit;
};

/* Returns `e`. Where the fault does not say anything yet, says what such an error means to the caller. */
enum err api_failure(struct fault *fault, enum err e) MUST_CHECK;

/* The body as the core takes it (it does not change it); NULL without one. */
json_t *api_body(const struct request *rq);
/* For a route whose optional body has no fields: ERR_UNKNOWN_FIELD names one that is there all the same. */
enum err api_refuse_fields(struct request *rq, struct fault *fault) MUST_CHECK;

/* ---- reading ---- */

/* A read of the store that makes the reply's JSON. */
struct reading {
    struct api *api;
    struct request *rq;
    struct arena *arena; /* the request's */
    struct fault *fault;
    json_t *out; /* set by the function; sent with 200 */
};
/* Runs fn(txn, struct reading *) and replies with what it made. */
enum err api_reply_read(void *ctx, struct request *rq, store_fn fn, struct fault *fault) MUST_CHECK;
/* The same where fn needs more: `r` is the first member of what it gets. */
enum err api_reply_reading(struct reading *r, store_fn fn) MUST_CHECK;

/* One row by the key columns that are set in `row`. ERR_NOT_FOUND says "There is no <what> <id>.". */
enum err api_get(struct store_txn *txn, enum record_kind kind, struct arena *arena, void *row,
                 const char *what, const char *id, struct fault *fault) MUST_CHECK;
/* The id of a path: `what` ("run") is the parameter's name. ERR_NOT_FOUND when it cannot be an id. */
enum err api_path_id(const struct request *rq, const char *what, const char **out_id,
                     struct fault *fault) MUST_CHECK;

/* ---- writing ---- */

/* A request that waits for the store's writer. Must be the first member of what REQUEST_STATE holds. */
struct pending {
    struct api *api;
    struct request *rq;
    store_fn fn;
    void *arg;
    bool is_replay;     /* set by fn: it did nothing, a former request had done it */
    const char *object; /* set by fn: where what was made is found; NULL: nothing was */
    struct op_base *op;
    enum err result;
    bool hears_failure;  /* `then` runs after a failure too, with its fault */
    route_handler *then; /* runs in the request's thread after the commit */
};
/* Queues fn(txn, arg) and sets the request aside. Returns ERR_OK always: a failure is answered later, with
 * the fault of `op`, the operation that fn runs. Where the caller's token has ended meanwhile, fn is not run.
 * `state` becomes REQUEST_STATE if it is not yet. */
enum err api_write(struct api *api, struct request *rq, struct pending *state, store_fn fn, void *arg,
                   struct op_base *op, route_handler *then) MUST_CHECK;
/* For who gives a token another secret, or ends it, without an operation of the core: wakes who waits with
 * it. */
enum err api_token_changed(struct store_txn *txn, const char *token_id) MUST_CHECK;
/* Fills the head of an operation for this request. */
struct op_base api_op_base(struct api *api, struct request *rq);

#endif
