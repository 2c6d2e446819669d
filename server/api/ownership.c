/* What of the objects in a path is a worker's or a device's own: asked before the body is read. */
#include <string.h>
#include "common/base/str.h"
#include "server/api/caller.h"
#include "server/api/context.h"

static bool owns(const struct caller *c, const char *worker_id, const char *device_id)
{
    if (c->device_id[0])
        return str_eq(c->device_id, device_id);
    return c->worker_id[0] && str_eq(c->worker_id, worker_id);
}

static enum err not_own(const char *what, struct fault *fault)
{
    return fault_set(
        fault, ERR_FORBIDDEN, NULL,
        "This %s is not yours: the token belongs to another. Use the token of the device, or of the "
        "worker that has it.",
        what);
}

struct own_look {
    struct request *rq;
    struct fault *fault;
};

static enum err look_at_device(struct store_txn *txn, void *arg)
{
    const struct own_look *look = arg;
    struct device_row row;
    record_init(RECORD_DEVICE, &row);
    row.id = request_param(look->rq, "device");
    enum err e = api_get(txn, RECORD_DEVICE, request_arena(look->rq), &row, "device", row.id, look->fault);
    if (e == ERR_OK && !owns(api_caller(look->rq), row.worker_id, row.id))
        e = not_own("device", look->fault);
    return e;
}

static enum err look_at_task(struct store_txn *txn, void *arg)
{
    const struct own_look *look = arg;
    struct task_row row;
    record_init(RECORD_TASK, &row);
    row.id = request_param(look->rq, "task");
    enum err e = api_get(txn, RECORD_TASK, request_arena(look->rq), &row, "task", row.id, look->fault);
    if (e == ERR_OK && !owns(api_caller(look->rq), row.worker_id, row.device_id))
        e = not_own("task", look->fault);
    return e;
}

static enum err look(struct api *api, struct request *rq, const char *what, store_fn fn, struct fault *fault)
{
    struct own_look look = {.rq = rq, .fault = fault};
    const char *id;
    enum err e = api_path_id(rq, what, &id, fault);
    return e == ERR_OK ? api_failure(fault, api->store->ops->read(api->store, fn, &look)) : e;
}

enum err caller_check_path(struct api *api, struct request *rq, const struct route *route,
                           struct fault *fault)
{
    const struct caller *c = api_caller(rq);
    if (strstr(route->path, "{worker}")) {
        bool is_own = c->worker_id[0] && str_eq(request_param(rq, "worker"), c->worker_id);
        return is_own ? ERR_OK : not_own("worker", fault);
    }
    if (strstr(route->path, "{device}")) {
        bool is_own = c->device_id[0] && str_eq(request_param(rq, "device"), c->device_id);
        return is_own ? ERR_OK : look(api, rq, "device", look_at_device, fault);
    }
    if (strstr(route->path, "{task}"))
        return look(api, rq, "task", look_at_task, fault);
    return ERR_OK;
}
