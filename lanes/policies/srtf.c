/* Shortest remaining time first, with no oracle: a job says how many steps it does, and what a step takes is
 * measured. Aging bounds what long jobs suffer from those that come later: one that these passed by for
 * AGING_AFTER times as long as it takes alone is owed one AGING_SHARE-th of what they get from then on, so
 * that it ends after about AGING_AFTER + AGING_SHARE + 1 times that, however many come. A share, and not the
 * device: short jobs do not wait for all the rest of a long one. */
#include "lanes/core/job.h"
#include "lanes/policies/policies.h"

#define AGING_AFTER 4
#define AGING_SHARE 5

/* One that has not run yet is measured first: that takes a step, and then what it still needs is known. */
static int64_t rest_of(const struct scheduler *s, const struct lanes_job *job)
{
    bool is_measured = job->step_ns > 0 || job->state == LANES_WAITING;
    return is_measured ? lanes_remaining_ns(s, job) : lanes_step_ns(s, job);
}

/* What the job is owed, and did not get, less a step. */
static double owed(const struct scheduler *s, const struct lanes_job *job)
{
    double attained = (double)job->attained_ns, alone = attained + (double)lanes_remaining_ns(s, job);
    return ((double)job->passed_ns - AGING_AFTER * alone) / AGING_SHARE - attained -
           (double)lanes_step_ns(s, job);
}

/* All that came before the job were passed by. */
static void pass(struct scheduler *s, struct lanes_job *job, int64_t duration_ns)
{
    for (size_t i = 0; i < s->num_present && s->present[i] != job; i++)
        s->present[i]->passed_ns += duration_ns;
}

static bool ends_sooner(const struct scheduler *s, const struct lanes_job *a, const struct lanes_job *b)
{
    double owed_a = owed(s, a), owed_b = owed(s, b);
    if (owed_a > 0 || owed_b > 0)
        return owed_a > owed_b;
    return rest_of(s, a) < rest_of(s, b);
}

const struct lanes_policy policy_srtf = {.name = "srtf",
                                         .help = "shortest remaining time first, as measured; nobody starves",
                                         .runs_before = ends_sooner,
                                         .on_iteration = pass};
