#include <limits.h>
#include "lanes/core/job.h"

#define SMOOTHING   4    /* a new measurement counts one part in so many */
#define LEARNT_MOST 1e18 /* then the sums are halved, and what is new counts more */

static int64_t capped(double ns)
{
    return ns < 4e18 ? (int64_t)ns : (int64_t)4e18;
}

void lanes_learn(struct scheduler *s, struct lanes_job *job, int64_t duration_ns)
{
    if (s->rules.whole_milliseconds)
        duration_ns = duration_ns / 1000000 * 1000000;
    job->attained_ns += duration_ns;
    job->steps_done++;
    if (job->step_ns > 0) {
        job->step_ns += (duration_ns - job->step_ns) / SMOOTHING;
        return;
    }
    job->step_ns = duration_ns > 0 ? duration_ns : 1;
    s->learnt_ns += (double)duration_ns;
    s->learnt_bytes += (double)job->ephemeral;
    if (s->learnt_ns > LEARNT_MOST || s->learnt_bytes > LEARNT_MOST) {
        s->learnt_ns /= 2;
        s->learnt_bytes /= 2;
    }
}

int64_t lanes_step_ns(const struct scheduler *s, const struct lanes_job *job)
{
    if (job->step_ns > 0)
        return job->step_ns;
    return s->learnt_bytes > 0 ? capped(s->learnt_ns / s->learnt_bytes * (double)job->ephemeral) : 0;
}

int64_t lanes_remaining_ns(const struct scheduler *s, const struct lanes_job *job)
{
    int64_t steps = job->request.steps - job->steps_done;
    if (steps <= 0)
        steps = job->steps_done > 0 ? job->steps_done : 1;
    return capped((double)lanes_step_ns(s, job) * (double)steps);
}
