/* Every optimizer on a small perceptron against the same training written down once more, plainly and in
 * double: 20 steps with and without the proximal term, clipping and weight decay. */
#include <math.h>
#include <string.h>
#include "common/base/rng.h"
#include "common/nn/model.h"
#include "tests/support/unit.h"

enum { IN = 5, HIDDEN = 7, OUT = 3, ROWS = 6, STEPS = 20 };
enum { W1 = 0, B1 = W1 + HIDDEN * IN, W2 = B1 + HIDDEN, B2 = W2 + OUT * HIDDEN, NUM = B2 + OUT };

struct setting {
    struct optimizer optimizer;
    double rate, mu;
};

static double example(size_t row, size_t column)
{
    return (double)(real)rng_normal(21, row * IN + column);
}

static size_t label_of(size_t row)
{
    return rng_u64(22, row) % OUT;
}

/* The mean loss's gradient over all rows, and the loss. */
static double gradient_by_hand(const double *w, double *g)
{
    double loss = 0;
    memset(g, 0, NUM * sizeof *g);
    for (size_t r = 0; r < ROWS; r++) {
        double h[HIDDEN], z[OUT], dh[HIDDEN] = {0}, sum = 0;
        for (size_t k = 0; k < HIDDEN; k++) {
            h[k] = w[B1 + k];
            for (size_t j = 0; j < IN; j++)
                h[k] += w[W1 + k * IN + j] * example(r, j);
            h[k] = tanh(h[k]);
        }
        for (size_t c = 0; c < OUT; c++) {
            z[c] = w[B2 + c];
            for (size_t k = 0; k < HIDDEN; k++)
                z[c] += w[W2 + c * HIDDEN + k] * h[k];
            sum += exp(z[c]);
        }
        loss += (log(sum) - z[label_of(r)]) / ROWS;
        for (size_t c = 0; c < OUT; c++) {
            double dz = (exp(z[c]) / sum - (c == label_of(r) ? 1 : 0)) / ROWS;
            g[B2 + c] += dz;
            for (size_t k = 0; k < HIDDEN; k++) {
                g[W2 + c * HIDDEN + k] += dz * h[k];
                dh[k] += dz * w[W2 + c * HIDDEN + k];
            }
        }
        for (size_t k = 0; k < HIDDEN; k++) {
            double d = dh[k] * (1 - h[k] * h[k]);
            g[B1 + k] += d;
            for (size_t j = 0; j < IN; j++)
                g[W1 + k * IN + j] += d * example(r, j);
        }
    }
    return loss;
}

/* One step as torch.nn.utils.clip_grad_norm_ and torch.optim.SGD or Adam make it, and the proximal term. */
static double step_by_hand(const struct setting *s, int t, const double *w0, double *w, double *m, double *v)
{
    const struct optimizer *o = &s->optimizer;
    double g[NUM], square = 0, factor = 1, loss = gradient_by_hand(w, g);
    for (size_t i = 0; i < NUM; i++)
        square += g[i] * g[i];
    if (o->clip_norm > 0 && o->clip_norm / (sqrt(square) + 1e-6) < 1)
        factor = o->clip_norm / (sqrt(square) + 1e-6);
    for (size_t i = 0; i < NUM; i++) {
        double pull = s->mu * (w[i] - w0[i]), x = factor * g[i] + o->weight_decay * w[i];
        if (optimizer_is_prox(o->kind))
            x += pull;
        double d = x;
        if (optimizer_has_momentum(o->kind)) {
            m[i] = o->momentum * m[i] + x;
            d = m[i];
        } else if (optimizer_has_betas(o->kind)) {
            m[i] = o->beta1 * m[i] + (1 - o->beta1) * x;
            v[i] = o->beta2 * v[i] + (1 - o->beta2) * x * x;
            d = m[i] / (1 - pow(o->beta1, t)) / (sqrt(v[i] / (1 - pow(o->beta2, t))) + o->epsilon);
        }
        w[i] -= s->rate * (optimizer_is_prox(o->kind) ? d : d + pull);
    }
    return loss;
}

static struct arch *perceptron(void)
{
    struct arch *arch = NULL;
    json_t *model = json_pack("{s:[i], s:[{s:s, s:i}, {s:s}, {s:s, s:i}]}", "input", IN, "layers", "type",
                              "dense", "units", HIDDEN, "type", "tanh", "type", "dense", "units", OUT);
    ck_assert_int_eq(arch_parse(model, &arch, NULL), ERR_OK);
    json_decref(model);
    ck_assert_int_eq(arch->tensors.num_params, NUM);
    return arch;
}

struct bed {
    struct arch *arch;
    struct compute *compute;
    struct model *model;
    real w0[NUM];
};

static void bed_open(struct bed *b, enum optimizer_kind kind)
{
    *b = (struct bed){.arch = perceptron()};
    ck_assert_int_eq(compute_open(NULL, &b->compute, NULL), ERR_OK);
    ck_assert_int_eq(model_new(b->arch, b->compute, ROWS, kind, &b->model, NULL), ERR_OK);
    for (size_t i = 0; i < NUM; i++)
        b->w0[i] = (real)(0.5 * rng_normal(23, i));
    for (size_t r = 0; r < ROWS; r++) {
        for (size_t j = 0; j < IN; j++)
            model_batch_x(b->model)[r * model_batch_stride(b->model) + j] = (real)example(r, j);
        model_batch_labels(b->model)[r] = (int32_t)label_of(r);
    }
    ck_assert_int_eq(model_batch_ready(b->model, ROWS), ERR_OK);
}

static void bed_close(struct bed *b)
{
    model_free(b->model);
    compute_close(b->compute);
    arch_free(b->arch);
}

static void train(struct bed *b, const struct setting *s, real *out)
{
    const struct sgd sgd = {(real)s->rate, (real)s->mu};
    ck_assert_int_eq(model_write(b->model, MODEL_WEIGHTS, b->w0), ERR_OK);
    ck_assert_int_eq(model_write(b->model, MODEL_ANCHOR, b->w0), ERR_OK);
    model_begin(b->model, 1, &s->optimizer);
    for (int t = 1; t <= STEPS; t++)
        ck_assert_int_eq(model_step(b->model, ROWS, &sgd), ERR_OK);
    ck_assert_int_eq(model_read(b->model, MODEL_WEIGHTS, out), ERR_OK);
}

#ifdef FEDLANE_FLOAT64
#define TOLERANCE 1e-12
#else
#define TOLERANCE 2e-5
#endif

static void ck_training(struct bed *b, const struct setting *s)
{
    double w0[NUM], w[NUM], m[NUM] = {0}, v[NUM] = {0}, loss = 0, last = 0, moved = 0;
    real got[NUM];
    for (size_t i = 0; i < NUM; i++)
        w[i] = w0[i] = (double)b->w0[i];
    for (int t = 1; t <= STEPS; t++)
        loss = step_by_hand(s, t, w0, w, m, v);
    train(b, s, got);
    for (size_t i = 0; i < NUM; i++) {
        ck_assert_msg(fabs((double)got[i] - w[i]) <= TOLERANCE,
                      "%s, mu %g, clip %g, decay %g: %zu is %.9g, not %.9g",
                      optimizer_name(s->optimizer.kind), s->mu, s->optimizer.clip_norm,
                      s->optimizer.weight_decay, i, (double)got[i], w[i]);
        moved = fmax(moved, fabs(w[i] - w0[i]));
    }
    ck_assert_double_gt(moved, 0.05);
    ck_assert_int_eq(model_last_loss(b->model, &last), ERR_OK);
    ck_assert_double_eq_tol(last, loss, TOLERANCE);
}

static struct setting setting_of(enum optimizer_kind kind)
{
    struct setting s = {.optimizer = optimizer_of(kind), .rate = optimizer_has_betas(kind) ? 0.02 : 0.1};
    s.optimizer.epsilon = optimizer_has_betas(kind) ? 1e-4 : 0; /* float's gradients near 0 turn its sign */
    return s;
}

START_TEST(test_twenty_steps_by_hand)
{
    struct bed b;
    bed_open(&b, (enum optimizer_kind)_i);
    for (int form = 0; form < 8; form++) {
        struct setting s = setting_of((enum optimizer_kind)_i);
        s.mu = form & 1 ? 0.7 : 0;
        s.optimizer.clip_norm = form & 2 ? 0.15 : 0;
        s.optimizer.weight_decay = form & 4 ? 0.05 : 0;
        ck_training(&b, &s);
    }
    bed_close(&b);
}
END_TEST

/* A job begins without the states of the one before, and in the same way after any other. */
START_TEST(test_a_job_begins_anew)
{
    struct bed b;
    real first[NUM], other[NUM], again[NUM];
    const struct setting s = setting_of((enum optimizer_kind)_i), momentum = setting_of(OPTIMIZER_MOMENTUM);
    bed_open(&b, OPTIMIZER_ADAM);
    train(&b, &s, first);
    train(&b, &momentum, other);
    train(&b, &s, again);
    ck_assert_mem_eq(first, again, sizeof first);
    bed_close(&b);
}
END_TEST

/* The proximal term through the state is another algorithm than beside it, and without it both are one. */
START_TEST(test_prox_kinds_differ_by_mu_alone)
{
    static const enum optimizer_kind pairs[][2] = {{OPTIMIZER_MOMENTUM, OPTIMIZER_PROX_MOMENTUM},
                                                   {OPTIMIZER_ADAM, OPTIMIZER_PROX_ADAM}};
    struct bed b;
    real beside[NUM], through[NUM];
    bed_open(&b, OPTIMIZER_PROX_ADAM);
    for (size_t i = 0; i < 2; i++) {
        struct setting a = setting_of(pairs[i][0]), p = setting_of(pairs[i][1]);
        train(&b, &a, beside);
        train(&b, &p, through);
        ck_assert_mem_eq(beside, through, sizeof beside);
        a.mu = p.mu = 1;
        train(&b, &a, beside);
        train(&b, &p, through);
        double largest = 0;
        for (size_t k = 0; k < NUM; k++)
            largest = fmax(largest, fabs((double)beside[k] - (double)through[k]));
        ck_assert_double_gt(largest, 1e-3);
    }
    bed_close(&b);
}
END_TEST

/* What never clips, and no decay, may only differ from the fused step by rounding. */
START_TEST(test_a_wide_clip_is_plain_sgd)
{
    struct bed b;
    real plain[NUM], clipped[NUM];
    struct setting s = setting_of(OPTIMIZER_SGD);
    s.mu = 0.5;
    bed_open(&b, OPTIMIZER_SGD);
    train(&b, &s, plain);
    s.optimizer.clip_norm = 1e6;
    train(&b, &s, clipped);
    for (size_t i = 0; i < NUM; i++)
        ck_assert_double_eq_tol((double)clipped[i], (double)plain[i], TOLERANCE);
    bed_close(&b);
}
END_TEST

int main(void)
{
    TCase *tc = unit_case("descent");
    tcase_add_loop_test(tc, test_twenty_steps_by_hand, 0, OPTIMIZER_COUNT);
    tcase_add_loop_test(tc, test_a_job_begins_anew, 0, OPTIMIZER_COUNT);
    tcase_add_test(tc, test_prox_kinds_differ_by_mu_alone);
    tcase_add_test(tc, test_a_wide_clip_is_plain_sgd);
    return unit_run_case("descent", tc);
}
