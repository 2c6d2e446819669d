/* Salus's own rules, as its code has them and not its paper: lanes of
 * size P + E, first fit, that never grow or merge; P and E padded by 10 % and 5 %; those that wait overtake
 * each other without end; times in whole milliseconds. Its SRTF is told how long jobs are, and takes one of
 * unknown length for the most urgent; its FAIR lets a newcomer run alone until it had as much as the others.
 */
#include "lanes/core/job.h"
#include "lanes/policies/policies.h"

#define SALUS_RULES                                                                                          \
    .rules = {.pad_persistent_percent = 10,                                                                  \
              .pad_ephemeral_percent = 5,                                                                    \
              .lane_holds_persistent = true,                                                                 \
              .fixed_lanes = true,                                                                           \
              .never_merge = true,                                                                           \
              .unbounded_overtaking = true,                                                                  \
              .whole_milliseconds = true}

static bool arrived_before(const struct scheduler *s, const struct lanes_job *a, const struct lanes_job *b)
{
    (void)s;
    return a->id < b->id;
}

static int64_t told_rest(const struct lanes_job *job)
{
    int64_t rest = job->request.told_length_ns - job->attained_ns;
    return rest > 0 ? rest / 1000000 : 0;
}

static bool told_to_end_sooner(const struct scheduler *s, const struct lanes_job *a,
                               const struct lanes_job *b)
{
    (void)s;
    return told_rest(a) < told_rest(b);
}

static bool had_less(const struct scheduler *s, const struct lanes_job *a, const struct lanes_job *b)
{
    (void)s;
    return a->attained_ns < b->attained_ns;
}

const struct lanes_policy policy_salus_fifo = {.name = "salus-fifo",
                                               .help = "Salus's FIFO, to compare with",
                                               SALUS_RULES,
                                               .runs_before = arrived_before};
const struct lanes_policy policy_salus_srtf = {.name = "salus-srtf",
                                               .help = "Salus's SRTF, which is told how long jobs are",
                                               SALUS_RULES,
                                               .runs_before = told_to_end_sooner,
                                               .enters_before = arrived_before};
const struct lanes_policy policy_salus_fair = {.name = "salus-fair",
                                               .help = "Salus's FAIR: least time had so far",
                                               SALUS_RULES,
                                               .runs_before = had_less,
                                               .enters_before = arrived_before};
