#include "server/api/context.h"

#include "common/json/json_spec.h"
#include "server/api/audit.h"
#include "server/api/caller.h"

static const char *meaning(enum err e)
{
    switch (e) {
    case ERR_STORAGE_FULL:
        return "The server's disk is full. Nothing was changed. Free space on it, then send the request "
               "again.";
    case ERR_UNAVAILABLE:
        return "The server cannot take more work now. Nothing was changed; send the request again later.";
    case ERR_NO_MEMORY:
        return "The server is out of memory for this request. Nothing was changed; send it again later.";
    case ERR_PAYLOAD_TOO_LARGE:
        return "The answer or the body is larger than the server allows. Ask for less at a time.";
    case ERR_NOT_FOUND:
        return "There is no such object.";
    case ERR_CONFLICT:
        return "The object is in a state, or has a name, that does not allow this.";
    default:
        return "The server failed; its log tells more under the request_id of this reply.";
    }
}

enum err api_failure(struct fault *fault, enum err e)
{
    if (e != ERR_OK && fault->err == ERR_OK)
        return fault_set(fault, e, NULL, "%s", meaning(e));
    return e;
}

json_t *api_body(const struct request *rq)
{
    return (json_t *)request_json(rq);
}

enum err api_refuse_fields(struct request *rq, struct fault *fault)
{
    const json_t *body = request_json(rq);
    if (!body)
        return ERR_OK;
    return json_spec_parse(body, NULL, 0, JSON_REFUSE_UNKNOWN, "", request_arena(rq), NULL, fault);
}

enum err api_reply_read(void *ctx, struct request *rq, store_fn fn, struct fault *fault)
{
    struct reading r = {.api = ctx, .rq = rq, .arena = request_arena(rq), .fault = fault};
    return api_reply_reading(&r, fn);
}

enum err api_reply_reading(struct reading *r, store_fn fn)
{
    enum err e = r->api->store->ops->read(r->api->store, fn, r);
    if (e == ERR_OK)
        return reply_json(r->rq, 200, r->out);
    json_decref(r->out);
    return api_failure(r->fault, e);
}

enum err api_get(struct store_txn *txn, enum record_kind kind, struct arena *arena, void *row,
                 const char *what, const char *id, struct fault *fault)
{
    enum err e = store_get(txn, kind, arena, row);
    if (e == ERR_NOT_FOUND)
        return fault_set(fault, e, NULL, "There is no %s %s. Check the id, and the server you ask.", what,
                         id);
    return api_failure(fault, e);
}

enum err api_path_id(const struct request *rq, const char *what, const char **out_id, struct fault *fault)
{
    *out_id = request_param(rq, what);
    if (id_is_valid(*out_id))
        return ERR_OK;
    return fault_set(fault, ERR_NOT_FOUND, NULL,
                     "There is no %s with this id: a %s's id is 32 lower-case hexadecimal digits.", what,
                     what);
}

static enum err after_write(void *ctx, struct request *rq, struct fault *fault)
{
    struct pending *p = request_get(rq, REQUEST_STATE);
    if (p->result != ERR_OK && p->op->fault.err == p->result)
        *fault = p->op->fault;
    if (p->result == ERR_OK || p->hears_failure)
        return p->then(ctx, rq, fault);
    return api_failure(fault, p->result);
}

static void write_done(void *ctx, enum err result)
{
    struct pending *p = ctx;
    p->result = result;
    request_continue(p->rq, after_write);
}

static enum err run_pending(struct store_txn *txn, void *arg)
{
    struct pending *p = arg;
    p->is_replay = false;
    p->object = NULL;
    p->op->is_repeat = false;
    enum err e = caller_check(p->api, txn, api_caller(p->rq), p->op->arena, &p->op->fault);
    if (e == ERR_OK)
        e = p->fn(txn, p->arg);
    if (e == ERR_OK && !p->is_replay && !p->op->is_repeat && request_route(p->rq)->is_audited)
        e = audit_add(txn, p);
    return e;
}

enum err api_token_changed(struct store_txn *txn, const char *token_id)
{
    char topic[ID_SIZE + 8];
    (void)snprintf(topic, sizeof topic, "token:%s", token_id);
    return store_notify(txn, topic);
}

enum err api_write(struct api *api, struct request *rq, struct pending *state, store_fn fn, void *arg,
                   struct op_base *op, route_handler *then)
{
    state->api = api;
    state->rq = rq;
    state->fn = fn;
    state->arg = arg;
    state->then = then;
    state->op = op;
    op->fault = FAULT_NONE;
    if (request_get(rq, REQUEST_STATE) != state)
        request_set(rq, REQUEST_STATE, state, NULL);
    request_defer(rq);
    enum err e = api->store->ops->write(api->store, run_pending, state, write_done, state);
    if (e != ERR_OK)
        write_done(state, e);
    return ERR_OK;
}

struct op_base api_op_base(struct api *api, struct request *rq)
{
    return (struct op_base){
        .core = api->core, .arena = request_arena(rq), .caller = api_caller(rq)->token_id};
}
