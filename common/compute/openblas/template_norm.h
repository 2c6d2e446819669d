/* The sum of products of floats. Such a product is exact in double, and sixteen sums take turns whatever the
 * vectors' width, so that all kinds of CPU give the same bits. */
#ifndef FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_NORM_H
#define FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_NORM_H

enum { DOT_SUMS = 16, DOT_WIDE = LANES / 2, DOT_PARTS = DOT_SUMS / DOT_WIDE };

typedef double vwide __attribute__((vector_size(8 * DOT_WIDE)));
typedef float vnarrow __attribute__((vector_size(4 * DOT_WIDE)));

INLINE vwide widen(const float *p)
{
    vnarrow v;
    memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, vwide);
}

KERNEL_TARGET static void dot(const struct compute_op *op)
{
    const float *a = compute_arg(op, 0), *b = compute_arg(op, 1);
    double *out = compute_arg(op, 2), sums[DOT_SUMS];
    vwide parts[DOT_PARTS] = {{0}};
    size_t i = 0;
    for (; i + DOT_SUMS <= op->rows; i += DOT_SUMS) {
        UNROLL for (size_t p = 0; p < DOT_PARTS; p++)
        {
            parts[p] += widen(a + i + p * DOT_WIDE) * widen(b + i + p * DOT_WIDE);
        }
    }
    memcpy(sums, parts, sizeof sums);
    for (size_t k = 0; i + k < op->rows; k++)
        sums[k] += (double)a[i + k] * (double)b[i + k];
    for (size_t half = DOT_SUMS / 2; half > 0; half /= 2) {
        for (size_t k = 0; k < half; k++)
            sums[k] += sums[k + half];
    }
    *out = sums[0];
}

#endif
