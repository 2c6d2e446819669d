#include <string.h>
#include "server/core/events.h"
#include "server/core/metrics.h"
#include "server/core/names.h"
#include "server/core/task_access.h"
#include "server/core/task_report.h"

#define CODE_INCOMPLETE "incomplete"
#define CODE_MAX        64

static enum err text_check(struct work *w, const struct op_task_fail *a)
{
    if (!*a->code || strlen(a->code) > CODE_MAX)
        return fault_set(w->fault, ERR_INVALID_FIELD, "code", "must have 1 to %d bytes, e.g. \"incomplete\"",
                         CODE_MAX);
    if (strlen(a->detail) > LIMIT_TEXT)
        return fault_set(w->fault, ERR_INVALID_FIELD, "detail", "must have at most %d bytes", LIMIT_TEXT);
    return ERR_OK;
}

static enum err failed_event(struct work *w, struct run_row *run, const struct task_row *t)
{
    return event_add(w, run, t->status == TASK_DROPPED ? "task_dropped" : "task_failed",
                     json_pack("{s:I, s:s, s:s, s:I, s:s, s:s, s:s, s:I, s:I}", "round", t->round, "task_id",
                               t->id, "device_id", t->device_id, "ordinal", t->ordinal, "type",
                               task_type_name(t->type), "code", t->code, "detail", t->detail, "steps_done",
                               t->steps_done, "steps_assigned", t->steps_assigned));
}

enum err task_give_up(struct work *w, struct task_context *c, enum task_status status)
{
    /* An evaluation or a whole job that failed depends on the machine; a straggler that was dropped does not.
     */
    if (status == TASK_FAILED)
        run_not_deterministic(&c->run, "a device failed");
    enum err e = task_end(w, &c->round, &c->task, status);
    if (!e)
        e = failed_event(w, &c->run, &c->task);
    return e ? e : round_advance(w, &c->run, &c->round);
}

enum err op_task_fail(struct store_txn *txn, void *arg)
{
    struct op_task_fail *a = arg;
    struct work w = work_begin(txn, &a->base);
    struct task_context c;
    struct task_row *t = &c.task;
    enum err e = task_of_caller(&w, a->task_id, a->worker_id, a->device_id, t);
    if (!e)
        e = text_check(&w, a);
    if (e)
        return e;
    bool was_told = t->status == TASK_DROPPED || t->status == TASK_FAILED;
    if (was_told && strcmp(t->code, a->code) == 0) {
        a->out = *t;
        return ERR_OK;
    }
    e = task_context_load(&w, &c);
    if (!e)
        e = task_report_check(t, &c.round, c.plan, &a->report, w.fault);
    if (e)
        return e;
    t->code = a->code;
    t->detail = a->detail;
    t->steps_done = a->report.steps_done > 0 && t->type == TASK_TRAIN ? a->report.steps_done : 0;
    t->stop_reason = a->report.stop_reason;
    task_report_times(&w, t, &a->report, a->received_at);
    e = task_report_text(&w, &a->report, &t->report);
    if (!e)
        e = metrics_of_report(&w, t, &a->report, false);
    if (!e)
        e = task_give_up(&w, &c, strcmp(a->code, CODE_INCOMPLETE) == 0 ? TASK_DROPPED : TASK_FAILED);
    a->out = *t;
    return e;
}

enum err op_task_release(struct store_txn *txn, void *arg)
{
    struct op_task_release *a = arg;
    struct work w = work_begin(txn, &a->base);
    struct task_context c;
    enum err e = task_of_caller(&w, a->task_id, a->worker_id, a->device_id, &c.task);
    if (!e)
        e = task_context_load(&w, &c);
    if (e)
        return e;
    if (c.task.status == TASK_CLAIMED) {
        c.task.status = TASK_READY;
        progress_forget(&w.core->progress, c.task.id);
        e = store_update(txn, RECORD_TASK, &c.task);
        if (!e)
            e = *c.task.worker_id ? notify_topic(&w, "worker", c.task.worker_id)
                                  : notify_topic(&w, "device", c.task.device_id);
    }
    a->out = c.task;
    return e;
}

enum directive core_task_directive(struct core *c, struct store_txn *txn, const char *task_id,
                                   const char *worker_id, const char *device_id)
{
    struct arena arena = ARENA_INIT(LIMIT_REQUEST_ARENA);
    struct fault fault;
    struct task_row task;
    struct work w = {.core = c, .txn = txn, .arena = &arena, .fault = &fault, .caller = ""};
    enum err e = task_of_caller(&w, task_id, worker_id, device_id, &task);
    enum directive d = DIRECTIVE_NONE;
    if (e == ERR_NOT_FOUND || e == ERR_FORBIDDEN || (!e && task.status > TASK_CLAIMED))
        d = DIRECTIVE_CANCEL;
    else if (!e && task.deadline_at && core_now(c) >= task.deadline_at)
        d = DIRECTIVE_RETURN_PARTIAL;
    arena_release(&arena);
    return d;
}
