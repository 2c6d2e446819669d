/* Many training jobs on one or more devices, one iteration at a time. Events go in, decisions come out;
 * nothing here knows a device, a clock, a file or a process, so that a service with real executors and a
 * simulation on a virtual clock run the same rules.
 *
 * Times are nanoseconds of whatever clock the caller has, and never go back. Memory is exact, in bytes: a job
 * needs P (persistent: weights, optimizer state, data) as long as it is in a device's memory, and E
 * (ephemeral) only while one of its iterations runs. A lane is memory for E that its jobs use in turns. Of
 * each device with capacity C, sum(P) + sum(lanes) <= C holds at all times (Yu and Chowdhury, Salus,
 * MLSys 2020, section 3.2). How lanes are made, grown, merged and shrunk: lanes/core/memory.h.
 *
 * All memory is taken by scheduler_new; no event allocates. Not for several threads at a time. */
#ifndef FEDLANE_LANES_CORE_SCHEDULER_H
#define FEDLANE_LANES_CORE_SCHEDULER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"

struct scheduler;
struct lanes_policy; /* lanes/core/policy.h; the table is lanes/policies/policies.h */

typedef uint64_t lanes_job_id; /* never 0, never given twice by one scheduler */

#define LANES_MAX_DEVICES    16
#define LANES_MAX_LANES      64   /* of one device */
#define LANES_MAX_CONCURRENT 8    /* iterations that run at once on one device */
#define LANES_MAX_WEIGHT     1000 /* of a job */
#define LANES_OVERTAKE_LIMIT 64   /* the default */
#define LANES_MAX_STRIKES    2    /* executors that a job may take down before it fails */

/* What `auto` makes best. */
enum lanes_objective {
    LANES_AVERAGE_COMPLETION, /* least average time from arrival to the end */
    LANES_P95_COMPLETION,     /* least 95th percentile of the same */
    LANES_FAIRNESS,           /* greatest Jain index of shares */
};

/* What a client asks for. */
struct lanes_request {
    uint64_t tag;    /* the caller's own name for the job; comes back in decisions */
    uint64_t client; /* whose death ends the job */
    /* Steps that the job will do, 0 where nobody knows. Only a basis of estimates: a job ends when its
     * executor says so. */
    int64_t steps;
    int64_t persistent_bytes, ephemeral_bytes; /* P and E, 0 or more */
    int priority;                              /* the higher, the sooner; `priority` looks at it */
    int weight; /* its share against others', 1 to LANES_MAX_WEIGHT; `fair` looks at it */
    /* How long the whole job takes, as an oracle says, 0 where none does. Only Salus's rules look at it. */
    int64_t told_length_ns;
};

enum lanes_decision_kind {
    LANES_ENTER, /* the job has memory on a device, and a lane: put its P there */
    LANES_MOVE,  /* the job runs in another lane from now on (nothing of it is in the lane: E is empty) */
    LANES_RUN,   /* run one iteration of the job in its lane; then comes scheduler_iteration_done */
    LANES_EVICT, /* save the job's P to the host and free it: it waits for memory, or has some elsewhere at
                    once */
    LANES_LEAVE, /* the job is gone, and its memory free; the id is good for nothing any more */
};

enum lanes_leave_reason {
    LANES_FINISHED,
    LANES_CANCELLED,
    LANES_CLIENT_DIED,
    LANES_STRUCK,    /* it was running when its executor was lost, LANES_MAX_STRIKES times */
    LANES_TOO_LARGE, /* devices were made smaller, and none can hold it any more */
};

struct lanes_decision {
    enum lanes_decision_kind kind;
    lanes_job_id job;
    uint64_t tag;
    int device, lane;               /* -1 where there is none */
    enum lanes_leave_reason reason; /* of LANES_LEAVE */
};

struct lanes_config {
    size_t max_jobs; /* at once, 1 to LIMIT_LANES_JOBS; beyond it a submission is refused */
    size_t num_devices;
    int64_t capacity_bytes[LANES_MAX_DEVICES];
    /* Iterations that may run at once on a device, in lanes of their own; 0 counts as 1. More than one are
     * kept only where they are measured to be worth it: lanes/core/concurrency.h. */
    int max_concurrent;
    /* How many jobs that came later may get memory before a waiting one; 0: LANES_OVERTAKE_LIMIT. */
    int overtake_limit;
    const struct lanes_policy *policy;
    enum lanes_objective objective;
    const struct lanes_rules *rules; /* NULL: the policy's own; lanes/core/policy.h */
    /* Called within the event functions, in the order in which decisions are to be carried out. It must not
     * call the scheduler. */
    void (*decide)(void *context, const struct lanes_decision *decision);
    void *context;
};

/* ERR_INVALID_FIELD: a number is out of its bounds. ERR_NO_MEMORY. */
enum err scheduler_new(const struct lanes_config *config, struct scheduler **out,
                       struct fault *fault) MUST_CHECK;
void scheduler_free(struct scheduler *s);
/* Back to how it was made, without a job. Allocates nothing. */
void scheduler_reset(struct scheduler *s, const struct lanes_policy *policy);

/* -- events -------------------------------------------------------------------------------------------------
 */

/* ERR_PAYLOAD_TOO_LARGE: no device can ever hold P + E; the fault has both numbers. ERR_UNAVAILABLE: max_jobs
 * are there. ERR_INVALID_FIELD. Otherwise the job is there; whether it has memory at once, decisions say. */
enum err scheduler_submit(struct scheduler *s, int64_t now_ns, const struct lanes_request *request,
                          lanes_job_id *out_job, struct fault *fault) MUST_CHECK;
/* The iteration that LANES_RUN began is over. is_last: the job has done all that it was to do. */
void scheduler_iteration_done(struct scheduler *s, int64_t now_ns, lanes_job_id id, int64_t duration_ns,
                              bool is_last);
/* The job's state is safe on the host as it was after so many steps; from there it goes on after a loss. */
void scheduler_checkpointed(struct scheduler *s, lanes_job_id id, int64_t steps_done);
/* Ends the job, if it runs then after its iteration. An id that is gone is no mistake. */
void scheduler_cancel(struct scheduler *s, int64_t now_ns, lanes_job_id id);
/* As scheduler_cancel, for every job of this client. */
void scheduler_client_died(struct scheduler *s, int64_t now_ns, uint64_t client);
/* The device's executor is gone, and with it the device's memory. Its jobs wait again, and go on
 * from their checkpoints, there or elsewhere; those that were running get a strike. */
void scheduler_executor_lost(struct scheduler *s, int64_t now_ns, int device);
void scheduler_executor_back(struct scheduler *s, int64_t now_ns, int device);
/* The device has another capacity. Where that is less than what is in use, jobs are evicted, those in the
 * middle of an iteration after it: until then scheduler_device says the old use as its capacity. What fits on
 * no device any more leaves as LANES_TOO_LARGE. */
void scheduler_resize(struct scheduler *s, int64_t now_ns, int device, int64_t capacity_bytes);
/* Jobs stay where they are. */
void scheduler_set_policy(struct scheduler *s, int64_t now_ns, const struct lanes_policy *policy);

/* -- what is there ------------------------------------------------------------------------------------------
 */

enum lanes_job_state { LANES_WAITING, LANES_RESIDENT, LANES_RUNNING };

struct lanes_job_view {
    lanes_job_id id;
    struct lanes_request request;
    enum lanes_job_state state;
    int device, lane; /* -1 while it waits */
    int64_t arrived_ns, steps_done, attained_ns;
    int64_t step_ns;        /* as measured; 0 before its first iteration */
    int overtaken, strikes; /* overtaken: by jobs that came later and got memory sooner */
    /* Of scheduler_job alone, while the job waits: its place, from 1; and when it gets memory, if no one else
     * comes (an estimate). */
    int position;
    int64_t estimated_start_ns;
};

struct lanes_device_view {
    bool is_there; /* its executor is */
    int64_t capacity_bytes, persistent_bytes, lane_bytes;
    size_t num_lanes, num_resident, num_running;
    int concurrent; /* how many iterations may run at once there now */
};

size_t scheduler_num_jobs(const struct scheduler *s);
/* The i-th job that is there, in the order of arrival. */
struct lanes_job_view scheduler_job_at(const struct scheduler *s, size_t i);
/* False where there is no such job (any more). */
bool scheduler_job(const struct scheduler *s, lanes_job_id id, struct lanes_job_view *out);
struct lanes_device_view scheduler_device(const struct scheduler *s, int device);
/* Jobs that came later and got memory sooner, over all waiting ones, since the start. */
int64_t scheduler_overtakes(const struct scheduler *s);
/* The order in force: the policy itself, but for `auto` the one that it chose. */
const struct lanes_policy *scheduler_order(const struct scheduler *s);
/* Why `auto` chose it, in a sentence; "" for other policies. */
const char *scheduler_reason(const struct scheduler *s);

#endif
