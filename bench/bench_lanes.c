/* Salus's rules and ours on one trace, exactly, and what each difference is worth: bench_lanes TRACE. */
#include <math.h>
#include <stdio.h>
#include "common/base/clock.h"
#include "common/base/limits.h"
#include "common/base/rng.h"
#include "lanes/policies/policies.h"
#include "lanes/trace/trace.h"

#define DEVICE_BYTES ((int64_t)14000000000)
#define DRAWS        12

struct bench {
    struct lanes_trace trace;
    double fifo_s;
};

/* Of one device; `rules` NULL: the policy's own. Ends the program on an error. */
static struct virtual_summary run(const struct bench *b, const struct lanes_policy *policy,
                                  const struct lanes_rules *rules, bool is_told)
{
    const struct virtual_config config = {.lanes = {.max_jobs = b->trace.num_jobs,
                                                    .num_devices = 1,
                                                    .capacity_bytes = {DEVICE_BYTES},
                                                    .policy = policy,
                                                    .rules = rules}};
    struct virtual_run *v;
    struct fault fault = FAULT_NONE;
    for (size_t i = 0; i < b->trace.num_jobs; i++) {
        struct virtual_job *job = &b->trace.jobs[i];
        job->told_length_ns = is_told ? job->steps * job->step_ns : 0;
    }
    if (virtual_new(&config, b->trace.num_jobs, &v, &fault))
        bug("%s", fault.detail);
    virtual_run(v, policy, b->trace.jobs, b->trace.num_jobs);
    struct virtual_summary s = virtual_summarise(v);
    virtual_free(v);
    return s;
}

static void print(const struct bench *b, const char *what, const struct virtual_summary *s)
{
    (void)printf("| %s | %.1f | %.2fx | %.0f | %.0f | %.3f | %lld | %.1f | %zu |\n", what,
                 s->average_completion_s, b->fifo_s / s->average_completion_s, s->p95_completion_s,
                 s->makespan_s, s->jain, (long long)s->overtakes, s->max_slowdown, s->most_resident);
}

static void print_policies(const struct bench *b)
{
    for (size_t i = 0; i < num_lanes_policies; i++) {
        struct virtual_summary s = run(b, lanes_policies[i], NULL, true);
        char what[64];
        (void)snprintf(what, sizeof what, "`%s`", lanes_policies[i]->name);
        print(b, what, &s);
    }
    struct virtual_summary s = run(b, &policy_salus_srtf, NULL, false);
    print(b, "`salus-srtf`, not told how long jobs are", &s);
}

/* From Salus's SRTF to ours, one rule after the other. */
static void print_differences(const struct bench *b)
{
    struct lanes_rules rules = policy_salus_srtf.rules;
    struct virtual_summary s = run(b, &policy_salus_srtf, &rules, true);
    print(b, "`salus-srtf`", &s);
    rules.pad_persistent_percent = rules.pad_ephemeral_percent = 0;
    s = run(b, &policy_salus_srtf, &rules, true);
    print(b, "+ P and E exact, not padded", &s);
    rules.lane_holds_persistent = false;
    s = run(b, &policy_salus_srtf, &rules, true);
    print(b, "+ lanes of E, P beside them", &s);
    rules.fixed_lanes = false;
    s = run(b, &policy_salus_srtf, &rules, true);
    print(b, "+ lanes grow and shrink, best fit", &s);
    rules.never_merge = false;
    s = run(b, &policy_salus_srtf, &rules, true);
    print(b, "+ lanes are merged for who waits", &s);
    rules.unbounded_overtaking = false;
    s = run(b, &policy_salus_srtf, &rules, true);
    print(b, "+ bounded overtaking", &s);
    rules.whole_milliseconds = false;
    s = run(b, &policy_salus_srtf, &rules, true);
    print(b, "+ nanoseconds", &s);
    s = run(b, &policy_srtf, NULL, false);
    print(b, "`srtf`: + memory for the shortest first, aging; and no oracle", &s);
}

/* srtf where each job says a number of steps that is wrong by up to 4 times either way. */
static void print_wrong_lengths(const struct bench *b)
{
    double worst = INFINITY, sum = 0;
    for (uint64_t seed = 0; seed < DRAWS; seed++) {
        for (size_t i = 0; i < b->trace.num_jobs; i++) {
            double factor = pow(4, 2 * rng_uniform(rng_key(seed, RNG_MISC, 2, 0, 0), i) - 1);
            double told = round((double)b->trace.jobs[i].steps * factor);
            b->trace.jobs[i].told_steps = told < 1 ? 1 : (int64_t)told;
        }
        double gain = b->fifo_s / run(b, &policy_srtf, NULL, false).average_completion_s;
        worst = fmin(worst, gain);
        sum += gain;
    }
    (void)printf("srtf with wrong lengths, %d draws: %.2fx at the worst, %.2fx on average\n", DRAWS, worst,
                 sum / DRAWS);
}

/* -- what an event costs
 * ------------------------------------------------------------------------------------- */

static void keep_running(void *context, const struct lanes_decision *d)
{
    if (d->kind == LANES_RUN)
        *(lanes_job_id *)context = d->job;
}

/* Microseconds of an iteration's end with so many jobs present; where there are thousands, most wait for
 * memory. */
static double event_us(const struct lanes_policy *policy, size_t jobs)
{
    lanes_job_id running = 0, id;
    const struct lanes_config config = {.max_jobs = jobs,
                                        .num_devices = 1,
                                        .capacity_bytes = {7000},
                                        .policy = policy,
                                        .decide = keep_running,
                                        .context = &running};
    struct scheduler *s;
    const int events = 2000;
    if (scheduler_new(&config, &s, NULL))
        bug("no scheduler");
    for (size_t i = 0; i < jobs; i++) {
        const struct lanes_request r = {.tag = i,
                                        .steps = 1000000,
                                        .persistent_bytes = 10,
                                        .ephemeral_bytes = (int64_t)i % 100,
                                        .weight = 1};
        if (scheduler_submit(s, (int64_t)i, &r, &id, NULL))
            bug("refused");
    }
    int64_t began = mono_ns();
    for (int i = 0; i < events; i++)
        scheduler_iteration_done(s, (int64_t)jobs + i, running, 1000 + i % 7, false);
    double us = (double)(mono_ns() - began) / 1e3 / events;
    scheduler_free(s);
    return us;
}

static void print_costs(void)
{
    const size_t counts[] = {10, 100, 1000, LIMIT_LANES_JOBS};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        (void)printf("| %zu | %.1f | %.1f | %.1f |\n", counts[i], event_us(&policy_srtf, counts[i]),
                     event_us(&policy_fair, counts[i]), event_us(&policy_fifo, counts[i]));
}

int main(int argc, char **argv)
{
    struct arena arena = ARENA_INIT(64 * MIB);
    struct bench b;
    struct fault fault = FAULT_NONE;
    if (argc != 2 || lanes_trace_read(argv[1], &arena, &b.trace, &fault)) {
        (void)fprintf(stderr, "bench_lanes: %s\n", argc == 2 ? fault.detail : "usage: bench_lanes TRACE");
        return 1;
    }
    b.fifo_s = run(&b, &policy_fifo, NULL, true).average_completion_s;
    print_policies(&b);
    puts("");
    print_differences(&b);
    puts("");
    print_wrong_lengths(&b);
    puts("");
    print_costs();
    arena_release(&arena);
    return 0;
}
