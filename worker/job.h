/* One task in the hands of this worker, from the claim's reply to the receipt. */
#ifndef FEDLANE_WORKER_JOB_H
#define FEDLANE_WORKER_JOB_H

#include "common/base/arena.h"
#include "worker/outbox.h"
#include "worker/task_runner.h"
#include "worker/weights.h"
#include "worker/worker_task.h"

enum job_place {
    JOB_WAITING,   /* for its weights */
    JOB_IN_POOL,   /* queued or running */
    JOB_REPORTING, /* the report is made, and the server has not answered it yet */
};

struct job {
    struct arena arena; /* the task's texts */
    struct worker_task task;
    struct weights *weights; /* a reference */
    bool wants_weights;      /* the parameters, too; of the thread that has the job */
    enum job_place place;    /* the main thread's view */
    int64_t received_ns;     /* when the claim's reply came, mono_ns() */
    int64_t deadline_ns;     /* when the work must end, so that the report comes in time; INT64_MAX: never */

    /* Guarded by the pool from pool_submit until pool_take_done gives the job back. */
    bool is_running;
    enum task_order order;
    bool is_released; /* with ORDER_CANCEL: tell the server that it may hand the task out again */
    int64_t stop_ns;  /* deadline_ns, or this job's fair share of the time to it */
    int64_t steps_done;
    double train_loss;
    enum work_outcome outcome;
    struct report report; /* but for WORK_CANCELLED */
    double ns_per_step;   /* as measured; NaN where no step was done */
    bool is_stored;       /* the report is in the outbox */

    struct job *next_in_pool, *next_held;
};

/* The task of one item of a claim's reply. ERR_NO_MEMORY and worker_task_parse's errors; *out_job is then
 * NULL. */
enum err job_new(const json_t *json, int64_t received_ns, struct job **out_job,
                 struct fault *fault) MUST_CHECK;
/* weights_done, once: the job wants its parameters no longer. */
void job_done_with_weights(struct job *job, bool was_trained);
/* Its weights must have been unreferenced. */
void job_free(struct job *job);

#endif
