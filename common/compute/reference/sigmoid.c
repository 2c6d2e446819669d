#include <math.h>
#include "common/compute/reference/reference.h"

/* Softmax over the logits (0, z), the larger taken from both. */
static void write_loss(double z, int32_t label, real *sum, real *target)
{
    *sum = (real)(1 + exp(-fabs(z)));
    *target = (real)((label ? z : 0) - (z < 0 ? 0 : z));
}

void reference_sigmoid_gradient(const struct compute_op *op)
{
    const size_t stride = compute_stride(1);
    const real *z = compute_arg(op, 0);
    const int32_t *labels = compute_arg(op, 1);
    real *dz = compute_arg(op, 2), *sums = compute_arg(op, 3), *targets = compute_arg(op, 4);
    for (size_t r = 0; r < op->rows; r++) {
        double logit = (double)z[r * stride];
        write_loss(logit, labels[r], &sums[r], &targets[r]);
        dz[r * stride] = (real)((double)op->scale * (1 / (1 + exp(-logit)) - labels[r]));
    }
    reference_pad(dz, op->rows, 1);
}

void reference_sigmoid_loss(const struct compute_op *op)
{
    const real *z = compute_arg(op, 0);
    const int32_t *labels = compute_arg(op, 1);
    real *sums = compute_arg(op, 2), *targets = compute_arg(op, 3);
    int32_t *correct = compute_arg(op, 4);
    for (size_t r = 0; r < op->rows; r++) {
        real logit = z[r * compute_stride(1)];
        write_loss((double)logit, labels[r], &sums[r], &targets[r]);
        correct[r] = !isnan(logit) && (logit > 0) == (labels[r] == 1);
    }
}
