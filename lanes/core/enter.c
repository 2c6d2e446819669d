/* Who gets memory. In the policy's order, those that fit; but each job that is overtaken by one that came
 * later counts that, and at the limit nobody who came later gets memory of a device that it fits on, until it
 * has some: the device drains, and in the end it fits. So every job gets memory, and none is overtaken more
 * often than the limit says. */
#include "lanes/core/steps.h"

bool lanes_could_hold(const struct scheduler *s, int device, const struct lanes_job *job)
{
    return job->persistent <= s->devices[device].wanted_capacity &&
           job->ephemeral <= s->devices[device].wanted_capacity - job->persistent;
}

void lanes_merge(struct scheduler *s, int device, int from, int into)
{
    memory_merge(&s->devices[device].memory, from, into);
    for (size_t i = 0; i < s->num_present; i++) {
        struct lanes_job *job = s->present[i];
        if (job->state == LANES_WAITING || job->device != device || job->lane != from)
            continue;
        job->lane = into;
        lanes_decide(s, LANES_MOVE, job);
    }
}

/* -- overtaking
 * ---------------------------------------------------------------------------------------------- */

/* The first to arrive of those at the limit that the device could hold; who came later may not enter there.
 */
static lanes_job_id barrier(const struct scheduler *s, int device)
{
    for (size_t i = 0; i < s->num_present && !s->rules.unbounded_overtaking; i++) {
        const struct lanes_job *job = s->present[i];
        if (job->state == LANES_WAITING && job->overtaken >= s->config.overtake_limit &&
            lanes_could_hold(s, device, job))
            return job->id;
    }
    return UINT64_MAX;
}

static void find_barriers(const struct scheduler *s, lanes_job_id barriers[LANES_MAX_DEVICES])
{
    for (size_t d = 0; d < s->config.num_devices; d++)
        barriers[d] = barrier(s, (int)d);
}

static void count_overtaken(struct scheduler *s, const struct lanes_job *entered)
{
    for (size_t i = 0; i < s->num_present && s->present[i]->id < entered->id; i++) {
        /* What goes to a device that could never hold it is nothing that it loses. */
        if (s->present[i]->state != LANES_WAITING || !lanes_could_hold(s, entered->device, s->present[i]))
            continue;
        s->present[i]->overtaken++;
        s->overtakes++;
    }
}

/* -- entering
 * ------------------------------------------------------------------------------------------------ */

static void take(struct scheduler *s, struct lanes_job *job, int device, struct fit fit)
{
    struct device_memory *m = &s->devices[device].memory;
    if (s->policy->on_enter)
        s->policy->on_enter(s, job);
    job->lane = memory_enter(m, &s->rules, fit, job->persistent, job->ephemeral);
    job->device = device;
    job->state = LANES_RESIDENT;
    lanes_decide(s, LANES_ENTER, job);
}

void lanes_enter_on(struct scheduler *s, struct lanes_job *job, int device)
{
    struct fit fit = memory_fit(&s->devices[device].memory, &s->rules, job->persistent, job->ephemeral);
    if (fit.kind == FIT_NONE)
        bug("an empty device does not hold what it could hold");
    take(s, job, device, fit);
}

/* What lanes have at the least when all are one: room for P and E beside them, with that lane's own memory.
 */
static bool may_fit(const struct scheduler *s, int device, const struct lanes_job *job)
{
    const struct device_memory *m = &s->devices[device].memory;
    int64_t largest = 0, room = m->capacity - m->persistent - job->persistent;
    for (int l = 0; l < LANES_MAX_LANES; l++)
        largest = m->lanes[l].size > largest ? m->lanes[l].size : largest;
    return room >= largest && room >= job->ephemeral;
}

/* Merges lanes only where that helps. */
static bool enter_by_merging(struct scheduler *s, struct lanes_job *job, int device)
{
    struct lanes_device *d = &s->devices[device];
    struct device_memory trial = d->memory;
    struct fit fit = {FIT_NONE, -1};
    int from, into, merges = 0;
    if (!may_fit(s, device, job))
        return false;
    while (fit.kind == FIT_NONE && memory_mergeable(&trial, (size_t)d->concurrent, &from, &into)) {
        memory_merge(&trial, from, into);
        merges++;
        fit = memory_fit(&trial, &s->rules, job->persistent, job->ephemeral);
    }
    if (fit.kind == FIT_NONE)
        return false;
    for (; merges > 0 && memory_mergeable(&d->memory, (size_t)d->concurrent, &from, &into); merges--)
        lanes_merge(s, device, from, into);
    take(s, job, device, fit);
    count_overtaken(s, job);
    return true;
}

/* On the device with the fewest jobs, of those where it fits without merging, or else with it. */
static bool enter(struct scheduler *s, struct lanes_job *job, const lanes_job_id barriers[LANES_MAX_DEVICES])
{
    struct fit fit = {FIT_NONE, -1};
    size_t fewest = 0;
    int device = -1;
    for (int d = 0; d < (int)s->config.num_devices; d++) {
        if (!s->devices[d].is_there || job->id > barriers[d])
            continue;
        struct fit here = memory_fit(&s->devices[d].memory, &s->rules, job->persistent, job->ephemeral);
        if (here.kind == FIT_NONE || (device >= 0 && lanes_num_resident(s, d) >= fewest))
            continue;
        fit = here;
        device = d;
        fewest = lanes_num_resident(s, d);
    }
    if (device >= 0) {
        take(s, job, device, fit);
        count_overtaken(s, job);
        return true;
    }
    for (int d = 0; d < (int)s->config.num_devices && !s->rules.never_merge; d++)
        if (s->devices[d].is_there && job->id <= barriers[d] && enter_by_merging(s, job, d))
            return true;
    return false;
}

/* Most of a long queue need not be put in order. But where nobody may overtake, the first counts that does
 * not fit, and Salus's lanes have other sums. */
static bool may_fit_somewhere(const struct scheduler *s, const struct lanes_job *job)
{
    bool may = s->rules.in_order || s->rules.lane_holds_persistent;
    for (int d = 0; d < (int)s->config.num_devices && !may; d++)
        may = s->devices[d].is_there && may_fit(s, d, job);
    return may;
}

void lanes_enter_waiting(struct scheduler *s)
{
    lanes_job_id barriers[LANES_MAX_DEVICES] = {0};
    size_t n = 0;
    for (size_t i = 0; i < s->num_present; i++)
        if (s->present[i]->state == LANES_WAITING && may_fit_somewhere(s, s->present[i]))
            s->scratch[n++] = s->present[i];
    if (n == 0)
        return;
    lanes_sort_scratch(s, n, lanes_enters_before);
    find_barriers(s, barriers);
    for (size_t i = 0; i < n; i++) {
        if (enter(s, s->scratch[i], barriers))
            find_barriers(s, barriers);
        else if (s->rules.in_order)
            return;
    }
}
