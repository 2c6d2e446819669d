#include "lanes/core/steps.h"

size_t scheduler_num_jobs(const struct scheduler *s)
{
    return s->num_present;
}

int64_t scheduler_overtakes(const struct scheduler *s)
{
    return s->overtakes;
}

const struct lanes_policy *scheduler_order(const struct scheduler *s)
{
    return s->order;
}

const char *scheduler_reason(const struct scheduler *s)
{
    return s->policy->reason ? s->policy->reason(s) : "";
}

struct lanes_device_view scheduler_device(const struct scheduler *s, int device)
{
    const struct lanes_device *d = &s->devices[device];
    struct lanes_device_view view = {.is_there = d->is_there,
                                     .capacity_bytes = d->memory.capacity,
                                     .persistent_bytes = d->memory.persistent,
                                     .lane_bytes = d->memory.in_lanes,
                                     .num_lanes = d->memory.num_lanes,
                                     .num_resident = lanes_num_resident(s, device),
                                     .num_running = d->num_running,
                                     .concurrent = d->concurrent};
    return view;
}

/* -- the queue
 * ----------------------------------------------------------------------------------------------- */

/* Whether a is done, or has memory, before b gets some. */
static bool is_ahead(const struct scheduler *s, const struct lanes_job *a, const struct lanes_job *b)
{
    return a->state != LANES_WAITING || lanes_enters_before(s, a, b);
}

/* The order in which those ahead are expected to end: the ones in memory first. */
static bool ends_before(const struct scheduler *s, const struct lanes_job *a, const struct lanes_job *b)
{
    bool a_waits = a->state == LANES_WAITING, b_waits = b->state == LANES_WAITING;
    if (a_waits != b_waits)
        return b_waits;
    return a_waits ? lanes_enters_before(s, a, b) : lanes_runs_before(s, a, b);
}

/* When the job gets memory if those ahead of it run one after the other: as soon as those that are left, and
 * it, fit with all of them in one lane. */
static int64_t estimate_start(const struct scheduler *s, const struct lanes_job *job)
{
    int64_t capacity = 0, persistent = job->persistent, largest = job->ephemeral;
    double wait_ns = 0;
    size_t n = 0;
    for (size_t d = 0; d < s->config.num_devices; d++)
        if (lanes_could_hold(s, (int)d, job))
            capacity += s->devices[d].wanted_capacity;
    for (size_t i = 0; i < s->num_present; i++)
        if (s->present[i] != job && is_ahead(s, s->present[i], job))
            s->scratch[n++] = s->present[i];
    lanes_sort_scratch(s, n, ends_before);
    /* From the last on: what still fits beside the job need not end before it begins. */
    while (n > 0) {
        const struct lanes_job *other = s->scratch[n - 1];
        largest = other->ephemeral > largest ? other->ephemeral : largest;
        persistent += other->persistent;
        if (persistent > capacity || largest > capacity - persistent)
            break;
        n--;
    }
    for (; n > 0; n--)
        wait_ns += (double)lanes_remaining_ns(s, s->scratch[n - 1]);
    wait_ns /= (double)s->config.num_devices;
    return wait_ns < 4e18 ? s->now_ns + (int64_t)wait_ns : INT64_MAX;
}

static struct lanes_job_view view_of(const struct lanes_job *job)
{
    return (struct lanes_job_view){.id = job->id,
                                   .request = job->request,
                                   .state = job->state,
                                   .device = job->device,
                                   .lane = job->lane,
                                   .arrived_ns = job->arrived_ns,
                                   .steps_done = job->steps_done,
                                   .attained_ns = job->attained_ns,
                                   .step_ns = job->step_ns,
                                   .overtaken = job->overtaken,
                                   .strikes = job->strikes};
}

static int position(const struct scheduler *s, const struct lanes_job *job)
{
    int n = 1;
    for (size_t i = 0; i < s->num_present; i++)
        n += s->present[i]->state == LANES_WAITING && s->present[i] != job &&
             lanes_enters_before(s, s->present[i], job);
    return n;
}

struct lanes_job_view scheduler_job_at(const struct scheduler *s, size_t i)
{
    return view_of(s->present[i]);
}

bool scheduler_job(const struct scheduler *s, lanes_job_id id, struct lanes_job_view *out)
{
    const struct lanes_job *job = lanes_find(s, id);
    if (!job)
        return false;
    *out = view_of(job);
    if (job->state == LANES_WAITING) {
        out->position = position(s, job);
        out->estimated_start_ns = estimate_start(s, job);
    }
    return true;
}
