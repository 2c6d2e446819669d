#include <math.h>
#include "common/compute/reference/reference.h"

static size_t first_largest(const real *z, size_t n)
{
    size_t best = 0;
    for (size_t c = 1; c < n; c++) {
        if (z[c] > z[best])
            best = c;
    }
    return best;
}

static double sum_of_exponentials(const real *z, size_t n, real shift)
{
    double sum = 0;
    for (size_t c = 0; c < n; c++)
        sum += exp((double)z[c] - (double)shift);
    return sum;
}

void reference_softmax_gradient(const struct compute_op *op)
{
    size_t stride = compute_stride(op->outputs);
    const real *z = compute_arg(op, 0);
    const int32_t *labels = compute_arg(op, 1);
    real *dz = compute_arg(op, 2), *sums = compute_arg(op, 3), *targets = compute_arg(op, 4);
    for (size_t r = 0; r < op->rows; r++) {
        const real *row = z + r * stride;
        size_t label = (size_t)labels[r];
        real shift = row[first_largest(row, op->outputs)];
        double sum = sum_of_exponentials(row, op->outputs, shift);
        sums[r] = (real)sum;
        targets[r] = row[label] - shift;
        for (size_t c = 0; c < op->outputs; c++) {
            double p = exp((double)row[c] - (double)shift) / sum;
            dz[r * stride + c] = (real)((double)op->scale * (p - (c == label ? 1 : 0)));
        }
    }
    reference_pad(dz, op->rows, op->outputs);
}

void reference_softmax_loss(const struct compute_op *op)
{
    size_t stride = compute_stride(op->outputs);
    const real *z = compute_arg(op, 0);
    const int32_t *labels = compute_arg(op, 1);
    real *sums = compute_arg(op, 2), *targets = compute_arg(op, 3);
    int32_t *correct = compute_arg(op, 4);
    for (size_t r = 0; r < op->rows; r++) {
        const real *row = z + r * stride;
        size_t label = (size_t)labels[r], best = first_largest(row, op->outputs);
        sums[r] = (real)sum_of_exponentials(row, op->outputs, row[best]);
        targets[r] = row[label] - row[best];
        correct[r] = best == label && !isnan(row[label]);
    }
}
