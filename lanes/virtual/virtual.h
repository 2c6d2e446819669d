/* Jobs on a scheduler under a virtual clock: the same rules as in a service, but a step takes as long as the
 * job's row says, and nothing takes real time. Exact: the same rows give the same nanoseconds everywhere. */
#ifndef FEDLANE_LANES_VIRTUAL_VIRTUAL_H
#define FEDLANE_LANES_VIRTUAL_VIRTUAL_H

#include "lanes/core/scheduler.h"

/* A job that comes, as it will turn out to be. */
struct virtual_job {
    int64_t arrival_ns;
    int64_t steps, step_ns; /* 1 or more; 0 or more */
    int64_t told_steps;     /* what it says on arrival; 0: nothing */
    int64_t told_length_ns; /* what an oracle says; 0: nothing */
    int64_t persistent_bytes, ephemeral_bytes;
    int priority, weight;
};

struct virtual_outcome {
    int64_t start_ns;  /* of its first iteration; -1 where it never ran */
    int64_t end_ns;    /* -1 where it was refused */
    int64_t waited_ns; /* for memory */
};

struct virtual_config {
    struct lanes_config lanes; /* decide and context are the run's own; max_jobs: the most present at once */
    /* With n iterations at once a device does so much work a second, in thousandths of what one alone does;
     * [0] is of one, where 0 stands for 1000 * the number. Of two on a device that one fills: {1000, 1000}.
     */
    int work_permille[LANES_MAX_CONCURRENT];
};

struct virtual_summary {
    size_t num_jobs, num_refused;
    double average_completion_s; /* from arrival to the end, over the jobs that ran */
    double p95_completion_s;
    double makespan_s; /* from the first arrival to the last end */
    double jain; /* Jain's index of what jobs had of the device per time that they were there, by weight */
    double max_slowdown; /* time there / time alone */
    int64_t overtakes;   /* jobs that came later and got memory sooner, over all that waited */
    int64_t iterations;
    size_t most_resident; /* jobs in memory at once */
};

struct virtual_run;

/* For runs of up to max_rows jobs. Errors as of scheduler_new. */
enum err virtual_new(const struct virtual_config *config, size_t max_rows, struct virtual_run **out,
                     struct fault *fault) MUST_CHECK;
void virtual_free(struct virtual_run *v);
/* Runs n <= max_rows rows, from an empty scheduler under a policy until all have ended; a policy with a state
 * of its own (auto) is the one of virtual_new. Rows may stand in any order; those that arrive at the same
 * time come in the order of the rows. Allocates nothing. */
void virtual_run(struct virtual_run *v, const struct lanes_policy *policy, const struct virtual_job *rows,
                 size_t n);
/* For the runs to come. */
void virtual_resize(struct virtual_run *v, int device, int64_t capacity_bytes);
/* Of the last run: a row's outcome, and the whole. */
const struct virtual_outcome *virtual_outcome_at(const struct virtual_run *v, size_t row);
struct virtual_summary virtual_summarise(const struct virtual_run *v);
/* Called after each event with the scheduler as it is then, in whoever looks at a run from within. */
void virtual_watch(struct virtual_run *v,
                   void (*watch)(void *context, const struct scheduler *s, int64_t now_ns), void *context);
/* As it is after the last run: scheduler_order and scheduler_reason say what `auto` chose last, and why. */
const struct scheduler *virtual_scheduler(const struct virtual_run *v);

#endif
