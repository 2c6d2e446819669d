#include <math.h>
#include <string.h>
#include "common/base/rng.h"
#include "common/nn/layer.h"
#include "common/nn/model.h"
#include "tests/support/elsewhere.h"
#include "tests/support/unit.h"

enum { FEATURES = 7, CLASSES = 4, ROWS = 9 };

/* `depth` dense layers with relu between them; `before`: a relu in front as well. */
static struct arch *make_arch(int depth, bool before)
{
    struct arch *a = NULL;
    json_t *layers = json_array(), *model;
    if (before)
        json_array_append_new(layers, json_pack("{s:s}", "type", "relu"));
    for (int i = 0; i < depth; i++) {
        json_array_append_new(
            layers, json_pack("{s:s, s:i}", "type", "dense", "units", i == depth - 1 ? CLASSES : 5 + 3 * i));
        if (i < depth - 1)
            json_array_append_new(layers, json_pack("{s:s}", "type", "relu"));
    }
    model = json_pack("{s:[i], s:o, s:s}", "input", FEATURES, "layers", layers, "init", "he_normal");
    ck_assert_int_eq(arch_parse(model, &a, NULL), ERR_OK);
    json_decref(model);
    return a;
}

struct bed {
    struct arch *arch;
    struct compute *compute;
    struct model *model;
    float *w;
    size_t n;
};

static void fill_batch(struct model *m)
{
    for (size_t i = 0; i < ROWS * FEATURES; i++)
        model_batch_x(m)[i / FEATURES * model_batch_stride(m) + i % FEATURES] = (float)rng_normal(11, i);
    for (size_t r = 0; r < ROWS; r++)
        model_batch_labels(m)[r] = (int32_t)(rng_u64(12, r) % CLASSES);
    ck_assert_int_eq(model_batch_ready(m, ROWS), ERR_OK);
}

static struct bed make_bed(struct arch *arch, struct compute *compute)
{
    struct bed b = {.arch = arch, .compute = compute, .n = (size_t)arch->tensors.num_params};
    ck_assert_int_eq(model_new(arch, compute, ROWS, OPTIMIZER_SGD, &b.model, NULL), ERR_OK);
    b.w = calloc(b.n, sizeof *b.w);
    ck_assert_ptr_nonnull(b.w);
    ck_assert_int_eq(arch_init_params(arch, 3, b.w), ERR_OK);
    for (size_t i = 0; i < b.n; i++)
        b.w[i] += 0.01f * (float)rng_normal(13, i); /* biases too */
    ck_assert_int_eq(model_write(b.model, MODEL_WEIGHTS, b.w), ERR_OK);
    ck_assert_int_eq(model_write(b.model, MODEL_ANCHOR, b.w), ERR_OK);
    fill_batch(b.model);
    return b;
}

static struct bed open_bed(int depth, const char *backend)
{
    struct compute *c = NULL;
    ck_assert_int_eq(compute_open(backend, &c, NULL), ERR_OK);
    return make_bed(make_arch(depth, false), c);
}

static void close_bed(struct bed *b)
{
    model_free(b->model);
    ck_assert_uint_eq(compute_bytes_in_use(b->compute), 0);
    compute_close(b->compute);
    arch_free(b->arch);
    free(b->w);
}

static double loss_at(struct bed *b, const float *w)
{
    double loss = 0;
    int64_t correct = 0;
    ck_assert_int_eq(model_write(b->model, MODEL_OTHER, w), ERR_OK);
    ck_assert_int_eq(model_evaluate(b->model, MODEL_OTHER, ROWS, &loss, &correct), ERR_OK);
    ck_assert_int_ge(correct, 0);
    ck_assert_int_le(correct, ROWS);
    return loss / ROWS;
}

static void get_gradient(struct bed *b, float *out)
{
    ck_assert_int_eq(model_gradient(b->model, MODEL_WEIGHTS, ROWS, 1.0f / ROWS, false), ERR_OK);
    ck_assert_int_eq(model_read(b->model, MODEL_GRADIENT, out), ERR_OK);
}

/* Central differences of the loss in float32: each parameter's slope, to what that arithmetic can tell. */
START_TEST(test_gradients_by_finite_differences)
{
    static const char *const backends[] = {"reference", "openblas"};
    for (size_t k = 0; k < 2; k++) {
        struct bed b = open_bed(_i, backends[k]);
        float *gradient = calloc(b.n, sizeof *gradient), *w = calloc(b.n, sizeof *w);
        ck_assert(gradient && w);
        get_gradient(&b, gradient);
        size_t kinks = 0;
        for (size_t i = 0; i < b.n; i++) {
            float step = 0.01f;
            memcpy(w, b.w, b.n * sizeof *w);
            w[i] = b.w[i] + step;
            double up = loss_at(&b, w);
            w[i] = b.w[i] - step;
            double slope = (up - loss_at(&b, w)) / (2 * (double)step);
            kinks += fabs(slope - (double)gradient[i]) > 3e-4; /* a relu that switches within the step */
        }
        ck_assert_msg(kinks <= b.n / 20 * (_i > 1), "%s, depth %d: %zu of %zu slopes differ", backends[k], _i,
                      kinks, b.n);
        free(gradient);
        free(w);
        close_bed(&b);
    }
}
END_TEST

START_TEST(test_a_step_is_gradient_and_proximal_step)
{
    struct bed b = open_bed(_i, "openblas");
    const struct sgd sgd = {0.1f, 0.5f};
    float *gradient = calloc(b.n, sizeof *gradient), *w = calloc(b.n, sizeof *w),
          *anchor = calloc(b.n, sizeof *w);
    ck_assert(gradient && w && anchor);
    for (size_t i = 0; i < b.n; i++)
        anchor[i] = b.w[i] + (float)rng_normal(14, i);
    ck_assert_int_eq(model_write(b.model, MODEL_ANCHOR, anchor), ERR_OK);
    get_gradient(&b, gradient);
    ck_assert_int_eq(model_step(b.model, ROWS, &sgd), ERR_OK);
    ck_assert_int_eq(model_read(b.model, MODEL_WEIGHTS, w), ERR_OK);
    for (size_t i = 0; i < b.n; i++) {
        double h = (double)gradient[i] + 0.5 * ((double)b.w[i] - (double)anchor[i]);
        ck_assert_double_eq_tol((double)w[i], (double)b.w[i] - (double)0.1f * h, 1e-6);
    }
    float *still = calloc(b.n, sizeof *still);
    ck_assert_int_eq(model_read(b.model, MODEL_ANCHOR, still), ERR_OK);
    ck_assert_mem_eq(still, anchor, b.n * sizeof *still);
    free(gradient);
    free(w);
    free(anchor);
    free(still);
    close_bed(&b);
}
END_TEST

/* Gradient pieces over batches add up to the whole batch's. */
START_TEST(test_gradients_accumulate)
{
    struct bed b = open_bed(3, "openblas");
    float *whole = calloc(b.n, sizeof *whole), *sum = calloc(b.n, sizeof *sum);
    const size_t stride = model_batch_stride(b.model), bytes = ROWS * stride * sizeof(float);
    float *x = calloc(1, bytes);
    int32_t y[ROWS];
    ck_assert(whole && sum && x);
    get_gradient(&b, whole);
    memcpy(x, model_batch_x(b.model), bytes);
    memcpy(y, model_batch_labels(b.model), sizeof y);
    ck_assert_int_eq(model_gradient(b.model, MODEL_WEIGHTS, 4, 1.0f / ROWS, false), ERR_OK);
    memcpy(model_batch_x(b.model), x + 4 * stride, (ROWS - 4) * stride * sizeof *x);
    memcpy(model_batch_labels(b.model), y + 4, (ROWS - 4) * sizeof *y);
    ck_assert_int_eq(model_gradient(b.model, MODEL_WEIGHTS, ROWS - 4, 1.0f / ROWS, true), ERR_OK);
    ck_assert_int_eq(model_read(b.model, MODEL_GRADIENT, sum), ERR_OK);
    for (size_t i = 0; i < b.n; i++)
        ck_assert_float_eq_tol(sum[i], whole[i], 1e-6f);
    free(whole);
    free(sum);
    free(x);
    close_bed(&b);
}
END_TEST

START_TEST(test_norms)
{
    struct bed b = open_bed(2, "openblas");
    float *gradient = calloc(b.n, sizeof *gradient), *w = calloc(b.n, sizeof *w);
    double norm = 0, distance = 0, square = 0, h_square = 0;
    ck_assert(gradient && w);
    for (size_t i = 0; i < b.n; i++)
        w[i] = b.w[i] + (i % 2 ? 0.5f : -0.25f);
    ck_assert_int_eq(model_write(b.model, MODEL_ANCHOR, w), ERR_OK);
    get_gradient(&b, gradient);
    for (size_t i = 0; i < b.n; i++) {
        double d = (double)b.w[i] - (double)w[i], h = (double)gradient[i] + 2 * d;
        square += d * d;
        h_square += h * h;
    }
    ck_assert_int_eq(model_distance(b.model, &distance), ERR_OK);
    ck_assert_double_eq_tol(distance, sqrt(square), 1e-12);
    ck_assert_int_eq(model_add_proximal(b.model, 2), ERR_OK);
    ck_assert_int_eq(model_gradient_norm(b.model, &norm), ERR_OK);
    ck_assert_double_eq_tol(norm, sqrt(h_square), 1e-5);
    free(gradient);
    free(w);
    close_bed(&b);
}
END_TEST

START_TEST(test_the_plan_is_what_is_taken)
{
    const size_t rows[] = {1, 9, 64, 1000};
    for (size_t r = 0; r < 4; r++) {
        struct arch *arch = make_arch(_i, false);
        struct compute *c = NULL;
        struct model *m = NULL;
        struct model_plan plan;
        ck_assert_int_eq(compute_open("openblas", &c, NULL), ERR_OK);
        ck_assert_int_eq(model_plan(arch, c, rows[r], OPTIMIZER_SGD, &plan, NULL), ERR_OK);
        ck_assert_int_eq(model_new(arch, c, rows[r], OPTIMIZER_SGD, &m, NULL), ERR_OK);
        ck_assert_uint_eq(compute_bytes_in_use(c), plan.persistent_bytes + plan.ephemeral_bytes);
        ck_assert_uint_ge(plan.persistent_bytes, 4 * 4 * (size_t)arch->tensors.num_params);
        model_free(m);
        ck_assert_uint_eq(compute_bytes_in_use(c), 0);
        compute_close(c);
        arch_free(arch);
    }
}
END_TEST

START_TEST(test_plans_that_cannot_be)
{
    struct arch *arch = make_arch(1, false), *bare = NULL;
    struct model_plan plan;
    struct fault fault = FAULT_NONE;
    struct compute *c = NULL;
    ck_assert_int_eq(compute_open("openblas", &c, NULL), ERR_OK);
    json_t *model = json_pack("{s:[{s:s, s:[i]}]}", "tensors", "name", "w", "shape", 3);
    ck_assert_int_eq(model_plan(arch, c, SIZE_MAX / 8, OPTIMIZER_SGD, &plan, &fault), ERR_NO_MEMORY);
    ck_assert_int_eq(arch_parse(model, &bare, NULL), ERR_OK);
    ck_assert_int_eq(model_plan(bare, c, 10, OPTIMIZER_SGD, &plan, &fault), ERR_INVALID_FIELD);
    ck_assert_str_eq(fault.field, "model");
    compute_close(c);
    arch_free(bare);
    arch_free(arch);
    json_decref(model);
}
END_TEST

START_TEST(test_last_loss_outlives_evaluations)
{
    struct bed b = open_bed(2, "openblas");
    const struct sgd sgd = {0.1f, 0};
    double before = loss_at(&b, b.w), last = 0;
    ck_assert_int_eq(model_step(b.model, ROWS, &sgd), ERR_OK);
    ck_assert_int_eq(model_last_loss(b.model, &last), ERR_OK);
    ck_assert_double_eq_tol(last, before, 1e-6);
    float *w = calloc(b.n, sizeof *w);
    ck_assert_double_gt(fabs(loss_at(&b, w) - before), 1e-3); /* elsewhere */
    free(w);
    ck_assert_int_eq(model_last_loss(b.model, &last), ERR_OK);
    ck_assert_double_eq_tol(last, before, 1e-6);
    close_bed(&b);
}
END_TEST

/* Reads weights after some steps on any backend. */
static void train(struct bed *b, float *out)
{
    const struct sgd sgd = {0.1f, 0.1f};
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(model_step(b->model, ROWS, &sgd), ERR_OK);
        double loss;
        ck_assert_int_eq(model_last_loss(b->model, &loss), ERR_OK);
    }
    ck_assert_int_eq(model_read(b->model, MODEL_WEIGHTS, out), ERR_OK);
}

START_TEST(test_memory_elsewhere_trains_the_same)
{
    struct compute *c = NULL;
    struct bed near = open_bed(_i, "reference");
    ck_assert_int_eq(compute_open_backend(&elsewhere_backend, NULL, &c, NULL), ERR_OK);
    struct bed far = make_bed(make_arch(_i, false), c);
    float *a = calloc(near.n, sizeof *a), *b = calloc(near.n, sizeof *b);
    train(&near, a);
    train(&far, b);
    ck_assert_mem_eq(a, b, near.n * sizeof *a);
    free(a);
    free(b);
    close_bed(&near);
    close_bed(&far);
}
END_TEST

START_TEST(test_training_lowers_the_loss)
{
    struct bed b = open_bed(_i, "openblas");
    float *w = calloc(b.n, sizeof *w);
    double before = loss_at(&b, b.w);
    train(&b, w);
    ck_assert_double_lt(loss_at(&b, w), before - 0.05);
    free(w);
    close_bed(&b);
}
END_TEST

/* A relu in front must not change the batch, which the next evaluation still reads. */
START_TEST(test_a_first_relu_spares_the_batch)
{
    struct compute *c = NULL;
    ck_assert_int_eq(compute_open("openblas", &c, NULL), ERR_OK);
    struct bed b = make_bed(make_arch(2, true), c);
    const size_t bytes = ROWS * model_batch_stride(b.model) * sizeof(float);
    float *x = calloc(1, bytes);
    ck_assert_ptr_nonnull(x);
    const struct sgd sgd = {0.1f, 0};
    memcpy(x, model_batch_x(b.model), bytes);
    ck_assert_int_eq(model_step(b.model, ROWS, &sgd), ERR_OK);
    ck_assert_mem_eq(model_batch_x(b.model), x, bytes);
    free(x);
    close_bed(&b);
}
END_TEST

START_TEST(test_every_layer_type_has_its_table)
{
    for (int i = 0; i < LAYER_TYPE_COUNT; i++) {
        const struct layer_ops *ops = layer_ops_of((enum layer_type)i);
        if (i == LAYER_FLATTEN) {
            ck_assert_ptr_null(ops);
            continue;
        }
        ck_assert_str_eq(ops->name, layer_type_name((enum layer_type)i));
        ck_assert((ops->gradient != NULL) == (ops->update != NULL));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model");
    TCase *tc = unit_case("model");
    tcase_add_loop_test(tc, test_gradients_by_finite_differences, 1, 5);
    tcase_add_loop_test(tc, test_a_step_is_gradient_and_proximal_step, 1, 5);
    tcase_add_test(tc, test_gradients_accumulate);
    tcase_add_test(tc, test_norms);
    tcase_add_loop_test(tc, test_the_plan_is_what_is_taken, 1, 5);
    tcase_add_test(tc, test_plans_that_cannot_be);
    tcase_add_test(tc, test_last_loss_outlives_evaluations);
    tcase_add_loop_test(tc, test_memory_elsewhere_trains_the_same, 1, 5);
    tcase_add_loop_test(tc, test_training_lowers_the_loss, 1, 5);
    tcase_add_test(tc, test_a_first_relu_spares_the_batch);
    tcase_add_test(tc, test_every_layer_type_has_its_table);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
