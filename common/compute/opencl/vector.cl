/* Operations on vectors. A work-item has a value, but for the sums at the end. */

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

__kernel void tanh_forward(ulong n, __global const float *x, ulong x_at, __global float *y, ulong y_at)
{
    const size_t i = get_global_id(0);
    if (i < n)
        y[y_at + i] = tanh(x[x_at + i]);
}

__kernel void tanh_backward(ulong n, __global const float *y, ulong y_at, __global const float *dy, ulong dy_at,
                            __global float *dx, ulong dx_at)
{
    const size_t i = get_global_id(0);
    if (i < n) {
        const float f = y[y_at + i];
        dx[dx_at + i] = dy[dy_at + i] * (1 - f * f);
    }
}

/* Output i of a keyed stream, as common/base/rng.c has it. */
ulong stream_output(ulong key, ulong i)
{
    ulong z = key + (i + 1) * 0x9e3779b97f4a7c15UL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9UL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebUL;
    return z ^ (z >> 31);
}

/* What is dropped: outputs whose upper 53 bits are below `first_kept`, which is rate 2^53 rounded up. */
__kernel void dropout(ulong n, ulong key, ulong first_kept, float rate, __global const float *x, ulong x_at,
                      __global float *y, ulong y_at)
{
    const size_t i = get_global_id(0);
    if (i >= n)
        return;
#ifdef HAS_DOUBLE
    const float kept = (float)((double)x[x_at + i] / (1 - (double)rate));
#else
    const float kept = x[x_at + i] / (1 - rate);
#endif
    y[y_at + i] = stream_output(key, i) >> 11 < first_kept ? 0 : kept;
}

__kernel void prox_gradient(ulong n, float mu, __global float *g, ulong g_at, __global const float *w, ulong w_at,
                            __global const float *w0, ulong w0_at)
{
    const size_t i = get_global_id(0);
    if (i < n)
        g[g_at + i] += mu * (w[w_at + i] - w0[w0_at + i]);
}

__kernel void prox_step(ulong n, float learning_rate, float mu, __global const float *g, ulong g_at, __global float *w,
                        ulong w_at, __global const float *w0, ulong w0_at)
{
    const size_t i = get_global_id(0);
    if (i < n)
        w[w_at + i] = finish(FINISH_STEP, w[w_at + i], w0[w0_at + i], g[g_at + i], learning_rate, mu);
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
