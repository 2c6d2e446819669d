#include "worker/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/rng.h"
#include "common/fl/proximal.h"
#include "common/fl/schedule.h"
#include "common/nn/model.h"
#include "worker/data_fit.h"

/* Evaluations and full gradients go through a split in batches of this size, whatever the training's batch
 * size is: results of large products depend on their number of rows. */
enum { EVALUATION_ROWS = 64 };

struct trainer {
    const struct arch *arch;
    const struct dataset *data;
    struct compute *compute;
    struct model *model;
    struct trainer_plan plan;
    int64_t max_batch;
    enum optimizer_kind kind; /* for which there is room */

    /* order of one epoch; both for the device with the most examples */
    uint32_t *order;
    struct rng_sort_item *sort_scratch;

    const struct device_data *device; /* NULL between end and begin */
    struct train_job job;
    struct train_progress progress;
    int64_t epoch, position; /* position: examples of this epoch that were used */
};

int64_t train_job_steps(const struct train_job *job, int64_t num_train)
{
    return schedule_full_steps(num_train, job->batch_size, job->local_epochs, job->local_steps);
}

static size_t most_train_examples(const struct dataset *data)
{
    size_t most = 0;
    for (size_t i = 0; i < dataset_num_devices(data); i++) {
        size_t n = dataset_device(data, i)->num_train;
        most = n > most ? n : most;
    }
    return most;
}

static enum err check_fit(const struct arch *arch, const struct dataset *data, int64_t batch_size,
                          struct fault *fault)
{
    if (!arch->has_layers)
        return fault_set(
            fault, ERR_INVALID_FIELD, "model",
            "names only tensors; this trainer needs \"input\" and \"layers\" to know what to compute");
    if (batch_size < 1)
        return fault_set(fault, ERR_INVALID_FIELD, "training.batch_size", "must be 1 or more, not %lld",
                         (long long)batch_size);
    return data_fit(arch, data, fault);
}

static enum err take_order(struct trainer *t, size_t most)
{
    size_t room = most ? most : 1;
    t->order = calloc(room, sizeof *t->order);
    t->sort_scratch = calloc(room, sizeof *t->sort_scratch);
    t->plan.ephemeral_bytes += room * (sizeof *t->order + sizeof *t->sort_scratch);
    return t->order && t->sort_scratch ? ERR_OK : ERR_NO_MEMORY;
}

static void local_close(struct trainer *t)
{
    if (!t)
        return;
    model_free(t->model);
    compute_close(t->compute);
    free(t->order);
    free(t->sort_scratch);
    free(t);
}

static enum err local_open(const struct arch *arch, const struct dataset *data, int64_t batch_size,
                           enum optimizer_kind kind, struct trainer **out, struct fault *fault)
{
    struct model_plan model = {0};
    enum err err = check_fit(arch, data, batch_size, fault);
    if (err)
        return err;
    struct trainer *t = calloc(1, sizeof *t);
    if (!t)
        return fault_set(fault, ERR_NO_MEMORY, NULL, "out of memory for a trainer");
    size_t most = most_train_examples(data);
    size_t rows =
        (uint64_t)batch_size < most ? (size_t)batch_size : most; /* no batch is larger than a device's data */
    rows = rows > EVALUATION_ROWS ? rows : EVALUATION_ROWS;
    t->arch = arch;
    t->data = data;
    t->max_batch = batch_size;
    t->kind = kind;
    err = compute_open(NULL, &t->compute, fault);
    if (!err)
        err = model_plan(arch, t->compute, rows, kind, &model, fault);
    if (!err)
        err = model_new(arch, t->compute, rows, kind, &t->model, fault);
    t->plan = (struct trainer_plan){model.persistent_bytes, model.ephemeral_bytes};
    if (!err && take_order(t, most))
        err = fault_set(fault, ERR_NO_MEMORY, NULL, "out of memory for the order of %zu examples", most);
    if (err) {
        local_close(t);
        return err;
    }
    *out = t;
    return ERR_OK;
}

static const char *local_trouble(const struct trainer *t)
{
    return compute_trouble(t->compute);
}

static void local_plan(const struct trainer *t, struct trainer_plan *out)
{
    *out = t->plan;
}

static enum err gather(struct trainer *t, const struct device_data *device, enum data_split split,
                       size_t first, const uint32_t *indices, size_t rows)
{
    dataset_gather_apart(t->data, device, split, first, indices, rows, model_batch_x(t->model),
                         model_batch_stride(t->model), model_batch_labels(t->model));
    return model_batch_ready(t->model, rows);
}

/* GRADIENT = grad F_k at a block's weights. */
static enum err full_gradient(struct trainer *t, const struct device_data *device, enum model_block block)
{
    size_t n = device->num_train, from = 0;
    real scale = n ? (real)(1.0 / (double)n) : 0;
    enum err err = ERR_OK;
    do { /* once at least, so that a device without examples has the gradient 0 */
        size_t rows = n - from < EVALUATION_ROWS ? n - from : EVALUATION_ROWS;
        err = gather(t, device, SPLIT_TRAIN, from, NULL, rows);
        if (!err)
            err = model_gradient(t->model, block, rows, scale, from > 0);
        from += rows;
    } while (!err && from < n);
    return err;
}

static enum err check_job(const struct trainer *t, const struct train_job *job, struct fault *fault)
{
    if (job->batch_size < 1 || job->batch_size > t->max_batch)
        return fault_set(fault, ERR_INVALID_FIELD, "training.batch_size",
                         "is %lld; the trainer was opened for batches of 1 to %lld",
                         (long long)job->batch_size, (long long)t->max_batch);
    if (!(job->learning_rate > 0) || !isfinite(job->learning_rate))
        return fault_set(fault, ERR_INVALID_FIELD, "training.learning_rate",
                         "must be a number above 0, not %g", job->learning_rate);
    if (!(job->proximal_mu >= 0) || !isfinite(job->proximal_mu))
        return fault_set(fault, ERR_INVALID_FIELD, "proximal_mu", "must be a number, 0 or more, not %g",
                         job->proximal_mu);
    if (job->local_steps < 1 && job->local_epochs < 1)
        return fault_set(fault, ERR_INVALID_FIELD, "training.local_epochs",
                         "a job needs local_steps or local_epochs of at least 1");
    if (optimizer_num_states(job->optimizer.kind) > optimizer_num_states(t->kind))
        return fault_set(fault, ERR_INVALID_FIELD, "training.optimizer",
                         "is \"%s\"; the trainer was opened for \"%s\", which keeps fewer states",
                         optimizer_name(job->optimizer.kind), optimizer_name(t->kind));
    return optimizer_check(&job->optimizer, fault);
}

static enum err find_device(const struct trainer *t, int64_t ordinal, const struct device_data **out,
                            struct fault *fault)
{
    *out = dataset_find(t->data, ordinal);
    if (*out)
        return ERR_OK;
    return fault_set(fault, ERR_NOT_FOUND, "ordinal", "data set \"%.80s\" has no device %lld here",
                     dataset_name(t->data), (long long)ordinal);
}

static enum err local_begin(struct trainer *t, const struct train_job *job, const real *w_t,
                            struct fault *fault)
{
    const struct device_data *device = NULL;
    enum err err = check_job(t, job, fault);
    if (!err)
        err = find_device(t, job->ordinal, &device, fault);
    if (err)
        return err;
    t->device = device;
    t->job = *job;
    t->epoch = 0;
    t->position = 0;
    t->progress = (struct train_progress){.steps_assigned = train_job_steps(job, (int64_t)device->num_train),
                                          .train_loss_start = (double)NAN,
                                          .train_loss_end = (double)NAN,
                                          .grad_norm_start = (double)NAN,
                                          .grad_norm_end = (double)NAN,
                                          .gamma = (double)NAN};
    err = model_write(t->model, MODEL_WEIGHTS, w_t);
    if (!err)
        err = model_write(t->model, MODEL_ANCHOR, w_t);
    model_begin(t->model, rng_key(job->seed, RNG_DROPOUT, (uint64_t)job->round, (uint64_t)job->ordinal, 0),
                &t->job.optimizer);
    if (!err && job->want_gamma)
        err = full_gradient(t, device, MODEL_WEIGHTS); /* the proximal term is 0 here */
    if (!err && job->want_gamma)
        err = model_gradient_norm(t->model, &t->progress.grad_norm_start);
    if (err) {
        t->device = NULL;
        return fault_set(fault, err, NULL, "device %lld could not start its training%s%s",
                         (long long)job->ordinal, local_trouble(t)[0] ? ": " : "", local_trouble(t));
    }
    return ERR_OK;
}

static void start_epoch(struct trainer *t)
{
    uint64_t key = rng_key(t->job.seed, RNG_BATCHES, (uint64_t)t->job.round, (uint64_t)t->job.ordinal,
                           (uint64_t)t->epoch);
    rng_permutation_into(key, t->order, t->device->num_train, t->sort_scratch);
}

static enum err one_step(struct trainer *t)
{
    const struct sgd sgd = {(real)t->job.learning_rate, (real)t->job.proximal_mu};
    int64_t left = (int64_t)t->device->num_train - t->position;
    int64_t rows = left < t->job.batch_size ? left : t->job.batch_size;
    if (t->position == 0)
        start_epoch(t);
    enum err err = gather(t, t->device, SPLIT_TRAIN, 0, t->order + t->position, (size_t)rows);
    if (!err)
        err = model_step(t->model, (size_t)rows, &sgd);
    if (!err && t->progress.steps_done == 0)
        err = model_last_loss(t->model, &t->progress.train_loss_start);
    if (err)
        return err;
    t->progress.steps_done++;
    t->progress.samples_seen += rows;
    t->position += rows;
    if (rows == left) {
        t->position = 0;
        t->epoch++;
    }
    return ERR_OK;
}

static enum err local_step(struct trainer *t, int64_t max_steps, bool *out_is_done)
{
    if (!t->device)
        bug("a trainer steps before begin");
    enum err err = ERR_OK;
    for (int64_t i = 0; !err && i < max_steps && t->progress.steps_done < t->progress.steps_assigned; i++)
        err = one_step(t);
    *out_is_done = t->progress.steps_done >= t->progress.steps_assigned;
    return err;
}

static void local_progress(const struct trainer *t, struct train_progress *out)
{
    *out = t->progress;
    if (out->steps_done > 0 && model_last_loss(t->model, &out->train_loss_end))
        out->train_loss_end = (double)NAN;
}

/* ||grad h(w; w_t)|| at the weights as they are, and gamma. */
static enum err measure_gamma(struct trainer *t)
{
    enum err err = full_gradient(t, t->device, MODEL_WEIGHTS);
    if (!err)
        err = model_add_proximal(t->model, (real)t->job.proximal_mu);
    if (!err)
        err = model_gradient_norm(t->model, &t->progress.grad_norm_end);
    if (!err)
        t->progress.gamma = gamma_inexactness(t->progress.grad_norm_end, t->progress.grad_norm_start);
    return err;
}

static enum err local_snapshot(struct trainer *t, real *out_weights, struct train_progress *out)
{
    if (!t->device)
        bug("a trainer's snapshot before begin");
    enum err err = model_read(t->model, MODEL_WEIGHTS, out_weights);
    if (!err)
        err = model_distance(t->model, &t->progress.update_norm);
    if (!err && t->job.want_gamma)
        err = measure_gamma(t);
    if (!err)
        local_progress(t, out);
    return err;
}

static void local_end(struct trainer *t)
{
    t->device = NULL;
}

static enum err local_evaluate(struct trainer *t, int64_t ordinal, enum data_split split, const real *w,
                               struct evaluation *out)
{
    const struct device_data *device = NULL;
    double total = 0;
    int64_t correct = 0;
    enum err err = find_device(t, ordinal, &device, NULL);
    if (!err)
        err = model_write(t->model, MODEL_OTHER, w);
    if (err)
        return err;
    size_t n = split == SPLIT_TRAIN ? device->num_train : device->num_test;
    for (size_t from = 0; !err && from < n; from += EVALUATION_ROWS) {
        size_t rows = n - from < EVALUATION_ROWS ? n - from : EVALUATION_ROWS;
        double loss = 0;
        int64_t right = 0;
        err = gather(t, device, split, from, NULL, rows);
        if (!err)
            err = model_evaluate(t->model, MODEL_OTHER, rows, &loss, &right);
        total += loss;
        correct += right;
    }
    *out = (struct evaluation){n ? total / (double)n : (double)NAN, (int64_t)n, correct};
    return err;
}

static enum err local_gradient(struct trainer *t, int64_t ordinal, const real *w, real *out_gradient)
{
    const struct device_data *device = NULL;
    enum err err = find_device(t, ordinal, &device, NULL);
    if (!err)
        err = model_write(t->model, MODEL_OTHER, w);
    if (!err)
        err = full_gradient(t, device, MODEL_OTHER);
    if (!err)
        err = model_read(t->model, MODEL_GRADIENT, out_gradient);
    return err;
}

const struct trainer_ops trainer_local = {
    .name = "local",
    .open = local_open,
    .plan = local_plan,
    .begin = local_begin,
    .step = local_step,
    .snapshot = local_snapshot,
    .progress = local_progress,
    .trouble = local_trouble,
    .end = local_end,
    .evaluate = local_evaluate,
    .gradient = local_gradient,
    .close = local_close,
};
