/* A task as its device sees it: whether it may answer it, and what belongs to it. */
#ifndef FEDLANE_CORE_TASK_ACCESS_H
#define FEDLANE_CORE_TASK_ACCESS_H

#include "server/core/round.h"

/* ERR_NOT_FOUND, or ERR_FORBIDDEN where it is not the caller's. */
enum err task_of_caller(struct work *w, const char *task_id, const char *worker_id, const char *device_id,
                        struct task_row *out) MUST_CHECK;

struct task_context {
    struct task_row task;
    struct run_row run;
    struct round_row round;
    const struct plan *plan; /* of the round */
};
/* Run and round of c->task. ERR_RUN_NOT_RUNNING, ERR_STALE_ROUND where an answer comes too late. Inside a
 * read too. */
enum err task_context_look(struct work *w, struct task_context *c) MUST_CHECK;
/* The same, and the plan. */
enum err task_context_load(struct work *w, struct task_context *c) MUST_CHECK;

/* Ends an open task that will have no update (status TASK_DROPPED or TASK_FAILED; code and detail are set):
 * event, and the round goes on. Saves all three rows. */
enum err task_give_up(struct work *w, struct task_context *c, enum task_status status) MUST_CHECK;

/* When it was downloaded, trained and uploaded, as far as the report and the request say. */
void task_report_times(const struct work *w, struct task_row *task, const struct task_report *r,
                       int64_t received_at);

#endif
