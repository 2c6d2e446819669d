/* Every kind of layer in small models: gradients by central differences (in float64, where they are sharp),
 * the step against the gradient, backends against each other, and the model's own order of parameters. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/base/rng.h"
#include "common/json/json_spec.h"
#include "common/nn/model.h"
#include "tests/support/elsewhere.h"
#include "tests/support/unit.h"

enum { ROWS = 5 };

/* In single quotes, for who reads them. */
#define MODEL(input, layers) "{'input': " input ", 'layers': [" layers "]}"
#define DENSE3               "{'type': 'dense', 'units': 3}"
#define RELU                 "{'type': 'relu'}, "
#define TANH                 "{'type': 'tanh'}, "
#define FLATTEN              "{'type': 'flatten'}, "
#define POOL2                "{'type': 'max_pool2d', 'size': 2}, "
#define CONV(fields)         "{'type': 'conv2d', " fields "}, "

#define LSTM(fields) "{'type': 'lstm', " fields "}, "
#define EMBEDDING    "{'type': 'embedding', 'vocabulary': 7, 'dim': 3}, "
#define CHAR_MODEL   MODEL("[5]", EMBEDDING LSTM("'units': 4, 'layers': 2") DENSE3)

#define CONV_MODEL                                                                                           \
    MODEL("[2, 4, 4]", CONV("'filters': 3, 'kernel': 3, 'padding': 'same'") RELU POOL2 FLATTEN DENSE3)

static const struct {
    const char *what, *model;
} models[] = {
    {"conv, planar", MODEL("[2, 5, 6]", CONV("'filters': 3, 'kernel': 3") FLATTEN DENSE3)},
    {"conv, relu, pool", CONV_MODEL},
    {"twice", MODEL("[8, 8]", CONV("'filters': 3, 'kernel': 3, 'padding': 'same'")
                                  RELU POOL2 CONV("'filters': 17, 'kernel': [3, 2], 'padding': 'same'")
                                      RELU POOL2 FLATTEN "{'type': 'dense', 'units': 6}, " RELU DENSE3)},
    {"pool before relu", MODEL("[2, 7, 7]", CONV("'filters': 4, 'kernel': 2, 'stride': 2, 'padding': 1")
                                                POOL2 RELU FLATTEN DENSE3)},
    {"conv, tanh, pool", MODEL("[1, 6, 6]", CONV("'filters': 3, 'kernel': 3") TANH POOL2 FLATTEN DENSE3)},
    {"pool first, windows that overlap",
     MODEL(
         "[3, 6, 6]",
         "{'type': 'max_pool2d', 'size': 3, 'stride': 1}, " CONV(
             "'filters': 2, 'kernel': 2") "{'type': 'max_pool2d', 'size': 2, 'stride': 1}, " FLATTEN DENSE3)},
    {"conv, conv", MODEL("[2, 6, 6]", CONV("'filters': 3, 'kernel': 3, 'padding': 'same'") CONV(
                                          "'filters': 4, 'kernel': 3, 'padding': 2") RELU FLATTEN DENSE3)},
    {"one pixel", MODEL("[3, 2, 2]", CONV("'filters': 5, 'kernel': 2") RELU CONV("'filters': 4, 'kernel': 1")
                                         FLATTEN DENSE3)},
    {"relu first",
     MODEL("[2, 5, 5]", RELU CONV("'filters': 3, 'kernel': 2") RELU POOL2 TANH FLATTEN TANH DENSE3)},
    {"tanh, tanh, relu", MODEL("[7]", "{'type': 'dense', 'units': 5}, " TANH TANH RELU DENSE3)},
    {"lstm", MODEL("[4, 3]", LSTM("'units': 5") DENSE3)},
    {"lstm, 2 layers", MODEL("[6, 17]", LSTM("'units': 4, 'layers': 2") RELU DENSE3)},
    {"embedding, lstm", CHAR_MODEL},
    {"lstm of all steps",
     MODEL("[3, 4]", LSTM("'units': 5, 'output': 'all'") TANH LSTM("'units': 3, 'layers': 2, 'output': 'all'")
                         RELU FLATTEN DENSE3)},
    {"lstm of one step", MODEL("[1, 4]", LSTM("'units': 18, 'output': 'all'") FLATTEN DENSE3)},
    {"embedding alone", MODEL("[4]", EMBEDDING FLATTEN TANH DENSE3)},
    {"sigmoid",
     "{'input': [3, 2], 'loss': 'sigmoid_cross_entropy', 'layers': [" LSTM(
         "'units': 4, 'layers': 2") "{'type': 'dense', 'units': 3}, " RELU "{'type': 'dense', 'units': 1}]}"},
    {"one logit",
     "{'input': [6], 'loss': 'sigmoid_cross_entropy', 'layers': [{'type': 'dense', 'units': 1}]}"},
    {"dropout is none in gradients",
     MODEL("[5]", "{'type': 'dense', 'units': 6}, {'type': 'dropout', 'rate': 0}, " DENSE3)},
};
enum { NUM_MODELS = sizeof models / sizeof *models };

struct bed {
    struct arch *arch;
    struct compute *compute;
    struct model *model;
    real *w;
    size_t n;
};

static struct arch *parse(const char *text)
{
    char json[2000];
    json_t *root = NULL;
    struct arch *arch = NULL;
    struct fault fault = FAULT_NONE;
    ck_assert_int_lt(snprintf(json, sizeof json, "%s", text), (int)sizeof json);
    for (char *quote = json; (quote = strchr(quote, '\'')) != NULL;)
        *quote = '"';
    ck_assert_int_eq(json_text_parse(json, strlen(json), &root, NULL), ERR_OK);
    enum err err = arch_parse(root, &arch, &fault);
    ck_assert_msg(!err, "%s: %s %s", text, fault.field, fault.detail);
    json_decref(root);
    return arch;
}

static real *copy(const real *from, size_t n)
{
    real *to = calloc(n, sizeof *to);
    ck_assert_ptr_nonnull(to);
    if (from)
        memcpy(to, from, n * sizeof *to);
    return to;
}

static void fill_batch(const struct bed *b)
{
    const size_t features = (size_t)b->arch->num_features;
    const bool are_tokens = b->arch->input_shape.kind == SHAPE_TOKENS;
    for (size_t i = 0; i < ROWS * features; i++)
        model_batch_x(b->model)[i / features * model_batch_stride(b->model) + i % features] =
            are_tokens ? (real)(rng_u64(11, i) % (uint64_t)b->arch->layers[0].vocabulary)
                       : (real)rng_normal(11, i);
    for (size_t r = 0; r < ROWS; r++)
        model_batch_labels(b->model)[r] = (int32_t)(rng_u64(12, r) % (uint64_t)b->arch->num_classes);
    ck_assert_int_eq(model_batch_ready(b->model, ROWS), ERR_OK);
}

static struct bed make_bed(const char *model, struct compute *c)
{
    struct bed b = {.arch = parse(model), .compute = c};
    struct fault fault = FAULT_NONE;
    b.n = (size_t)b.arch->tensors.num_params;
    enum err err = model_new(b.arch, c, ROWS, OPTIMIZER_SGD, &b.model, &fault);
    ck_assert_msg(!err, "%s", fault.detail);
    b.w = copy(NULL, b.n);
    for (size_t i = 0; i < b.n; i++)
        b.w[i] = (real)(0.4 * rng_normal(13, i));
    ck_assert_int_eq(model_write(b.model, MODEL_WEIGHTS, b.w), ERR_OK);
    ck_assert_int_eq(model_write(b.model, MODEL_ANCHOR, b.w), ERR_OK);
    fill_batch(&b);
    return b;
}

static struct bed open_bed(const char *model, const char *backend)
{
    struct compute *c = NULL;
    ck_assert_int_eq(compute_open(backend, &c, NULL), ERR_OK);
    return make_bed(model, c);
}

static void close_bed(struct bed *b)
{
    model_free(b->model);
    ck_assert_uint_eq(compute_bytes_in_use(b->compute), 0);
    compute_close(b->compute);
    arch_free(b->arch);
    free(b->w);
}

static double loss_at(const struct bed *b, const real *w)
{
    double loss = 0;
    int64_t correct = 0;
    ck_assert_int_eq(model_write(b->model, MODEL_OTHER, w), ERR_OK);
    ck_assert_int_eq(model_evaluate(b->model, MODEL_OTHER, ROWS, &loss, &correct), ERR_OK);
    return loss / ROWS;
}

static real *gradient_of(const struct bed *b)
{
    real *gradient = copy(NULL, b->n);
    ck_assert_int_eq(model_gradient(b->model, MODEL_WEIGHTS, ROWS, (real)(1.0 / ROWS), false), ERR_OK);
    ck_assert_int_eq(model_read(b->model, MODEL_GRADIENT, gradient), ERR_OK);
    return gradient;
}

START_TEST(test_parameters_come_back)
{
    struct bed b = open_bed(models[_i].model, "reference");
    real *back = copy(NULL, b.n);
    ck_assert_int_eq(model_read(b.model, MODEL_WEIGHTS, back), ERR_OK);
    ck_assert_mem_eq(back, b.w, b.n * sizeof *back);
    free(back);
    close_bed(&b);
}
END_TEST

START_TEST(test_a_step_is_gradient_and_proximal_step)
{
    struct bed b = open_bed(models[_i].model, NULL);
    const struct sgd sgd = {(real)0.1, (real)0.5};
    real *gradient = gradient_of(&b), *anchor = copy(b.w, b.n), *w = copy(NULL, b.n);
    for (size_t i = 0; i < b.n; i++)
        anchor[i] += (real)rng_normal(14, i);
    ck_assert_int_eq(model_write(b.model, MODEL_ANCHOR, anchor), ERR_OK);
    ck_assert_int_eq(model_step(b.model, ROWS, &sgd), ERR_OK);
    ck_assert_int_eq(model_read(b.model, MODEL_WEIGHTS, w), ERR_OK);
    for (size_t i = 0; i < b.n; i++) {
        double h = (double)gradient[i] + 0.5 * ((double)b.w[i] - (double)anchor[i]);
        ck_assert_double_eq_tol((double)w[i], (double)b.w[i] - 0.1 * h, 2e-6);
    }
    free(gradient);
    free(anchor);
    free(w);
    close_bed(&b);
}
END_TEST

#ifdef FEDLANE_FLOAT64

START_TEST(test_gradients_by_central_differences)
{
    struct bed b = open_bed(models[_i].model, NULL);
    real *gradient = gradient_of(&b), *w = copy(b.w, b.n);
    double largest = 0;
    for (size_t i = 0; i < b.n; i++) {
        const double step = 1e-5;
        w[i] = b.w[i] + step;
        double up = loss_at(&b, w);
        w[i] = b.w[i] - step;
        double slope = (up - loss_at(&b, w)) / (2 * step);
        w[i] = b.w[i];
        ck_assert_msg(fabs(slope - gradient[i]) < 1e-8, "%s, parameter %zu: slope %.10g, gradient %.10g",
                      models[_i].what, i, slope, gradient[i]);
        largest = fmax(largest, fabs(slope));
    }
    ck_assert_double_gt(largest, 1e-3);
    free(gradient);
    free(w);
    close_bed(&b);
}
END_TEST

#else

static void ck_close(const char *what, const real *a, const real *b, size_t n)
{
    double error = 0, power = 0;
    for (size_t i = 0; i < n; i++) {
        error += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        power += (double)b[i] * (double)b[i];
    }
    ck_assert_msg(error <= 1e-11 * power, "%s: relative error %g", what, sqrt(error / power));
}

START_TEST(test_backends_agree)
{
    struct compute *elsewhere = NULL;
    struct bed near = open_bed(models[_i].model, "openblas"), plain = open_bed(models[_i].model, "reference");
    ck_assert_int_eq(compute_open_backend(&elsewhere_backend, NULL, &elsewhere, NULL), ERR_OK);
    struct bed far = make_bed(models[_i].model, elsewhere);
    real *a = gradient_of(&near), *b = gradient_of(&plain), *c = gradient_of(&far);
    ck_close(models[_i].what, a, b, near.n);
    ck_assert_mem_eq(b, c, near.n * sizeof *b);
    ck_assert_double_eq_tol(loss_at(&near, near.w), loss_at(&plain, near.w), 1e-5);
    free(a);
    free(b);
    free(c);
    close_bed(&near);
    close_bed(&plain);
    close_bed(&far);
}
END_TEST

START_TEST(test_the_plan_is_what_is_taken)
{
    static const char *const backends[] = {"reference", "openblas"};
    for (size_t k = 0; k < 2; k++) {
        struct bed b = open_bed(models[_i].model, backends[k]);
        struct model_plan plan;
        ck_assert_int_eq(model_plan(b.arch, b.compute, ROWS, OPTIMIZER_SGD, &plan, NULL), ERR_OK);
        ck_assert_uint_eq(compute_bytes_in_use(b.compute), plan.persistent_bytes + plan.ephemeral_bytes);
        close_bed(&b);
    }
}
END_TEST

#endif

/* conv 3x3 same, relu, pool 2, flatten, dense in PyTorch's order, nothing shared with the layers. */
enum { C = 2, S = 4, F = 3, P = S / 2, OUT = 3 };

static double pooled(const real *x, const real *w, const real *b, int f, int py, int px)
{
    double best = 0;
    for (int i = 0; i < 4; i++) {
        int oy = 2 * py + i / 2, ox = 2 * px + i % 2;
        double sum = (double)b[f];
        for (int k = 0; k < C * 9; k++) {
            int y = oy + k / 3 % 3 - 1, v = ox + k % 3 - 1;
            if (y >= 0 && y < S && v >= 0 && v < S)
                sum += (double)x[(k / 9 * S + y) * S + v] * (double)w[f * C * 9 + k];
        }
        best = fmax(best, sum);
    }
    return best;
}

static double loss_by_hand(const real *x, const real *w, int label)
{
    const real *bias = w + F * C * 9, *dense = bias + F, *dense_bias = dense + OUT * F * P * P;
    double sum = 0, z[OUT];
    for (int o = 0; o < OUT; o++) {
        z[o] = (double)dense_bias[o];
        for (int i = 0; i < F * P * P; i++)
            z[o] += (double)dense[o * F * P * P + i] * pooled(x, w, bias, i / (P * P), i / P % P, i % P);
        sum += exp(z[o]);
    }
    return log(sum) - z[label];
}

START_TEST(test_the_order_is_pytorchs)
{
    struct bed b = open_bed(CONV_MODEL, NULL);
    double expected = 0;
    for (size_t r = 0; r < ROWS; r++)
        expected += loss_by_hand(model_batch_x(b.model) + r * model_batch_stride(b.model), b.w,
                                 model_batch_labels(b.model)[r]) /
                    ROWS;
    ck_assert_double_eq_tol(loss_at(&b, b.w), expected, 1e-5);
    close_bed(&b);
}
END_TEST

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* Two layers of LSTM over an embedding, in PyTorch's order, for units 4 and dim 3. */
enum { STEPS = 5, DIM = 3, UNITS = 4 };

static const real *lstm_by_hand(const real *w, int inputs, double x[STEPS][UNITS])
{
    const real *w_hh = w + 4 * UNITS * inputs, *b_ih = w_hh + 4 * UNITS * UNITS, *b_hh = b_ih + 4 * UNITS;
    double h[UNITS] = {0}, c[UNITS] = {0}, z[4 * UNITS];
    for (int t = 0; t < STEPS; t++) {
        for (int k = 0; k < 4 * UNITS; k++) {
            z[k] = (double)b_ih[k] + (double)b_hh[k];
            for (int j = 0; j < inputs; j++)
                z[k] += (double)w[k * inputs + j] * x[t][j];
            for (int j = 0; j < UNITS; j++)
                z[k] += (double)w_hh[k * UNITS + j] * h[j];
        }
        for (int u = 0; u < UNITS; u++) {
            c[u] = sigmoid(z[UNITS + u]) * c[u] + sigmoid(z[u]) * tanh(z[2 * UNITS + u]);
            h[u] = sigmoid(z[3 * UNITS + u]) * tanh(c[u]);
            x[t][u] = h[u];
        }
    }
    return b_hh + 4 * UNITS;
}

START_TEST(test_the_lstm_is_pytorchs)
{
    struct bed b = open_bed(CHAR_MODEL, NULL);
    double expected = 0;
    for (size_t r = 0; r < ROWS; r++) {
        const real *tokens = model_batch_x(b.model) + r * model_batch_stride(b.model), *w = b.w + 7 * DIM;
        double x[STEPS][UNITS] = {{0}}, z[OUT], sum = 0;
        for (int t = 0; t < STEPS; t++) {
            for (int j = 0; j < DIM; j++)
                x[t][j] = (double)b.w[(int)tokens[t] * DIM + j];
        }
        w = lstm_by_hand(w, DIM, x);
        w = lstm_by_hand(w, UNITS, x);
        for (int o = 0; o < OUT; o++) {
            z[o] = (double)w[OUT * UNITS + o];
            for (int u = 0; u < UNITS; u++)
                z[o] += (double)w[o * UNITS + u] * x[STEPS - 1][u];
            sum += exp(z[o]);
        }
        expected += (log(sum) - z[model_batch_labels(b.model)[r]]) / ROWS;
    }
    ck_assert_double_eq_tol(loss_at(&b, b.w), expected, 1e-5);
    close_bed(&b);
}
END_TEST

/* By the stream of job and step, the same in both directions; never in evaluations. */
START_TEST(test_dropout)
{
    static const char with[] =
        MODEL("[40]", "{'type': 'dense', 'units': 64}, {'type': 'dropout', 'rate': 0.5}, " DENSE3);
    static const char without[] =
        MODEL("[40]", "{'type': 'dense', 'units': 64}, {'type': 'dropout', 'rate': 0}, " DENSE3);
    struct bed a = open_bed(with, NULL), b = open_bed(with, NULL), none = open_bed(without, NULL);
    const struct sgd sgd = {(real)0.1, 0};
    real *wa = copy(NULL, a.n), *wb = copy(NULL, a.n);
    double loss[4], plain = loss_at(&none, none.w);
    ck_assert_double_eq(loss_at(&a, a.w), plain);
    model_begin(a.model, 77, NULL);
    model_begin(b.model, 77, NULL);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(model_step(a.model, ROWS, &sgd), ERR_OK);
        ck_assert_int_eq(model_step(b.model, ROWS, &sgd), ERR_OK);
        ck_assert_int_eq(model_last_loss(a.model, &loss[i]), ERR_OK);
        (void)loss_at(&a, a.w);
    }
    ck_assert_int_eq(model_read(a.model, MODEL_WEIGHTS, wa), ERR_OK);
    ck_assert_int_eq(model_read(b.model, MODEL_WEIGHTS, wb), ERR_OK);
    ck_assert_mem_eq(wa, wb, a.n * sizeof *wa);
    ck_assert_double_gt(fabs(loss[0] - plain), 1e-3);
    for (int i = 0; i < 2; i++) { /* the first step again, of this job and of another */
        ck_assert_int_eq(model_write(a.model, MODEL_WEIGHTS, a.w), ERR_OK);
        model_begin(a.model, i == 0 ? 77 : 78, NULL);
        ck_assert_int_eq(model_step(a.model, ROWS, &sgd), ERR_OK);
        ck_assert_int_eq(model_last_loss(a.model, &loss[2 + i]), ERR_OK);
    }
    ck_assert_double_eq(loss[2], loss[0]);
    ck_assert_double_gt(fabs(loss[3] - loss[0]), 1e-4);
    free(wa);
    free(wb);
    close_bed(&a);
    close_bed(&b);
    close_bed(&none);
}
END_TEST

/* A model that cannot fit says what it needs and what there is. */
START_TEST(test_the_memory_limit)
{
    struct bed first = open_bed(CONV_MODEL, NULL);
    struct model_plan plan;
    struct model *second = NULL;
    struct fault fault = FAULT_NONE;
    char needs[32], left[64];
    ck_assert_int_eq(model_plan(first.arch, first.compute, ROWS, OPTIMIZER_SGD, &plan, NULL), ERR_OK);
    const size_t bytes = plan.persistent_bytes + plan.ephemeral_bytes;
    compute_limit_memory(2 * bytes - 1);
    ck_assert_int_eq(model_new(first.arch, first.compute, ROWS, OPTIMIZER_SGD, &second, &fault),
                     ERR_NO_MEMORY);
    (void)snprintf(needs, sizeof needs, "needs %zu bytes", bytes);
    (void)snprintf(left, sizeof left, "%zu are left of the %zu", bytes - 1, 2 * bytes - 1);
    ck_assert_msg(strstr(fault.detail, needs) && strstr(fault.detail, left), "%s", fault.detail);
    compute_limit_memory(2 * bytes);
    ck_assert_int_eq(model_new(first.arch, first.compute, ROWS, OPTIMIZER_SGD, &second, &fault), ERR_OK);
    ck_assert_uint_eq(compute_memory_left(), 0);
    model_free(second);
    ck_assert_uint_eq(compute_memory_left(), bytes);
    compute_limit_memory(0);
    close_bed(&first);
}
END_TEST

#ifndef FEDLANE_FLOAT64
static void ck_plan(struct compute *c, const struct arch *arch, size_t rows, enum optimizer_kind kind)
{
    struct model *m = NULL;
    struct model_plan plan, sgd;
    const size_t available = compute_device_available(c);
    ck_assert_int_eq(model_plan(arch, c, rows, kind, &plan, NULL), ERR_OK);
    ck_assert_int_eq(model_plan(arch, c, rows, OPTIMIZER_SGD, &sgd, NULL), ERR_OK);
    ck_assert_int_eq(model_new(arch, c, rows, kind, &m, NULL), ERR_OK);
    ck_assert_uint_eq(compute_bytes_in_use(c), plan.persistent_bytes + plan.ephemeral_bytes);
    const size_t block = sgd.persistent_bytes / MODEL_NUM_BLOCKS;
    ck_assert_uint_eq(plan.persistent_bytes, sgd.persistent_bytes + optimizer_num_states(kind) * block);
    ck_assert_uint_eq(plan.ephemeral_bytes, sgd.ephemeral_bytes);
    ck_assert_uint_le(compute_device_available(c), available);
    model_free(m);
    ck_assert_uint_eq(compute_device_available(c), available);
}

/* Every preset, as it is, with every optimizer: what is planned is what is taken, and states are only there
 * for those that have them. */
static void ck_presets(struct compute *c)
{
    static const char *const presets[] = {"softmax", "mlp", "cnn", "char_lstm", "sent_lstm"};
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
        char model[64];
        (void)snprintf(model, sizeof model, "{'preset': '%s'}", presets[i]);
        struct arch *arch = parse(model);
        for (size_t rows = 1; rows <= 64; rows += 63) {
            for (int kind = 0; kind < OPTIMIZER_COUNT; kind++)
                ck_plan(c, arch, rows, (enum optimizer_kind)kind);
        }
        arch_free(arch);
    }
    compute_close(c);
}

START_TEST(test_presets_take_what_they_plan)
{
    struct compute *c = NULL;
    ck_assert_int_eq(compute_open("openblas", &c, NULL), ERR_OK);
    ck_presets(c);
}
END_TEST

/* Where there is a device; it ends as tests/compute/test_ops.c's does, for the same reason. */
START_TEST(test_presets_take_what_they_plan_on_opencl)
{
    struct compute *c = NULL;
    struct fault fault = FAULT_NONE;
    size_t num_devices = 0;
    if (FAULT_STRIDE > 1 || (compute_num_opencl_devices(&num_devices, &fault) && !getenv("CI")))
        _exit(EXIT_SUCCESS);
    ck_assert_msg(!compute_open("opencl", &c, &fault), "%s", fault.detail);
    ck_presets(c);
    _exit(EXIT_SUCCESS);
}
END_TEST
#endif

int main(void)
{
    Suite *suite = suite_create("layers");
    TCase *tc = unit_case("layers");
    tcase_add_loop_test(tc, test_parameters_come_back, 0, NUM_MODELS);
    tcase_add_loop_test(tc, test_a_step_is_gradient_and_proximal_step, 0, NUM_MODELS);
    tcase_add_test(tc, test_the_order_is_pytorchs);
    tcase_add_test(tc, test_the_lstm_is_pytorchs);
    tcase_add_test(tc, test_dropout);
    tcase_add_test(tc, test_the_memory_limit);
#ifdef FEDLANE_FLOAT64
    tcase_add_loop_test(tc, test_gradients_by_central_differences, 0, NUM_MODELS);
#else
    tcase_add_loop_test(tc, test_backends_agree, 0, NUM_MODELS);
    tcase_add_loop_test(tc, test_the_plan_is_what_is_taken, 0, NUM_MODELS);
    tcase_add_test(tc, test_presets_take_what_they_plan);
    tcase_add_exit_test(tc, test_presets_take_what_they_plan_on_opencl, EXIT_SUCCESS);
#endif
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
