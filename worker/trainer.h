/* Local training as the worker sees it: a table of functions, so that the same agent drives the in-process
 * trainer, an accelerator service or an external program. One trainer serves one thread; it is reused for any
 * number of devices and rounds of one run's model.
 *
 * Calls: open -> plan -> (begin -> step... -> snapshot -> end)... -> close. Nothing allocates after open. */
#ifndef FEDLANE_WORKER_TRAINER_H
#define FEDLANE_WORKER_TRAINER_H

#include <stdbool.h>
#include <stdint.h>
#include "common/base/err.h"
#include "common/base/real.h"
#include "common/data/dataset.h"
#include "common/fl/optimizer.h"
#include "common/model/arch.h"

struct trainer;

/* What a model needs, exact before the first step. */
struct trainer_plan {
    size_t persistent_bytes; /* weights, anchor, gradient, optimizer state */
    size_t ephemeral_bytes;  /* activations, scratch, batch */
};

struct train_job {
    int64_t ordinal; /* the device's number in the data and in every random stream */
    int64_t round;
    uint64_t seed;
    /* The job is `local_steps` batches if that is > 0, else `local_epochs` passes. Epoch e orders the
     * device's train examples by stream (seed, RNG_BATCHES, round, ordinal, e); batches of batch_size in that
     * order, the last short one kept and divided by its own size. Counted in steps it goes on into further
     * epochs. */
    int64_t local_epochs, local_steps;
    int64_t batch_size;
    double learning_rate;
    double proximal_mu;
    struct optimizer optimizer; /* all zero: plain SGD */
    bool want_gamma; /* gamma-inexactness [arXiv 1812.06127, Def. 2]: full local gradients before and after */
};

struct train_progress {
    int64_t steps_assigned; /* of the whole job */
    int64_t steps_done;
    int64_t samples_seen;
    double train_loss_start, train_loss_end; /* mean batch loss (without the proximal term) of the first /
                                                last step done; NaN before the first */
    double grad_norm_start,
        grad_norm_end;  /* ||grad h(w_t)||, ||grad h(w)||: NaN unless want_gamma, end set by snapshot */
    double gamma;       /* NaN unless want_gamma, set by snapshot */
    double update_norm; /* ||w - w_t||_2, set by snapshot */
};

struct evaluation {
    double loss; /* mean over the split's examples; NaN where it has none */
    int64_t examples;
    int64_t correct;
};

struct trainer_ops {
    const char *name;
    /* `arch` and `data` outlive the trainer. `kind`: the optimizer for whose states there is room; jobs may
     * have any that keeps no more. ERR_INVALID_FIELD where arch and data do not fit each other (both shapes
     * named). */
    enum err (*open)(const struct arch *arch, const struct dataset *data, int64_t batch_size,
                     enum optimizer_kind kind, struct trainer **out, struct fault *fault) MUST_CHECK;
    void (*plan)(const struct trainer *t, struct trainer_plan *out);
    /* Copies w_t (arch->tensors.num_params floats) as start and anchor. */
    enum err (*begin)(struct trainer *t, const struct train_job *job, const real *w_t,
                      struct fault *fault) MUST_CHECK;
    /* At most max_steps further steps of the job's optimizer, with plain SGD w <- w - eta (grad F_batch(w) +
     * mu (w - w_t)); stops at the job's end. */
    enum err (*step)(struct trainer *t, int64_t max_steps, bool *out_is_done) MUST_CHECK;
    /* The weights as they are now. May be called at any time between begin and end. */
    enum err (*snapshot)(struct trainer *t, real *out_weights, struct train_progress *out) MUST_CHECK;
    void (*progress)(const struct trainer *t,
                     struct train_progress *out); /* cheap; of the thread that steps */
    /* What failed last on which device, "" where nothing is known but the call's error. NULL: never anything.
     */
    const char *(*trouble)(const struct trainer *t);
    void (*end)(struct trainer *t);
    /* Mean loss and correct predictions of weights w on a device's split. */
    enum err (*evaluate)(struct trainer *t, int64_t ordinal, enum data_split split, const real *w,
                         struct evaluation *out) MUST_CHECK;
    /* Full gradient of F_k at w: mean over all train examples, in model order. */
    enum err (*gradient)(struct trainer *t, int64_t ordinal, const real *w, real *out_gradient) MUST_CHECK;
    void (*close)(struct trainer *t);
};

/* In this process, on the OpenBLAS backend (FEDLANE_COMPUTE=reference chooses the plain one). */
extern const struct trainer_ops trainer_local;
/* How many steps a job is on a device with n training examples. */
int64_t train_job_steps(const struct train_job *job, int64_t num_train);

#endif
