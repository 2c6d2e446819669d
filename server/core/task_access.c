#include "server/core/task_access.h"

#include <math.h>
#include <string.h>
#include "server/core/names.h"

enum err task_of_caller(struct work *w, const char *task_id, const char *worker_id, const char *device_id,
                        struct task_row *out)
{
    enum err e = task_load(w, task_id, out);
    if (e)
        return e;
    bool is_workers = *worker_id && strcmp(worker_id, out->worker_id) == 0;
    bool is_devices = *device_id && strcmp(device_id, out->device_id) == 0;
    if (is_workers || is_devices)
        return ERR_OK;
    return fault_set(w->fault, ERR_FORBIDDEN, NULL,
                     "the task belongs to another device: use the token of that device or its worker");
}

enum err task_context_look(struct work *w, struct task_context *c)
{
    enum err e = run_load(w, c->task.run_id, &c->run);
    if (!e)
        e = round_load(w, c->task.run_id, c->task.round, &c->round);
    if (e)
        return e;
    if (c->run.status != RUN_RUNNING && c->run.status != RUN_PAUSED)
        return fault_set(w->fault, ERR_RUN_NOT_RUNNING, NULL, "the run is %s (%s): drop the work",
                         run_status_name(c->run.status),
                         c->run.outcome ? run_outcome_name(c->run.outcome) : "not started");
    if (c->round.status != ROUND_SELECTING && c->round.status != ROUND_TRAINING)
        return fault_set(w->fault, ERR_STALE_ROUND, NULL,
                         "round %lld takes no more answers (it is %s): drop the work", (long long)c->round.n,
                         round_status_name(c->round.status));
    if (c->task.status > TASK_CLAIMED)
        return fault_set(w->fault, ERR_STALE_ROUND, NULL,
                         "the task is no longer open (it is %s): drop the work",
                         task_status_name(c->task.status));
    return ERR_OK;
}

enum err task_context_load(struct work *w, struct task_context *c)
{
    enum err e = task_context_look(w, c);
    return e ? e : plan_cache_get(&w->core->plans, &c->run, c->round.config, &c->plan);
}

void task_report_times(const struct work *w, struct task_row *task, const struct task_report *r,
                       int64_t received_at)
{
    task->uploaded_at = w->now_ms;
    task->trained_at = received_at > 0 && received_at <= w->now_ms ? received_at : w->now_ms;
    if (task->trained_at < task->claimed_at)
        task->trained_at = task->claimed_at;
    task->downloaded_at = task->claimed_at;
    if (r->download_ms > 0 && r->download_ms < (double)(task->trained_at - task->claimed_at))
        task->downloaded_at += (int64_t)r->download_ms;
}
