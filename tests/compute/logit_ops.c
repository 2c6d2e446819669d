/* What a softmax's loss and gradient say of logits that are chosen, not random. */
#include "tests/compute/logit_ops.h"

#include <math.h>
#include "common/compute/compute.h"
#include "tests/support/unit.h"

/* exp over all that softmax can ask for, through logits (0, -x). */
void ck_exponentials_are_exact_enough(void)
{
    struct compute *c = NULL;
    struct compute_buffer *b = NULL;
    ck_assert_int_eq(compute_open("openblas", &c, NULL), ERR_OK);
    ck_assert_int_eq(compute_alloc(c, 4 * 64, &b), ERR_OK);
    const struct compute_slice z = {b, 0}, labels = {b, 64}, sums = {b, 128}, targets = {b, 192};
    const int32_t zero = 0;
    ck_assert_int_eq(compute_write(c, labels, &zero, 4), ERR_OK);
    for (double x = 0; x < 100; x += 0.0137) {
        float logits[2] = {0, (float)-x}, gradient[2];
        ck_assert_int_eq(compute_write(c, z, logits, 8), ERR_OK);
        ck_assert_int_eq(compute_softmax_gradient(c, 1, 2, 1, z, labels, z, sums, targets), ERR_OK);
        ck_assert_int_eq(compute_read(c, z, gradient, 8), ERR_OK);
        double e = exp((double)logits[1]), expected = e / (1 + e);
        ck_assert_double_le(fabs((double)gradient[1] - expected), 4e-7 * expected + 2e-38);
    }
    compute_free(c, b);
    compute_close(c);
}

/* A diverged model must show it: NaN and infinite logits give NaN losses and no correct prediction. */
void ck_non_finite_logits_show(void)
{
    static const char *const names[] = {"reference", "openblas"};
    for (size_t n = 0; n < 2; n++) {
        struct compute *c = NULL;
        struct compute_buffer *b = NULL;
        float logits[6] = {1, NAN, 2, INFINITY, 0, 1}, out[6], sums[2], targets[2];
        int32_t labels[2] = {1, 0}, correct[2];
        ck_assert_int_eq(compute_open(names[n], &c, NULL), ERR_OK);
        ck_assert_int_eq(compute_alloc(c, 512, &b), ERR_OK);
        const struct compute_slice z = {b, 0}, dz = {b, 128}, y = {b, 256}, s = {b, 320}, t = {b, 384},
                                   r = {b, 448};
        ck_assert_int_eq(compute_write_matrix(c, z, logits, 2, 3), ERR_OK);
        ck_assert_int_eq(compute_write(c, y, labels, sizeof labels), ERR_OK);
        ck_assert_int_eq(compute_softmax_gradient(c, 2, 3, 1, z, y, dz, s, t), ERR_OK);
        ck_assert_int_eq(compute_read_matrix(c, dz, out, 2, 3), ERR_OK);
        ck_assert(isnan(out[1]) && isnan(out[3]));
        ck_assert_int_eq(compute_softmax_loss(c, 2, 3, z, y, s, t, r), ERR_OK);
        ck_assert_int_eq(compute_read(c, s, sums, sizeof sums), ERR_OK);
        ck_assert_int_eq(compute_read(c, t, targets, sizeof targets), ERR_OK);
        ck_assert_int_eq(compute_read(c, r, correct, sizeof correct), ERR_OK);
        for (int i = 0; i < 2; i++)
            ck_assert(isnan(log((double)sums[i]) - (double)targets[i]));
        ck_assert_int_eq(correct[0], 0);
        compute_free(c, b);
        compute_close(c);
    }
}

/* Equal logits: the first is the prediction, as argmax has it everywhere. */
void ck_ties_go_to_the_first(void)
{
    struct compute *c = NULL;
    struct compute_buffer *b = NULL;
    const float logits[9] = {0, 0, 0, 0, 0, 0, 1, 5, 5};
    const int32_t labels[3] = {0, 1, 1};
    int32_t correct[3];
    ck_assert_int_eq(compute_open("openblas", &c, NULL), ERR_OK);
    ck_assert_int_eq(compute_alloc(c, 512, &b), ERR_OK);
    const struct compute_slice z = {b, 0}, y = {b, 192}, s = {b, 256}, t = {b, 320}, r = {b, 384};
    ck_assert_int_eq(compute_write_matrix(c, z, logits, 3, 3), ERR_OK);
    ck_assert_int_eq(compute_write(c, y, labels, sizeof labels), ERR_OK);
    ck_assert_int_eq(compute_softmax_loss(c, 3, 3, z, y, s, t, r), ERR_OK);
    ck_assert_int_eq(compute_read(c, r, correct, sizeof correct), ERR_OK);
    ck_assert(correct[0] == 1 && correct[1] == 0 && correct[2] == 1);
    compute_free(c, b);
    compute_close(c);
}
