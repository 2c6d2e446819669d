/* One device's local work, for the comparison with PyTorch (test_torch.py):
 *   local_job BACKEND CASE.json WEIGHTS.safetensors OUT-DIR
 * CASE is {"model", "data", "training": {"batch_size", "local_steps", "learning_rate", "proximal_mu", and a
 * run spec's fields of optimizers}, "seed", "round"}. Of the data's first device, from the given weights on,
 * it writes into OUT-DIR: gradient.safetensors   the gradient of the mean loss over all train examples
 *   weights.safetensors    the weights after the job's steps
 *   facts.json             {"test_loss", "test_correct"} of the given weights, {"last_loss"} of the last
 * step's batch, {"train_losses": [...]} of the given weights on each device of the data */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "common/base/atomic_file.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/compute/compute.h"
#include "common/json/json_spec.h"
#include "common/tensor/safetensors.h"
#include "worker/trainer.h"

struct work {
    json_t *json;
    struct arch *arch;
    struct dataset *data;
    struct trainer *trainer;
    float *w, *out; /* num_params */
    struct train_job job;
};

struct number {
    char text[32];
};

/* As Python's json reads it. */
static struct number number(double x)
{
    struct number n;
    (void)snprintf(n.text, sizeof n.text, isnan(x) ? "NaN" : "%.17g", x);
    return n;
}

static int64_t count_at(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static double number_at(const json_t *object, const char *name, double otherwise)
{
    const json_t *value = json_object_get(object, name);
    return value ? json_number_value(value) : otherwise;
}

static enum err read_optimizer(const json_t *training, struct optimizer *out, struct fault *fault)
{
    const char *name = json_string_value(json_object_get(training, "optimizer"));
    enum optimizer_kind kind = OPTIMIZER_SGD;
    if (name && !optimizer_find(name, &kind))
        return fault_set(fault, ERR_INVALID_FIELD, "training.optimizer", "there is no \"%s\"", name);
    *out = optimizer_of(kind);
    out->momentum = number_at(training, "momentum", out->momentum);
    out->beta1 = number_at(training, "beta1", out->beta1);
    out->beta2 = number_at(training, "beta2", out->beta2);
    out->epsilon = number_at(training, "epsilon", out->epsilon);
    out->weight_decay = number_at(training, "weight_decay", 0);
    out->clip_norm = number_at(training, "clip_norm", 0);
    return optimizer_check(out, fault);
}

static enum err read_case(const char *path, struct work *k, struct fault *fault)
{
    enum err e = json_file_parse(path, &k->json, fault);
    if (!e)
        e = arch_parse(json_object_get(k->json, "model"), &k->arch, fault);
    if (!e)
        e = dataset_load(json_object_get(k->json, "data"), 0, &k->data, fault);
    if (e)
        return e;
    const json_t *training = json_object_get(k->json, "training");
    k->job = (struct train_job){
        .ordinal = dataset_device(k->data, 0)->ordinal,
        .round = count_at(k->json, "round"),
        .seed = (uint64_t)count_at(k->json, "seed"),
        .local_steps = count_at(training, "local_steps"),
        .batch_size = count_at(training, "batch_size"),
        .learning_rate = number_at(training, "learning_rate", 0),
        .proximal_mu = number_at(training, "proximal_mu", 0),
    };
    e = read_optimizer(training, &k->job.optimizer, fault);
    if (e)
        return e;
    size_t n = (size_t)k->arch->tensors.num_params;
    k->w = calloc(n, sizeof *k->w);
    k->out = calloc(n, sizeof *k->out);
    if (!k->w || !k->out)
        return ERR_NO_MEMORY;
    return trainer_local.open(k->arch, k->data, k->job.batch_size, k->job.optimizer.kind, &k->trainer, fault);
}

static enum err read_weights(const char *path, struct work *k, struct fault *fault)
{
    struct arena arena = ARENA_INIT(16 * MIB);
    struct buf file = BUF_INIT(GIB);
    enum err e = file_read(path, &file, fault);
    if (!e)
        e = safetensors_decode(file.data, file.len, &k->arch->tensors, "", &arena, k->w, NULL, NULL, fault);
    buf_release(&file);
    arena_release(&arena);
    return e;
}

static enum err write_file(const char *dir, const char *name, const void *bytes, size_t size,
                           struct fault *fault)
{
    char path[4096];
    const struct file_part part = {bytes, size};
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return atomic_file_write(path, &part, 1, false, fault);
}

static enum err write_out(const char *dir, const char *name, const struct work *k, struct fault *fault)
{
    struct buf file = BUF_INIT(GIB);
    enum err e = safetensors_encode(&k->arch->tensors, "", k->out, NULL, NULL, 0, &file);
    if (!e)
        e = write_file(dir, name, file.data, file.len, fault);
    buf_release(&file);
    return e;
}

static enum err gradient(const char *dir, const struct work *k, struct fault *fault)
{
    enum err e = trainer_local.gradient(k->trainer, k->job.ordinal, k->w, k->out);
    return e ? e : write_out(dir, "gradient.safetensors", k, fault);
}

static enum err train(const char *dir, const struct work *k, double *out_last_loss, struct fault *fault)
{
    struct train_progress progress = {0};
    bool is_done = false;
    enum err e = trainer_local.begin(k->trainer, &k->job, k->w, fault);
    while (!e && !is_done)
        e = trainer_local.step(k->trainer, 1, &is_done);
    if (!e)
        e = trainer_local.snapshot(k->trainer, k->out, &progress);
    trainer_local.end(k->trainer);
    *out_last_loss = progress.train_loss_end;
    return e ? e : write_out(dir, "weights.safetensors", k, fault);
}

static enum err evaluate(const struct work *k, struct buf *facts)
{
    struct evaluation e = {0};
    enum err err = trainer_local.evaluate(k->trainer, k->job.ordinal, SPLIT_TEST, k->w, &e);
    if (!err)
        err = buf_printf(facts, "{\"test_loss\": %s, \"test_correct\": %lld, \"train_losses\": [",
                         number(e.loss).text, (long long)e.correct);
    for (size_t i = 0; !err && i < dataset_num_devices(k->data); i++) {
        err = trainer_local.evaluate(k->trainer, dataset_device(k->data, i)->ordinal, SPLIT_TRAIN, k->w, &e);
        if (!err)
            err = buf_printf(facts, "%s%s", i ? ", " : "", number(e.loss).text);
    }
    return err;
}

static enum err work(const char *dir, const struct work *k, struct buf *facts, struct fault *fault)
{
    double last_loss = 0;
    enum err e = evaluate(k, facts);
    if (!e)
        e = gradient(dir, k, fault);
    if (!e)
        e = train(dir, k, &last_loss, fault);
    if (!e)
        e = buf_printf(facts, "], \"last_loss\": %s}\n", number(last_loss).text);
    return e ? e : write_file(dir, "facts.json", facts->data, facts->len, fault);
}

int main(int argc, char **argv)
{
    struct work k = {0};
    struct buf facts = BUF_INIT(MIB);
    struct fault fault = FAULT_NONE;
    if (argc != 5) {
        (void)fprintf(stderr, "usage: local_job BACKEND CASE.json WEIGHTS.safetensors OUT-DIR\n");
        return 2;
    }
    log_init(LOG_WARNING, LOG_TEXT);
    enum err e = compute_choose(argv[1], &fault);
    if (!e)
        e = read_case(argv[2], &k, &fault);
    if (!e)
        e = read_weights(argv[3], &k, &fault);
    if (!e)
        e = work(argv[4], &k, &facts, &fault);
    if (e)
        (void)fprintf(stderr, "local_job: %s: %s: %s\n", err_name(e), fault.field, fault.detail);
    buf_release(&facts);
    free(k.out);
    free(k.w);
    if (k.trainer)
        trainer_local.close(k.trainer);
    dataset_free(k.data);
    arch_free(k.arch);
    json_decref(k.json);
    return e ? 1 : 0;
}
