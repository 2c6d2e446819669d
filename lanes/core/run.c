#include "lanes/core/concurrency.h"
#include "lanes/core/steps.h"

static struct lanes_job *pick(const struct scheduler *s, int device)
{
    const struct device_memory *m = &s->devices[device].memory;
    struct lanes_job *best = NULL;
    for (size_t i = 0; i < s->num_present; i++) {
        struct lanes_job *job = s->present[i];
        if (job->state == LANES_RESIDENT && job->device == device && !m->lanes[job->lane].is_running &&
            (!best || lanes_runs_before(s, job, best)))
            best = job;
    }
    return best;
}

static void run(struct scheduler *s, struct lanes_job *job)
{
    struct lanes_device *d = &s->devices[job->device];
    d->memory.lanes[job->lane].is_running = true;
    concurrency_begin(s, job);
    d->num_running++;
    job->state = LANES_RUNNING;
    job->last_run = ++s->iterations;
    lanes_decide(s, LANES_RUN, job);
}

/* As many as may run at once. */
static void run_all(struct scheduler *s, int device)
{
    const struct lanes_device *d = &s->devices[device];
    struct lanes_job *job;
    while (d->is_there && d->num_running < (size_t)d->concurrent && (job = pick(s, device)))
        run(s, job);
}

/* Lanes can be merged only between iterations: there is a new chance at each. */
static bool may_enter(const struct scheduler *s)
{
    bool is_there = s->memory_changed;
    for (size_t d = 0; d < s->config.num_devices; d++)
        is_there = is_there || s->devices[d].memory.num_lanes > (size_t)s->devices[d].concurrent;
    return is_there;
}

void lanes_settle(struct scheduler *s)
{
    if (may_enter(s))
        lanes_enter_waiting(s);
    if (lanes_balance(s))
        lanes_enter_waiting(s); /* there may be room where it was */
    s->memory_changed = false;
    for (int d = 0; d < (int)s->config.num_devices; d++) {
        do
            run_all(s, d);
        while (concurrency_settled(s, d));
        memory_check(&s->devices[d].memory);
    }
}
