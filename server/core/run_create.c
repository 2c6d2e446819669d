#include <string.h>
#include "common/json/json_spec.h"
#include "server/core/events.h"
#include "server/core/experiment.h"
#include "server/core/names.h"
#include "server/core/round.h"

/* With a name that the user did not give, runs can still be told apart by eye. */
static enum err default_name(struct work *w, const struct run_spec *spec, const char *id, const char **out)
{
    *out =
        *spec->name ? spec->name : arena_printf(w->arena, "%s-%.8s", spec->strategy->name, id + ID_SIZE - 9);
    return *out ? ERR_OK : ERR_NO_MEMORY;
}

enum err run_start(struct work *w, struct run_row *run)
{
    run->status = RUN_WAITING_FOR_DEVICES;
    run->status_reason = "preparing the first model";
    run->started_at = w->now_ms;
    enum err e = event_add(w, run, "run_started", json_object());
    return e ? e : store_notify(w->txn, "advance");
}

static enum err run_insert(struct work *w, struct op_run_create *a, json_t *doc, const struct run_spec *spec)
{
    struct run_row *run = &a->out;
    record_init(RECORD_RUN, run);
    enum err e = work_id(w, &run->id);
    if (!e)
        e = default_name(w, spec, run->id, &run->name);
    if (!e && json_object_set_new(doc, "name", json_string(run->name)))
        e = ERR_NO_MEMORY;
    if (!e)
        e = json_to_arena(w->arena, json_incref(doc), &run->spec);
    if (!e)
        e = json_to_arena(w->arena, run_config_of(doc), &run->config);
    if (!e)
        e = experiment_resolve(w, spec->experiment, &run->experiment_id);
    run->dataset = spec->dataset;
    run->seed = spec->seed;
    run->num_rounds = spec->num_rounds;
    run->status = RUN_PENDING;
    run->status_reason = "waiting to be started";
    run->is_deterministic = 1;
    run->created_by = w->caller;
    run->created_at = w->now_ms;
    return e ? e : store_insert(w->txn, RECORD_RUN, run);
}

static enum err check_clock(const struct work *w, const json_t *doc, const struct run_spec *spec)
{
    if (!spec->systems.is_timed || w->core->is_simulated)
        return ERR_OK;
    const char *field = systems_timed_field(doc);
    (void)fault_set(w->fault, ERR_INVALID_FIELD, field,
                    "only fedlane simulate has a virtual clock: real devices take the time they take. Take "
                    "systems.%s out, or run the spec with fedlane simulate",
                    field);
    return fault_within(w->fault, "systems");
}

enum err op_run_create(struct store_txn *txn, void *arg)
{
    struct op_run_create *a = arg;
    struct work w = work_begin(txn, &a->base);
    struct run_spec spec;
    struct arch *arch = NULL;
    json_t *doc = json_clone(a->spec);
    enum err e = doc ? run_spec_parse(doc, w.arena, &spec, w.fault) : ERR_NO_MEMORY;
    if (!e)
        e = check_clock(&w, doc, &spec);
    if (!e)
        e = arch_parse(spec.model, &arch, w.fault);
    if (!e)
        e = run_insert(&w, a, doc, &spec);
    if (!e)
        e = event_add(&w, &a->out, "run_created",
                      json_pack("{s:s, s:s, s:s}", "name", a->out.name, "experiment_id", a->out.experiment_id,
                                "strategy", spec.strategy->name));
    if (!e)
        e = run_warn_of_divergence(&w, &a->out, &spec.training, spec.params.proximal_mu);
    if (!e && spec.autostart)
        e = run_start(&w, &a->out);
    if (!e)
        e = run_save(&w, &a->out);
    arch_free(arch);
    json_decref(doc);
    return e;
}
