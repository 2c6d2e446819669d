#include "server/api/models.h"

#include "common/base/str.h"
#include "server/api/fields.h"
#include "server/api/handlers.h"
#include "server/api/offer.h"
#include "server/api/page.h"
#include "server/api/run_json.h"

static json_t *model_json(const struct model_row *m)
{
    struct obj o = obj_new();
    obj_text(&o, "run_id", m->run_id);
    obj_int(&o, "version", m->version);
    obj_int(&o, "size_bytes", m->size_bytes);
    obj_text(&o, "weights_sha256", m->weights_sha256);
    obj_text(&o, "aggregate_sha256", m->aggregate_sha256);
    obj_bool(&o, "available", m->blob_id != 0);
    obj_take(&o, "weights_url", weights_url_json(m->run_id, m->version));
    obj_time(&o, "created_at", m->created_at);
    return obj_end(&o);
}

static json_t *render_model(struct reading *r, struct store_txn *txn, const void *row)
{
    (void)r;
    (void)txn;
    return model_json(row);
}

static const char *model_cursor(struct reading *r, const void *row)
{
    return arena_printf(r->arena, "%lld", (long long)((const struct model_row *)row)->version);
}

static enum err read_models(struct store_txn *txn, void *arg)
{
    struct reading *r = arg;
    struct run_row run;
    struct page page;
    enum err e = page_read_number(r->rq, &page, r->fault);
    if (e == ERR_OK)
        e = run_of_path(r, txn, &run);
    if (e != ERR_OK)
        return e;
    const struct store_value args[] = {store_text(run.id), page_after_number(&page)};
    return page_fill(r, txn, &page,
                     &(struct page_source){.query = QUERY_MODELS,
                                           .kind = RECORD_MODEL,
                                           .args = args,
                                           .num_args = 2,
                                           .render = render_model,
                                           .cursor = model_cursor});
}

enum err api_model_list(void *ctx, struct request *rq, struct fault *fault)
{
    return api_reply_read(ctx, rq, read_models, fault);
}

static enum err latest(struct reading *r, struct store_txn *txn, const char *run_id, struct model_row *out)
{
    struct model_row *rows;
    size_t n;
    enum err e = store_find(txn, QUERY_MODELS, r->arena, 1, &rows, &n, store_text(run_id), store_any);
    if (e == ERR_OK && n == 0)
        return fault_set(r->fault, ERR_NOT_FOUND, NULL, "This run has no model yet.");
    if (e == ERR_OK)
        *out = rows[0];
    return e;
}

enum err model_of_path(struct reading *r, struct store_txn *txn, struct model_row *out)
{
    struct run_row run;
    enum err e = run_of_path(r, txn, &run);
    if (e != ERR_OK)
        return e;
    const char *version = request_param(r->rq, "version");
    record_init(RECORD_MODEL, out);
    if (str_eq(version, "latest"))
        return latest(r, txn, run.id, out);
    out->run_id = run.id;
    if (str_to_i64(version, &out->version) != ERR_OK || out->version < 0)
        return fault_set(r->fault, ERR_NOT_FOUND, NULL, "A model's version is 0, 1, 2, ... or \"latest\".");
    return api_get(txn, RECORD_MODEL, r->arena, out, "model version", version, r->fault);
}

static enum err read_model(struct store_txn *txn, void *arg)
{
    struct reading *r = arg;
    struct model_row row;
    enum err e = model_of_path(r, txn, &row);
    if (e == ERR_OK && !(r->out = model_json(&row)))
        e = ERR_NO_MEMORY;
    return e;
}

enum err api_model_get(void *ctx, struct request *rq, struct fault *fault)
{
    return api_reply_read(ctx, rq, read_model, fault);
}
