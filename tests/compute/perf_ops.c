/* Median times of the operations, in the sizes of the presets' layers, as a table. */
#include "tests/compute/perf_ops.h"

#include <stdlib.h>
#include <time.h>
#include "common/compute/compute_descent.h"
#include "tests/compute/op_check.h"

enum { MAX_TIMES = 101 };

static const struct compute_pool pool = {32, 28, 28, 2, 2, 14, 14};
static const struct compute_conv convs[] = {
    {1, 28, 28, 1, 32, 5, 5, 1, 2, 2, 28, 28, true, {32, 28, 28, 2, 2, 14, 14}},
    {32, 14, 14, 32, 64, 5, 5, 1, 2, 2, 14, 14, true, {64, 14, 14, 2, 2, 7, 7}}};
static const struct compute_unpack unpack = {28 * 28, 3, 16, true};
static const struct compute_lstm lstm = {.steps = 80, .units = 100};
static const struct compute_table table = {80, 80, 8};
static const struct compute_descent sgd = {.rule = COMPUTE_RULE_SGD};

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Multiplications and additions; 0 for what is bound by memory. */
static double flops_of(const struct compute_op *op)
{
    const double rows = (double)op->rows;
    if (op->kind <= COMPUTE_DENSE_UPDATE || op->kind == COMPUTE_SOFTMAX_STEP)
        return (op->kind == COMPUTE_SOFTMAX_STEP ? 4 : 2) * rows * (double)op->inputs * (double)op->outputs;
    if (op->kind >= COMPUTE_CONV_FORWARD && op->kind <= COMPUTE_CONV_UPDATE) {
        const struct compute_conv *g = op->conv;
        return 2 * rows * (double)(g->out_height * g->out_width * g->filters) *
               (double)(g->kernel_height * g->kernel_width * g->channels);
    }
    if (op->kind == COMPUTE_LSTM_FORWARD || op->kind == COMPUTE_LSTM_BACKWARD)
        return 2 * rows * (double)op->lstm->steps * 4 * (double)(op->lstm->units * op->lstm->units);
    return 0;
}

static double bytes_of(const struct operands *o)
{
    double bytes = 0;
    for (int a = 0; a < o->count; a++)
        bytes += (double)o->info[a].bytes * (o->info[a].mode == COMPUTE_IN_OUT ? 2 : 1);
    return bytes;
}

/* Seconds of one run, the median of some. What a run destroys is written again before each. */
static double time_op(struct compute *c, struct compute_op op, const struct operands *o)
{
    struct compute_buffer *buffers[COMPUTE_MAX_ARGS], *scratch = NULL;
    double times[MAX_TIMES], until = now() + 0.1;
    size_t n = 0;
    ck_assert_int_eq(compute_alloc(c, compute_scratch_bytes(c, &op), &scratch), ERR_OK);
    op.scratch = (struct compute_slice){scratch, 0};
    for (int a = 0; a < o->count; a++) {
        ck_assert_int_eq(compute_alloc(c, o->info[a].bytes, &buffers[a]), ERR_OK);
        op.arg[a] = (struct compute_slice){buffers[a], 0};
    }
    for (int warm = 1; warm >= 0 || (n < MAX_TIMES && (n < 3 || now() < until)); warm--) {
        for (int a = 0; a < o->count; a++) {
            if (warm == 1 || o->info[a].mode == COMPUTE_IN_OUT)
                ck_assert_int_eq(compute_write(c, op.arg[a], o->bytes[a], o->info[a].bytes), ERR_OK);
        }
        ck_assert_int_eq(compute_wait(c), ERR_OK);
        double start = now();
        ck_assert_int_eq(compute_run(c, &op), ERR_OK);
        ck_assert_int_eq(compute_wait(c), ERR_OK);
        if (warm < 1)
            times[n++] = now() - start;
    }
    for (int a = 0; a < o->count; a++)
        compute_free(c, buffers[a]);
    compute_free(c, scratch);
    qsort(times, n, sizeof *times, by_size);
    return times[n / 2];
}

static void print_op(struct compute *c, struct compute_op op, const char *shape)
{
    struct operands o;
    make_operands(&op, 1, &o);
    const double seconds = time_op(c, op, &o), flops = flops_of(&op);
    (void)printf("| %s | %s | %zu x %s | %.1f | %.2f %s |\n", compute_name(c), compute_kind_name(op.kind),
                 op.rows, shape, 1e6 * seconds, (flops > 0 ? flops : bytes_of(&o)) / seconds / 1e9,
                 flops > 0 ? "GFLOP/s" : "GB/s");
    (void)fflush(stdout);
    free_operands(&o);
}

static void print_dense(struct compute *c, size_t rows)
{
    static const size_t shapes[][2] = {{784, 10}, {784, 200}, {3136, 512}, {100, 80}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        char shape[48];
        (void)snprintf(shape, sizeof shape, "%zu x %zu", shapes[i][0], shapes[i][1]);
        struct compute_op op = {.rows = rows, .inputs = shapes[i][0], .outputs = shapes[i][1]};
        op.learning_rate = op.scale = 0.01f;
        for (int kind = COMPUTE_DENSE_FORWARD; kind <= COMPUTE_DENSE_UPDATE; kind++) {
            op.kind = (enum compute_kind)kind;
            print_op(c, op, shape);
        }
        op.kind = COMPUTE_SOFTMAX_STEP;
        print_op(c, op, shape);
    }
}

static void print_losses_and_vectors(struct compute *c, size_t rows)
{
    struct compute_op op = {.rows = rows, .outputs = 62, .scale = 0.5f, .mu = 0.5f, .learning_rate = 0.01f};
    op.kind = COMPUTE_SOFTMAX_GRADIENT;
    print_op(c, op, "62");
    op.kind = COMPUTE_SOFTMAX_LOSS;
    print_op(c, op, "62");
    op.outputs = 1;
    op.kind = COMPUTE_SIGMOID_GRADIENT;
    print_op(c, op, "1");
    op.kind = COMPUTE_SIGMOID_LOSS;
    print_op(c, op, "1");
    static const enum compute_kind vectors[] = {
        COMPUTE_RELU_FORWARD,  COMPUTE_RELU_BACKWARD, COMPUTE_TANH_FORWARD,
        COMPUTE_TANH_BACKWARD, COMPUTE_DROPOUT,       COMPUTE_PROX_GRADIENT,
        COMPUTE_PROX_STEP,     COMPUTE_DOT,           COMPUTE_SQUARED_DISTANCE};
    op.rows = rows * 3136;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        op.kind = vectors[i];
        print_op(c, op, "1");
    }
    op.kind = COMPUTE_DESCENT;
    op.descent = &sgd;
    print_op(c, op, "1");
}

static void print_images(struct compute *c, size_t rows)
{
    static const char *const shapes[] = {"1 x 28 x 28 to 32, 5 x 5, relu, pool",
                                         "32 x 14 x 14 to 64, 5 x 5, relu, pool"};
    struct compute_op op = {.rows = rows, .learning_rate = 0.01f};
    for (size_t i = 0; i < sizeof convs / sizeof *convs; i++) {
        op.conv = &convs[i];
        for (int kind = COMPUTE_CONV_FORWARD; kind <= COMPUTE_CONV_UPDATE; kind++) {
            op.kind = (enum compute_kind)kind;
            print_op(c, op, shapes[i]);
        }
    }
    op.pool = &pool;
    op.kind = COMPUTE_POOL_FORWARD;
    print_op(c, op, "32 x 28 x 28, 2 x 2");
    op.kind = COMPUTE_POOL_BACKWARD;
    print_op(c, op, "32 x 28 x 28, 2 x 2");
    op.unpack = &unpack;
    op.kind = COMPUTE_UNPACK;
    print_op(c, op, "3 x 28 x 28");
}

static void print_sequences(struct compute *c, size_t rows)
{
    struct compute_op op = {.rows = rows, .lstm = &lstm};
    for (int kind = COMPUTE_LSTM_FORWARD; kind <= COMPUTE_LAST_STEP; kind++) {
        op.kind = (enum compute_kind)kind;
        print_op(c, op, "80 steps, 100 units");
    }
    op.table = &table;
    op.kind = COMPUTE_GATHER;
    print_op(c, op, "80 tokens of 80, width 8");
    op.kind = COMPUTE_SCATTER_ADD;
    print_op(c, op, "80 tokens of 80, width 8");
}

static const char *names[] = {"reference", "openblas"};

START_TEST(test_times)
{
    struct compute *c = NULL;
    struct fault fault = FAULT_NONE;
    ck_assert_msg(!compute_open(names[_i], &c, &fault), "%s", fault.detail);
    for (size_t i = 0; i < 2; i++) {
        const size_t rows = i == 0 ? 10 : 64;
        print_dense(c, rows);
        print_losses_and_vectors(c, rows);
        print_images(c, rows);
        print_sequences(c, rows);
    }
    compute_close(c);
}
END_TEST

/* As a case of Check, since what checks operands wants one around it. */
int perf_ops(const char *backend)
{
    TCase *tc = unit_case("perf");
    if (backend)
        names[0] = backend;
    tcase_add_loop_test(tc, test_times, 0, backend ? 1 : 2);
    Suite *suite = suite_create("perf");
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    (void)puts("| backend | operation | rows x shape | us, median | rate |\n|---|---|---|---|---|");
    (void)fflush(stdout);
    srunner_run_all(runner, CK_SILENT);
    int failed = srunner_ntests_failed(runner);
    if (failed)
        srunner_print(runner, CK_NORMAL);
    srunner_free(runner);
    return failed != 0;
}
