#include "tests/compute/descent_ops.h"

#include <math.h>
#include <string.h>
#include "common/base/rng.h"
#include "common/compute/compute_descent.h"

/* What adam's numbers are in the third step. */
static const struct compute_descent kinds[] = {
    {.rule = COMPUTE_RULE_SGD, .weight_decay = 0.01f, .clip_norm = 2},
    {.rule = COMPUTE_RULE_SGD},
    {.rule = COMPUTE_RULE_MOMENTUM, .keep1 = 0.9f, .take1 = 1},
    {.rule = COMPUTE_RULE_MOMENTUM, .keep1 = 0.9f, .take1 = 1, .is_prox = true, .clip_norm = 1e6f},
    {.rule = COMPUTE_RULE_MOMENTUM, .keep1 = 0.5f, .take1 = 1, .is_first = true, .weight_decay = 0.1f},
    {.rule = COMPUTE_RULE_ADAM,
     .keep1 = 0.9f,
     .take1 = 0.1f,
     .keep2 = 0.99f,
     .take2 = 0.01f,
     .unbias1 = 3.69f,
     .unbias2 = 5.8f,
     .epsilon = 1e-3f,
     .weight_decay = 0.01f,
     .clip_norm = 0.5f},
    {.rule = COMPUTE_RULE_ADAM,
     .is_first = true,
     .is_prox = true,
     .keep1 = 0.9f,
     .take1 = 0.1f,
     .keep2 = 0.99f,
     .take2 = 0.01f,
     .unbias1 = 10,
     .unbias2 = 10,
     .epsilon = 1e-2f},
};

void ck_descent_ops(struct compute *c, struct compute *reference)
{
    static const size_t lengths[] = {0, 1, 3, 16, 31, 1000, 4099};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            struct compute_op op = {.kind = COMPUTE_DESCENT,
                                    .rows = lengths[i],
                                    .learning_rate = 0.125f,
                                    .mu = 0.5f,
                                    .descent = &kinds[k]};
            ck_op(c, reference, op);
            op.mu = 0;
            ck_op(c, reference, op);
        }
    }
}

enum { N = 37, STEPS = 3 };

struct by_hand {
    double w[N], m[N], v[N];
};

/* One step of adam with everything: clipping, decay, and the pull beside the state or through it. */
static void step_by_hand(struct by_hand *h, const float *g, const float *w0, int t, bool is_prox)
{
    double norm = 0;
    for (int i = 0; i < N; i++)
        norm += (double)g[i] * (double)g[i];
    norm = sqrt(norm);
    double clip = 2 / (norm + 1e-6) < 1 ? 2 / (norm + 1e-6) : 1;
    for (int i = 0; i < N; i++) {
        double pull = 0.5 * (h->w[i] - (double)w0[i]), x = clip * (double)g[i] + 0.25 * h->w[i];
        if (is_prox)
            x += pull;
        h->m[i] = 0.75 * h->m[i] + 0.25 * x;
        h->v[i] = 0.875 * h->v[i] + 0.125 * x * x;
        double d = h->m[i] / (1 - pow(0.75, t)) / (sqrt(h->v[i] / (1 - pow(0.875, t))) + 0.0625);
        h->w[i] -= 0.125 * (is_prox ? d : d + pull);
    }
}

static void ck_adam_by_hand(struct compute *c, bool is_prox)
{
    enum { BYTES = 256 };
    struct compute_buffer *b = NULL;
    struct by_hand h = {0};
    float g[N], w[N], w0[N];
    ck_assert_int_eq(compute_alloc(c, 6 * BYTES, &b), ERR_OK);
    const struct compute_slice sg = {b, 0}, sw = {b, BYTES}, s0 = {b, 2 * BYTES}, norm = {b, 5 * BYTES},
                               states[] = {{b, 3 * BYTES}, {b, 4 * BYTES}};
    for (size_t i = 0; i < N; i++) {
        w[i] = (float)rng_normal(1, i);
        w0[i] = (float)rng_normal(2, i);
        h.w[i] = (double)w[i];
    }
    ck_assert_int_eq(compute_write(c, sw, w, sizeof w), ERR_OK);
    ck_assert_int_eq(compute_write(c, s0, w0, sizeof w0), ERR_OK);
    for (int t = 1; t <= STEPS; t++) {
        const struct compute_descent d = {.rule = COMPUTE_RULE_ADAM,
                                          .is_first = t == 1,
                                          .is_prox = is_prox,
                                          .weight_decay = 0.25f,
                                          .clip_norm = 2,
                                          .keep1 = 0.75f,
                                          .take1 = 0.25f,
                                          .keep2 = 0.875f,
                                          .take2 = 0.125f,
                                          .unbias1 = (float)(1 / (1 - pow(0.75, t))),
                                          .unbias2 = (float)(1 / sqrt(1 - pow(0.875, t))),
                                          .epsilon = 0.0625f};
        for (size_t i = 0; i < N; i++) /* the last gradient is too small to be clipped */
            g[i] = (float)((t == STEPS ? 0.1 : 1) * rng_normal((uint64_t)(2 + t), i));
        ck_assert_int_eq(compute_write(c, sg, g, sizeof g), ERR_OK);
        ck_assert_int_eq(compute_dot(c, N, sg, sg, norm), ERR_OK);
        ck_assert_int_eq(compute_descent(c, N, &d, 0.125f, 0.5f, sg, sw, s0, states, norm), ERR_OK);
        step_by_hand(&h, g, w0, t, is_prox);
    }
    ck_assert_int_eq(compute_read(c, sw, w, sizeof w), ERR_OK);
    for (int i = 0; i < N; i++)
        ck_assert_double_eq_tol((double)w[i], h.w[i], 2e-6);
    compute_free(c, b);
}

void ck_descents_by_hand(struct compute *c)
{
    ck_adam_by_hand(c, false);
    ck_adam_by_hand(c, true);
}
