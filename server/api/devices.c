#include "server/api/device_json.h"
#include "server/api/handlers.h"
#include "server/api/mutation.h"
#include "server/api/page.h"
#include "server/api/task_json.h"

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

/* ---- its history ---- */

static enum err read_device_tasks(struct store_txn *txn, void *arg)
{
    struct reading *r = arg;
    struct device_row device;
    struct page page;
    struct store_value status, type;
    enum err e = page_read_id(r->rq, &page, r->fault);
    if (e == ERR_OK)
        e = task_filters(r, &status, &type);
    if (e == ERR_OK)
        e = device_of_path(r, txn, &device);
    if (e != ERR_OK)
        return e;
    const struct store_value args[] = {store_text(device.id), store_text_or_any(request_query(r->rq, "run")),
                                       type, page_after_id(&page)};
    return page_fill(r, txn, &page,
                     &(struct page_source){.query = QUERY_TASKS_OF_DEVICE,
                                           .kind = RECORD_TASK,
                                           .args = args,
                                           .num_args = 4,
                                           .render = task_render,
                                           .cursor = page_cursor_first_text});
}

enum err api_device_tasks(void *ctx, struct request *rq, struct fault *fault)
{
    return api_reply_read(ctx, rq, read_device_tasks, fault);
}

/* ---- changes ---- */

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
