#include "server/api/device_json.h"
#include "server/api/fields.h"
#include "server/api/handlers.h"
#include "server/api/mutation.h"
#include "server/api/page.h"
#include "server/core/names.h"

static struct obj worker_obj(struct api *api, struct arena *arena, const struct worker_row *w)
{
    struct obj o = obj_new();
    obj_text(&o, "id", w->id);
    obj_text(&o, "name", w->name);
    obj_text(&o, "version", w->version);
    obj_raw(&o, arena, "capabilities", w->capabilities);
    obj_raw(&o, arena, "resources", w->resources);
    obj_text(&o, "status", presence_name(core_worker_presence(api->core, w)));
    obj_time(&o, "last_seen_at", core_worker_last_seen(api->core, w));
    obj_time(&o, "created_at", w->created_at);
    obj_time(&o, "revoked_at", w->revoked_at);
    return o;
}

static json_t *render_row(struct reading *r, struct store_txn *txn, const void *row)
{
    const struct worker_row *w = row;
    int64_t count;
    if (store_count(txn, QUERY_DEVICES_OF_WORKER, &count, store_text(w->id), store_int(0)) != ERR_OK)
        return NULL;
    struct obj o = worker_obj(r->api, r->arena, w);
    obj_int(&o, "num_devices", count);
    return obj_end(&o);
}

static enum err read_workers(struct store_txn *txn, void *arg)
{
    struct reading *r = arg;
    struct page page;
    enum err e = page_read_id(r->rq, &page, r->fault);
    if (e != ERR_OK)
        return e;
    const struct store_value after = page_after_id(&page);
    return page_fill(r, txn, &page,
                     &(struct page_source){.query = QUERY_WORKERS,
                                           .kind = RECORD_WORKER,
                                           .args = &after,
                                           .num_args = 1,
                                           .render = render_row,
                                           .cursor = page_cursor_first_text});
}

enum err api_worker_list(void *ctx, struct request *rq, struct fault *fault)
{
    return api_reply_read(ctx, rq, read_workers, fault);
}

static json_t *devices_of(struct reading *r, struct store_txn *txn, const char *worker_id, int64_t *out_count)
{
    struct device_row *rows;
    size_t n;
    if (store_find(txn, QUERY_DEVICES_OF_WORKER, r->arena, 0, &rows, &n, store_text(worker_id),
                   store_int(0)) != ERR_OK)
        return NULL;
    *out_count = (int64_t)n;
    json_t *devices = json_array();
    for (size_t i = 0; devices && i < n; i++) {
        struct obj o = obj_new();
        obj_text(&o, "device_id", rows[i].id);
        obj_text(&o, "dataset", rows[i].dataset);
        obj_int(&o, "ordinal", rows[i].ordinal);
        if (json_array_append_new(devices, obj_end(&o)) != 0) {
            json_decref(devices);
            return NULL;
        }
    }
    return devices;
}

static enum err read_worker(struct store_txn *txn, void *arg)
{
    struct reading *r = arg;
    struct worker_row row;
    enum err e = worker_of_path(r, txn, &row);
    if (e != ERR_OK)
        return e;
    int64_t count = 0;
    json_t *devices = devices_of(r, txn, row.id, &count);
    struct obj o = worker_obj(r->api, r->arena, &row);
    obj_int(&o, "num_devices", count);
    obj_take(&o, "devices", devices);
    r->out = obj_end(&o);
    return r->out ? ERR_OK : ERR_NO_MEMORY;
}

enum err api_worker_get(void *ctx, struct request *rq, struct fault *fault)
{
    return api_reply_read(ctx, rq, read_worker, fault);
}

enum err api_worker_revoke(void *ctx, struct request *rq, struct fault *fault)
{
    struct mutation *m = mutation_new(ctx, rq, sizeof(struct op_revoke));
    if (!m)
        return ERR_NO_MEMORY;
    m->fn = op_worker_revoke;
    m->status = 204;
    enum err e = api_path_id(rq, "worker", &((struct op_revoke *)m->op)->id, fault);
    return e == ERR_OK ? mutation_start(m, rq, fault) : e;
}
