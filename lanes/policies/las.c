/* Least attained service (Nuyens and Wierman 2008): good where nobody knows how long jobs are, as short ones
 * are done before they have had much. */
#include "lanes/core/job.h"
#include "lanes/policies/policies.h"

static bool attained_less(const struct scheduler *s, const struct lanes_job *a, const struct lanes_job *b)
{
    (void)s;
    return a->attained_ns < b->attained_ns;
}

const struct lanes_policy policy_las = {
    .name = "las", .help = "least time had so far; for jobs of unknown length", .runs_before = attained_less};
