/* One task as a device gets it: what to work on, with which settings, for how long. */
#ifndef FEDLANE_WORKER_WORKER_TASK_H
#define FEDLANE_WORKER_WORKER_TASK_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/fl/optimizer.h"

enum work_type { WORK_TRAIN, WORK_EVALUATE };

/* Texts are borrowed: they live as long as what the task was made from (an arena, a store's row). */
struct worker_task {
    const char *task_id, *run_id, *device_id; /* 32 hex digits */
    enum work_type type;
    int64_t round, attempt;
    int64_t model_version;
    const char *weights_url;    /* "/api/v1/runs/.../weights": below the server's URL */
    const char *weights_sha256; /* of the safetensors file, 64 hex digits */
    const char *model;          /* the run spec's "model" as compact JSON with sorted keys */
    const char *dataset;        /* "" where the server names none */
    /* The work and its hyperparameters, echoed in the update. */
    int64_t ordinal, seed;
    int64_t local_epochs, local_steps; /* local_steps > 0 stands in place of local_epochs */
    int64_t batch_size;
    double learning_rate, proximal_mu;
    const char *optimizer;     /* "sgd"; the worker may not know it */
    struct optimizer settings; /* of that optimizer, but for its kind */
    /* Bounds. */
    int64_t max_steps;    /* -1: none */
    double max_seconds;   /* of training; NaN: none */
    bool accept_partial;  /* false: less than the whole job is reported as a failure "incomplete" */
    int64_t time_left_ms; /* to the deadline, when the task was handed out; -1: none */
    bool wants_evaluation, wants_gamma, wants_gradient;
};

/* Everything at "nothing": texts "", no bounds, SGD, whole jobs only on request (accept_partial true). */
void worker_task_init(struct worker_task *t);

/* From the server's JSON (API.md, "A task carries everything"). Fields it does not know are ignored, so that
 * a newer server can say more; a field that is missing, or is not what it should be, is named in the fault.
 * Texts lie in the arena. */
enum err worker_task_parse(const json_t *json, struct arena *arena, struct worker_task *out,
                           struct fault *fault) MUST_CHECK;

#endif
