#include <string.h>
#include "cli/simulate/sim.h"
#include "cli/simulate/sim_report.h"
#include "cli/spec_file.h"
#include "common/base/limits.h"
#include "common/base/log.h"
#include "common/tensor/safetensors.h"
#include "tests/support/unit.h"

#define MAX_ROUNDS 8

static const char spec_text[] =
    "{\"name\": \"test\", \"seed\": 6, \"num_rounds\": 3,"
    " \"model\": {\"input\": [60], \"layers\": [{\"type\": \"dense\", \"units\": 10}], \"init\": \"zeros\"},"
    " \"strategy\": {\"name\": \"fedprox\", \"params\": {\"proximal_mu\": 1}},"
    " \"training\": {\"local_epochs\": 2, \"batch_size\": 10, \"learning_rate\": 0.01},"
    " \"selection\": {\"devices_per_round\": 4, \"population\": 12},"
    " \"evaluation\": {\"on\": \"all_devices\"}, \"systems\": {\"straggler_fraction\": 0.5},"
    " \"data\": {\"source\": \"synthetic\", \"devices\": 12}}";

/* What came of a run. */
struct outcome {
    enum err err;
    struct fault fault;
    struct arena arena;
    struct run_row run;
    struct round_row rounds[MAX_ROUNDS];
    size_t num_rounds;
    struct buf model;
};

static json_t *spec_with(const char *const *sets)
{
    struct fault fault = FAULT_NONE;
    json_t *spec = json_loads(spec_text, 0, NULL);
    ck_assert_ptr_nonnull(spec);
    for (; *sets; sets++)
        ck_assert_msg(json_set_path(spec, *sets, &fault) == ERR_OK, "%s", fault.detail);
    return spec;
}

static enum err go(struct sim *s, struct outcome *o)
{
    bool is_finished = false;
    enum err e = ERR_OK;
    while (!e && !is_finished) {
        struct round_row *rows;
        size_t count = 0;
        int64_t last = o->num_rounds ? o->rounds[o->num_rounds - 1].n : -1;
        e = sim_step(s, &is_finished, &o->fault);
        if (!e)
            e = sim_rounds(s, last, &o->arena, &rows, &count);
        for (size_t i = 0; !e && i < count && o->num_rounds < MAX_ROUNDS; i++)
            o->rounds[o->num_rounds++] = rows[i];
    }
    return e;
}

static void simulate(int threads, struct outcome *o, const char *const *sets)
{
    struct sim *s = NULL;
    json_t *spec = spec_with(sets);
    log_init(LOG_ERROR, LOG_TEXT);
    *o = (struct outcome){.arena = ARENA_INIT(64 * MIB), .model = BUF_INIT(1 * MIB)};
    o->err = sim_new(spec, NULL, threads, &s, &o->fault);
    if (!o->err)
        o->err = go(s, o);
    if (!o->err)
        o->err = sim_run(s, &o->arena, &o->run);
    if (!o->err)
        o->err = sim_model(s, &o->model);
    sim_free(s);
    json_decref(spec);
}
#define SIMULATE(threads, o, ...) simulate((threads), (o), (const char *const[]){__VA_ARGS__ NULL})

static void release(struct outcome *o)
{
    arena_release(&o->arena);
    buf_release(&o->model);
}

START_TEST(test_whole_run)
{
    struct outcome o;
    SIMULATE(1, &o, );
    ck_assert_msg(o.err == ERR_OK, "%s", o.fault.detail);
    ck_assert_int_eq(o.run.outcome, RUN_COMPLETED);
    ck_assert_int_eq(o.run.is_deterministic, 1);
    ck_assert_uint_eq(o.num_rounds, 4);
    int64_t partial = 0;
    for (size_t i = 0; i < 3; i++) {
        const struct round_row *r = &o.rounds[i];
        partial += r->partial;
        ck_assert(r->type == ROUND_TRAIN && r->selected == 4 && r->received == 4);
        ck_assert(r->evaluated == r->evaluators && r->evaluators == 8);
        ck_assert(r->steps_done > 0 && (r->steps_done < r->steps_assigned) == (r->partial > 0));
    }
    ck_assert_int_gt(partial, 0);
    ck_assert_int_eq(o.rounds[3].type, ROUND_FINAL);
    ck_assert_str_eq(o.rounds[3].aggregate_sha256, o.rounds[2].aggregate_sha256);
    ck_assert_uint_gt(o.model.len, 610 * sizeof(float));
    release(&o);
}
END_TEST

START_TEST(test_same_bits_with_any_number_of_threads)
{
    static const char *const variants[] = {"name=plain",
                                           "strategy={\"name\": \"fedavg\"}",
                                           "evaluation={\"on\": \"selected\", \"gamma\": true}",
                                           "evaluation={\"on\": \"all_devices\", \"dissimilarity\": true}",
                                           "strategy.params.proximal_mu={\"dynamic\": {}}",
                                           "selection.over_selection=1.5"};
    for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
        struct outcome one, four;
        SIMULATE(1, &one, variants[v], );
        SIMULATE(4, &four, variants[v], );
        ck_assert_msg(one.err == ERR_OK && four.err == ERR_OK, "%s: %s", variants[v], one.fault.detail);
        ck_assert_uint_eq(one.num_rounds, four.num_rounds);
        for (size_t i = 0; i < one.num_rounds; i++) {
            ck_assert_str_eq(one.rounds[i].aggregate_sha256, four.rounds[i].aggregate_sha256);
            ck_assert_str_eq(one.rounds[i].metrics, four.rounds[i].metrics);
        }
        ck_assert(one.model.len == four.model.len &&
                  memcmp(one.model.data, four.model.data, one.model.len) == 0);
        release(&one);
        release(&four);
    }
}
END_TEST

START_TEST(test_dropped_stragglers)
{
    struct outcome o;
    SIMULATE(2, &o, "strategy={\"name\": \"fedavg\"}", );
    ck_assert_msg(o.err == ERR_OK, "%s", o.fault.detail);
    for (size_t i = 0; i < 3; i++)
        ck_assert(o.rounds[i].received == 2 && o.rounds[i].dropped == 2 && o.rounds[i].partial == 0);
    release(&o);
}
END_TEST

START_TEST(test_not_started_by_itself)
{
    struct outcome o;
    SIMULATE(1, &o, "autostart=false", );
    ck_assert_msg(o.err == ERR_OK && o.run.outcome == RUN_COMPLETED, "%s", o.fault.detail);
    release(&o);
}
END_TEST

/* A device whose training diverges fails; nobody else's does, and the round goes on by the rules. */
START_TEST(test_divergence)
{
    struct outcome o;
    SIMULATE(2, &o, "training.learning_rate=1000000", "systems=null", "training.local_epochs=20",
             "strategy.params.proximal_mu=1000", "num_rounds=1", );
    ck_assert_msg(o.err == ERR_OK, "%s", o.fault.detail);
    ck_assert_int_eq(o.rounds[0].failed, 4);
    ck_assert_int_eq(o.rounds[0].received, 0);
    ck_assert_int_ne(o.rounds[0].outcome, ROUND_COMPLETED);
    release(&o);
}
END_TEST

static void ck_refused(enum err e, const char *set, const char *field, const char *words)
{
    struct outcome o;
    SIMULATE(1, &o, set, );
    ck_assert_msg(o.err == e, "%s: %s (%s)", set, err_name(o.err), o.fault.detail);
    ck_assert_msg(strcmp(o.fault.field, field) == 0, "%s: field %s", set, o.fault.field);
    ck_assert_msg(strstr(o.fault.detail, words) != NULL, "%s: %s", set, o.fault.detail);
    release(&o);
}

/* The simulated clock moves only when nothing else can happen: a round that takes no time waits for nothing.
 */
START_TEST(test_no_round_waits_for_the_clock)
{
    struct outcome o;
    SIMULATE(2, &o, );
    ck_assert_msg(o.err == ERR_OK, "%s", o.fault.detail);
    ck_assert_uint_gt(o.num_rounds, 3);
    for (size_t i = 0; i < o.num_rounds; i++)
        ck_assert_int_eq(o.rounds[i].closed_at, o.rounds[0].opened_at);
    release(&o);
}
END_TEST

START_TEST(test_refusals)
{
    ck_refused(ERR_UNKNOWN_FIELD, "training.learning_rat=1", "training.learning_rat", "learning_rate");
    ck_refused(ERR_UNKNOWN_FIELD, "a.b.c=1", "a", "");
    ck_refused(ERR_INVALID_FIELD, "num_rounds=-1", "num_rounds", "1");
    ck_refused(ERR_INVALID_FIELD, "seed=\"x\"", "seed", "");
    ck_refused(ERR_MISSING_FIELD, "data=null", "data", "simulation needs the data");
    ck_refused(ERR_INVALID_FIELD, "data.source=nosuch", "data.source", "synthetic");
    ck_refused(ERR_INVALID_FIELD, "selection.population=13", "selection", "12 of 13");
    ck_refused(ERR_INVALID_FIELD, "dataset=other", "dataset", "other");
    ck_refused(ERR_INVALID_FIELD, "model.input=[61]", "model.input", "61 features");
    ck_refused(ERR_INVALID_FIELD, "model.layers[0].units=9", "model.layers", "has 10");
}
END_TEST

START_TEST(test_failed_run_in_words)
{
    struct outcome o;
    SIMULATE(1, &o, "training.learning_rate=1000000", "strategy.params.proximal_mu=1000", "systems=null",
             "training.local_epochs=20", "reporting.on_too_few=fail", );
    ck_assert_msg(o.err == ERR_OK, "%s", o.fault.detail);
    ck_assert_int_eq(o.run.outcome, RUN_FAILED);
    struct sim_targets targets;
    sim_targets_init(&targets, -1);
    json_t *final = sim_final_json(&o.run, NULL, &targets);
    ck_assert_str_eq(json_string_value(json_object_get(final, "outcome")), "failed");
    json_decref(final);
    release(&o);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_whole_run,          test_same_bits_with_any_number_of_threads,
                                  test_dropped_stragglers, test_not_started_by_itself,
                                  test_divergence,         test_no_round_waits_for_the_clock,
                                  test_refusals,           test_failed_run_in_words};
    return unit_run("cli simulate", tests, sizeof tests / sizeof *tests);
}
