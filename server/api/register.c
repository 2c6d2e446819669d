/* POST /workers and POST /devices: an enrollment token becomes an identity with a token of its own. */
#include "server/api/fields.h"
#include "server/api/handlers.h"
#include "server/api/mutation.h"

/* ---- workers ---- */

static json_t *worker_devices(const struct op_worker_register *op)
{
    json_t *devices = json_array();
    for (size_t i = 0; devices && i < op->out_num_devices; i++) {
        const struct device_row *d = &op->out_devices[i];
        struct obj o = obj_new();
        obj_text(&o, "device_id", d->id);
        obj_int(&o, "ordinal", d->ordinal);
        if (json_array_append_new(devices, obj_end(&o)) != 0) {
            json_decref(devices);
            return NULL;
        }
    }
    return devices;
}

static json_t *render_worker(struct api *api, struct store_txn *txn, struct arena *arena, const void *arg)
{
    (void)txn;
    (void)arena;
    const struct op_worker_register *op = arg;
    struct obj o = obj_new();
    obj_text(&o, "worker_id", op->out.id);
    obj_take(&o, "devices", worker_devices(op));
    obj_num(&o, "next_heartbeat_s", (double)api->heartbeat_ms / 1000);
    return obj_end(&o);
}

static const char *worker_id(const void *op)
{
    return ((const struct op_worker_register *)op)->out.id;
}

/* With the secret in its place already it is the same registration once more, which changes nothing. */
static enum err worker_reissue(struct store_txn *txn, struct mutation *m, const char *id)
{
    enum err e = mutation_renew_owners_secret(txn, m, QUERY_TOKENS_OF_WORKER, id);
    return e == ERR_OK ? m->fn(txn, m->op) : e;
}

enum err api_worker_register(void *ctx, struct request *rq, struct fault *fault)
{
    struct mutation *m = mutation_new(ctx, rq, sizeof(struct op_worker_register));
    if (!m)
        return ERR_NO_MEMORY;
    enum err e = mutation_secret(m, request_json(rq), fault);
    if (e != ERR_OK)
        return e;
    struct op_worker_register *op = m->op;
    op->body = m->body;
    op->token_sha256 = m->secret_sha256;
    m->fn = op_worker_register;
    m->status = 201;
    m->render = render_worker;
    m->location = API_PREFIX "/workers/";
    m->id = worker_id;
    m->reissue = worker_reissue;
    return mutation_start(m, rq, fault);
}

/* ---- devices of their own ---- */

static json_t *render_device(struct api *api, struct store_txn *txn, struct arena *arena, const void *arg)
{
    (void)txn;
    (void)arena;
    const struct device_row *d = &((const struct op_device_register *)arg)->out;
    struct obj o = obj_new();
    obj_text(&o, "device_id", d->id);
    obj_text(&o, "dataset", d->dataset);
    obj_int(&o, "ordinal", d->ordinal);
    obj_num(&o, "next_heartbeat_s", (double)api->heartbeat_ms / 1000);
    return obj_end(&o);
}

static const char *device_id(const void *op)
{
    return ((const struct op_device_register *)op)->out.id;
}

static enum err device_reissue(struct store_txn *txn, struct mutation *m, const char *id)
{
    struct op_device_register *op = m->op;
    enum err e = mutation_renew_owners_secret(txn, m, QUERY_TOKENS_OF_DEVICE, id);
    record_init(RECORD_DEVICE, &op->out);
    op->out.id = id;
    return e == ERR_OK ? store_get(txn, RECORD_DEVICE, op->base.arena, &op->out) : e;
}

enum err api_device_register(void *ctx, struct request *rq, struct fault *fault)
{
    struct mutation *m = mutation_new(ctx, rq, sizeof(struct op_device_register));
    if (!m)
        return ERR_NO_MEMORY;
    enum err e = mutation_secret(m, request_json(rq), fault);
    if (e != ERR_OK)
        return e;
    struct op_device_register *op = m->op;
    op->body = m->body;
    op->token_sha256 = m->secret_sha256;
    m->fn = op_device_register;
    m->status = 201;
    m->render = render_device;
    m->location = API_PREFIX "/devices/";
    m->id = device_id;
    m->reissue = device_reissue;
    return mutation_start(m, rq, fault);
}
