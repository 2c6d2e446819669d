/* As many jobs in memory as possible: the smallest get memory first, and lanes take turns. */
#include "lanes/core/job.h"
#include "lanes/policies/policies.h"

static bool ran_before(const struct scheduler *s, const struct lanes_job *a, const struct lanes_job *b)
{
    (void)s;
    return a->last_run < b->last_run;
}

static bool is_smaller(const struct scheduler *s, const struct lanes_job *a, const struct lanes_job *b)
{
    (void)s;
    return a->persistent + a->ephemeral < b->persistent + b->ephemeral;
}

const struct lanes_policy policy_pack = {.name = "pack",
                                         .help = "most jobs in memory: the smallest first; then in turns",
                                         .runs_before = ran_before,
                                         .enters_before = is_smaller};
