#include "server/api/caller.h"
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

/* Whose device it is can be known only by reading it: in the same transaction as the change. */
struct patch {
    struct op_device_patch op; /* first: the mutation takes it for an operation */
    const struct caller *caller;
};

static enum err patch_own(struct store_txn *txn, void *arg)
{
    struct patch *p = arg;
    struct device_row row;
    record_init(RECORD_DEVICE, &row);
    row.id = p->op.device_id;
    struct fault *fault = &p->op.base.fault;
    enum err e = api_get(txn, RECORD_DEVICE, p->op.base.arena, &row, "device", row.id, fault);
    if (e == ERR_OK)
        e = caller_check_device(p->caller, &row, fault);
    return e == ERR_OK ? op_device_patch(txn, &p->op) : e;
}

static json_t *render_patched(struct api *api, struct store_txn *txn, struct arena *arena, const void *op)
{
    return device_json(api, txn, arena, &((const struct op_device_patch *)op)->out);
}

enum err api_device_patch(void *ctx, struct request *rq, struct fault *fault)
{
    struct mutation *m = mutation_new(ctx, rq, sizeof(struct patch));
    if (!m)
        return ERR_NO_MEMORY;
    struct patch *p = m->op;
    p->op.body = api_body(rq);
    p->caller = api_caller(rq);
    m->fn = patch_own;
    m->status = 200;
    m->render = render_patched;
    enum err e = api_path_id(rq, "device", &p->op.device_id, fault);
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
