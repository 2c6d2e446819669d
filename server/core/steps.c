#include "server/core/steps.h"

#include <string.h>
#include "common/base/log.h"
#include "server/core/aggregation.h"
#include "server/core/events.h"
#include "server/core/population.h"
#include "server/core/retention.h"

struct step_op {
    struct op_base base;
    const struct due_run *due;
    struct round_result result; /* of the work before the transaction */
    bool is_used;               /* the result went into the store */
    bool has_more;              /* what it did made more work */
    int64_t *garbage;
    size_t num_garbage;
};

static enum err op_close(struct store_txn *txn, void *arg)
{
    struct step_op *a = arg;
    struct work w = work_begin(txn, &a->base);
    struct run_row run;
    struct round_row round;
    a->is_used = false;
    a->num_garbage = 0;
    enum err e = run_load(&w, a->due->id, &run);
    if (!e)
        e = round_load(&w, run.id, a->due->round, &round);
    /* The run may have been stopped meanwhile. */
    if (e || round.status != ROUND_AGGREGATING)
        return e;
    a->is_used = a->has_more = true;
    return round_close(&w, &run, &round, &a->result, &a->garbage, &a->num_garbage);
}

struct aggregation_arg {
    struct core *core;
    struct arena *arena;
    const struct due_run *due;
    struct aggregation_input in;
};

static enum err read_aggregation(struct store_txn *txn, void *arg)
{
    struct aggregation_arg *a = arg;
    return aggregation_read(txn, &a->core->background_plans, a->arena, a->due->id, a->due->round, &a->in);
}

static enum err do_aggregation(struct core *c, struct step_op *op)
{
    struct aggregation_arg a = {.core = c, .arena = op->base.arena, .due = op->due};
    enum err e = c->store->ops->read(c->store, read_aggregation, &a);
    if (!e)
        e = aggregation_run(c, &a.in, op->base.arena, &op->result);
    if (!e)
        e = store_write_wait(c->store, op_close, op);
    if (!e)
        blobs_remove(c, op->garbage, op->num_garbage);
    if (!e && op->is_used)
        leftover_add(c, op->due->id, op->due->round);
    if ((e || !op->is_used) && op->result.has_model)
        blobs_remove(c, &op->result.blob_id, 1);
    return e;
}

static enum err op_clock(struct store_txn *txn, void *arg)
{
    struct step_op *a = arg;
    struct work w = work_begin(txn, &a->base);
    struct run_row run;
    struct round_row round;
    enum err e = run_load(&w, a->due->id, &run);
    if (!e)
        e = round_load(&w, run.id, a->due->round, &round);
    a->has_more = true;
    return e ? e : round_by_clock(&w, &run, &round);
}

/* without: which devices of its data set the run goes without, and why; "": it has all. */
static enum err run_begin(struct work *w, struct run_row *run, const struct plan *plan, const char *without)
{
    if (plan->spec.selection.population == 0)
        run_depends_on_time(
            run, &plan->spec,
            "no population was given: the devices are those that were registered at the start");
    if (plan->spec.selection.over_selection > 1)
        run_depends_on_time(run, &plan->spec, "with over_selection the first devices to answer count");
    run->status = RUN_RUNNING;
    enum err e = event_add(w, run, "devices_frozen",
                           json_pack("{s:I, s:s}", "population", run->population, "dataset", run->dataset));
    if (!e && *without)
        e = event_warn(w, run, without);
    return e ? e : round_open(w, run);
}

static enum err op_devices(struct store_txn *txn, void *arg)
{
    struct step_op *a = arg;
    struct work w = work_begin(txn, &a->base);
    struct run_row run;
    const struct plan *plan;
    bool is_there = false;
    const char *reason = "", *failure;
    enum err e = run_load(&w, a->due->id, &run);
    if (e || run.status != RUN_WAITING_FOR_DEVICES)
        return e;
    a->has_more = false;
    e = plan_cache_get(&w.core->plans, &run, run.config, &plan);
    if (!e)
        e = population_freeze(&w, &run, plan, &is_there, &reason);
    if (e == ERR_INVALID_FIELD) {
        failure = arena_strdup(w.arena, w.fault->detail);
        e = failure ? run_finish(&w, &run, RUN_FAILED, failure) : ERR_NO_MEMORY;
        return e ? e : run_save(&w, &run);
    }
    if (!e && is_there) {
        a->has_more = true;
        return run_begin(&w, &run, plan, reason);
    }
    if (e || strcmp(reason, run.status_reason) == 0)
        return e;
    run.status_reason = reason;
    e = event_add(&w, &run, "run_waiting", json_pack("{s:s}", "reason", reason));
    return e ? e : run_save(&w, &run);
}

static enum err op_model(struct store_txn *txn, void *arg)
{
    struct step_op *a = arg;
    struct work w = work_begin(txn, &a->base);
    struct run_row run;
    struct model_row model;
    a->is_used = false;
    enum err e = run_load(&w, a->due->id, &run);
    if (e || run.status != RUN_WAITING_FOR_DEVICES)
        return e;
    record_init(RECORD_MODEL, &model);
    model.run_id = run.id;
    model.blob_id = a->result.blob_id;
    model.size_bytes = a->result.size_bytes;
    model.weights_sha256 = a->result.weights_sha256;
    model.aggregate_sha256 = a->result.aggregate_sha256;
    model.created_at = w.now_ms;
    a->is_used = a->has_more = true;
    return store_insert(txn, RECORD_MODEL, &model);
}

struct plan_arg {
    struct arena *arena;
    const char *run_id;
    struct plan *plan;
};

static enum err read_plan(struct store_txn *txn, void *arg)
{
    struct plan_arg *a = arg;
    struct fault fault;
    struct run_row run;
    struct work w = {.txn = txn, .arena = a->arena, .fault = &fault, .caller = ""};
    enum err e = run_load(&w, a->run_id, &run);
    return e ? e : plan_new(&run, run.config, &a->plan);
}

static enum err do_model(struct core *c, struct step_op *op)
{
    struct plan_arg a = {.arena = op->base.arena, .run_id = op->due->id};
    enum err e = c->store->ops->read(c->store, read_plan, &a);
    if (!e)
        e = aggregation_init_model(c, a.plan, &op->result);
    if (!e)
        e = store_write_wait(c->store, op_model, op);
    if ((e || !op->is_used) && op->result.has_model)
        blobs_remove(c, &op->result.blob_id, 1);
    plan_free(a.plan);
    return e;
}

enum err step_do(struct core *c, const struct due_run *due, bool *out_has_more)
{
    struct step_op op = {.base = {.core = c, .arena = &c->background_arena}, .due = due};
    enum err e = ERR_OK;
    switch (due->what) {
    case DUE_MODEL:
        e = do_model(c, &op);
        break;
    case DUE_DEVICES:
        e = store_write_wait(c->store, op_devices, &op);
        break;
    case DUE_CLOCK:
        e = store_write_wait(c->store, op_clock, &op);
        break;
    case DUE_AGGREGATION:
        e = do_aggregation(c, &op);
        break;
    case DUE_NOTHING:
        break;
    }
    if (e)
        log_error("core", "run %s: %s %s; trying again", due->id, err_name(e), op.base.fault.detail);
    *out_has_more = !e && op.has_more;
    arena_clear(&c->background_arena);
    return e;
}
