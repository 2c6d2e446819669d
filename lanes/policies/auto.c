/* The policy that would have been best for what came lately. At every REPLAY_EVERY-th arrival or end, the
 * last jobs that ended and those that are here (arrival, steps, time per step, memory) run through a copy of
 * the scheduler on a virtual clock, once under each policy. The best takes over if it beats the one in force
 * by SWITCH_PERCENT; else nothing changes, so that two that are alike do not take turns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lanes/core/job.h"
#include "lanes/policies/policies.h"
#include "lanes/virtual/virtual.h"

#define WINDOW         32 /* jobs that ended */
#define PRESENT        32 /* and as many that are here, the first to come */
#define MAX_ROWS       (WINDOW + PRESENT)
#define LEAST_ROWS     4
#define REPLAY_EVERY   8
#define REPLAY_STEPS   16 /* a job's steps are put together to so many at most: a replay takes milliseconds */
#define MOST_STEP_NS   ((int64_t)100000000000000)
#define SWITCH_PERCENT 5

static const struct lanes_policy *const candidates[] = {&policy_srtf, &policy_las,  &policy_fair,
                                                        &policy_pack, &policy_fifo, &policy_priority};
#define NUM_CANDIDATES (sizeof candidates / sizeof *candidates)

struct autopilot {
    struct virtual_run *replay;
    struct virtual_job ended[WINDOW]; /* a ring */
    size_t num_ended, next_ended;
    struct virtual_job rows[MAX_ROWS];
    int events; /* since the last replay */
    double costs[NUM_CANDIDATES];
    char reason[200];
};

/* Never runs: `auto` replays with its own rules, and it alone decides when. */
static bool by_the_order(const struct scheduler *s, const struct lanes_job *a, const struct lanes_job *b)
{
    return s->order->runs_before(s, a, b);
}

static void choose(struct scheduler *s, const struct lanes_policy *order)
{
    s->order = order;
    for (size_t i = 0; i < s->num_present && order->on_arrive; i++)
        order->on_arrive(s, s->present[i]);
    s->memory_changed = true;
}

/* -- what is replayed
 * ---------------------------------------------------------------------------------------- */

/* A job that took, or will take, so many steps. */
static struct virtual_job row_of(const struct scheduler *s, const struct lanes_job *job, int64_t steps)
{
    int64_t step_ns = lanes_step_ns(s, job), told = job->request.steps;
    int64_t merged = (steps + REPLAY_STEPS - 1) / REPLAY_STEPS; /* steps that become one */
    if (merged < 1)
        merged = 1;
    double merged_ns = (double)step_ns * (double)merged;
    return (struct virtual_job){.arrival_ns = job->arrived_ns,
                                .steps = steps > merged ? (steps + merged - 1) / merged : 1,
                                .step_ns =
                                    merged_ns < (double)MOST_STEP_NS ? (int64_t)merged_ns : MOST_STEP_NS,
                                .told_steps = told > 0 ? (told + merged - 1) / merged : 0,
                                .told_length_ns = job->request.told_length_ns,
                                .persistent_bytes = job->persistent,
                                .ephemeral_bytes = job->ephemeral,
                                .priority = job->request.priority,
                                .weight = job->request.weight};
}

static int64_t expected_steps(const struct lanes_job *job)
{
    if (job->request.steps > job->steps_done)
        return job->request.steps;
    return job->steps_done > 0 ? 2 * job->steps_done : 1;
}

static size_t collect(const struct scheduler *s, struct autopilot *a)
{
    size_t n = 0;
    for (; n < a->num_ended; n++)
        a->rows[n] = a->ended[n];
    for (size_t i = 0; i < s->num_present && i < PRESENT; i++)
        a->rows[n++] = row_of(s, s->present[i], expected_steps(s->present[i]));
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < n; i++)
        first = a->rows[i].arrival_ns < first ? a->rows[i].arrival_ns : first;
    for (size_t i = 0; i < n; i++)
        a->rows[i].arrival_ns -= first;
    return n;
}

/* -- choosing
 * ------------------------------------------------------------------------------------------------ */

static double cost_of(const struct scheduler *s, const struct virtual_summary *summary)
{
    switch (s->config.objective) {
    case LANES_P95_COMPLETION:
        return summary->p95_completion_s;
    case LANES_FAIRNESS:
        return summary->jain > 0 ? 1 / summary->jain : 1;
    case LANES_AVERAGE_COMPLETION:
    default:
        return summary->average_completion_s;
    }
}

static const char *cost_name(const struct scheduler *s)
{
    static const char *const names[] = {"s on average", "s at the 95th percentile",
                                        "times Jain's unfairness"};
    return names[s->config.objective];
}

static void say_why(const struct scheduler *s, struct autopilot *a, size_t best, size_t current, size_t n)
{
    if (best == current)
        (void)snprintf(a->reason, sizeof a->reason, "%s stays: %.4g %s for the last %zu jobs",
                       candidates[best]->name, a->costs[best], cost_name(s), n);
    else
        (void)snprintf(a->reason, sizeof a->reason, "%s: %.4g %s for the last %zu jobs, %s takes %.4g",
                       candidates[best]->name, a->costs[best], cost_name(s), n, candidates[current]->name,
                       a->costs[current]);
}

static void replay(struct scheduler *s, struct autopilot *a)
{
    size_t n = collect(s, a), best = 0, current = 0;
    if (n < LEAST_ROWS)
        return;
    for (size_t d = 0; d < s->config.num_devices; d++)
        virtual_resize(a->replay, (int)d, s->devices[d].wanted_capacity);
    for (size_t c = 0; c < NUM_CANDIDATES; c++) {
        virtual_run(a->replay, candidates[c], a->rows, n);
        struct virtual_summary summary = virtual_summarise(a->replay);
        a->costs[c] = cost_of(s, &summary);
        best = a->costs[c] < a->costs[best] ? c : best;
        current = candidates[c] == s->order ? c : current;
    }
    if (a->costs[best] * (100 + SWITCH_PERCENT) >= a->costs[current] * 100)
        best = current;
    say_why(s, a, best, current, n);
    if (best != current)
        choose(s, candidates[best]);
}

static void count_event(struct scheduler *s)
{
    struct autopilot *a = s->policy_state;
    if (++a->events < REPLAY_EVERY)
        return;
    a->events = 0;
    replay(s, a);
}

/* -- the policy
 * ---------------------------------------------------------------------------------------------- */

static void on_arrive(struct scheduler *s, struct lanes_job *job)
{
    if (s->order->on_arrive)
        s->order->on_arrive(s, job);
    count_event(s);
}

static void on_enter(struct scheduler *s, struct lanes_job *job)
{
    if (s->order->on_enter)
        s->order->on_enter(s, job);
}

static void on_iteration(struct scheduler *s, struct lanes_job *job, int64_t duration_ns)
{
    if (s->order->on_iteration)
        s->order->on_iteration(s, job, duration_ns);
}

static void on_leave(struct scheduler *s, struct lanes_job *job)
{
    struct autopilot *a = s->policy_state;
    if (s->order->on_leave)
        s->order->on_leave(s, job);
    if (job->steps_done == 0)
        return;
    a->ended[a->next_ended] = row_of(s, job, job->steps_done);
    a->next_ended = (a->next_ended + 1) % WINDOW;
    a->num_ended += a->num_ended < WINDOW;
    count_event(s);
}

static void reset(struct scheduler *s)
{
    struct autopilot *a = s->policy_state;
    a->num_ended = a->next_ended = 0;
    a->events = 0;
    s->order = &policy_srtf;
    (void)snprintf(a->reason, sizeof a->reason, "srtf, to begin with");
}

static void autopilot_close(struct scheduler *s)
{
    struct autopilot *a = s->policy_state;
    if (a)
        virtual_free(a->replay);
    free(a);
    s->policy_state = NULL;
}

static enum err autopilot_open(struct scheduler *s)
{
    struct virtual_config config = {.lanes = s->config};
    struct autopilot *a = calloc(1, sizeof *a);
    if (!a)
        return ERR_NO_MEMORY;
    s->policy_state = a;
    config.lanes.max_jobs = MAX_ROWS;
    config.lanes.max_concurrent = 1;
    config.lanes.policy = &policy_srtf;
    config.lanes.rules = &policy_auto.rules;
    return virtual_new(&config, MAX_ROWS, &a->replay, NULL);
}

static const char *reason(const struct scheduler *s)
{
    return ((const struct autopilot *)s->policy_state)->reason;
}

const struct lanes_policy policy_auto = {.name = "auto",
                                         .help = "the best of the others for what came lately",
                                         .runs_before = by_the_order,
                                         .on_arrive = on_arrive,
                                         .on_enter = on_enter,
                                         .on_iteration = on_iteration,
                                         .on_leave = on_leave,
                                         .open = autopilot_open,
                                         .reset = reset,
                                         .close = autopilot_close,
                                         .reason = reason};
