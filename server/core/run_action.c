#include <string.h>
#include "server/core/events.h"
#include "server/core/names.h"
#include "server/core/retention.h"
#include "server/core/round.h"

static enum err cannot(struct work *w, const struct run_row *run, const char *action, const char *remedy)
{
    return fault_set(w->fault, ERR_CONFLICT, NULL, "a run that is %s%s%s cannot be %s: %s",
                     run_status_name(run->status), run->outcome ? ", " : "", run_outcome_name(run->outcome),
                     action, remedy);
}

static enum err action_start(struct work *w, struct run_row *run)
{
    if (run->status == RUN_WAITING_FOR_DEVICES || run->status == RUN_RUNNING)
        return ERR_OK;
    if (run->status == RUN_PAUSED)
        return cannot(w, run, "started", "resume it");
    if (run->status == RUN_FINISHED)
        return cannot(w, run, "started", "submit it as a new run");
    return run_start(w, run);
}

static enum err action_pause(struct work *w, struct run_row *run)
{
    if (run->status == RUN_PAUSED)
        return ERR_OK;
    if (run->status != RUN_RUNNING)
        return cannot(w, run, "paused", "only a running one can; stop it where it must not go on");
    run->status = RUN_PAUSED;
    run->status_reason = "paused: the open round ends, the next one does not open until the run is resumed";
    return event_add(w, run, "run_paused", json_pack("{s:I}", "round", run->round));
}

static enum err action_resume(struct work *w, struct run_row *run)
{
    struct round_row round;
    if (run->status == RUN_RUNNING)
        return ERR_OK;
    if (run->status != RUN_PAUSED)
        return cannot(w, run, "resumed", "only a paused one can");
    run->status = RUN_RUNNING;
    run->status_reason = "";
    enum err e = event_add(w, run, "run_resumed", json_pack("{s:I}", "round", run->round));
    if (!e)
        e = round_load(w, run->id, run->round, &round);
    if (e == ERR_NOT_FOUND)
        return round_open(w, run);
    return e ? e : round_advance(w, run, &round);
}

static enum err action_stop(struct work *w, struct run_row *run)
{
    struct round_row round;
    if (run->status == RUN_FINISHED && run->outcome == RUN_STOPPED)
        return ERR_OK;
    if (run->status == RUN_FINISHED)
        return cannot(w, run, "stopped", "it has already ended");
    bool has_rounds = run->status == RUN_RUNNING || run->status == RUN_PAUSED;
    enum err e = has_rounds ? round_load(w, run->id, run->round, &round) : ERR_NOT_FOUND;
    if (!e) {
        e = round_abandon(w, run, &round, ROUND_SKIPPED, "the run was stopped");
        leftover_add(w->core, run->id, round.n);
    } else if (e == ERR_NOT_FOUND) {
        e = ERR_OK;
    }
    if (!e)
        e = run_finish(w, run, RUN_STOPPED, "stopped by a user");
    return e ? e : store_notify(w->txn, "advance");
}

enum err op_run_action(struct store_txn *txn, void *arg)
{
    static enum err (*const actions[])(struct work *, struct run_row *) = {
        [RUN_ACTION_START] = action_start,
        [RUN_ACTION_PAUSE] = action_pause,
        [RUN_ACTION_RESUME] = action_resume,
        [RUN_ACTION_STOP] = action_stop,
    };
    struct op_run_action *a = arg;
    struct work w = work_begin(txn, &a->base);
    enum err e = run_load(&w, a->run_id, &a->out);
    int64_t before = a->out.status;
    if (!e)
        e = actions[a->action](&w, &a->out);
    /* Looking for a round that is not there is no fault of the caller's. */
    if (!e)
        *w.fault = FAULT_NONE;
    a->base.is_repeat = !e && a->out.status == before;
    return e || a->base.is_repeat ? e : run_save(&w, &a->out);
}

/* The first round that a change of the config is for: an open one keeps what it began with. */
static enum err next_to_open(struct work *w, const struct run_row *run, int64_t *out)
{
    struct round_row open;
    enum err e = round_load(w, run->id, run->round, &open);
    *out = run->round + (e ? 0 : 1);
    if (e == ERR_NOT_FOUND) {
        *w->fault = FAULT_NONE;
        e = ERR_OK;
    }
    return e;
}

static enum err config_change_record(struct work *w, struct op_run_config *a, const struct run_spec *spec)
{
    int64_t from_round;
    enum err e = next_to_open(w, &a->out, &from_round);
    if (!e)
        e = event_add(
            w, &a->out, "config_changed",
            json_pack("{s:I, s:O, s:s}", "from_round", from_round, "patch", a->patch, "by", w->caller));
    return e ? e : run_warn_of_divergence(w, &a->out, &spec->training, spec->params.proximal_mu);
}

enum err op_run_config(struct store_txn *txn, void *arg)
{
    struct op_run_config *a = arg;
    struct work w = work_begin(txn, &a->base);
    struct run_spec spec;
    json_t *doc = NULL, *config = NULL;
    enum err e = run_load(&w, a->run_id, &a->out);
    const char *former = a->out.config;
    if (!e && a->out.status == RUN_FINISHED)
        return fault_set(w.fault, ERR_CONFLICT, NULL, "the run has ended: submit a new one");
    if (!e)
        e = json_from_row(a->out.spec, &doc);
    if (!e)
        e = json_from_row(a->out.config, &config);
    if (!e)
        e = run_config_apply(doc, config, w.fault);
    if (!e)
        e = run_config_apply(doc, a->patch, w.fault);
    if (!e)
        e = run_spec_parse(doc, w.arena, &spec, w.fault);
    if (!e)
        e = json_to_arena(w.arena, run_config_of(doc), &a->out.config);
    a->base.is_repeat = !e && strcmp(a->out.config, former) == 0;
    if (!e && !a->base.is_repeat)
        e = config_change_record(&w, a, &spec);
    json_decref(doc);
    json_decref(config);
    return e || a->base.is_repeat ? e : run_save(&w, &a->out);
}

enum err op_run_weights(struct store_txn *txn, void *arg)
{
    struct op_run_weights *a = arg;
    struct work w = work_begin(txn, &a->base);
    struct run_row run;
    struct model_row former;
    enum err e = run_load(&w, a->run_id, &run);
    if (e)
        return e;
    if (run.status != RUN_PENDING)
        return fault_set(w.fault, ERR_CONFLICT, NULL,
                         "the run is %s: initial weights can only be put while it is pending (submit it with "
                         "\"autostart\": false)",
                         run_status_name(run.status));
    record_init(RECORD_MODEL, &former);
    former.run_id = run.id;
    e = store_get(txn, RECORD_MODEL, w.arena, &former);
    if (e && e != ERR_NOT_FOUND)
        return e;
    a->base.is_repeat = !e && strcmp(former.weights_sha256, a->weights_sha256) == 0;
    a->out_former_blob = a->base.is_repeat ? a->blob_id : former.blob_id;
    if (a->base.is_repeat) {
        a->out = former;
        return ERR_OK;
    }
    record_init(RECORD_MODEL, &a->out);
    a->out.run_id = run.id;
    a->out.blob_id = a->blob_id;
    a->out.size_bytes = a->size_bytes;
    a->out.weights_sha256 = a->weights_sha256;
    a->out.aggregate_sha256 = a->aggregate_sha256;
    a->out.created_at = w.now_ms;
    e = store_put(txn, RECORD_MODEL, &a->out);
    if (!e)
        e = event_add(&w, &run, "initial_weights", json_pack("{s:s}", "weights_sha256", a->weights_sha256));
    return e ? e : run_save(&w, &run);
}

enum err core_run_arch(struct store_txn *txn, const char *run_id, struct arena *arena, struct arch **out)
{
    struct run_row run;
    json_t *doc = NULL;
    record_init(RECORD_RUN, &run);
    run.id = run_id;
    enum err e = store_get(txn, RECORD_RUN, arena, &run);
    if (!e)
        e = json_from_row(run.spec, &doc);
    if (!e)
        e = arch_parse(json_object_get(doc, "model"), out, NULL);
    json_decref(doc);
    return e;
}
