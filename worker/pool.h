/* The threads that work: each takes one job at a time, runs it, writes its report into the outbox and gives
 * it back. */
#ifndef FEDLANE_WORKER_POOL_H
#define FEDLANE_WORKER_POOL_H

#include "worker/job.h"

struct pool;

struct pool_config {
    const struct dataset *data; /* borrowed, like ops and outbox */
    const struct trainer_ops *ops;
    int threads;
    double slowdown;            /* 1: full speed */
    const char *outbox;         /* path */
    void (*on_done)(void *ctx); /* called by a thread after a job is done; must be quick */
    void *ctx;
};

enum err pool_new(const struct pool_config *config, struct pool **out) MUST_CHECK;
/* Tells running jobs to stop (ORDER_CANCEL) and waits for the threads. Jobs that are still with the pool are
 * not freed: take them back first, or after. NULL is fine. */
void pool_free(struct pool *p);

/* The job is the pool's until pool_take_done. Its weights are WEIGHTS_READY, or WEIGHTS_FAILED: then it
 * becomes a report of that. Train jobs go first. */
void pool_submit(struct pool *p, struct job *job);
/* Jobs that are done, linked by next_in_pool; NULL when there is none. */
struct job *pool_take_done(struct pool *p);
/* To a job that was submitted: a queued one that is cancelled is done at once; a running one hears it within
 * a slice. An order that came before is only replaced by ORDER_CANCEL, and the first of these holds: what the
 * server cancelled is not released at the end. */
void pool_order(struct pool *p, struct job *job, enum task_order order, bool is_released);
/* What a submitted job has done so far. */
void pool_progress(struct pool *p, const struct job *job, int64_t *out_steps_done, double *out_train_loss);

#endif
