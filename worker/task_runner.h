/* Runs one task on this machine: evaluates w_t, trains, stops where it must, and says what came out of it.
 * Knows no HTTP, so that `fedlane simulate` and the worker do the very same work and make the very same
 * bytes.
 *
 * A runner serves one thread. It keeps the trainers of the last few models it saw, so that a round costs no
 * set-up.
 *
 *   task_runner_new -> (task_run -> task_result_file / task_result_json)... -> task_runner_free
 *
 * How the work is cut into slices, how often it is asked to stop and how slow the device plays never change
 * the bits of the result, only where it stops. */
#ifndef FEDLANE_WORKER_TASK_RUNNER_H
#define FEDLANE_WORKER_TASK_RUNNER_H

#include "common/base/arena.h"
#include "common/tensor/safetensors.h"
#include "worker/evaluator.h"
#include "worker/trainer.h"
#include "worker/update_block.h"
#include "worker/worker_task.h"

struct task_runner;

/* `data` outlives the runner. ERR_NO_MEMORY. */
enum err task_runner_new(const struct dataset *data, const struct trainer_ops *ops,
                         struct task_runner **out) MUST_CHECK;
void task_runner_free(struct task_runner *r);

/* -- control --------------------------------------------------------------------------------------------- */

enum task_order {
    ORDER_GO_ON,
    ORDER_RETURN,   /* a directive asks for what there is */
    ORDER_DEADLINE, /* the deadline, less the time the upload takes, has come */
    ORDER_CANCEL,   /* drop the work */
};

/* All zero: nobody interferes, full speed. */
struct task_control {
    void *ctx;
    /* Asked before the work, and after each slice of about 20 ms. train_loss is the last step's (NaN before
     * the first). NULL: always ORDER_GO_ON. */
    enum task_order (*check)(void *ctx, int64_t steps_done, double train_loss);
    /* A training has begun: w_t is not looked at any more. NULL: nobody wants to know. */
    void (*begun)(void *ctx);
    /* > 1: after each slice the thread waits (slowdown - 1) times the slice's time, as a machine that is
     * slower by this factor would. */
    double slowdown;
    /* Waits ns nanoseconds, less if `check` would now answer something else. Needed where slowdown > 1. */
    void (*wait)(void *ctx, int64_t ns);
    /* Do not do work that will be thrown away: a train task with accept_partial false whose budget is less
     * than the job. Its steps_done and evaluations are the same, the losses and norms of the work are not
     * known. */
    bool skip_dropped_work;
    /* After so many steps the deadline has come, whatever the clock says. NULL: it does not come so. */
    const int64_t *deadline_steps;
};

/* -- result ---------------------------------------------------------------------------------------------- */

enum work_outcome {
    WORK_UPDATE,    /* there is an update (train) or an answer (evaluate) to send */
    WORK_DROPPED,   /* less than the whole job where that is not accepted: code "incomplete" */
    WORK_FAILED,    /* could not be done: code and detail say why */
    WORK_CANCELLED, /* ORDER_CANCEL: say nothing */
};

enum work_stop { STOP_NONE, STOP_COMPLETED, STOP_BUDGET, STOP_DEADLINE, STOP_ASKED };
const char *work_stop_name(enum work_stop s); /* "completed"; "" for STOP_NONE */

struct task_result {
    enum work_outcome outcome;
    /* WORK_DROPPED: "incomplete". WORK_FAILED: data_mismatch (the data do not fit the model),
     * model_unsupported, no_such_device (the data have no such ordinal), optimizer_unsupported, non_finite
     * (the training diverged), out_of_memory, internal. "" otherwise. */
    char code[32];
    char detail[512];
    enum work_stop stop;
    int64_t num_examples;           /* of the device's train split; -1 when it has no data here */
    struct train_progress progress; /* train tasks; counts -1 and numbers NaN while unknown */
    struct split_evaluations eval;  /* of w_t */
    bool is_measured;  /* the norms and gamma of `progress` are of the work's end; NaN is one of them, then */
    double compute_ms; /* the steps (train) or the evaluation (evaluate), pauses of a slowdown included */
    double download_ms; /* NaN; for the caller to fill in before it makes the report */
    /* WORK_UPDATE of a train task: the weights; of an evaluate task that wants it: the gradient of F_k at
     * w_t. In model order. NULL otherwise. Borrowed: until the runner's next task. */
    const float *values;
    struct update_block *block;         /* that the values lie in; borrowed likewise */
    const struct tensor_table *tensors; /* of the model; borrowed likewise; NULL if it could not be used */
};

/* w_t: the model's parameters in model order (num_params floats), read only. Always gives a result; what goes
 * wrong is WORK_FAILED. An evaluate task is never partial: only ORDER_CANCEL ends it early. control may be
 * NULL. */
void task_run(struct task_runner *r, const struct worker_task *task, const float *w_t,
              const struct task_control *control, struct task_result *out);

/* A result that says why nothing could be done: WORK_FAILED, everything else unknown. */
void task_result_fail(struct task_result *out, const char *code, const char *detail);

/* -- report ---------------------------------------------------------------------------------------------- */

/* What the result says about itself, as the key/value texts of API.md ("Update metadata"): of the update's
 * `__metadata__`. Numbers parse back to the same bits; what is unknown is left out. Sorted by key; in the
 * arena. */
enum err task_result_metadata(const struct worker_task *task, const struct task_result *result,
                              struct arena *arena, struct safetensors_pair **out_pairs,
                              size_t *out_count) MUST_CHECK;

/* The safetensors file to upload: the weights or (evaluate) the gradient as "grad." tensors, with the
 * metadata. Only where result->values is set, which is gone then: the file is made in its memory, which moves
 * to the caller (free). */
enum err task_result_file(const struct worker_task *task, struct task_result *result, char **out_file,
                          size_t *out_size) MUST_CHECK;

/* The same facts as a JSON object, for answers without tensors: the body of an evaluation, and of a failure,
 * where `code` and `detail` stand beside them. New reference. */
enum err task_result_json(const struct worker_task *task, const struct task_result *result,
                          json_t **out) MUST_CHECK;

#endif
