#include <math.h>
#include <stdlib.h>
#include "common/base/str.h"
#include "server/core/task_report.h"

static enum err mismatch(struct fault *fault, const char *field, double expected, double got)
{
    return fault_set(fault, ERR_CONFIG_MISMATCH, field,
                     "the task says %s %.17g, the report %.17g: work with what the task says, and echo it",
                     field, expected, got);
}

static bool differs(double said, double expected)
{
    return !isnan(expected) && !(said >= expected && said <= expected);
}

/* An echo that is there and differs: the device did something other than it was asked. */
static enum err check_echoes(const struct task_row *t, const struct round_row *round, const struct plan *plan,
                             const struct task_report *r, struct fault *fault)
{
    const struct training_spec *job = &plan->spec.training;
    const double learning_rate = training_rate(job, round->n);
    const struct {
        const char *field;
        int64_t expected, got;
    } counts[] = {
        {"num_examples", t->num_examples, r->num_examples},
        {"steps_assigned", t->steps_assigned, r->steps_assigned},
        {"batch_size", job->batch_size, r->batch_size},
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i].got >= 0 && counts[i].got != counts[i].expected && (t->type == TASK_TRAIN || i == 0))
            return mismatch(fault, counts[i].field, (double)counts[i].expected, (double)counts[i].got);
    if (t->type != TASK_TRAIN)
        return ERR_OK;
    if (task_report_has(r, &r->proximal_mu) && differs(r->proximal_mu, round->proximal_mu))
        return mismatch(fault, "proximal_mu", round->proximal_mu, r->proximal_mu);
    if (task_report_has(r, &r->learning_rate) && differs(r->learning_rate, learning_rate))
        return mismatch(fault, "learning_rate", learning_rate, r->learning_rate);
    uint64_t seed;
    if (*r->seed && (str_to_u64(r->seed, &seed) || seed != (uint64_t)plan->spec.seed))
        return fault_set(fault, ERR_CONFIG_MISMATCH, "seed",
                         "the task says seed %lld, the report \"%.40s\": echo the task's",
                         (long long)plan->spec.seed, r->seed);
    return ERR_OK;
}

static enum err below_zero(struct fault *fault, const char *field, int64_t got)
{
    return fault_set(fault, ERR_INVALID_UPDATE, field, "must be at least 0, but is %lld", (long long)got);
}

static enum err check_counts(const struct task_row *t, const struct task_report *r, struct fault *fault)
{
    const struct {
        const char *field;
        int64_t value;
    } counts[] = {{"num_examples", r->num_examples},
                  {"steps_assigned", r->steps_assigned},
                  {"samples_seen", r->samples_seen},
                  {"eval_train_examples", r->eval_train_examples},
                  {"eval_test_examples", r->eval_test_examples},
                  {"eval_test_correct", r->eval_test_correct},
                  {"batch_size", r->batch_size},
                  {"steps_done", r->steps_done}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i].value < -1)
            return below_zero(fault, counts[i].field, counts[i].value);
    if (r->steps_done > t->max_steps)
        return fault_set(fault, ERR_INVALID_UPDATE, "steps_done",
                         "%lld steps are more than the task's budget of %lld", (long long)r->steps_done,
                         (long long)t->max_steps);
    if (r->eval_train_examples > t->num_examples)
        return fault_set(fault, ERR_INVALID_UPDATE, "eval_train_examples",
                         "%lld are more than the device's %lld training examples",
                         (long long)r->eval_train_examples, (long long)t->num_examples);
    if (r->eval_test_examples > t->num_test_examples)
        return fault_set(fault, ERR_INVALID_UPDATE, "eval_test_examples",
                         "%lld are more than the device's %lld test examples",
                         (long long)r->eval_test_examples, (long long)t->num_test_examples);
    if (r->eval_test_correct > r->eval_test_examples)
        return fault_set(fault, ERR_INVALID_UPDATE, "eval_test_correct",
                         "%lld correct of %lld examples cannot be", (long long)r->eval_test_correct,
                         (long long)r->eval_test_examples);
    return ERR_OK;
}

enum err task_report_check(const struct task_row *task, const struct round_row *round,
                           const struct plan *plan, const struct task_report *r, struct fault *fault)
{
    if (r->attempt >= 0 && r->attempt < task->attempt)
        return fault_set(fault, ERR_SUPERSEDED, "attempt",
                         "attempt %lld was superseded by attempt %lld of the same task: drop this work",
                         (long long)r->attempt, (long long)task->attempt);
    if (r->attempt > task->attempt || task->attempt == 0)
        return fault_set(fault, ERR_INVALID_UPDATE, "attempt",
                         "the task was not claimed as attempt %lld: claim it first",
                         (long long)(r->attempt < 0 ? 1 : r->attempt));
    enum err e = check_counts(task, r, fault);
    return e ? e : check_echoes(task, round, plan, r, fault);
}
