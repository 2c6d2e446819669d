#include "server/api/device_json.h"
#include "server/api/handlers.h"
#include "server/api/mutation.h"

static enum err read_device(struct store_txn *txn, void *arg)
{
    struct reading *r = arg;
    struct device_row row;
    enum err e = device_of_path(r, txn, &row);
    if (e == ERR_OK && !(r->out = device_json(r->api, txn, r->arena, &row)))
        e = ERR_NO_MEMORY;
    return e;
}

enum err api_device_get(void *ctx, struct request *rq, struct fault *fault)
{
    return api_reply_read(ctx, rq, read_device, fault);
}

static json_t *render_patched(struct api *api, struct store_txn *txn, struct arena *arena, const void *op)
{
    return device_json(api, txn, arena, &((const struct op_device_patch *)op)->out);
}

enum err api_device_patch(void *ctx, struct request *rq, struct fault *fault)
{
    struct mutation *m = mutation_new(ctx, rq, sizeof(struct op_device_patch));
    if (!m)
        return ERR_NO_MEMORY;
    struct op_device_patch *op = m->op;
    op->body = api_body(rq);
    m->fn = op_device_patch;
    m->status = 200;
    m->render = render_patched;
    enum err e = api_path_id(rq, "device", &op->device_id, fault);
    return e == ERR_OK ? mutation_start(m, rq, fault) : e;
}

enum err api_device_revoke(void *ctx, struct request *rq, struct fault *fault)
{
    struct mutation *m = mutation_new(ctx, rq, sizeof(struct op_revoke));
    if (!m)
        return ERR_NO_MEMORY;
    m->fn = op_device_revoke;
    m->status = 204;
    enum err e = api_path_id(rq, "device", &((struct op_revoke *)m->op)->id, fault);
    return e == ERR_OK ? mutation_start(m, rq, fault) : e;
}
