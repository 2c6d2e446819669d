/* Claims: a long-poll that runs the core's claim, waits while there is nothing, and looks again when the
 * store says that a task is there. The subscription comes before the first look, so no task is slept through.
 */
#include "common/base/str.h"
#include "common/json/json_spec.h"
#include "server/api/caller.h"
#include "server/api/context.h"
#include "server/api/device_json.h"
#include "server/api/handlers.h"
#include "server/api/offer.h"

struct claim {
    struct pending pending;
    struct op_task_claim op;
    bool is_single; /* one device: the task itself is the reply, not a list */
};

struct claim_body {
    int64_t max;
    json_t *holding;
};

static const struct json_field worker_fields[] = {
    JSON_FIELD(struct claim_body, max, JSON_FIELD_INT, .min = 1, .max = LIMIT_CLAIM),
    JSON_FIELD(struct claim_body, holding, JSON_FIELD_ARRAY, .max = LIMIT_CLAIM, .allow_null = true),
};
static const struct json_field device_fields[] = {
    JSON_FIELD(struct claim_body, holding, JSON_FIELD_ARRAY, .max = LIMIT_CLAIM, .allow_null = true),
};

static enum err read_holding(struct claim *c, struct arena *arena, const json_t *holding, struct fault *fault)
{
    if (!holding)
        return ERR_OK;
    size_t n = json_array_size(holding);
    const char **ids = arena_calloc(arena, n, sizeof *ids);
    if (!ids)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        ids[i] = json_string_value(json_array_get(holding, i));
        if (!ids[i] || !id_is_valid(ids[i])) {
            char field[40];
            (void)snprintf(field, sizeof field, "holding[%zu]", i);
            return fault_set(fault, ERR_INVALID_FIELD, field, "It must be the id of a task.");
        }
    }
    c->op.holding = ids;
    c->op.num_holding = n;
    return ERR_OK;
}

static enum err read_body(struct claim *c, struct request *rq, struct fault *fault)
{
    struct claim_body body = {.max = 1};
    const json_t *json = request_json(rq);
    if (json) {
        const struct json_field *fields = c->is_single ? device_fields : worker_fields;
        size_t n = c->is_single ? sizeof device_fields / sizeof device_fields[0]
                                : sizeof worker_fields / sizeof worker_fields[0];
        enum err e =
            json_spec_parse(json, fields, n, JSON_REFUSE_UNKNOWN, "", request_arena(rq), &body, fault);
        if (e != ERR_OK)
            return e;
    }
    c->op.max = body.max;
    return read_holding(c, request_arena(rq), body.holding, fault);
}

static enum err answer(void *ctx, struct request *rq, struct fault *fault)
{
    (void)fault;
    struct api *api = ctx;
    struct claim *c = request_get(rq, REQUEST_STATE);
    if (c->op.out_count == 0)
        return ERR_OK; /* waits on, or 204 when the time is up */
    core_seen(api->core, c->op.worker_id, c->op.device_id);
    if (c->is_single)
        return reply_json(rq, 200, offer_json(request_arena(rq), &c->op.out[0]));
    return reply_json(rq, 200, offers_json(request_arena(rq), c->op.out, c->op.out_count));
}

static enum err look(void *ctx, struct request *rq, bool timed_out, struct fault *fault)
{
    (void)timed_out;
    (void)fault;
    struct api *api = ctx;
    struct claim *c = request_get(rq, REQUEST_STATE);
    c->op.out = NULL;
    c->op.out_count = 0;
    return api_write(api, rq, &c->pending, op_task_claim, &c->op, &c->op.base, answer);
}

static enum err start(struct api *api, struct request *rq, struct claim *c, struct fault *fault)
{
    int64_t wait_ms;
    enum err e = read_body(c, rq, fault);
    if (e == ERR_OK)
        e = request_wait_ms(rq, &wait_ms, fault);
    if (e != ERR_OK)
        return e;
    c->op.base = api_op_base(api, rq);
    request_set(rq, REQUEST_STATE, c, NULL);
    core_seen(api->core, c->op.worker_id, c->op.device_id);
    uint64_t topics[3] = {caller_topic(api_caller(rq))};
    size_t n = 1;
    if (c->op.worker_id[0])
        topics[n++] = topic_of("worker", c->op.worker_id);
    if (c->op.device_id[0])
        topics[n++] = topic_of("device", c->op.device_id);
    return waiter_park(rq, topics, n, caller_wait_ms(api, api_caller(rq), wait_ms), look, fault);
}

static enum err read_worker(struct store_txn *txn, void *arg)
{
    struct worker_row row;
    return worker_of_path(arg, txn, &row);
}

static enum err read_device(struct store_txn *txn, void *arg)
{
    struct device_row row;
    return device_of_path(arg, txn, &row);
}

/* A worker's own token proves that the worker is there; an administrator may have mistyped. */
static enum err check_there(struct api *api, struct request *rq, store_fn fn, struct fault *fault)
{
    struct reading r = {.api = api, .rq = rq, .arena = request_arena(rq), .fault = fault};
    if (caller_is_worker(api_caller(rq)))
        return ERR_OK;
    return api_failure(fault, api->store->ops->read(api->store, fn, &r));
}

enum err api_worker_claim(void *ctx, struct request *rq, struct fault *fault)
{
    struct claim *c = arena_alloc(request_arena(rq), sizeof *c);
    if (!c)
        return ERR_NO_MEMORY;
    c->op.worker_id = request_param(rq, "worker");
    c->op.device_id = "";
    enum err e = check_there(ctx, rq, read_worker, fault);
    return e == ERR_OK ? start(ctx, rq, c, fault) : e;
}

enum err api_device_claim(void *ctx, struct request *rq, struct fault *fault)
{
    struct claim *c = arena_alloc(request_arena(rq), sizeof *c);
    if (!c)
        return ERR_NO_MEMORY;
    c->is_single = true;
    c->op.worker_id = "";
    c->op.device_id = request_param(rq, "device");
    enum err e = check_there(ctx, rq, read_device, fault);
    return e == ERR_OK ? start(ctx, rq, c, fault) : e;
}
