#include <math.h>
#include <string.h>
#include "common/base/log.h"
#include "server/core/events.h"
#include "server/core/metrics.h"
#include "server/core/names.h"
#include "server/core/retention.h"
#include "server/core/round.h"

/* Round t makes version t + 1, also where w stays: the new version then shares the old one's file. */
static enum err model_store(struct work *w, const struct round_row *round, const struct round_result *result,
                            struct model_row *out)
{
    record_init(RECORD_MODEL, out);
    out->run_id = round->run_id;
    out->version = round->model_version_in;
    enum err e = store_get(w->txn, RECORD_MODEL, w->arena, out);
    if (e)
        return e == ERR_NOT_FOUND ? ERR_CORRUPT : e;
    if (round->type == ROUND_FINAL)
        return ERR_OK;
    out->version++;
    out->created_at = w->now_ms;
    if (result->has_model) {
        out->blob_id = result->blob_id;
        out->size_bytes = result->size_bytes;
        out->weights_sha256 = result->weights_sha256;
        out->aggregate_sha256 = result->aggregate_sha256;
    }
    return store_insert(w->txn, RECORD_MODEL, out);
}

static enum err closed_event(struct work *w, struct run_row *run, const struct round_row *r, json_t *metrics)
{
    json_t *data = json_pack(
        "{s:I, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
        "s:s, s:O}",
        "round", r->n, "type", round_type_name(r->type), "outcome", round_outcome_name(r->outcome), "reason",
        r->reason, "selected", r->selected, "received", r->received, "partial", r->partial, "dropped",
        r->dropped, "failed", r->failed, "late", r->late, "evaluators", r->evaluators, "evaluated",
        r->evaluated, "steps_assigned", r->steps_assigned, "steps_done", r->steps_done, "model_version",
        r->model_version_out, "aggregate_sha256", r->aggregate_sha256, "metrics", metrics);
    /* The store keeps no NaN: a mean of which is told by its metric. */
    bool has_gamma = json_object_get(metrics, "gamma") != NULL;
    if (!event_number(data, "proximal_mu", r->proximal_mu, !isnan(r->proximal_mu)) ||
        !event_number(data, "mean_gamma", r->mean_gamma, has_gamma) ||
        !event_number(data, "dissimilarity_b", r->dissimilarity_b, !isnan(r->dissimilarity_b))) {
        json_decref(data);
        return ERR_NO_MEMORY;
    }
    return event_add(w, run, "round_closed", data);
}

static enum err round_finish(struct work *w, struct run_row *run, struct round_row *round,
                             const struct round_result *result)
{
    struct model_row model;
    json_t *metrics = NULL;
    enum err e = model_store(w, round, result, &model);
    if (!e)
        e = metrics_aggregate(w, run, round->n, &metrics, &round->mean_gamma);
    if (!e)
        e = json_to_arena(w->arena, json_incref(metrics), &round->metrics);
    round->status = ROUND_CLOSED;
    round->outcome = result->outcome;
    round->reason = result->reason;
    round->closed_at = w->now_ms;
    round->dissimilarity_b = result->dissimilarity_b;
    round->grad_variance_weighted = result->grad_variance_weighted;
    round->grad_variance_uniform = result->grad_variance_uniform;
    if (!e) {
        round->model_version_out = model.version;
        round->aggregate_sha256 = model.aggregate_sha256;
        round->weights_sha256 = model.weights_sha256;
        e = closed_event(w, run, round, metrics);
    }
    json_decref(metrics);
    return e ? e : store_update(w->txn, RECORD_ROUND, round);
}

static enum err next_step(struct work *w, struct run_row *run, const struct round_row *round,
                          const struct plan *plan)
{
    if (round->type == ROUND_FINAL) {
        const char *reason = arena_printf(w->arena, "all %lld rounds are done", (long long)run->num_rounds);
        enum err e = reason ? run_finish(w, run, RUN_COMPLETED, reason) : ERR_NO_MEMORY;
        return e ? e : run_save(w, run);
    }
    run->round = round->n + 1;
    run->model_version = round->model_version_out;
    bool is_too_few = round->received < plan->spec.reporting.min_updates;
    if (round->outcome == ROUND_FAILED && is_too_few && plan->spec.reporting.on_too_few == TOO_FEW_FAIL) {
        const char *reason =
            arena_printf(w->arena, "round %lld failed: %s", (long long)round->n, round->reason);
        enum err e = reason ? run_finish(w, run, RUN_FAILED, reason) : ERR_NO_MEMORY;
        return e ? e : run_save(w, run);
    }
    if (run->status == RUN_PAUSED) {
        run->status_reason = arena_printf(w->arena, "paused after round %lld of %lld: resume to go on",
                                          (long long)round->n, (long long)run->num_rounds);
        return run->status_reason ? run_save(w, run) : ERR_NO_MEMORY;
    }
    return round_open(w, run);
}

enum err round_close(struct work *w, struct run_row *run, struct round_row *round,
                     const struct round_result *result, int64_t **out_garbage, size_t *out_num_garbage)
{
    const struct plan *plan;
    struct blob_list garbage = {0};
    enum err e = plan_cache_get(&w->core->plans, run, round->config, &plan);
    if (!e)
        e = round_finish(w, run, round, result);
    if (!e && round->type == ROUND_TRAIN)
        e = retention_models(w, plan, run, round->model_version_out, &garbage);
    if (!e && round->outcome == ROUND_FAILED)
        e = event_warn(w, run, result->reason);
    if (!e)
        e = next_step(w, run, round, plan);
    *out_garbage = garbage.ids;
    *out_num_garbage = garbage.count;
    return e;
}
