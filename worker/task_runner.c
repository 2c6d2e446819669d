#include "worker/task_runner.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/clock.h"
#include "common/base/str.h"
#include "worker/trainer_cache.h"

/* How long a directive or the deadline may go unnoticed. */
#define SLICE_NS 20000000

struct task_runner {
    struct trainer_cache cache;
};

/* One task under way. */
struct work {
    const struct task_runner *runner;
    const struct worker_task *task;
    const struct task_control *control;
    const struct device_data *device;
    struct trainer_slot *slot;
    enum optimizer_kind optimizer;
    const float *w_t;
    struct task_result *result;
};

enum err task_runner_new(const struct dataset *data, const struct trainer_ops *ops, struct task_runner **out)
{
    struct task_runner *r = calloc(1, sizeof *r);
    if (!r)
        return ERR_NO_MEMORY;
    trainer_cache_init(&r->cache, data, ops);
    *out = r;
    return ERR_OK;
}

void task_runner_free(struct task_runner *r)
{
    if (!r)
        return;
    trainer_cache_release(&r->cache);
    free(r);
}

const char *work_stop_name(enum work_stop s)
{
    static const char *const names[] = {[STOP_NONE] = "",
                                        [STOP_COMPLETED] = "completed",
                                        [STOP_BUDGET] = "budget",
                                        [STOP_DEADLINE] = "deadline",
                                        [STOP_ASKED] = "asked"};
    return names[s];
}

static void result_init(struct task_result *r)
{
    *r = (struct task_result){.num_examples = -1, .compute_ms = NAN, .download_ms = NAN};
    r->progress = (struct train_progress){.steps_assigned = -1,
                                          .steps_done = -1,
                                          .samples_seen = -1,
                                          .train_loss_start = NAN,
                                          .train_loss_end = NAN,
                                          .grad_norm_start = NAN,
                                          .grad_norm_end = NAN,
                                          .gamma = NAN,
                                          .update_norm = NAN};
    split_evaluations_init(&r->eval);
}

static void fail(struct task_result *r, const char *code, const char *detail)
{
    r->outcome = WORK_FAILED;
    r->values = NULL;
    (void)snprintf(r->code, sizeof r->code, "%s", code);
    (void)snprintf(r->detail, sizeof r->detail, "%s", detail);
}

void task_result_fail(struct task_result *out, const char *code, const char *detail)
{
    result_init(out);
    fail(out, code, detail);
}

/* A computation failed. What is under way ends here; the trainer, whose device may be gone, is not used
 * again. */
static void fail_err(const struct work *w, enum err e, const char *what)
{
    const struct trainer_ops *ops = w->runner->cache.ops;
    const char *trouble = ops->trouble ? ops->trouble(w->slot->trainer) : "";
    char detail[512];
    if (e == ERR_NO_MEMORY)
        (void)snprintf(detail, sizeof detail, "not enough memory for %s%s%s", what, trouble[0] ? ": " : "",
                       trouble);
    else
        (void)snprintf(detail, sizeof detail, "%s did not work: %s", what,
                       trouble[0] ? trouble : err_name(e));
    fail(w->result, e == ERR_NO_MEMORY ? "out_of_memory" : "internal", detail);
}

static enum task_order ask(const struct work *w)
{
    const struct task_control *c = w->control;
    const struct train_progress *p = &w->result->progress;
    return c->check ? c->check(c->ctx, p->steps_done > 0 ? p->steps_done : 0, p->train_loss_end)
                    : ORDER_GO_ON;
}

/* Plays a machine that is slower by control->slowdown: what took `ns` takes that many times longer. */
static void lag(const struct work *w, int64_t ns)
{
    const struct task_control *c = w->control;
    if (c->slowdown > 1 && c->wait)
        c->wait(c->ctx, (int64_t)((c->slowdown - 1) * (double)ns));
}

static bool is_cancelled(const struct work *w)
{
    if (ask(w) != ORDER_CANCEL)
        return false;
    w->result->outcome = WORK_CANCELLED;
    return true;
}

/* Evaluation of w_t, at once for both splits. False: the task is over. */
static bool evaluate(const struct work *w)
{
    int64_t start = mono_ns();
    enum err e =
        evaluate_splits(w->runner->cache.ops, w->slot->trainer, w->task->ordinal, w->w_t, &w->result->eval);
    if (e) {
        fail_err(w, e, "evaluating the model");
        return false;
    }
    lag(w, mono_ns() - start);
    return !is_cancelled(w);
}

static void give_values(const struct work *w)
{
    w->result->block = &w->slot->block;
    w->result->values = update_block_values(&w->slot->block);
}

static void answer(const struct work *w)
{
    struct task_result *r = w->result;
    const struct worker_task *task = w->task;
    int64_t start = mono_ns();
    if ((task->wants_evaluation || !task->wants_gradient) && !evaluate(w))
        return;
    if (task->wants_gradient) {
        int64_t gradient_start = mono_ns();
        enum err e = w->runner->cache.ops->gradient(w->slot->trainer, task->ordinal, w->w_t,
                                                    update_block_values(&w->slot->block));
        if (e) {
            fail_err(w, e, "computing the gradient");
            return;
        }
        lag(w, mono_ns() - gradient_start);
        if (is_cancelled(w))
            return;
        give_values(w);
    }
    r->compute_ms = (double)(mono_ns() - start) / 1e6;
    r->stop = STOP_COMPLETED;
    r->outcome = WORK_UPDATE;
}

/* How many steps fit a slice, from what the last one took. */
static int64_t next_slice(int64_t steps, int64_t took_ns)
{
    double fit = (double)steps * SLICE_NS / (double)(took_ns > 0 ? took_ns : 1);
    double most = (double)steps * 8;
    return fit < 1 ? 1 : (int64_t)(fit < most ? fit : most);
}

/* How many steps may be done at most, -1 for any number; and what it means when they are. */
static int64_t budget_of(const struct work *w, enum work_stop *out_stop)
{
    int64_t budget = w->task->max_steps;
    const int64_t *deadline = w->control->deadline_steps;
    *out_stop = STOP_BUDGET;
    if (deadline && (budget < 0 || *deadline < budget)) {
        *out_stop = STOP_DEADLINE;
        budget = *deadline;
    }
    return budget;
}

/* Steps until something ends them. */
static enum err step_until_stopped(const struct work *w)
{
    enum work_stop budget_stop;
    int64_t budget = budget_of(w, &budget_stop);
    const struct trainer_ops *ops = w->runner->cache.ops;
    struct trainer *t = w->slot->trainer;
    struct task_result *r = w->result;
    int64_t start = mono_ns(), slice = 1;
    ops->progress(t, &r->progress);
    bool is_done = r->progress.steps_assigned == 0;
    while (r->stop == STOP_NONE) {
        int64_t left = budget < 0 ? slice : budget - r->progress.steps_done;
        int64_t now = mono_ns();
        enum task_order order = ORDER_GO_ON;
        if (is_done)
            r->stop = STOP_COMPLETED;
        else if (left <= 0)
            r->stop = budget_stop;
        else if ((double)(now - start) / 1e9 >= w->task->max_seconds)
            r->stop = STOP_BUDGET;
        else if ((order = ask(w)) == ORDER_CANCEL) {
            r->outcome = WORK_CANCELLED;
            return ERR_OK;
        } else if (order != ORDER_GO_ON)
            r->stop = order == ORDER_RETURN ? STOP_ASKED : STOP_DEADLINE;
        if (r->stop != STOP_NONE)
            break;
        int64_t steps = slice < left ? slice : left;
        enum err e = ops->step(t, steps, &is_done);
        if (e)
            return e;
        int64_t took = mono_ns() - now;
        slice = next_slice(steps,
                           w->control->slowdown > 1 ? (int64_t)((double)took * w->control->slowdown) : took);
        ops->progress(t, &r->progress);
        lag(w, took);
    }
    r->compute_ms = (double)(mono_ns() - start) / 1e6;
    return ERR_OK;
}

static void judge(const struct work *w)
{
    struct task_result *r = w->result;
    int64_t num_params = w->slot->arch->tensors.num_params;
    char detail[256];
    if (r->progress.steps_done < r->progress.steps_assigned && !w->task->accept_partial) {
        r->outcome = WORK_DROPPED;
        (void)snprintf(r->code, sizeof r->code, "incomplete");
        (void)snprintf(r->detail, sizeof r->detail,
                       "did %lld of %lld steps (%s), and the run accepts no partial work",
                       (long long)r->progress.steps_done, (long long)r->progress.steps_assigned,
                       work_stop_name(r->stop));
    } else if (!params_are_finite(update_block_values(&w->slot->block), num_params)) {
        (void)snprintf(detail, sizeof detail,
                       "the weights are no longer finite after %lld steps: the training diverged; lower "
                       "training.learning_rate or proximal_mu",
                       (long long)r->progress.steps_done);
        fail(r, "non_finite", detail);
    } else {
        r->outcome = WORK_UPDATE;
        give_values(w);
    }
}

static struct train_job job_of(const struct work *w)
{
    const struct worker_task *task = w->task;
    struct train_job job = {.ordinal = task->ordinal,
                            .round = task->round,
                            .seed = (uint64_t)task->seed,
                            .local_epochs = task->local_epochs,
                            .local_steps = task->local_steps,
                            .batch_size = task->batch_size,
                            .learning_rate = task->learning_rate,
                            .proximal_mu = task->proximal_mu,
                            .optimizer = task->settings,
                            .want_gamma = task->wants_gamma};
    job.optimizer.kind = w->optimizer;
    return job;
}

static bool skip_dropped_work(const struct work *w, const struct train_job *job)
{
    struct task_result *r = w->result;
    enum work_stop stop;
    int64_t steps = train_job_steps(job, (int64_t)w->device->num_train), budget = budget_of(w, &stop);
    if (!w->control->skip_dropped_work || w->task->accept_partial || budget < 0 || budget >= steps)
        return false;
    r->progress.steps_assigned = steps;
    r->progress.steps_done = budget;
    r->stop = stop;
    judge(w);
    return true;
}

static void train(const struct work *w)
{
    const struct trainer_ops *ops = w->runner->cache.ops;
    struct trainer *t = w->slot->trainer;
    struct task_result *r = w->result;
    struct train_job job = job_of(w);
    struct fault fault = FAULT_NONE;
    if (w->task->wants_evaluation && !evaluate(w))
        return;
    if (skip_dropped_work(w, &job))
        return;
    enum err e = ops->begin(t, &job, w->w_t, &fault);
    if (e) {
        char detail[sizeof r->detail];
        (void)snprintf(detail, sizeof detail, "%.120s%s%.360s", fault.field, fault.field[0] ? " " : "",
                       fault.detail[0] ? fault.detail : "the training could not be started");
        fail(r, e == ERR_NO_MEMORY ? "out_of_memory" : "internal", detail);
        return;
    }
    if (w->control->begun)
        w->control->begun(w->control->ctx);
    e = step_until_stopped(w);
    if (!e && r->outcome != WORK_CANCELLED)
        e = ops->snapshot(t, update_block_values(&w->slot->block), &r->progress);
    r->is_measured = !e && r->outcome != WORK_CANCELLED;
    ops->end(t);
    if (e)
        fail_err(w, e, "training");
    else if (r->outcome != WORK_CANCELLED)
        judge(w);
}

/* "sgd, momentum, ..." */
static void known_optimizers(char *out, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < OPTIMIZER_COUNT && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "",
                                 optimizer_name((enum optimizer_kind)i));
}

void task_run(struct task_runner *r, const struct worker_task *task, const float *w_t,
              const struct task_control *control, struct task_result *out)
{
    static const struct task_control full_speed;
    struct work w = {
        .runner = r, .task = task, .control = control ? control : &full_speed, .w_t = w_t, .result = out};
    struct fault fault = FAULT_NONE;
    const char *code = "internal";
    char detail[256];
    result_init(out);
    w.device = dataset_find(r->cache.data, task->ordinal);
    if (!w.device) {
        (void)snprintf(detail, sizeof detail, "the data \"%s\" have no device %lld; they have %zu devices",
                       dataset_name(r->cache.data), (long long)task->ordinal,
                       dataset_num_devices(r->cache.data));
        fail(out, "no_such_device", detail);
        return;
    }
    out->num_examples = (int64_t)w.device->num_train;
    if (!optimizer_find(task->optimizer, &w.optimizer)) {
        char known[100];
        known_optimizers(known, sizeof known);
        (void)snprintf(detail, sizeof detail, "this worker has no optimizer \"%.60s\"; it has %s",
                       task->optimizer, known);
        fail(out, "optimizer_unsupported", detail);
        return;
    }
    if (is_cancelled(&w))
        return;
    enum err e =
        trainer_cache_get(&r->cache, task->model, task->batch_size, w.optimizer, &w.slot, &code, &fault);
    if (e) {
        fail(out, code, fault.detail);
        return;
    }
    out->tensors = &w.slot->arch->tensors;
    if (task->type == WORK_TRAIN)
        train(&w);
    else
        answer(&w);
}
