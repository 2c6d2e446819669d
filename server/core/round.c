#include "server/core/round.h"

#include <math.h>
#include "server/core/events.h"
#include "server/core/metrics.h"
#include "server/core/names.h"
#include "server/core/round_tasks.h"

#define MAX_EXTENSIONS 3

static enum err round_save(struct work *w, const struct round_row *round)
{
    return store_update(w->txn, RECORD_ROUND, round);
}

/* What the run waits for now. */
static enum err status_set(struct work *w, struct run_row *run, const struct round_row *r)
{
    long long n = (long long)r->n, all = (long long)run->num_rounds;
    int64_t answered = r->received + r->dropped + r->failed + r->late;
    const char *text;
    if (r->status == ROUND_AGGREGATING)
        text = arena_printf(w->arena, "round %lld of %lld: aggregating %lld updates", n, all,
                            (long long)r->received);
    else if (r->type == ROUND_FINAL || r->status == ROUND_SELECTING)
        text = arena_printf(w->arena, "%s %lld of %lld: waiting for evaluations, %lld of %lld are there",
                            r->type == ROUND_FINAL ? "final evaluation after round" : "round", n, all,
                            (long long)r->evaluated, (long long)r->evaluators);
    else if (answered < r->selected && r->received < r->devices_per_round)
        text = arena_printf(w->arena,
                            "round %lld of %lld: waiting for updates, %lld of %lld devices have answered", n,
                            all, (long long)answered, (long long)r->selected);
    else
        text = arena_printf(w->arena, "round %lld of %lld: waiting for evaluations, %lld of %lld are there",
                            n, all, (long long)r->evaluated, (long long)r->evaluators);
    run->status_reason = text;
    return text ? ERR_OK : ERR_NO_MEMORY;
}

/* A mu that follows the loss may reach what the spec was not warned of: said in the round that crosses it. */
static enum err warn_of_grown_mu(struct work *w, struct run_row *run, const struct round_row *round,
                                 const struct plan *plan)
{
    struct round_row before = {0};
    const struct training_spec *training = &plan->spec.training;
    if (!plan->spec.params.is_mu_dynamic || round->n == 0 ||
        !training_may_diverge(training, round->proximal_mu))
        return ERR_OK;
    enum err e = round_load(w, run->id, round->n - 1, &before);
    if (e || training_may_diverge(training, before.proximal_mu))
        return e;
    return run_warn_of_divergence(w, run, training, round->proximal_mu);
}

/* The strategy's word before training: mu of this round, from f(w_t) where it follows it. */
static enum err strategy_begin(struct work *w, struct run_row *run, struct round_row *round,
                               const struct plan *plan)
{
    const struct strategy *s = plan->spec.strategy;
    json_t *state = NULL, *next = NULL;
    double loss = NAN;
    enum err e = *run->strategy_state ? json_from_row(run->strategy_state, &state) : ERR_OK;
    if (!e && s->needs_loss(&plan->spec.params))
        e = metrics_mean(w, run->id, round->n, "train_loss", &loss);
    if (!e)
        e = s->begin_round(&plan->spec.params, state, loss, &next, &round->proximal_mu);
    json_decref(state);
    if (e) {
        json_decref(next);
        return e;
    }
    e = json_to_arena(w->arena, next, &run->strategy_state);
    return e ? e : warn_of_grown_mu(w, run, round, plan);
}

static enum err train_begin(struct round_tasks *tasks)
{
    enum err e = strategy_begin(tasks->w, tasks->run, tasks->round, tasks->plan);
    return e ? e : round_tasks_train(tasks);
}

static enum err opened_event(struct work *w, struct run_row *run, const struct round_row *r)
{
    return event_add(w, run, "round_opened",
                     json_pack("{s:I, s:s, s:I, s:I, s:I, s:I}", "round", r->n, "type",
                               round_type_name(r->type), "model_version", r->model_version_in, "selected",
                               r->selected, "evaluators", r->evaluators, "deadline_at", r->deadline_at));
}

enum err round_open(struct work *w, struct run_row *run)
{
    const struct plan *plan;
    struct round_tasks tasks;
    struct round_row round;
    enum err e = plan_cache_get(&w->core->plans, run, run->config, &plan);
    if (e)
        return e;
    record_init(RECORD_ROUND, &round);
    round.run_id = run->id;
    round.n = run->round;
    round.type = run->round < run->num_rounds ? ROUND_TRAIN : ROUND_FINAL;
    round.config = run->config;
    round.metrics = "{}";
    round.model_version_in = run->model_version;
    round.model_version_out = run->model_version;
    round.opened_at = w->now_ms;
    bool is_training = round.type == ROUND_TRAIN && !plan->spec.strategy->needs_loss(&plan->spec.params);
    round.devices_per_round = round.type == ROUND_TRAIN ? plan->spec.selection.devices_per_round : 0;
    round.status = round.type == ROUND_TRAIN ? ROUND_SELECTING : ROUND_TRAINING;
    e = round_tasks_init(&tasks, w, run, &round);
    if (!e)
        e = round_tasks_evaluate(&tasks);
    if (!e && is_training)
        e = train_begin(&tasks);
    if (!e)
        e = store_insert(w->txn, RECORD_ROUND, &round);
    if (!e)
        e = opened_event(w, run, &round);
    if (!e)
        e = round_tasks_insert(&tasks);
    if (!e && round.deadline_at)
        e = store_notify(w->txn, "advance");
    return e ? e : round_advance(w, run, &round);
}

/* Dynamic mu: everybody has evaluated w_t, so the training starts. */
static enum err evaluated_all(struct work *w, struct run_row *run, struct round_row *round)
{
    struct round_tasks tasks;
    enum err e = round_tasks_init(&tasks, w, run, round);
    if (!e)
        e = train_begin(&tasks);
    if (!e)
        e = round_tasks_insert(&tasks);
    if (!e)
        e = event_add(w, run, "training_started",
                      json_pack("{s:I, s:I, s:f}", "round", round->n, "selected", round->selected,
                                "proximal_mu", round->proximal_mu));
    return e ? e : store_notify(w->txn, "advance");
}

static enum err aggregation_begin(struct work *w, struct run_row *run, struct round_row *round)
{
    round->status = ROUND_AGGREGATING;
    round->aggregating_at = w->now_ms;
    enum err e = event_add(w, run, "round_aggregating",
                           json_pack("{s:I, s:I}", "round", round->n, "received", round->received));
    return e ? e : store_notify(w->txn, "advance");
}

/* Whether no evaluation is under way. Where it comes before the training (dynamic mu), it has ended once the
 * training runs, also where the clock cut it short. */
static bool has_evaluated(const struct plan *plan, const struct round_row *round)
{
    bool came_first = round->type == ROUND_TRAIN && round->status == ROUND_TRAINING &&
                      plan->spec.strategy->needs_loss(&plan->spec.params);
    return came_first || round->evaluated >= round->evaluators;
}

/* is_cut: nobody is waited for any longer. */
static enum err go_on(struct work *w, struct run_row *run, struct round_row *round, bool is_cut)
{
    const struct plan *plan;
    enum err e = plan_cache_get(&w->core->plans, run, round->config, &plan);
    bool is_evaluated = is_cut || (!e && has_evaluated(plan, round));
    if (!e && round->status == ROUND_SELECTING && is_evaluated)
        e = evaluated_all(w, run, round);
    if (!e && round->status == ROUND_TRAINING && plan->spec.strategy->is_ready(round)) {
        /* With over-selection: what is still under way comes too late. */
        if (round->received + round->dropped + round->failed + round->late < round->selected)
            e = round_end_tasks(w, round, TASK_TRAIN, TASK_CANCELLED);
        if (!e && is_evaluated)
            e = aggregation_begin(w, run, round);
    }
    if (!e)
        e = status_set(w, run, round);
    if (!e)
        e = round_save(w, round);
    return e ? e : run_save(w, run);
}

enum err round_advance(struct work *w, struct run_row *run, struct round_row *round)
{
    return go_on(w, run, round, false);
}

static enum err deadline_extend(struct work *w, struct run_row *run, struct round_row *round,
                                const struct plan *plan)
{
    struct task_row *rows;
    size_t count;
    const struct reporting_spec *r = &plan->spec.reporting;
    round->extensions++;
    round->deadline_at = w->now_ms + (int64_t)llround(r->deadline_s * 1000);
    round->grace_until = round->deadline_at + (int64_t)llround(r->grace_s * 1000);
    run_depends_on_time(run, &plan->spec, "a deadline was extended");
    enum err e = store_find(w->txn, QUERY_TASKS_OPEN_BY_ROUND, w->arena, 0, &rows, &count,
                            store_text(run->id), store_int(round->n), store_int(TASK_CLAIMED));
    for (size_t i = 0; i < count && !e; i++) {
        rows[i].deadline_at = round->deadline_at;
        e = store_update(w->txn, RECORD_TASK, &rows[i]);
    }
    if (!e)
        e = event_add(w, run, "round_extended",
                      json_pack("{s:I, s:I, s:I, s:I}", "round", round->n, "extensions", round->extensions,
                                "received", round->received, "deadline_at", round->deadline_at));
    if (!e)
        e = round_save(w, round);
    return e ? e : run_save(w, run);
}

enum err round_by_clock(struct work *w, struct run_row *run, struct round_row *round)
{
    const struct plan *plan;
    bool is_open = round->status == ROUND_SELECTING || round->status == ROUND_TRAINING;
    if (!is_open || !round->grace_until || w->now_ms < round->grace_until)
        return ERR_OK;
    enum err e = plan_cache_get(&w->core->plans, run, round->config, &plan);
    if (e)
        return e;
    bool trains = round->type == ROUND_TRAIN && round->status == ROUND_TRAINING;
    bool has_open = round->received + round->dropped + round->failed + round->late < round->selected;
    if (trains && has_open && round->received < plan->spec.reporting.min_updates &&
        plan->spec.reporting.on_too_few == TOO_FEW_EXTEND && round->extensions < MAX_EXTENSIONS)
        return deadline_extend(w, run, round, plan);
    run_depends_on_time(run, &plan->spec, "a deadline cut off devices that had not answered");
    e = round_end_tasks(w, round, -1, TASK_LATE);
    return e ? e : go_on(w, run, round, true);
}

enum err round_abandon(struct work *w, struct run_row *run, struct round_row *round,
                       enum round_outcome outcome, const char *reason)
{
    if (round->status == ROUND_CLOSED)
        return ERR_OK;
    enum err e = round_end_tasks(w, round, -1, TASK_CANCELLED);
    round->status = ROUND_CLOSED;
    round->outcome = outcome;
    round->reason = reason;
    round->closed_at = w->now_ms;
    if (!e)
        e = event_add(w, run, "round_closed",
                      json_pack("{s:I, s:s, s:s, s:s}", "round", round->n, "type",
                                round_type_name(round->type), "outcome", round_outcome_name(outcome),
                                "reason", reason));
    return e ? e : round_save(w, round);
}
