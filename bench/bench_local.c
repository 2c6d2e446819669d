/* Times for ./dev bench local, which asks for them one by one so that it can put other programs' between: a
 * line "step M" or "cblas M" on the standard input is answered by a line with the processor's microseconds
 * for one SGD step of model M (0, 1, 2, as below) at batch 10 on one thread. "step" is the whole local step
 * through the trainer: gather, forward, backward, proximal update. "cblas" are the bare matrix products of
 * such a step by cblas_sgemm. The first line that it writes names what computes. */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "common/base/log.h"
#include "common/base/rng.h"
#include "common/compute/compute.h"
#include "common/data/dataset.h"
#include "worker/trainer.h"

enum { BATCH = 10 };

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
     4000},
    {"softmax 784-10",
     "{\"input\": [784], \"layers\": [{\"type\": \"dense\", \"units\": 10}]}",
     "{\"source\": \"fashion_mnist\"}",
     {784, 10},
     1,
     1000},
    {"mlp 784-200-200-10",
     "{\"input\": [784], \"layers\": [{\"type\": \"dense\", \"units\": 200}, {\"type\": \"relu\"}, "
     "{\"type\": \"dense\", "
     "\"units\": 200}, {\"type\": \"relu\"}, {\"type\": \"dense\", \"units\": 10}]}",
     "{\"source\": \"fashion_mnist\"}",
     {784, 200, 200, 10},
     3,
     50},
};

static json_t *parse(const char *text)
{
    json_error_t error;
    json_t *value = json_loads(text, 0, &error);
    if (!value)
        bug("%s", error.text);
    return value;
}

static _Noreturn void die(const struct fault *fault)
{
    (void)fprintf(stderr, "bench_local: %s: %s\n", err_name(fault->err), fault->detail);
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

/* What is kept of one model between the questions. */
struct bed {
    const struct shape *shape;
    struct arch *arch;
    struct dataset *data;
    struct trainer *trainer;
    float *w;
    struct products products;
    int64_t round;
};

static void make_products(struct bed *b)
{
    const int *widths = b->shape->widths;
    b->products.shape = b->shape;
    for (int l = 0; l <= b->shape->num_layers; l++) {
        size_t out = l < b->shape->num_layers ? (size_t)widths[l + 1] : 0, n = (size_t)widths[l];
        b->products.x[l] = make_numbers(n * BATCH, 1);
        b->products.dx[l] = make_numbers(n * BATCH, 2);
        b->products.w[l] = make_numbers(n * out + 1, 3);
        b->products.dw[l] = make_numbers(n * out + 1, 4);
    }
}

static void make_bed(struct bed *b, const struct shape *s)
{
    struct fault fault = FAULT_NONE;
    json_t *model = parse(s->model), *source = parse(s->data);
    *b = (struct bed){.shape = s};
    if (arch_parse(model, &b->arch, &fault) || dataset_load(source, 1, &b->data, &fault) ||
        trainer_local.open(b->arch, b->data, BATCH, &b->trainer, &fault))
        die(&fault);
    b->w = calloc((size_t)b->arch->tensors.num_params, sizeof *b->w);
    if (!b->w || arch_init_params(b->arch, 1, b->w))
        bug("no initial weights");
    make_products(b);
    json_decref(model);
    json_decref(source);
}

static void release_bed(struct bed *b)
{
    for (int l = 0; l <= b->shape->num_layers; l++) {
        free(b->products.x[l]);
        free(b->products.dx[l]);
        free(b->products.w[l]);
        free(b->products.dw[l]);
    }
    free(b->w);
    trainer_local.close(b->trainer);
    dataset_free(b->data);
    arch_free(b->arch);
}

/* Processor time: what other programs take does not count. */
static int64_t thread_ns(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t))
        bug("no clock of this thread");
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static double time_products(const struct bed *b)
{
    int64_t start = thread_ns();
    for (int i = 0; i < b->shape->steps; i++)
        multiply_all(&b->products);
    return (double)(thread_ns() - start) / 1000 / b->shape->steps;
}

static double time_steps(struct bed *b)
{
    struct fault fault = FAULT_NONE;
    const struct train_job job = {.ordinal = dataset_device(b->data, 0)->ordinal,
                                  .round = b->round++,
                                  .local_steps = b->shape->steps,
                                  .batch_size = BATCH,
                                  .learning_rate = 0.01,
                                  .proximal_mu = 1};
    bool is_done = false;
    if (trainer_local.begin(b->trainer, &job, b->w, &fault))
        die(&fault);
    int64_t start = thread_ns();
    if (trainer_local.step(b->trainer, b->shape->steps, &is_done) || !is_done)
        bug("a job that does not end");
    double us = (double)(thread_ns() - start) / 1000 / b->shape->steps;
    trainer_local.end(b->trainer);
    return us;
}

static int name_what_computes(void)
{
    struct compute *c = NULL;
    struct fault fault = FAULT_NONE;
    if (compute_open(NULL, &c, &fault))
        die(&fault);
    int n = printf("%s\n", compute_description(c));
    compute_close(c);
    return n;
}

int main(void)
{
    enum { NUM_SHAPES = sizeof shapes / sizeof *shapes };
    static struct bed beds[NUM_SHAPES];
    char line[32];
    log_init(LOG_WARNING, LOG_TEXT);
    for (int i = 0; i < NUM_SHAPES; i++)
        make_bed(&beds[i], &shapes[i]);
    (void)name_what_computes();
    (void)fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        const char *number = strchr(line, ' ');
        long m = number ? strtol(number, NULL, 10) : -1;
        if (m < 0 || m >= NUM_SHAPES)
            break;
        (void)printf("%.4f\n", line[0] == 's' ? time_steps(&beds[m]) : time_products(&beds[m]));
        (void)fflush(stdout);
    }
    for (int i = 0; i < NUM_SHAPES; i++)
        release_bed(&beds[i]);
    return 0;
}
