/* Times that can be worked out by hand. */
#include <math.h>
#include <string.h>
#include <unistd.h>
#include "cli/simulate/sim.h"
#include "cli/simulate/sim_report.h"
#include "cli/simulate/sim_time.h"
#include "cli/spec_file.h"
#include "common/base/limits.h"
#include "common/base/log.h"
#include "tests/support/unit.h"

#define S          INT64_C(1000000000)
#define MAX_ROUNDS 8

/* -- arithmetic ------------------------------------------------------------------------------------------ */

static const struct sim_interval two_times[] = {{2 * S, 4 * S}, {6 * S, 10 * S}};
static const struct sim_device now_and_then = {.online = two_times, .num_online = 2};
static const struct sim_device always;

START_TEST(test_online)
{
    const struct {
        int64_t at, from;
    } cases[] = {{0, 2 * S},     {2 * S, 2 * S},      {4 * S - 1, 4 * S - 1}, {4 * S, 6 * S},
                 {7 * S, 7 * S}, {10 * S, SIM_NEVER}, {SIM_NEVER, SIM_NEVER}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_int_eq(sim_online_from(&now_and_then, cases[i].at), cases[i].from);
    ck_assert_int_eq(sim_online_from(&always, 5), 5);
    ck_assert_int_eq(sim_online_between(&now_and_then, 0, 20 * S), 6 * S);
    ck_assert_int_eq(sim_online_between(&now_and_then, 3 * S, 7 * S), 2 * S);
    ck_assert_int_eq(sim_online_between(&now_and_then, 4 * S, 6 * S), 0);
    ck_assert_int_eq(sim_online_between(&now_and_then, 9 * S, 3 * S), 0);
    ck_assert_int_eq(sim_online_between(&always, 3, 7), 4);
    ck_assert_int_eq(sim_online_between(&always, 7, 3), 0);
}
END_TEST

START_TEST(test_work_pauses)
{
    ck_assert_int_eq(sim_work_until(&always, 3, 4), 7);
    ck_assert_int_eq(sim_work_until(&always, 3, SIM_NEVER), SIM_NEVER);
    ck_assert_int_eq(sim_work_until(&now_and_then, 2 * S, 2 * S), 4 * S);
    ck_assert_int_eq(sim_work_until(&now_and_then, 2 * S, 2 * S + 1), 6 * S + 1);
    ck_assert_int_eq(sim_work_until(&now_and_then, 3 * S, 5 * S), 10 * S);
    ck_assert_int_eq(sim_work_until(&now_and_then, 3 * S, 5 * S + 1), SIM_NEVER);
    ck_assert_int_eq(sim_work_until(&now_and_then, 4 * S, 0), 4 * S);
    ck_assert_int_eq(sim_work_until(&now_and_then, SIM_NEVER, 1), SIM_NEVER);
}
END_TEST

static struct sim_timing timing(const struct sim_device *d, int64_t steps, int64_t deadline_ns,
                                int64_t now_ns)
{
    struct sim_timing t = {.steps = steps,
                           .steps_assigned = 100,
                           .accept_partial = true,
                           .model_bytes = 1000,
                           .deadline_ns = deadline_ns};
    sim_timing_start(&t, d, now_ns);
    return t;
}

START_TEST(test_one_task)
{
    struct sim_device d = {
        .steps_per_s = 1, .up_bytes_per_s = 1000, .down_bytes_per_s = 500, .upload_ms = 200};
    /* 2 s down, 1 s a step, 1 s up. */
    struct sim_timing t = timing(&d, 5, SIM_NEVER, 3 * S);
    ck_assert(t.has_started && t.next_ns == 11 * S && t.deadline_steps == -1);
    ck_assert(t.download_ms == 2000 && t.compute_ms == 5000 && t.upload_ms == 1000);
    /* It stops at 9.55 s, within the 8th step, which it finishes. */
    t = timing(&d, 100, 10 * S, 0);
    ck_assert(t.deadline_steps == 8 && t.next_ns == 11 * S && t.compute_ms == 8000);
    /* The budget is spent at the very step. */
    t = timing(&d, 8, 10 * S, 0);
    ck_assert(t.deadline_steps == -1 && t.next_ns == 11 * S);
    /* Never more than half of the time is kept free. */
    d.upload_ms = 1e6;
    t = timing(&d, 100, 10 * S, 0);
    ck_assert(t.deadline_steps == 3 && t.next_ns == 6 * S);
    /* The download takes longer than that. */
    t = timing(&d, 100, 3 * S, 0);
    ck_assert(t.deadline_steps == 0 && t.next_ns == 3 * S && t.compute_ms == 0);
    /* After the deadline. */
    t = timing(&d, 100, 3 * S, 4 * S);
    ck_assert(t.deadline_steps == 0 && t.next_ns == 7 * S);
}
END_TEST

START_TEST(test_offline_at_the_stop)
{
    struct sim_device d = {.steps_per_s = 1,
                           .up_bytes_per_s = INFINITY,
                           .down_bytes_per_s = INFINITY,
                           .online = two_times,
                           .num_online = 2};
    /* Two steps until 4 s; that it must stop at 4.95 s it sees when it is back at 6 s. */
    struct sim_timing t = timing(&d, 100, 5 * S, 2 * S);
    ck_assert(t.deadline_steps == 2 && t.next_ns == 6 * S && t.compute_ms == 2000);
    /* One and a half: it finishes the second when it is back. */
    t = timing(&d, 100, 5 * S, 2 * S + S / 2);
    ck_assert(t.deadline_steps == 2 && t.next_ns == 6 * S + S / 2);
    /* What is done is done. */
    t = timing(&d, 2, 5 * S, 2 * S);
    ck_assert(t.deadline_steps == -1 && t.next_ns == 4 * S);
    /* It never comes back. */
    t = timing(&d, 100, 12 * S, 6 * S);
    ck_assert(t.next_ns == SIM_NEVER);
}
END_TEST

START_TEST(test_infinitely_fast)
{
    const struct sim_device d = {
        .steps_per_s = INFINITY, .up_bytes_per_s = INFINITY, .down_bytes_per_s = INFINITY, .upload_ms = 200};
    struct sim_timing t = timing(&d, 100, 10 * S, 3 * S);
    ck_assert(t.deadline_steps == -1 && t.next_ns == 3 * S && t.compute_ms == 0 && t.upload_ms == 0);
    t = timing(&d, 100, 3 * S, 3 * S);
    ck_assert(t.deadline_steps == -1 && t.next_ns == 3 * S);
}
END_TEST

START_TEST(test_extremes)
{
    struct sim_device d = {.steps_per_s = 1e-30, .up_bytes_per_s = INFINITY, .down_bytes_per_s = INFINITY};
    struct sim_timing t = timing(&d, 100, 10 * S, 0);
    ck_assert(t.deadline_steps == 1 && t.next_ns == SIM_NEVER);
    d.steps_per_s = 1e15;
    t = timing(&d, INT64_C(1) << 40, 10 * S, 0);
    ck_assert(t.deadline_steps == -1 && t.next_ns == 1099512);
    d.down_bytes_per_s = 1e-300;
    t = timing(&d, 100, 10 * S, 0);
    ck_assert(t.deadline_steps == 0 && t.next_ns == SIM_NEVER);
}
END_TEST

/* -- whole runs ------------------------------------------------------------------------------------------ */

/* Two devices, 100 steps each. */
static const char spec_text[] =
    "{\"name\": \"time\", \"seed\": 6, \"num_rounds\": 2,"
    " \"model\": {\"input\": [60], \"layers\": [{\"type\": \"dense\", \"units\": 10}], \"init\": \"zeros\"},"
    " \"strategy\": {\"name\": \"fedprox\"},"
    " \"training\": {\"local_steps\": 100, \"learning_rate\": 0.01},"
    " \"selection\": {\"devices_per_round\": 2, \"population\": 2},"
    " \"reporting\": {\"deadline_s\": 10, \"grace_s\": 5},"
    " \"evaluation\": {\"on\": \"all_devices\"},"
    " \"data\": {\"source\": \"synthetic\", \"devices\": 2}}";

struct outcome {
    enum err err;
    struct fault fault;
    struct arena arena;
    struct run_row run;
    struct round_row rounds[MAX_ROUNDS];
    size_t num_rounds, model_bytes;
    json_t *final;
};

static enum err follow(struct sim *s, struct outcome *o)
{
    struct sim_targets targets;
    bool is_finished = false;
    enum err e = ERR_OK;
    sim_targets_init(&targets, sim_start_ms(s));
    while (!e && !is_finished) {
        struct round_row *rows;
        size_t count = 0;
        e = sim_step(s, &is_finished, &o->fault);
        if (!e)
            e = sim_rounds(s, (int64_t)o->num_rounds - 1, &o->arena, &rows, &count);
        for (size_t i = 0; !e && i < count; i++) {
            ck_assert_uint_lt(o->num_rounds, MAX_ROUNDS);
            json_t *round = sim_round_json(&rows[i], sim_start_ms(s));
            sim_targets_add(&targets, &rows[i], round);
            json_decref(round);
            o->rounds[o->num_rounds++] = rows[i];
        }
    }
    if (!e)
        e = sim_run(s, &o->arena, &o->run);
    if (!e)
        o->final = sim_final_json(&o->run, NULL, &targets);
    return e;
}

static void simulate(const char *trace, struct outcome *o, const char *const *sets)
{
    char path[] = "/tmp/fedlane-trace-XXXXXX", set[80];
    struct sim *s = NULL;
    struct buf model = BUF_INIT(1 * MIB);
    json_t *spec = json_loads(spec_text, 0, NULL);
    *o = (struct outcome){.arena = ARENA_INIT(64 * MIB)};
    if (trace) {
        int fd = mkstemp(path);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(write(fd, trace, strlen(trace)), (ssize_t)strlen(trace));
        ck_assert_int_eq(close(fd), 0);
        (void)snprintf(set, sizeof set, "systems.trace=%s", path);
        ck_assert_int_eq(json_set_path(spec, set, &o->fault), ERR_OK);
    }
    for (; *sets; sets++)
        ck_assert_msg(json_set_path(spec, *sets, &o->fault) == ERR_OK, "%s", o->fault.detail);
    o->err = sim_new(spec, NULL, 2, &s, &o->fault);
    if (!o->err)
        o->err = follow(s, o);
    if (!o->err)
        o->err = sim_model(s, &model);
    o->model_bytes = model.len;
    if (trace)
        ck_assert_int_eq(unlink(path), 0);
    sim_free(s);
    buf_release(&model);
    json_decref(spec);
}
#define SIMULATE(trace, o, ...)                                                                              \
    do {                                                                                                     \
        simulate((trace), (o), (const char *const[]){__VA_ARGS__ NULL});                                     \
        ck_assert_msg((o)->err == ERR_OK, "%s", (o)->fault.detail);                                          \
        ck_assert_int_eq((o)->run.is_deterministic, 1);                                                      \
    } while (0)

static void release(struct outcome *o)
{
    json_decref(o->final);
    arena_release(&o->arena);
}

/* What a round must have been, and when it closed, in milliseconds since the start. */
static void ck_round(const struct outcome *o, size_t n, int64_t closed_ms, int64_t received, int64_t late,
                     int64_t steps_done)
{
    ck_assert_uint_lt(n, o->num_rounds);
    const struct round_row *r = &o->rounds[n];
    ck_assert_int_eq(r->closed_at - o->run.started_at, closed_ms);
    ck_assert_int_eq(r->received, received);
    ck_assert_int_eq(r->late, late);
    ck_assert_int_eq(r->steps_done, steps_done);
    ck_assert_int_eq(r->evaluated, r->evaluators);
}

START_TEST(test_one_step_a_second)
{
    struct outcome o;
    /* Each device stops at 9.55 s and finishes the step that it is at. Then the server knows its speed. */
    SIMULATE(NULL, &o, "systems.steps_per_s=1", );
    ck_round(&o, 0, 10000, 2, 0, 20);
    ck_round(&o, 1, 20000, 2, 0, 20);
    ck_assert_int_eq(o.rounds[0].partial, 2);
    ck_assert_int_eq(o.rounds[2].closed_at - o.run.started_at, 20000);
    release(&o);
    SIMULATE(NULL, &o, "systems.steps_per_s=0.5", );
    ck_round(&o, 0, 10000, 2, 0, 10);
    release(&o);
    SIMULATE(NULL, &o, "systems.steps_per_s=100", );
    ck_round(&o, 0, 1000, 2, 0, 200);
    ck_assert_int_eq(o.rounds[0].partial, 0);
    release(&o);
}
END_TEST

START_TEST(test_transfers)
{
    struct outcome o;
    char down[64], up[64];
    SIMULATE(NULL, &o, "systems.steps_per_s=1", );
    (void)snprintf(down, sizeof down, "systems.down_bytes_per_s=%.1f", (double)o.model_bytes / 2);
    (void)snprintf(up, sizeof up, "systems.up_bytes_per_s=%.1f", (double)o.model_bytes);
    release(&o);
    /* Down until 2 s, at 9.55 s within the 8th step, up from 10 s to 11 s. */
    SIMULATE(NULL, &o, "systems.steps_per_s=1", down, up, );
    ck_round(&o, 0, 11000, 2, 0, 16);
    ck_round(&o, 1, 22000, 2, 0, 16);
    release(&o);
    /* Whoever is not done has nothing to upload. */
    SIMULATE(NULL, &o, "systems.steps_per_s=1", down, up, "strategy={\"name\": \"fedavg\"}", );
    ck_round(&o, 0, 10000, 0, 0, 16);
    ck_assert_int_eq(o.rounds[0].dropped, 2);
    release(&o);
}
END_TEST

START_TEST(test_late_and_extended)
{
    struct outcome o;
    /* The first step takes 20 s. */
    SIMULATE(NULL, &o, "systems.steps_per_s=0.05", "reporting.on_too_few=skip", "num_rounds=1", );
    ck_round(&o, 0, 15000, 0, 2, 0);
    release(&o);
    SIMULATE(NULL, &o, "systems.steps_per_s=0.05", "reporting.on_too_few=extend", "num_rounds=1", );
    ck_round(&o, 0, 20000, 2, 0, 2);
    ck_assert_int_eq(o.rounds[0].extensions, 1);
    release(&o);
    /* At the very end of the grace it is in time; a moment later it is not. */
    SIMULATE(NULL, &o, "systems.steps_per_s=0.05", "reporting.grace_s=10", "num_rounds=1", );
    ck_round(&o, 0, 20000, 2, 0, 2);
    release(&o);
    SIMULATE(NULL, &o, "systems.steps_per_s=0.05", "reporting.grace_s=9.999", "num_rounds=1",
             "reporting.on_too_few=fail", );
    ck_assert_int_eq(o.run.outcome, RUN_FAILED);
    ck_round(&o, 0, 19999, 0, 2, 0);
    release(&o);
}
END_TEST

START_TEST(test_over_selection)
{
    struct outcome o;
    SIMULATE("device,steps_per_s\n0,20\n1,1\n", &o, "selection.devices_per_round=1",
             "selection.over_selection=2", );
    ck_round(&o, 0, 5000, 1, 1, 100);
    ck_round(&o, 1, 10000, 1, 1, 100);
    release(&o);
}
END_TEST

START_TEST(test_straggler_fraction)
{
    struct outcome o;
    SIMULATE(NULL, &o, "systems.steps_per_s=100", "systems.straggler_fraction=1", );
    ck_assert_int_lt(o.rounds[0].steps_done, 200);
    ck_assert_int_gt(o.rounds[0].steps_done, 0);
    release(&o);
    /* The less of both. */
    SIMULATE(NULL, &o, "systems.steps_per_s=0.2", "systems.straggler_fraction=1", );
    ck_assert_int_le(o.rounds[0].steps_done, 4);
    release(&o);
}
END_TEST

#define TITLES "device,steps_per_s,online_from_s,online_to_s\n"

START_TEST(test_offline_devices)
{
    struct outcome o;
    /* It holds nothing up but to the deadline, and is evaluated. */
    SIMULATE(TITLES "0,20,0,1000\n1,20,100,200\n", &o, );
    ck_round(&o, 0, 15000, 1, 1, 100);
    ck_round(&o, 1, 30000, 1, 1, 100);
    release(&o);
    /* It begins as soon as it is online, and stops in the middle of the time that is then left. */
    SIMULATE(TITLES "0,20,0,1000\n1,20,9.5,200\n", &o, "num_rounds=1", );
    ck_round(&o, 0, 9750, 2, 0, 105);
    release(&o);
    /* Online for 4 s and, until it stops at 9.55 s, for 3.55 s more. */
    SIMULATE(TITLES "0,1,0,4\n0,,6,100\n1,1,0,1000\n", &o, "num_rounds=1", );
    ck_round(&o, 0, 10000, 2, 0, 18);
    release(&o);
    /* Nobody comes back: round after round is skipped, after three extensions each. */
    SIMULATE(TITLES "0,1,0,4\n1,1,0,4\n", &o, );
    ck_round(&o, 0, 60000, 0, 2, 0);
    ck_round(&o, 1, 120000, 0, 2, 0);
    release(&o);
}
END_TEST

START_TEST(test_no_way_on)
{
    struct outcome o;
    simulate(TITLES "0,20,0,1000\n1,20,0,4\n", &o, (const char *const[]){"reporting.deadline_s=0", NULL});
    ck_assert_int_eq(o.err, ERR_CONFLICT);
    ck_assert_str_eq(o.fault.field, "reporting.deadline_s");
    ck_assert_msg(strstr(o.fault.detail, "device 1 is never online for long enough") != NULL, "%s",
                  o.fault.detail);
    ck_assert_ptr_nonnull(strstr(o.fault.detail, "5.000 simulated seconds"));
    release(&o);
}
END_TEST

START_TEST(test_targets)
{
    struct outcome o;
    SIMULATE(NULL, &o, "systems.steps_per_s=100", );
    const json_t *seconds = json_object_get(o.final, "time_to_accuracy"),
                 *rounds = json_object_get(o.final, "rounds_to_accuracy");
    ck_assert(json_object_size(seconds) == 9 && json_object_size(rounds) == 9);
    ck_assert(json_number_value(json_object_get(o.final, "time_s")) == 2);
    const char *key;
    json_t *value, *all = (json_t *)(uintptr_t)rounds;
    size_t num_reached = 0;
    json_object_foreach(all, key, value)
    {
        const json_t *second = json_object_get(seconds, key);
        ck_assert_int_eq(json_is_null(value), json_is_null(second));
        /* A second a round. */
        ck_assert(json_is_null(value) || json_number_value(second) == (double)json_integer_value(value));
        num_reached += !json_is_null(value);
    }
    ck_assert_uint_gt(num_reached, 0);
    release(&o);
    SIMULATE(NULL, &o, "num_rounds=1", );
    ck_assert_ptr_null(json_object_get(o.final, "time_s"));
    ck_assert_ptr_null(json_object_get(o.final, "time_to_accuracy"));
    ck_assert_uint_eq(json_object_size(json_object_get(o.final, "rounds_to_accuracy")), 9);
    release(&o);
}
END_TEST

START_TEST(test_speeds_are_drawn_for_each_device)
{
    struct outcome one, same, other;
    SIMULATE(NULL, &one, "systems.steps_per_s={\"lognormal\": {\"median\": 20, \"sigma\": 1}}", );
    SIMULATE(NULL, &same, "systems.steps_per_s={\"lognormal\": {\"median\": 20, \"sigma\": 1}}", );
    SIMULATE(NULL, &other, "systems.steps_per_s={\"lognormal\": {\"median\": 20, \"sigma\": 0}}", );
    ck_assert_int_eq(one.rounds[0].closed_at, same.rounds[0].closed_at);
    ck_assert_str_eq(one.rounds[1].aggregate_sha256, same.rounds[1].aggregate_sha256);
    ck_round(&other, 0, 5000, 2, 0, 200);
    ck_assert_int_ne(one.rounds[0].closed_at, other.rounds[0].closed_at);
    release(&one);
    release(&same);
    release(&other);
}
END_TEST

static void ck_refused(const char *trace, const char *set, const char *field, const char *words)
{
    struct outcome o;
    simulate(trace, &o, (const char *const[]){set, NULL});
    ck_assert_msg(o.err != ERR_OK, "%s", set);
    ck_assert_str_eq(o.fault.field, field);
    ck_assert_msg(strstr(o.fault.detail, words) != NULL, "%s: %s", set, o.fault.detail);
    ck_assert_uint_eq(o.num_rounds, 0);
    release(&o);
}

START_TEST(test_refusals)
{
    ck_refused("device\n0\n", "seed=1", "systems.trace",
               "has no row of device 1, which would never come online");
    ck_refused("device\n0\n1\n2\n", "seed=1", "systems.trace", "line 4: the data have no device 2");
    ck_refused(TITLES "0,1,0,4\n1,1,5,5\n", "seed=1", "systems.trace",
               "line 3, device 1: it never comes online");
    ck_refused(NULL, "systems.steps_per_s=0", "systems.steps_per_s", "above 0");
    ck_refused(NULL, "systems.up_bytes_per_s=fast", "systems.up_bytes_per_s", "above 0");
    ck_refused(NULL, "systems.down_bytes_per_s={}", "systems.down_bytes_per_s", "lognormal");
    ck_refused(NULL, "systems.steps_per_s={\"lognormal\": {\"median\": 5}}",
               "systems.steps_per_s.lognormal.sigma", "");
    ck_refused(NULL, "systems.steps_per_s={\"lognormal\": {\"median\": 5, \"sigma\": -1}}",
               "systems.steps_per_s.lognormal.sigma", "0 and 20");
    ck_refused(NULL, "systems.steps_per_s={\"lognormal\": {\"median\": 5, \"sigma\": 1, \"mean\": 1}}",
               "systems.steps_per_s.lognormal.mean", "");
    ck_refused(NULL, "systems.trace=\"\"", "systems.trace", "");
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_online,
                                  test_work_pauses,
                                  test_one_task,
                                  test_offline_at_the_stop,
                                  test_infinitely_fast,
                                  test_extremes,
                                  test_one_step_a_second,
                                  test_transfers,
                                  test_late_and_extended,
                                  test_over_selection,
                                  test_straggler_fraction,
                                  test_offline_devices,
                                  test_no_way_on,
                                  test_targets,
                                  test_speeds_are_drawn_for_each_device,
                                  test_refusals};
    log_init(LOG_ERROR, LOG_TEXT);
    return unit_run("simulated time", tests, sizeof tests / sizeof *tests);
}
