/* Start-time fair queueing (Goyal, Vin and Cheng 1996) of iterations: a job's next iteration has a start tag,
 * which grows by the time of each iteration divided by the job's weight, and the smallest goes first. A
 * newcomer begins at the smallest tag of those that are there: it neither waits for what others had before it
 * came nor makes up for it. */
#include "lanes/core/job.h"
#include "lanes/policies/policies.h"

static bool starts_before(const struct scheduler *s, const struct lanes_job *a, const struct lanes_job *b)
{
    (void)s;
    return a->virtual_ns < b->virtual_ns;
}

/* Also when the policy takes over: what jobs had before is no debt of anyone's. */
static void begin_at_nothing(struct scheduler *s, struct lanes_job *job)
{
    (void)s;
    job->virtual_ns = 0;
}

static void begin_at_the_smallest(struct scheduler *s, struct lanes_job *job)
{
    const struct lanes_job *first = NULL;
    for (size_t i = 0; i < s->num_present; i++) {
        const struct lanes_job *other = s->present[i];
        /* One that has no memory stands still, and would hold back the newcomers' tags. */
        if (other != job && other->state != LANES_WAITING && (!first || starts_before(s, other, first)))
            first = other;
    }
    if (first && first->virtual_ns > job->virtual_ns)
        job->virtual_ns = first->virtual_ns;
}

static void advance(struct scheduler *s, struct lanes_job *job, int64_t duration_ns)
{
    (void)s;
    job->virtual_ns += duration_ns / job->request.weight;
}

const struct lanes_policy policy_fair = {.name = "fair",
                                         .help = "equal shares of time, by weight",
                                         .runs_before = starts_before,
                                         .on_arrive = begin_at_nothing,
                                         .on_enter = begin_at_the_smallest,
                                         .on_iteration = advance};
