/* The higher priority first; equal ones in the order of arrival. */
#include "lanes/core/job.h"
#include "lanes/policies/policies.h"

static bool is_higher(const struct scheduler *s, const struct lanes_job *a, const struct lanes_job *b)
{
    (void)s;
    return a->request.priority > b->request.priority;
}

const struct lanes_policy policy_priority = {.name = "priority",
                                             .help = "the higher priority first, equal ones as they came",
                                             .runs_before = is_higher};
