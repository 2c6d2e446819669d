/* Who comes first runs until it is done, and gets memory first. */
#include "lanes/core/job.h"
#include "lanes/policies/policies.h"

static bool arrived_before(const struct scheduler *s, const struct lanes_job *a, const struct lanes_job *b)
{
    (void)s;
    return a->id < b->id;
}

const struct lanes_policy policy_fifo = {.name = "fifo",
                                         .help = "in the order of arrival, each until it is done",
                                         .rules.in_order = true,
                                         .runs_before = arrived_before};
