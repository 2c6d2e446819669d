/* A value at a time. The last few of a length that is no multiple of LANES go as a part of a vector. */
#ifndef FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_POINTWISE_H
#define FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_POINTWISE_H

KERNEL_TARGET static void tanh_forward(const struct compute_op *op)
{
    const float *x = compute_arg(op, 0);
    float *y = compute_arg(op, 1);
    size_t i = 0;
    for (; i + LANES <= op->rows; i += LANES)
        store(y + i, hyperbolic_tangent(load(x + i)));
    if (i < op->rows)
        store_part(y + i, hyperbolic_tangent(load_part(x + i, op->rows - i)), op->rows - i);
}

/* dy (1 - y^2), whose factors are exact near 1 and -1 */
INLINE vf tanh_slope(vf y, vf dy)
{
    return dy * ((splat(1) - y) * (splat(1) + y));
}

KERNEL_TARGET static void tanh_backward(const struct compute_op *op)
{
    const float *y = compute_arg(op, 0), *dy = compute_arg(op, 1);
    float *dx = compute_arg(op, 2);
    size_t i = 0;
    for (; i + LANES <= op->rows; i += LANES)
        store(dx + i, tanh_slope(load(y + i), load(dy + i)));
    if (i < op->rows)
        store_part(dx + i, tanh_slope(load_part(y + i, op->rows - i), load_part(dy + i, op->rows - i)),
                   op->rows - i);
}

/* Half a vector of floats, as doubles and as numbers of a random stream. */
enum { HALF = LANES / 2 };
typedef float half_floats __attribute__((vector_size(4 * HALF)));
typedef double half_doubles __attribute__((vector_size(8 * HALF)));
typedef uint64_t half_words __attribute__((vector_size(8 * HALF)));

/* The bits of the reference: it compares word / 2^64, cut to 53 bits, with the rate, and divides in double.
 */
struct drop {
    uint64_t first_kept; /* of the upper 53 bits */
    double kept_share;
};

INLINE void drop_values(const struct drop *d, half_words state, const float *x, float *y, size_t n)
{
    half_floats v = {0};
    half_words word = state;
    memcpy(&v, x, n * sizeof *x);
    word = (word ^ word >> 30) * RNG_MIX_1;
    word = (word ^ word >> 27) * RNG_MIX_2;
    word = (word ^ word >> 31) >> 11;
    const half_doubles scaled = __builtin_convertvector(v, half_doubles) / d->kept_share;
    const half_words kept = (half_words)scaled & (half_words)(word >= d->first_kept);
    v = __builtin_convertvector((half_doubles)kept, half_floats);
    memcpy(y, &v, n * sizeof *y);
}

KERNEL_TARGET static void dropout(const struct compute_op *op)
{
    const double rate = (double)op->scale;
    const struct drop d = {(uint64_t)ceil(rate * 0x1p53), 1 - rate};
    const float *x = compute_arg(op, 0);
    float *y = compute_arg(op, 1);
    if (rate == 0) {
        memmove(y, x, op->rows * sizeof *x);
        return;
    }
    half_words state;
    for (size_t i = 0; i < HALF; i++)
        state[i] = op->key + (i + 1) * RNG_GOLDEN;
    size_t i = 0;
    for (; i + HALF <= op->rows; i += HALF, state += HALF * RNG_GOLDEN)
        drop_values(&d, state, x + i, y + i, HALF);
    if (i < op->rows)
        drop_values(&d, state, x + i, y + i, op->rows - i);
}

#endif
