/* The operations of common/compute/compute.h for any OpenCL device. Matrices are as there: row-major, rows padded
 * with zeros. Every sum runs in an order that only the sizes decide. `..._at` are offsets in floats. */

#ifdef HAS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#define TILE  64 /* a work-group's square of results */
#define SIDE  16 /* work-items along each side of it */
#define EACH  4  /* results of a work-item along each side */
#define DEPTH 16 /* terms in local memory at a time */

enum { FINISH_STORE, FINISH_ADD, FINISH_STEP };

float finish(int how, float old, float anchor, float sum, float learning_rate, float mu)
{
    if (how == FINISH_ADD)
        return old + sum;
    if (how == FINISH_STEP)
        return old - learning_rate * (sum + mu * (old - anchor));
    return sum;
}

/* out[i][j] = sum over t of a(i, t) b(t, j), for i < items, j < width; columns from width to out_stride become 0.
 * a(i, t) = a[i a_item + t a_term], b(t, j) = b[t b_term + j b_width]. `more` is a bias that is added (FINISH_STORE,
 * if has_bias) or the anchor, laid out as out (FINISH_STEP). */
__kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1))) void
product(uint items, uint width, uint terms, __global const float *a, ulong a_at, uint a_item, uint a_term,
        __global const float *b, ulong b_at, uint b_term, uint b_width, __global float *out, ulong out_at,
        uint out_stride, __global const float *more, ulong more_at, int has_bias, int how, float learning_rate,
        float mu)
{
    __local float as[DEPTH][TILE + 1], bs[DEPTH][TILE + 1];
    const uint lx = get_local_id(0), ly = get_local_id(1), flat = ly * SIDE + lx;
    const uint i0 = get_group_id(1) * TILE, j0 = get_group_id(0) * TILE;
    float sum[EACH][EACH];
    for (int p = 0; p < EACH; p++)
        for (int q = 0; q < EACH; q++)
            sum[p][q] = 0;
    a += a_at;
    b += b_at;
    for (uint t0 = 0; t0 < terms; t0 += DEPTH) {
        for (uint l = flat; l < TILE * DEPTH; l += SIDE * SIDE) {
            /* neighbours read neighbours, whichever way the matrix lies */
            uint t = a_term == 1 ? l % DEPTH : l / TILE, i = a_term == 1 ? l / DEPTH : l % TILE;
            as[t][i] = i0 + i < items && t0 + t < terms ? a[(ulong)(i0 + i) * a_item + (ulong)(t0 + t) * a_term] : 0;
            t = b_term == 1 ? l % DEPTH : l / TILE;
            i = b_term == 1 ? l / DEPTH : l % TILE;
            bs[t][i] = j0 + i < width && t0 + t < terms ? b[(ulong)(t0 + t) * b_term + (ulong)(j0 + i) * b_width] : 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int t = 0; t < DEPTH; t++)
#pragma unroll
            for (int p = 0; p < EACH; p++)
#pragma unroll
                for (int q = 0; q < EACH; q++)
                    sum[p][q] += as[t][ly + p * SIDE] * bs[t][lx + q * SIDE];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int p = 0; p < EACH; p++)
        for (int q = 0; q < EACH; q++) {
            const uint i = i0 + ly + p * SIDE, j = j0 + lx + q * SIDE;
            const ulong at = (ulong)i * out_stride + j;
            if (i >= items || j >= out_stride)
                continue;
            if (has_bias)
                out[out_at + at] = j < width ? sum[p][q] + more[more_at + j] : 0;
            else
                out[out_at + at] = j >= width ? 0
                                              : finish(how, out[out_at + at], more[more_at + at], sum[p][q],
                                                       learning_rate, mu);
        }
}

/* out[j] = sum over the rows of a[t][j] */
__kernel void column_sums(uint rows, uint width, uint stride, __global const float *a, ulong a_at, __global float *out,
                          ulong out_at, __global const float *anchor, ulong anchor_at, int how, float learning_rate,
                          float mu)
{
    const uint j = get_global_id(0);
    float sum = 0;
    if (j >= stride)
        return;
    for (uint t = 0; t < rows; t++)
        sum += a[a_at + (ulong)t * stride + j];
    out[out_at + j] =
        j >= width ? 0 : finish(how, out[out_at + j], anchor[anchor_at + j], sum, learning_rate, mu);
}

__kernel void relu_forward(ulong n, __global const float *x, ulong x_at, __global float *y, ulong y_at)
{
    const size_t i = get_global_id(0);
    if (i < n) {
        const float f = x[x_at + i];
        y[y_at + i] = f > 0 || isnan(f) ? f : 0;
    }
}

__kernel void relu_backward(ulong n, __global const float *y, ulong y_at, __global const float *dy, ulong dy_at,
                            __global float *dx, ulong dx_at)
{
    const size_t i = get_global_id(0);
    if (i < n)
        dx[dx_at + i] = y[y_at + i] > 0 ? dy[dy_at + i] : 0;
}

uint first_largest(__global const float *z, uint outputs)
{
    uint best = 0;
    for (uint c = 1; c < outputs; c++)
        if (z[c] > z[best])
            best = c;
    return best;
}

float sum_of_exponentials(__global const float *z, uint outputs, float shift)
{
    float sum = 0;
    for (uint c = 0; c < outputs; c++)
        sum += exp(z[c] - shift);
    return sum;
}

/* A work-item has a row. */
__kernel void softmax_gradient(uint rows, uint outputs, uint stride, float scale, __global const float *z, ulong z_at,
                               __global const int *labels, ulong labels_at, __global float *dz, ulong dz_at,
                               __global float *sums, ulong sums_at, __global float *targets, ulong targets_at)
{
    const uint r = get_global_id(0);
    if (r >= rows)
        return;
    z += z_at + (ulong)r * stride;
    dz += dz_at + (ulong)r * stride;
    const uint label = labels[labels_at + r];
    const float shift = z[first_largest(z, outputs)], sum = sum_of_exponentials(z, outputs, shift);
    sums[sums_at + r] = sum;
    targets[targets_at + r] = z[label] - shift;
    for (uint c = 0; c < stride; c++)
        dz[c] = c < outputs ? scale * (exp(z[c] - shift) / sum - (c == label ? 1 : 0)) : 0;
}

__kernel void softmax_loss(uint rows, uint outputs, uint stride, __global const float *z, ulong z_at,
                           __global const int *labels, ulong labels_at, __global float *sums, ulong sums_at,
                           __global float *targets, ulong targets_at, __global int *correct, ulong correct_at)
{
    const uint r = get_global_id(0);
    if (r >= rows)
        return;
    z += z_at + (ulong)r * stride;
    const uint label = labels[labels_at + r], best = first_largest(z, outputs);
    sums[sums_at + r] = sum_of_exponentials(z, outputs, z[best]);
    targets[targets_at + r] = z[label] - z[best];
    correct[correct_at + r] = best == label && !isnan(z[label]);
}

__kernel void prox_gradient(ulong n, float mu, __global float *g, ulong g_at, __global const float *w, ulong w_at,
                            __global const float *w0, ulong w0_at)
{
    const size_t i = get_global_id(0);
    if (i < n)
        g[g_at + i] += mu * (w[w_at + i] - w0[w0_at + i]);
}

#ifdef HAS_DOUBLE
#define PARTS 256

/* One work-group: a . b, or ||a - b||^2. */
__kernel __attribute__((reqd_work_group_size(PARTS, 1, 1))) void
reduce(ulong n, int is_distance, __global const float *a, ulong a_at, __global const float *b, ulong b_at,
       __global double *out, ulong out_at)
{
    __local double parts[PARTS];
    const uint me = get_local_id(0);
    double sum = 0;
    for (ulong i = me; i < n; i += PARTS) {
        const double p = a[a_at + i], q = b[b_at + i];
        sum += is_distance ? (p - q) * (p - q) : p * q;
    }
    parts[me] = sum;
    for (uint half_of = PARTS / 2; half_of > 0; half_of /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (me < half_of)
            parts[me] += parts[me + half_of];
    }
    if (me == 0)
        out[out_at] = parts[0];
}
#endif
