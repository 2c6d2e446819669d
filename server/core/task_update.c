#include <math.h>
#include <string.h>
#include "server/core/budget.h"
#include "server/core/events.h"
#include "server/core/metrics.h"
#include "server/core/names.h"
#include "server/core/task_access.h"
#include "server/core/task_report.h"

static enum err receipt_give(struct work *w, struct op_task_update *a, const struct update_row *u)
{
    json_t *receipt = NULL;
    enum err e = json_from_row(u->receipt, &receipt);
    a->out_accepted = json_is_true(json_object_get(receipt, "accepted"));
    a->out_partial = u->is_partial;
    a->out_update_id = u->id;
    const char *reason = json_string_value(json_object_get(receipt, "reason"));
    a->out_reason = arena_strdup(w->arena, reason ? reason : "");
    json_decref(receipt);
    return e || a->out_reason ? e : ERR_NO_MEMORY;
}

/* The task has its update already. */
static enum err repeat(struct work *w, struct op_task_update *a, const struct task_row *task)
{
    struct update_row *rows;
    size_t count;
    enum err e = store_find(w->txn, QUERY_UPDATE_BY_TASK, w->arena, 1, &rows, &count, store_text(task->id));
    if (e || count == 0)
        return e ? e : ERR_CORRUPT;
    if (strcmp(rows[0].body_sha256, a->body_sha256) != 0)
        return fault_set(
            w->fault, ERR_DUPLICATE_CONFLICT, NULL,
            "the task already has another update, %s: an update cannot be replaced, take the next task",
            rows[0].id);
    a->out_duplicate = true;
    return receipt_give(w, a, &rows[0]);
}

static enum err evaluation_check(const struct task_row *t, const struct op_task_update *a,
                                 struct fault *fault)
{
    const struct task_report *r = &a->report;
    if ((t->wants & WANT_GRADIENT) && !a->blob_id)
        return fault_set(fault, ERR_INVALID_UPDATE, NULL,
                         "the task wants the gradient: send safetensors with the tensors \"grad.NAME\"");
    if ((t->wants & WANT_EVALUATION) && r->num_metrics == 0 && r->eval_train_examples < 0 &&
        r->eval_test_examples < 0)
        return fault_set(
            fault, ERR_INVALID_UPDATE, "metrics",
            "the task wants an evaluation: send metrics, or eval_train_loss with eval_train_examples");
    return ERR_OK;
}

static enum err train_check(const struct task_row *t, const struct plan *plan, const struct op_task_update *a,
                            struct fault *fault)
{
    const struct task_report *r = &a->report;
    if (!a->blob_id)
        return fault_set(fault, ERR_INVALID_UPDATE, NULL,
                         "a train task is answered with the weights, as safetensors");
    if (r->steps_done < 0)
        return fault_set(fault, ERR_INVALID_UPDATE, "steps_done",
                         "is required: how many of the %lld steps are done", (long long)t->steps_assigned);
    struct update_facts facts = {t->steps_assigned, r->steps_done, r->steps_done < t->steps_assigned};
    return plan->spec.strategy->on_update(&plan->spec.params, &facts, fault);
}

/* What receipt_give reads. */
#define RECEIPT         "{\"accepted\":true,\"partial\":false,\"reason\":\"\"}"
#define RECEIPT_OF_PART "{\"accepted\":true,\"partial\":true,\"reason\":\"\"}"

static enum err said_store(struct work *w, const char *update_id, const struct task_report *r)
{
    struct update_report_row row = {.update_id = update_id};
    enum err e = task_report_text(w, r, &row.report);
    return !e && *row.report ? store_insert(w->txn, RECORD_UPDATE_REPORT, &row) : e;
}

static enum err update_store(struct work *w, struct op_task_update *a, struct task_row *t)
{
    struct update_row u;
    record_init(RECORD_UPDATE, &u);
    enum err e = work_id(w, &u.id);
    u.task_id = t->id;
    u.run_id = t->run_id;
    u.round = t->round;
    u.ordinal = t->ordinal;
    u.device_id = t->device_id;
    u.type = t->type;
    u.attempt = t->attempt;
    u.body_sha256 = a->body_sha256;
    u.blob_id = a->blob_id;
    u.size_bytes = a->size_bytes;
    u.content = a->report.content;
    u.num_examples = t->num_examples;
    u.steps_done = t->steps_done;
    u.is_partial = t->is_partial;
    u.accepted_at = w->now_ms;
    u.receipt = t->is_partial ? RECEIPT_OF_PART : RECEIPT;
    if (!e)
        e = store_insert(w->txn, RECORD_UPDATE, &u);
    if (!e)
        e = said_store(w, u.id, &a->report);
    t->update_id = u.id;
    a->out_accepted = true;
    a->out_partial = t->is_partial;
    a->out_update_id = u.id;
    return e;
}

/* The next budget of the device follows from how fast it was. */
static enum err speed_update(struct work *w, const struct task_row *t, const struct task_report *r)
{
    struct device_row device;
    if (t->type != TASK_TRAIN || r->steps_done <= 0 || !(r->compute_ms > 0))
        return ERR_OK;
    enum err e = device_load(w, t->device_id, &device);
    if (e)
        return e;
    device.steps_per_second = budget_speed(device.steps_per_second, r->steps_done, r->compute_ms);
    return store_update(w->txn, RECORD_DEVICE, &device);
}

/* An evaluation has none: with all devices evaluating there would be more events than news. */
static enum err accepted_event(struct work *w, struct run_row *run, const struct task_row *t,
                               const struct task_report *r)
{
    if (t->type != TASK_TRAIN || w->core->is_simulated)
        return ERR_OK;
    json_t *data = json_pack("{s:I, s:s, s:s, s:I, s:I, s:I, s:I, s:b, s:s}", "round", t->round, "task_id",
                             t->id, "device_id", t->device_id, "ordinal", t->ordinal, "attempt", t->attempt,
                             "steps_done", t->steps_done, "steps_assigned", t->steps_assigned, "partial",
                             (int)t->is_partial, "stop_reason", r->stop_reason);
    if (!event_number(data, "train_loss_end", r->train_loss_end, task_report_has(r, &r->train_loss_end)) ||
        !event_number(data, "gamma", r->gamma, task_report_has(r, &r->gamma))) {
        json_decref(data);
        return ERR_NO_MEMORY;
    }
    return event_add(w, run, "update_accepted", data);
}

static enum err update_accept(struct work *w, struct op_task_update *a, struct task_context *c)
{
    const struct task_report *r = &a->report;
    struct task_row *t = &c->task;
    t->steps_done = t->type == TASK_TRAIN ? r->steps_done : 0;
    t->is_partial = t->type == TASK_TRAIN && t->steps_done < t->steps_assigned;
    t->bytes_in = a->size_bytes;
    task_report_times(w, t, r, a->received_at);
    c->round.bytes_in += a->size_bytes;
    if (t->type == TASK_TRAIN && t->steps_done < t->max_steps)
        run_depends_on_time(&c->run, &c->plan->spec,
                            "a device stopped before its budget was spent (a deadline, or it was asked to)");
    t->stop_reason = r->stop_reason;
    enum err e = update_store(w, a, t);
    if (!e)
        e = task_end(w, &c->round, t, TASK_COMPLETED);
    if (!e)
        e = metrics_of_report(w, t, r, true);
    if (!e)
        e = speed_update(w, t, r);
    if (!e)
        e = accepted_event(w, &c->run, t, r);
    return e ? e : round_advance(w, &c->run, &c->round);
}

enum err op_task_update(struct store_txn *txn, void *arg)
{
    struct op_task_update *a = arg;
    struct work w = work_begin(txn, &a->base);
    struct task_context c;
    a->out_accepted = a->out_duplicate = a->out_partial = false;
    a->out_update_id = a->out_reason = "";
    enum err e = task_of_caller(&w, a->task_id, a->worker_id, a->device_id, &c.task);
    if (e)
        return e;
    if (*c.task.update_id)
        return repeat(&w, a, &c.task);
    e = task_context_load(&w, &c);
    if (!e)
        e = task_report_check(&c.task, &c.round, c.plan, &a->report, w.fault);
    if (!e)
        e = c.task.type == TASK_TRAIN ? train_check(&c.task, c.plan, a, w.fault)
                                      : evaluation_check(&c.task, a, w.fault);
    return e ? e : update_accept(&w, a, &c);
}
