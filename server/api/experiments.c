#include <string.h>
#include "common/base/str.h"
#include "server/api/fields.h"
#include "server/api/handlers.h"
#include "server/api/mutation.h"
#include "server/api/page.h"

static json_t *experiment_json(const struct experiment_row *x)
{
    struct obj o = obj_new();
    obj_text(&o, "id", x->id);
    obj_text(&o, "name", x->name);
    obj_text(&o, "description", x->description);
    obj_time(&o, "created_at", x->created_at);
    obj_time(&o, "updated_at", x->updated_at);
    return obj_end(&o);
}

/* Experiments count in decimal, so that MLflow's clients can use the ids. */
static enum err path_experiment(const struct request *rq, const char **out, struct fault *fault)
{
    *out = request_param(rq, "experiment");
    uint64_t n;
    bool is_number = strlen(*out) <= 18 && str_to_u64(*out, &n) == ERR_OK && ((*out)[0] != '0' || !(*out)[1]);
    if (is_number)
        return ERR_OK;
    return fault_set(fault, ERR_NOT_FOUND, NULL,
                     "There is no experiment with this id: an experiment's id is a decimal number; "
                     "GET /api/v1/experiments lists them.");
}

static json_t *render_out(struct api *api, struct store_txn *txn, struct arena *arena, const void *op)
{
    (void)api;
    (void)txn;
    (void)arena;
    return experiment_json(&((const struct op_experiment *)op)->out);
}

static const char *out_id(const void *op)
{
    return ((const struct op_experiment *)op)->out.id;
}

enum err api_experiment_create(void *ctx, struct request *rq, struct fault *fault)
{
    struct mutation *m = mutation_new(ctx, rq, sizeof(struct op_experiment));
    if (!m)
        return ERR_NO_MEMORY;
    ((struct op_experiment *)m->op)->body = api_body(rq);
    m->fn = op_experiment_create;
    m->status = 201;
    m->render = render_out;
    m->location = API_PREFIX "/experiments/";
    m->id = out_id;
    return mutation_start(m, rq, fault);
}

enum err api_experiment_patch(void *ctx, struct request *rq, struct fault *fault)
{
    struct mutation *m = mutation_new(ctx, rq, sizeof(struct op_experiment));
    if (!m)
        return ERR_NO_MEMORY;
    struct op_experiment *op = m->op;
    enum err e = path_experiment(rq, &op->id, fault);
    if (e != ERR_OK)
        return e;
    op->body = api_body(rq);
    m->fn = op_experiment_patch;
    m->status = 200;
    m->render = render_out;
    return mutation_start(m, rq, fault);
}

static enum err read_experiment(struct store_txn *txn, void *arg)
{
    struct reading *r = arg;
    struct experiment_row row;
    record_init(RECORD_EXPERIMENT, &row);
    enum err e = path_experiment(r->rq, &row.id, r->fault);
    if (e == ERR_OK)
        e = api_get(txn, RECORD_EXPERIMENT, r->arena, &row, "experiment", row.id, r->fault);
    if (e == ERR_OK && !(r->out = experiment_json(&row)))
        e = ERR_NO_MEMORY;
    return e;
}

enum err api_experiment_get(void *ctx, struct request *rq, struct fault *fault)
{
    return api_reply_read(ctx, rq, read_experiment, fault);
}

static json_t *render_row(struct reading *r, struct store_txn *txn, const void *row)
{
    (void)r;
    (void)txn;
    return experiment_json(row);
}

static enum err read_experiments(struct store_txn *txn, void *arg)
{
    struct reading *r = arg;
    struct page page;
    enum err e = page_read_number(r->rq, &page, r->fault);
    if (e != ERR_OK)
        return e;
    const struct store_value after = page_after_id(&page); /* the text: ids are text in the store */
    return page_fill(r, txn, &page,
                     &(struct page_source){.query = QUERY_EXPERIMENTS,
                                           .kind = RECORD_EXPERIMENT,
                                           .args = &after,
                                           .num_args = 1,
                                           .render = render_row,
                                           .cursor = page_cursor_first_text});
}

enum err api_experiment_list(void *ctx, struct request *rq, struct fault *fault)
{
    return api_reply_read(ctx, rq, read_experiments, fault);
}
