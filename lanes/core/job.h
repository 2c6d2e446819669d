/* What the core and the policies know of a job and of the scheduler. */
#ifndef FEDLANE_LANES_CORE_JOB_H
#define FEDLANE_LANES_CORE_JOB_H

#include "lanes/core/memory.h"
#include "lanes/core/policy.h"
#include "lanes/core/scheduler.h"

struct lanes_job {
    lanes_job_id id; /* grows with each submission; 0: the place is free */
    struct lanes_request request;
    int64_t persistent, ephemeral; /* as counted: what is asked for, and the padding */
    enum lanes_job_state state;
    int device, lane;
    bool is_leaving; /* with its running iteration */
    enum lanes_leave_reason reason;
    int overtaken, strikes;
    int64_t arrived_ns;
    int64_t steps_done, kept_steps; /* kept: what the checkpoint has */
    int64_t attained_ns;            /* service that it got */
    int64_t step_ns;                /* of its last iterations, smoothed; 0 before the first */
    int64_t passed_ns;              /* that jobs which came later had since this one came; kept by `srtf` */
    int64_t virtual_ns;             /* start tag of its next iteration under `fair` */
    int64_t last_run;               /* the count of all iterations when its last one began */
    bool is_alone;                  /* no other iteration ran on the device since this one began */
    int64_t alone_ns;               /* how long its last such iteration took; 0: there was none */
};

struct lanes_device {
    struct device_memory memory;
    int64_t wanted_capacity; /* what memory.capacity comes down to as iterations end */
    bool is_there;
    size_t num_running;
    int concurrent; /* the rest: concurrency.h */
    int wait, until_trial, window;
    int64_t window_began_ns, window_work_ns;
    double work_rate[LANES_MAX_CONCURRENT + 1]; /* with so many at once; 1 is what one does alone */
};

struct scheduler {
    struct lanes_config config;
    struct lanes_rules rules;
    const struct lanes_policy *policy, *order; /* order: whose comparisons count; `auto` sets it */
    void *policy_state;
    int64_t now_ns;
    struct lanes_device devices[LANES_MAX_DEVICES];
    struct lanes_job *jobs;     /* [config.max_jobs], in any place */
    struct lanes_job **present; /* [num_present], in the order of arrival */
    size_t num_present;
    struct lanes_job **free_jobs; /* [max_jobs - num_present] */
    struct lanes_job **scratch;   /* [max_jobs], for the length of a call */
    uint64_t last_id;
    int64_t iterations, overtakes;
    bool memory_changed; /* since those that wait were looked at */
    /* Of all first iterations: what a step costs by the byte of E, for jobs that have none yet. */
    double learnt_ns, learnt_bytes;
};

/* How long a step takes, as measured, or by what steps of others cost; 0 where nothing is known at all. */
int64_t lanes_step_ns(const struct scheduler *s, const struct lanes_job *job);
/* Time that the job still needs on the device. One that has done all its steps and goes on, or did not say
 * how many there are, is expected to need as much again as it had. */
int64_t lanes_remaining_ns(const struct scheduler *s, const struct lanes_job *job);
void lanes_learn(struct scheduler *s, struct lanes_job *job, int64_t duration_ns);

/* The comparisons with ties to who arrived first. */
bool lanes_runs_before(const struct scheduler *s, const struct lanes_job *a, const struct lanes_job *b);
bool lanes_enters_before(const struct scheduler *s, const struct lanes_job *a, const struct lanes_job *b);

#endif
