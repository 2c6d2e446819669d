/* A device with nothing in its memory takes a job of another that has more than it can run. That costs a way
 * over the host, so it is only done for an idle device, and not for a job that is about to end. */
#include "lanes/core/steps.h"

#define LEAST_STEPS 3 /* that a job must have left */

size_t lanes_num_resident(const struct scheduler *s, int device)
{
    size_t n = 0;
    for (size_t i = 0; i < s->num_present; i++)
        n += s->present[i]->device == device;
    return n;
}

static bool may_move(const struct scheduler *s, const struct lanes_job *job, int device)
{
    int64_t rest = job->request.steps - job->steps_done;
    return job->state == LANES_RESIDENT && job->device != device && lanes_could_hold(s, device, job) &&
           (rest >= LEAST_STEPS || rest <= 0) &&
           lanes_num_resident(s, job->device) > (size_t)s->devices[job->device].concurrent;
}

/* The one that would run first of those that do not. */
static struct lanes_job *next_to_move(const struct scheduler *s, int device)
{
    struct lanes_job *best = NULL;
    for (size_t i = 0; i < s->num_present; i++) {
        struct lanes_job *job = s->present[i];
        if (may_move(s, job, device) && (!best || lanes_runs_before(s, job, best)))
            best = job;
    }
    return best;
}

bool lanes_balance(struct scheduler *s)
{
    bool is_moved = false;
    for (int d = 0; d < (int)s->config.num_devices && s->config.num_devices > 1; d++) {
        if (!s->devices[d].is_there || lanes_num_resident(s, d) > 0)
            continue;
        struct lanes_job *job = next_to_move(s, d);
        if (!job)
            continue;
        lanes_evict(s, job);
        lanes_enter_on(s, job, d);
        is_moved = true;
    }
    return is_moved;
}
