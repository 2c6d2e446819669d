#include "cli/simulate/sim.h"
#include <stdlib.h>
#include <string.h>
#include "cli/simulate/sim_impl.h"
#include "common/base/rng.h"
#include "common/base/str.h"
#include "common/json/json_spec.h"
#include "worker/data_fit.h"

/* -- time and ids ---------------------------------------------------------------------------------------- */

/* The last bytes count up, so that ids sort by age although the clock hardly moves: the store is faster so.
 */
static enum err fill_ids(void *ctx, void *out, size_t n)
{
    struct sim_ids *ids = ctx;
    uint8_t *to = out;
    uint64_t number = ids->next++;
    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t)(i + 8 < n ? rng_u64(ids->key, i) : number >> (8 * (n - 1 - i)));
    return ERR_OK;
}

static enum err open_core(struct sim *s, struct fault *fault)
{
    enum err e = store_memory_open(&s->store);
    if (!e)
        e = blobs_memory_open(&s->blobs);
    if (e)
        return e;
    s->clock.ms = SIM_START_MS;
    const struct core_config config = {.store = s->store,
                                       .blobs = s->blobs,
                                       .clock = clock_fake(&s->clock),
                                       .entropy = {fill_ids, &s->ids},
                                       .heartbeat_ms = 1000,
                                       .without_presence = true,
                                       .is_simulated = true};
    e = core_new(&config, &s->core);
    return e ? e : core_recover(s->core, fault);
}

/* -- the run --------------------------------------------------------------------------------------------- */

static enum err create_run(struct sim *s, const json_t *spec, struct fault *fault)
{
    struct arena arena = ARENA_INIT(SIM_ARENA_MAX);
    json_t *copy = json_clone(spec);
    struct op_run_create op = {.base = {.core = s->core, .arena = &arena, .caller = ""}, .spec = copy};
    enum err e = copy ? store_write_wait(s->store, op_run_create, &op) : ERR_NO_MEMORY;
    if (!e)
        e = str_copy(s->run_id, sizeof s->run_id, op.out.id);
    if (!e && op.out.status == RUN_PENDING) {
        struct op_run_action start = {.base = op.base, .run_id = s->run_id, .action = RUN_ACTION_START};
        e = store_write_wait(s->store, op_run_action, &start);
        op.base.fault = start.base.fault;
    }
    if (e && fault)
        *fault = op.base.fault;
    json_decref(copy);
    arena_release(&arena);
    return e;
}

enum err sim_load_data(const json_t *spec, struct dataset **out, struct fault *fault)
{
    const json_t *data = json_object_get(spec, "data");
    if (!json_is_object(data))
        return fault_set(fault, ERR_MISSING_FIELD, "data",
                         "a simulation needs the data, like {\"source\": \"synthetic\"}; docs/datasets.md "
                         "has the sources");
    return dataset_load(data, (uint64_t)json_integer_value(json_object_get(spec, "seed")), out, fault);
}

static enum err begin(const json_t *spec, struct sim **out, struct fault *fault)
{
    struct sim *s = calloc(1, sizeof *s);
    if (!s)
        return ERR_NO_MEMORY;
    uint64_t seed = (uint64_t)json_integer_value(json_object_get(spec, "seed"));
    s->w_version = -1;
    s->offers = ARENA_INIT(SIM_ARENA_MAX);
    s->scratch = ARENA_INIT(SIM_ARENA_MAX);
    s->ids.key = rng_key(seed, RNG_SIMULATED_IDS, 0, 0, 0);
    enum err e = open_core(s, fault);
    if (!e)
        e = create_run(s, spec, fault);
    if (e) {
        sim_free(s);
        return e;
    }
    *out = s;
    return ERR_OK;
}

enum err sim_check(const json_t *spec, struct arena *arena, struct run_row *out, struct fault *fault)
{
    struct sim *s = NULL;
    enum err e = begin(spec, &s, fault);
    if (!e)
        e = sim_run(s, arena, out);
    sim_free(s);
    return e;
}

/* All devices have examples of one shape, so what does not fit one fits none. */
static enum err check_model(const json_t *spec, const struct dataset *data, struct fault *fault)
{
    struct arch *arch = NULL;
    enum err e = arch_parse(json_object_get(spec, "model"), &arch, fault);
    if (e)
        return e;
    if (!arch->has_layers)
        e = fault_set(
            fault, ERR_INVALID_FIELD, "model.tensors",
            "a simulation trains the model itself and so needs model.layers; tensors are for devices "
            "with training code of their own");
    else
        e = data_fit(arch, data, fault);
    arch_free(arch);
    return e;
}

/* Devices neither come nor go: a run that cannot start now never will. */
static enum err check_start(struct sim *s, struct fault *fault)
{
    struct arena arena = ARENA_INIT(SIM_ARENA_MAX);
    struct run_row run = {0};
    int64_t next_ms;
    enum err e = core_advance(s->core, &next_ms);
    if (!e)
        e = sim_run(s, &arena, &run);
    if (!e && !str_eq(run.dataset, dataset_name(s->data)))
        e = fault_set(fault, ERR_INVALID_FIELD, "dataset",
                      "the run asks for devices of \"%.80s\", but the data have the name \"%.80s\"",
                      run.dataset, dataset_name(s->data));
    else if (!e && run.status == RUN_WAITING_FOR_DEVICES)
        e = fault_set(
            fault, ERR_INVALID_FIELD, "selection",
            "the run cannot start: %s; lower selection.population or selection.devices_per_round, or "
            "give the data more devices",
            run.status_reason);
    else if (!e && run.status == RUN_FINISHED)
        e = fault_set(fault, ERR_INVALID_FIELD, NULL, "the run cannot start: %s", run.status_reason);
    arena_release(&arena);
    return e;
}

enum err sim_new(const json_t *spec, const struct dataset *data, int threads, struct sim **out,
                 struct fault *fault)
{
    struct sim *s = NULL;
    enum err e = begin(spec, &s, fault);
    if (e)
        return e;
    if (!data)
        e = sim_load_data(spec, &s->own_data, fault);
    s->data = data ? data : s->own_data;
    if (!e)
        e = check_model(spec, s->data, fault);
    if (!e)
        e = sim_systems_load(spec, s->data, &s->systems, fault);
    if (!e)
        e = sim_register(s, fault);
    if (!e)
        e = sim_crew_new(s->data, threads, &s->crew);
    if (!e)
        e = check_start(s, fault);
    if (e) {
        sim_free(s);
        return e;
    }
    *out = s;
    return ERR_OK;
}

void sim_free(struct sim *s)
{
    if (!s)
        return;
    sim_crew_free(s->crew);
    sim_drop_tasks(s);
    sim_systems_release(&s->systems);
    core_free(s->core);
    if (s->store)
        s->store->ops->close(s->store);
    if (s->blobs)
        s->blobs->ops->close(s->blobs);
    arena_release(&s->scratch);
    arch_free(s->arch);
    dataset_free(s->own_data);
    free(s->worker_ids);
    free(s->w_t);
    free(s->carried);
    free(s);
}

/* -- reading --------------------------------------------------------------------------------------------- */

struct reading {
    struct sim *s;
    struct arena *arena;
    struct run_row run;
    int64_t after;
    struct round_row *rounds;
    size_t num_rounds;
};

static enum err read_run(struct store_txn *txn, void *arg)
{
    struct reading *r = arg;
    record_init(RECORD_RUN, &r->run);
    r->run.id = r->s->run_id;
    return store_get(txn, RECORD_RUN, r->arena, &r->run);
}

static enum err read_rounds(struct store_txn *txn, void *arg)
{
    struct reading *r = arg;
    return store_find(txn, QUERY_ROUNDS, r->arena, 0, &r->rounds, &r->num_rounds, store_text(r->s->run_id),
                      store_int(r->after));
}

enum err sim_run(struct sim *s, struct arena *arena, struct run_row *out)
{
    struct reading r = {.s = s, .arena = arena};
    enum err e = s->store->ops->read(s->store, read_run, &r);
    *out = r.run;
    return e;
}

enum err sim_rounds(struct sim *s, int64_t after, struct arena *arena, struct round_row **out,
                    size_t *out_count)
{
    struct reading r = {.s = s, .arena = arena, .after = after};
    enum err e = s->store->ops->read(s->store, read_rounds, &r);
    *out = r.rounds;
    *out_count = r.num_rounds;
    if (!e && r.num_rounds > 0 && r.rounds[r.num_rounds - 1].status != ROUND_CLOSED)
        --*out_count; /* only the last one is open */
    return e;
}

struct round_reading {
    struct sim *s;
    struct arena *arena;
    int64_t n;
    struct round_row *out;
};

static enum err read_round(struct store_txn *txn, void *arg)
{
    struct round_reading *r = arg;
    record_init(RECORD_ROUND, r->out);
    r->out->run_id = r->s->run_id;
    r->out->n = r->n;
    enum err e = store_get(txn, RECORD_ROUND, r->arena, r->out);
    return e == ERR_NOT_FOUND ? ERR_OK : e; /* a run that still waits for its devices */
}

static enum err read_open_round(struct sim *s, struct arena *arena, int64_t n, struct round_row *out)
{
    struct round_reading r = {.s = s, .arena = arena, .n = n, .out = out};
    return s->store->ops->read(s->store, read_round, &r);
}

/* -- going on -------------------------------------------------------------------------------------------- */

static enum err stuck(const struct sim *s, const struct run_row *run, struct fault *fault)
{
    if (s->num_jobs > 0)
        return fault_set(
            fault, ERR_CONFLICT, "reporting.deadline_s",
            "the run cannot go on after %.3f simulated seconds: %s; device %lld is never "
            "online for long enough to end its task, and there is no deadline to go on without it: set "
            "reporting.deadline_s, give it more speed, or let the trace go on",
            (double)s->now_ns / 1e9, run->status_reason, (long long)s->jobs[0].task.ordinal);
    return fault_set(fault, ERR_CONFLICT, NULL, "the run cannot go on: %s", run->status_reason);
}

/* Nothing can be done now: to what the devices or the core's clock bring next. What comes at the same moment
 * as the end of a round is in time. */
static enum err turn_clock(struct sim *s, int64_t core_ms, const struct run_row *run, struct fault *fault)
{
    int64_t core_ns = core_ms == INT64_MAX ? SIM_NEVER : (core_ms - SIM_START_MS) * SIM_MS_NS,
            task_ns = sim_next_ns(s);
    int64_t next_ns = task_ns < core_ns ? task_ns : core_ns;
    if (next_ns == SIM_NEVER)
        return stuck(s, run, fault);
    s->now_ns = next_ns > s->now_ns ? next_ns : s->now_ns + SIM_MS_NS;
    s->clock.ms = SIM_START_MS + s->now_ns / SIM_MS_NS;
    return ERR_OK;
}

/* Tasks come before what the core's clock brings at the same moment. */
static enum err go_on(struct sim *s, struct arena *arena, const struct run_row *run, int64_t core_ms,
                      struct fault *fault)
{
    struct round_row round;
    size_t count = 0;
    enum err e = sim_claim_tasks(s, run->round, fault);
    if (!e)
        e = read_open_round(s, arena, run->round, &round);
    if (!e)
        e = sim_do_tasks(s, &round, &count, fault);
    if (e || count > 0)
        return e;
    e = turn_clock(s, core_ms, run, fault);
    return e ? e : sim_do_tasks(s, &round, &count, fault);
}

enum err sim_step(struct sim *s, bool *out_is_finished, struct fault *fault)
{
    struct arena arena = ARENA_INIT(SIM_ARENA_MAX);
    struct run_row run = {0};
    int64_t core_ms;
    enum err e = core_advance(s->core, &core_ms);
    if (!e)
        e = sim_run(s, &arena, &run);
    *out_is_finished = !e && run.status == RUN_FINISHED;
    if (!e && !*out_is_finished)
        e = go_on(s, &arena, &run, core_ms, fault);
    arena_release(&arena);
    return e;
}

int64_t sim_start_ms(const struct sim *s)
{
    return s->systems.is_timed ? SIM_START_MS : -1;
}
