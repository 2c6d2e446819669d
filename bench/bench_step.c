/* Microseconds of one local training step through the trainer (gather, forward, backward, proximal update),
 * batch 10, one thread, and next to it the bare cblas products of the same step in the same process. The
 * ratio is what to compare between machines; the best of several rounds, since others use the machine. */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include "common/base/clock.h"
#include "common/base/rng.h"
#include "common/data/dataset.h"
#include "worker/trainer.h"

enum { BATCH = 10, REPEATS = 15 };

struct shape {
    const char *name, *model, *data;
    int widths[5], num_layers; /* features first */
    int steps;
};

static const struct shape shapes[] = {
    {"softmax 60-10",
     "{\"input\": [60], \"layers\": [{\"type\": \"dense\", \"units\": 10}]}",
     "{\"source\": \"synthetic\", \"alpha\": 1, \"beta\": 1}",
     {60, 10},
     1,
     20000},
    {"softmax 784-10",
     "{\"input\": [784], \"layers\": [{\"type\": \"dense\", \"units\": 10}]}",
     "{\"source\": \"fashion_mnist\"}",
     {784, 10},
     1,
     4000},
    {"mlp 784-200-200-10",
     "{\"input\": [784], \"layers\": [{\"type\": \"dense\", \"units\": 200}, {\"type\": \"relu\"}, "
     "{\"type\": \"dense\", "
     "\"units\": 200}, {\"type\": \"relu\"}, {\"type\": \"dense\", \"units\": 10}]}",
     "{\"source\": \"fashion_mnist\"}",
     {784, 200, 200, 10},
     3,
     300},
};

static json_t *parse(const char *text)
{
    json_error_t error;
    json_t *value = json_loads(text, 0, &error);
    if (!value)
        bug("%s", error.text);
    return value;
}

static void die(const struct fault *fault)
{
    (void)fprintf(stderr, "bench_step: %s: %s\n", err_name(fault->err), fault->detail);
    exit(1);
}

/* Numbers of ordinary size: a BLAS may shorten work with zeros, and denormal ones are slow. */
static float *make_numbers(size_t n, uint64_t key)
{
    float *out = malloc(n * sizeof *out);
    if (!out)
        bug("out of memory");
    for (size_t i = 0; i < n; i++)
        out[i] = (float)rng_uniform(key, i) - 0.5f;
    return out;
}

struct products {
    const struct shape *shape;
    float *x[5], *dx[5], *w[5], *dw[5]; /* x[l], dx[l]: what goes into layer l; w[l], dw[l]: its weights */
};

/* Forward, weight gradient and input gradient of every layer, nothing else; each result to a place of its
 * own. */
static void multiply_all(const struct products *p)
{
    const int *widths = p->shape->widths;
    for (int l = 0; l < p->shape->num_layers; l++)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, BATCH, widths[l + 1], widths[l], 1, p->x[l],
                    widths[l], p->w[l], widths[l], 0, p->x[l + 1], widths[l + 1]);
    for (int l = p->shape->num_layers - 1; l >= 0; l--) {
        if (l > 0)
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, BATCH, widths[l], widths[l + 1], 1,
                        p->dx[l + 1], widths[l + 1], p->w[l], widths[l], 0, p->dx[l], widths[l]);
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, widths[l + 1], widths[l], BATCH, 1, p->dx[l + 1],
                    widths[l + 1], p->x[l], widths[l], 0, p->dw[l], widths[l]);
    }
}

static double bare_products(const struct shape *s)
{
    struct products p = {.shape = s};
    double best = 1e18;
    for (int l = 0; l <= s->num_layers; l++) {
        size_t out = l < s->num_layers ? (size_t)s->widths[l + 1] : 0, n = (size_t)s->widths[l];
        p.x[l] = make_numbers(n * BATCH, 1);
        p.dx[l] = make_numbers(n * BATCH, 2);
        p.w[l] = make_numbers(n * out + 1, 3);
        p.dw[l] = make_numbers(n * out + 1, 4);
    }
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        int64_t start = mono_ns();
        for (int i = 0; i < s->steps; i++)
            multiply_all(&p);
        double us = (double)(mono_ns() - start) / 1000 / s->steps;
        best = us < best ? us : best;
    }
    for (int l = 0; l <= s->num_layers; l++) {
        free(p.x[l]);
        free(p.dx[l]);
        free(p.w[l]);
        free(p.dw[l]);
    }
    return best;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void bench(const struct shape *s)
{
    struct fault fault = FAULT_NONE;
    struct arch *arch = NULL;
    struct dataset *data = NULL;
    struct trainer *t = NULL;
    double times[REPEATS];
    json_t *model = parse(s->model), *source = parse(s->data);
    if (arch_parse(model, &arch, &fault) || dataset_load(source, 1, &data, &fault) ||
        trainer_local.open(arch, data, BATCH, &t, &fault))
        die(&fault);
    float *w = calloc((size_t)arch->tensors.num_params, sizeof *w);
    if (!w || arch_init_params(arch, 1, w))
        bug("no initial weights");
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        const struct train_job job = {.ordinal = dataset_device(data, 0)->ordinal,
                                      .round = repeat,
                                      .local_steps = s->steps,
                                      .batch_size = BATCH,
                                      .learning_rate = 0.01,
                                      .proximal_mu = 1};
        bool is_done = false;
        if (trainer_local.begin(t, &job, w, &fault))
            die(&fault);
        int64_t start = mono_ns();
        if (trainer_local.step(t, s->steps, &is_done) || !is_done)
            bug("a job that does not end");
        times[repeat] = (double)(mono_ns() - start) / 1000 / s->steps;
        trainer_local.end(t);
    }
    qsort(times, REPEATS, sizeof *times, compare);
    double bare = bare_products(s);
    (void)printf("%-20s step %8.2f us best, %8.2f median; bare cblas %8.2f us; ratio %.2f\n", s->name,
                 times[0], times[REPEATS / 2], bare, times[0] / bare);
    free(w);
    trainer_local.close(t);
    dataset_free(data);
    arch_free(arch);
    json_decref(model);
    json_decref(source);
}

int main(void)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        bench(&shapes[i]);
    return 0;
}
