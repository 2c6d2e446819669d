#include <string.h>
#include "server/core/round.h"

/* The run, round and model that several tasks of one claim share. */
struct offer_source {
    struct run_row run;
    struct round_row round;
    struct model_row model;
    const struct plan *plan;
    const char *model_text;
    bool is_set;
};

static enum err source_load(struct work *w, const struct task_row *t, struct offer_source *s)
{
    if (s->is_set && strcmp(s->run.id, t->run_id) == 0 && s->round.n == t->round)
        return ERR_OK;
    record_init(RECORD_MODEL, &s->model);
    s->model.run_id = t->run_id;
    s->model.version = t->model_version;
    enum err e = run_load(w, t->run_id, &s->run);
    if (!e)
        e = round_load(w, t->run_id, t->round, &s->round);
    if (!e)
        e = store_get(w->txn, RECORD_MODEL, w->arena, &s->model);
    if (!e)
        e = plan_cache_get(&w->core->plans, &s->run, s->round.config, &s->plan);
    if (!e)
        e = json_to_arena(w->arena, json_incref(s->plan->spec.model), &s->model_text);
    s->is_set = !e;
    return e;
}

static enum err offer_make(struct work *w, struct task_row *t, struct offer_source *s, struct task_offer *out)
{
    enum err e = source_load(w, t, s);
    if (e)
        return e;
    t->status = TASK_CLAIMED;
    t->attempt++;
    t->claimed_at = w->now_ms;
    t->downloaded_at = t->trained_at = t->uploaded_at = 0;
    const struct training_spec *job = &s->plan->spec.training;
    int64_t left = t->deadline_at - w->now_ms;
    *out = (struct task_offer){
        .task = *t,
        .dataset = s->run.dataset,
        .model = s->model_text,
        .weights_sha256 = s->model.weights_sha256,
        .optimizer = optimizer_name(job->optimizer.kind),
        .settings = job->optimizer,
        .local_epochs = job->local_epochs,
        .local_steps = job->local_steps,
        .batch_size = job->batch_size,
        .seed = s->run.seed,
        .learning_rate = training_rate(job, s->round.n),
        .proximal_mu = s->round.proximal_mu,
        .accept_partial = s->plan->spec.params.accept_partial,
        .time_left_ms = !t->deadline_at ? -1
                        : left > 0      ? left
                                        : 0,
    };
    progress_forget(&w->core->progress, t->id);
    return store_update(w->txn, RECORD_TASK, t);
}

static bool is_held(const struct op_task_claim *a, const char *task_id)
{
    for (size_t i = 0; i < a->num_holding; i++)
        if (strcmp(a->holding[i], task_id) == 0)
            return true;
    return false;
}

/* Whether a claimed task was lost on its way to the caller, so that it gets it again. */
static bool is_lost(const struct op_task_claim *a, const struct task_row *t)
{
    return a->holding ? !is_held(a, t->id) : *a->device_id != '\0';
}

enum err op_task_claim(struct store_txn *txn, void *arg)
{
    struct op_task_claim *a = arg;
    struct work w = work_begin(txn, &a->base);
    struct offer_source source = {0};
    struct task_row *rows;
    size_t count;
    bool is_worker = *a->worker_id != '\0';
    a->out_count = 0;
    if (a->max < 1 || a->max > LIMIT_CLAIM)
        return fault_set(w.fault, ERR_INVALID_FIELD, "max", "must be between 1 and %d, but is %lld",
                         LIMIT_CLAIM, (long long)a->max);
    /* Claimed ones are only looked at where some of them may have been lost. */
    bool ready_only = is_worker && !a->holding;
    int64_t status = ready_only ? TASK_READY : TASK_CLAIMED,
            limit = ready_only ? a->max : a->max + (int64_t)a->num_holding;
    enum err e =
        store_find(txn, is_worker ? QUERY_TASKS_OPEN_BY_WORKER : QUERY_TASKS_OPEN_BY_DEVICE, w.arena, limit,
                   &rows, &count, store_text(is_worker ? a->worker_id : a->device_id), store_int(status));
    a->out = e ? NULL : arena_calloc(w.arena, count, sizeof *a->out);
    if (!a->out)
        return e ? e : ERR_NO_MEMORY;
    for (size_t i = 0; i < count && !e && (int64_t)a->out_count < a->max; i++)
        if (rows[i].status == TASK_READY || is_lost(a, &rows[i]))
            e = offer_make(&w, &rows[i], &source, &a->out[a->out_count++]);
    return e;
}
