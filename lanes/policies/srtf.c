/* Shortest remaining time first, with no oracle: a job says how many steps it does, and what a step takes is
 * measured. Aging bounds what long jobs suffer: one that has already been slowed down by more than
 * AGING_SLOWDOWN goes first, the most slowed one of several. */
#include "lanes/core/job.h"
#include "lanes/policies/policies.h"

#define AGING_SLOWDOWN 10

/* One that has not run yet is measured first: that takes a step, and then what it still needs is known. */
static int64_t rest_of(const struct scheduler *s, const struct lanes_job *job)
{
    bool is_measured = job->step_ns > 0 || job->state == LANES_WAITING;
    return is_measured ? lanes_remaining_ns(s, job) : lanes_step_ns(s, job);
}

/* How much longer than alone the job will have taken at the least. */
static double slowdown(const struct scheduler *s, const struct lanes_job *job)
{
    double rest = (double)lanes_remaining_ns(s, job), alone = (double)job->attained_ns + rest;
    return ((double)(s->now_ns - job->arrived_ns) + rest) / (alone > 1 ? alone : 1);
}

static bool ends_sooner(const struct scheduler *s, const struct lanes_job *a, const struct lanes_job *b)
{
    double slow_a = slowdown(s, a), slow_b = slowdown(s, b);
    if (slow_a > AGING_SLOWDOWN || slow_b > AGING_SLOWDOWN)
        return slow_a > slow_b;
    return rest_of(s, a) < rest_of(s, b);
}

const struct lanes_policy policy_srtf = {.name = "srtf",
                                         .help = "shortest remaining time first, as measured; nobody starves",
                                         .runs_before = ends_sooner};
