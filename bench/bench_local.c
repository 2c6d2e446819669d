/* Times for ./dev bench local, which asks for them one by one so that it can put other programs' between: a
 * line "step M B" or "cblas M B" on the standard input is answered by a line with the processor's
 * microseconds for one SGD step of model M (0, 1, ..., as below) with a batch of B on one thread. "step" is
 * the whole local step through the trainer: gather, forward, backward, proximal update. "cblas" are the bare
 * matrix products of such a step by cblas_sgemm. The first line that it writes names what computes. The data
 * of the LSTMs are files in the current directory, which bench/local writes.
 *
 * With a number N of threads as argument, one device has N cores, and times are what a clock on the wall
 * shows. */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "common/base/log.h"
#include "common/base/rng.h"
#include "common/compute/compute.h"
#include "common/compute/team.h"
#include "common/data/dataset.h"
#include "worker/trainer.h"

enum { MAX_BATCH = 64 };

/* c[m][n] = a b: `times` products one after the other, of arrays by their numbers. Rows are those of one
 * example: a batch has as many times more of m, or of k where a is transposed. */
struct product {
    int m, n, k;
    enum CBLAS_TRANSPOSE a_form, b_form;
    int a, b, c, times;
};
enum { MAX_PRODUCTS = 24, NUM_ARRAYS = 48 };
/* Layer l's input and the gradient of it; its weights and their gradient. */
#define X(l)  (l)
#define DX(l) (12 + (l))
#define W(l)  (24 + (l))
#define DW(l) (36 + (l))
/* rows [inputs] -> [outputs]: forward and gradient of the weights; gradient of the input */
#define FORWARD(times, l, rows, inputs, outputs)                                                             \
    {                                                                                                        \
        rows, outputs, inputs, CblasNoTrans, CblasTrans, X(l), W(l), X((l) + 1), times                       \
    }
#define GRADIENT(l, rows, inputs, outputs)                                                                   \
    {                                                                                                        \
        outputs, inputs, rows, CblasTrans, CblasNoTrans, DX((l) + 1), X(l), DW(l), 1                         \
    }
#define INPUT_GRADIENT(times, l, rows, inputs, outputs)                                                      \
    {                                                                                                        \
        rows, inputs, outputs, CblasNoTrans, CblasNoTrans, DX((l) + 1), W(l), DX(l), times                   \
    }
#define FIRST(l, rows, inputs, outputs)                                                                      \
    FORWARD(1, l, rows, inputs, outputs), GRADIENT(l, rows, inputs, outputs)
#define LAYER(l, rows, inputs, outputs)                                                                      \
    FIRST(l, rows, inputs, outputs), INPUT_GRADIENT(1, l, rows, inputs, outputs)
/* What an LSTM's state meets: step by step, but for the gradient of its weights. Numbers l and l + 1. */
#define STATE(l, steps, units)                                                                               \
    FORWARD((steps)-1, l, 1, units, 4 * (units)), INPUT_GRADIENT((steps)-1, l, 1, units, 4 * (units)),       \
        GRADIENT(l, steps, units, 4 * (units))

struct shape {
    const char *name, *model, *data;
    int steps;                             /* of a measurement */
    struct product products[MAX_PRODUCTS]; /* to the first without times */
};

#define SENTENCES "{\"source\": \"npy\", \"x\": \"sentences.npy\", \"y\": \"moods.npy\"}"
/* The next of 80 characters from 80 before it. */
#define CHAR_LSTM(units, steps)                                                                              \
    {                                                                                                        \
        "char lstm " #units,                                                                                 \
            "{\"input\": [80], \"layers\": [{\"type\": \"embedding\", \"vocabulary\": 80, \"dim\": 8}, "     \
            "{\"type\": \"lstm\", \"units\": " #units                                                        \
            ", \"layers\": 2}, {\"type\": \"dense\", \"units\": 80}]}",                                      \
            "{\"source\": \"text\", \"path\": \"text.txt\"}", steps,                                         \
        {                                                                                                    \
            LAYER(0, 80, 8, 4 * (units)), STATE(2, 80, units), LAYER(4, 80, units, 4 * (units)),             \
                STATE(6, 80, units), LAYER(8, 1, units, 80)                                                  \
        }                                                                                                    \
    }

static const struct shape shapes[] = {
    {"softmax 60-10",
     "{\"input\": [60], \"layers\": [{\"type\": \"dense\", \"units\": 10}]}",
     "{\"source\": \"synthetic\", \"alpha\": 1, \"beta\": 1}",
     4000,
     {FIRST(0, 1, 60, 10)}},
    {"softmax 784-10",
     "{\"preset\": \"softmax\"}",
     "{\"source\": \"fashion_mnist\"}",
     1000,
     {FIRST(0, 1, 784, 10)}},
    {"mlp 784-200-200-10",
     "{\"preset\": \"mlp\"}",
     "{\"source\": \"fashion_mnist\"}",
     50,
     {FIRST(0, 1, 784, 200), LAYER(1, 1, 200, 200), LAYER(2, 1, 200, 10)}},
    /* A convolution is a product of all windows of its input, laid out beside each other. */
    {"cnn",
     "{\"preset\": \"cnn\"}",
     "{\"source\": \"fashion_mnist\"}",
     4,
     {FIRST(0, 784, 25, 32), LAYER(2, 196, 800, 64), LAYER(4, 1, 3136, 512), LAYER(5, 1, 512, 10)}},
    CHAR_LSTM(100, 4),
    {"sent lstm",
     "{\"preset\": \"sent_lstm\"}",
     SENTENCES,
     2,
     {FIRST(0, 25, 300, 1024), STATE(2, 25, 256), LAYER(4, 25, 256, 1024), STATE(6, 25, 256),
      LAYER(8, 1, 256, 30), LAYER(9, 1, 30, 1)}},
    CHAR_LSTM(32, 4),
    CHAR_LSTM(64, 4),
    CHAR_LSTM(128, 2),
    CHAR_LSTM(200, 1),
    CHAR_LSTM(256, 1),
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

/* Its sizes for a batch. */
static struct product of_batch(const struct product *p, int batch)
{
    struct product all = *p;
    *(p->a_form == CblasNoTrans ? &all.m : &all.k) *= batch;
    return all;
}

static void multiply_all(const struct product *products, int batch, float *const *arrays)
{
    for (; products->times > 0; products++) {
        const struct product p = of_batch(products, batch);
        const int a_stride = p.a_form == CblasNoTrans ? p.k : p.m,
                  b_stride = p.b_form == CblasNoTrans ? p.n : p.k;
        for (int i = 0; i < p.times; i++)
            cblas_sgemm(CblasRowMajor, p.a_form, p.b_form, p.m, p.n, p.k, 1, arrays[p.a], a_stride,
                        arrays[p.b], b_stride, 0, arrays[p.c], p.n);
    }
}

/* What is kept of one model between the questions. */
struct bed {
    const struct shape *shape;
    struct arch *arch; /* NULL before the first */
    struct dataset *data;
    struct trainer *trainer;
    float *w;
    float *arrays[NUM_ARRAYS]; /* of the bare products */
    int64_t round;
};

static void make_arrays(struct bed *b)
{
    size_t sizes[NUM_ARRAYS] = {0};
    for (const struct product *each = b->shape->products; each->times > 0; each++) {
        const struct product p = of_batch(each, MAX_BATCH);
        const size_t m = (size_t)p.m, n = (size_t)p.n, k = (size_t)p.k, needed[3] = {m * k, k * n, m * n};
        const int which[3] = {p.a, p.b, p.c};
        for (int i = 0; i < 3; i++)
            sizes[which[i]] = needed[i] > sizes[which[i]] ? needed[i] : sizes[which[i]];
    }
    for (int i = 0; i < NUM_ARRAYS; i++)
        b->arrays[i] = sizes[i] ? make_numbers(sizes[i], (uint64_t)i + 1) : NULL;
}

static void make_bed(struct bed *b, const struct shape *s)
{
    struct fault fault = FAULT_NONE;
    json_t *model = parse(s->model), *source = parse(s->data);
    *b = (struct bed){.shape = s};
    if (arch_parse(model, &b->arch, &fault) || dataset_load(source, 1, &b->data, &fault) ||
        trainer_local.open(b->arch, b->data, MAX_BATCH, OPTIMIZER_SGD, &b->trainer, &fault))
        die(&fault);
    b->w = calloc((size_t)b->arch->tensors.num_params, sizeof *b->w);
    if (!b->w || arch_init_params(b->arch, 1, b->w))
        bug("no initial weights");
    make_arrays(b);
    json_decref(model);
    json_decref(source);
}

static void release_bed(struct bed *b)
{
    if (!b->arch)
        return;
    for (int i = 0; i < NUM_ARRAYS; i++)
        free(b->arrays[i]);
    free(b->w);
    trainer_local.close(b->trainer);
    dataset_free(b->data);
    arch_free(b->arch);
}

/* Processor time, in which what other programs take does not count; with several threads there is none of a
 * step. */
static int64_t now_ns(void)
{
    struct timespec t;
    if (clock_gettime(team_seats() > 1 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &t))
        bug("no clock of this thread");
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static double time_products(const struct bed *b, int batch)
{
    int64_t start = now_ns();
    for (int i = 0; i < b->shape->steps; i++)
        multiply_all(b->shape->products, batch, b->arrays);
    return (double)(now_ns() - start) / 1000 / b->shape->steps;
}

static double time_steps(struct bed *b, int batch)
{
    struct fault fault = FAULT_NONE;
    const struct train_job job = {.ordinal = dataset_device(b->data, 0)->ordinal,
                                  .round = b->round++,
                                  .local_steps = b->shape->steps,
                                  .batch_size = batch,
                                  .learning_rate = 0.01,
                                  .proximal_mu = 1};
    bool is_done = false;
    if (trainer_local.begin(b->trainer, &job, b->w, &fault))
        die(&fault);
    int64_t start = now_ns();
    if (trainer_local.step(b->trainer, b->shape->steps, &is_done) || !is_done)
        bug("a job that does not end");
    double us = (double)(now_ns() - start) / 1000 / b->shape->steps;
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

int main(int argc, char **argv)
{
    enum { NUM_SHAPES = sizeof shapes / sizeof *shapes };
    static struct bed beds[NUM_SHAPES];
    char line[32];
    struct fault fault = FAULT_NONE;
    const long threads = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
    log_init(LOG_WARNING, LOG_TEXT);
    if (threads > 1 && team_start((size_t)threads, &fault))
        die(&fault);
    (void)name_what_computes();
    (void)fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        char *numbers = strchr(line, ' '), *end = numbers;
        const long m = numbers ? strtol(numbers, &end, 10) : -1, batch = end ? strtol(end, NULL, 10) : 0;
        if (m < 0 || m >= NUM_SHAPES || batch < 1 || batch > MAX_BATCH)
            break;
        if (!beds[m].arch)
            make_bed(&beds[m], &shapes[m]);
        (void)printf("%.4f\n",
                     line[0] == 's' ? time_steps(&beds[m], (int)batch) : time_products(&beds[m], (int)batch));
        (void)fflush(stdout);
    }
    for (int i = 0; i < NUM_SHAPES; i++)
        release_bed(&beds[i]);
    team_stop();
    return 0;
}
