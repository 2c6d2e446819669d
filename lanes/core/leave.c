#include <string.h>
#include "lanes/core/steps.h"

static int64_t largest_other(const struct scheduler *s, const struct lanes_job *job)
{
    int64_t largest = 0;
    for (size_t i = 0; i < s->num_present; i++) {
        const struct lanes_job *other = s->present[i];
        if (other != job && other->state != LANES_WAITING && other->device == job->device &&
            other->lane == job->lane && other->ephemeral > largest)
            largest = other->ephemeral;
    }
    return largest;
}

void lanes_free_memory(struct scheduler *s, struct lanes_job *job)
{
    memory_leave(&s->devices[job->device].memory, &s->rules, job->lane, job->persistent,
                 largest_other(s, job));
    job->state = LANES_WAITING;
    job->device = job->lane = -1;
    s->memory_changed = true;
}

void lanes_evict(struct scheduler *s, struct lanes_job *job)
{
    lanes_decide(s, LANES_EVICT, job);
    job->kept_steps = job->steps_done; /* evicting it is saving it */
    lanes_free_memory(s, job);
}

void lanes_leave(struct scheduler *s, struct lanes_job *job, enum lanes_leave_reason reason)
{
    size_t i = 0;
    int device = job->device;
    if (job->state == LANES_RESIDENT)
        lanes_free_memory(s, job);
    while (s->present[i] != job)
        i++;
    s->num_present--;
    memmove(&s->present[i], &s->present[i + 1], (s->num_present - i) * sizeof *s->present);
    job->reason = reason;
    lanes_decide(s, LANES_LEAVE, job);
    if (s->policy->on_leave)
        s->policy->on_leave(s, job);
    job->id = 0;
    s->free_jobs[s->config.max_jobs - s->num_present - 1] = job;
    if (device >= 0)
        lanes_shrink(s, device);
}

void lanes_end(struct scheduler *s, struct lanes_job *job, enum lanes_leave_reason reason)
{
    if (job->state != LANES_RUNNING) {
        lanes_leave(s, job, reason);
    } else if (!job->is_leaving) {
        job->is_leaving = true;
        job->reason = reason;
    }
}

/* Of the jobs that can be evicted, the one that would run last. */
static struct lanes_job *last_idle(const struct scheduler *s, int device)
{
    struct lanes_job *last = NULL;
    for (size_t i = 0; i < s->num_present; i++) {
        struct lanes_job *job = s->present[i];
        if (job->state == LANES_RESIDENT && job->device == device &&
            (!last || lanes_runs_before(s, last, job)))
            last = job;
    }
    return last;
}

void lanes_shrink(struct scheduler *s, int device)
{
    struct device_memory *m = &s->devices[device].memory;
    int64_t wanted = s->devices[device].wanted_capacity;
    int from, into;
    while (!s->rules.never_merge && memory_used(m) > wanted && memory_mergeable(m, 1, &from, &into))
        lanes_merge(s, device, from, into);
    for (struct lanes_job *job; memory_used(m) > wanted && (job = last_idle(s, device));)
        lanes_evict(s, job);
    m->capacity = memory_used(m) > wanted ? memory_used(m) : wanted;
}
