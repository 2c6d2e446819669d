#include "common/base/str.h"
#include "server/api/fields.h"
#include "server/api/handlers.h"
#include "server/api/page.h"
#include "server/api/round_numbers.h"
#include "server/api/run_json.h"
#include "server/api/task_json.h"
#include "server/core/names.h"

static void put_counts(struct obj *o, const struct round_row *r)
{
    obj_int(o, "devices_per_round", r->devices_per_round);
    obj_int(o, "selected", r->selected);
    obj_int(o, "received", r->received);
    obj_int(o, "partial", r->partial);
    obj_int(o, "dropped", r->dropped);
    obj_int(o, "failed", r->failed);
    obj_int(o, "late", r->late);
    obj_int(o, "evaluators", r->evaluators);
    obj_int(o, "evaluated", r->evaluated);
    obj_int(o, "steps_assigned", r->steps_assigned);
    obj_int(o, "steps_done", r->steps_done);
    obj_int(o, "extensions", r->extensions);
    obj_int(o, "bytes_in", r->bytes_in);
    obj_int(o, "bytes_out", r->bytes_out);
}

static void put_results(struct obj *o, struct arena *arena, const struct round_row *r)
{
    obj_text_or_null(o, "aggregate_sha256", r->aggregate_sha256);
    obj_text_or_null(o, "weights_sha256", r->weights_sha256);
    obj_raw(o, arena, "metrics", r->metrics[0] ? r->metrics : "{}");
    obj_num_or_null(o, "proximal_mu", r->proximal_mu);
    if (round_gamma_is_nan(r))
        obj_num(o, "mean_gamma", r->mean_gamma);
    else
        obj_num_or_null(o, "mean_gamma", r->mean_gamma);
    obj_num_or_null(o, "dissimilarity_b", r->dissimilarity_b);
    obj_num_or_null(o, "grad_variance_weighted", r->grad_variance_weighted);
    obj_num_or_null(o, "grad_variance_uniform", r->grad_variance_uniform);
}

static void put_times(struct obj *o, const struct round_row *r)
{
    obj_time(o, "opened_at", r->opened_at);
    obj_time(o, "training_at", r->training_at);
    obj_time(o, "aggregating_at", r->aggregating_at);
    obj_time(o, "closed_at", r->closed_at);
    obj_time(o, "deadline_at", r->deadline_at);
    obj_time(o, "grace_until", r->grace_until);
    obj_int_or_null(o, "duration_ms", r->closed_at ? r->closed_at - r->opened_at : -1);
    obj_int_or_null(o, "training_ms",
                    r->aggregating_at && r->training_at ? r->aggregating_at - r->training_at : -1);
}

static json_t *round_json(struct arena *arena, const struct round_row *r)
{
    struct obj o = obj_new();
    obj_text(&o, "run_id", r->run_id);
    obj_int(&o, "round", r->n);
    obj_text(&o, "type", round_type_name(r->type));
    obj_text(&o, "status", round_status_name(r->status));
    obj_text_or_null(&o, "outcome", round_outcome_name(r->outcome));
    obj_text(&o, "reason", r->reason);
    obj_int(&o, "model_version_in", r->model_version_in);
    /* What the round makes is known when it closes. */
    obj_int_or_null(&o, "model_version_out", r->status == ROUND_CLOSED ? r->model_version_out : -1);
    put_counts(&o, r);
    put_results(&o, arena, r);
    put_times(&o, r);
    obj_raw(&o, arena, "config", r->config);
    return obj_end(&o);
}

static json_t *render_round(struct reading *r, struct store_txn *txn, const void *row)
{
    (void)txn;
    return round_json(r->arena, row);
}

static const char *round_cursor(struct reading *r, const void *row)
{
    return arena_printf(r->arena, "%lld", (long long)((const struct round_row *)row)->n);
}

static enum err read_rounds(struct store_txn *txn, void *arg)
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
                     &(struct page_source){.query = QUERY_ROUNDS,
                                           .kind = RECORD_ROUND,
                                           .args = args,
                                           .num_args = 2,
                                           .render = render_round,
                                           .cursor = round_cursor});
}

enum err api_round_list(void *ctx, struct request *rq, struct fault *fault)
{
    return api_reply_read(ctx, rq, read_rounds, fault);
}

static enum err round_of_path(struct reading *r, struct store_txn *txn, struct round_row *out)
{
    struct run_row run;
    enum err e = run_of_path(r, txn, &run);
    if (e != ERR_OK)
        return e;
    const char *text = request_param(r->rq, "round");
    record_init(RECORD_ROUND, out);
    out->run_id = run.id;
    if (str_to_i64(text, &out->n) != ERR_OK || out->n < 0)
        return fault_set(r->fault, ERR_NOT_FOUND, NULL, "A round's number is 0, 1, 2, ...");
    return api_get(txn, RECORD_ROUND, r->arena, out, "round", text, r->fault);
}

static enum err read_round(struct store_txn *txn, void *arg)
{
    struct reading *r = arg;
    struct round_row row;
    enum err e = round_of_path(r, txn, &row);
    if (e == ERR_OK && !(r->out = round_json(r->arena, &row)))
        e = ERR_NO_MEMORY;
    return e;
}

enum err api_round_get(void *ctx, struct request *rq, struct fault *fault)
{
    return api_reply_read(ctx, rq, read_round, fault);
}

/* ---- tasks of a round ---- */

/* One past the place in (ordinal, type), the list's order. */
static const char *task_cursor(struct reading *r, const void *row)
{
    const struct task_row *t = row;
    return arena_printf(r->arena, "%lld", (long long)(t->ordinal * 2 + t->type + 1));
}

/* The query starts at an ordinal, which may have two tasks; the first of them may have been sent. */
static bool is_sent(const struct page *page, const void *row)
{
    const struct task_row *t = row;
    return t->ordinal * 2 + t->type < page->number;
}

static enum err read_round_tasks(struct store_txn *txn, void *arg)
{
    struct reading *r = arg;
    struct round_row round;
    struct page page;
    struct store_value status, type;
    enum err e = page_read_number(r->rq, &page, r->fault);
    if (e == ERR_OK)
        e = task_filters(r, &status, &type);
    if (e == ERR_OK)
        e = round_of_path(r, txn, &round);
    if (e != ERR_OK)
        return e;
    int64_t first = page.number < 0 ? 0 : page.number;
    const struct store_value args[] = {store_text(round.run_id), store_int(round.n), status, type,
                                       store_int(first / 2)};
    return page_fill(r, txn, &page,
                     &(struct page_source){.query = QUERY_TASKS_OF_ROUND_FROM,
                                           .kind = RECORD_TASK,
                                           .args = args,
                                           .num_args = 5,
                                           .render = task_render,
                                           .cursor = task_cursor,
                                           .skip_first = is_sent});
}

enum err api_round_tasks(void *ctx, struct request *rq, struct fault *fault)
{
    return api_reply_read(ctx, rq, read_round_tasks, fault);
}
