/* The kernels themselves, for vectors of LANES floats. The including file defines LANES, KERNEL_TARGET,
 * KERNELS, KERNELS_NAME, the types vf and vi, FMA, load_part, store_part (the first n lanes, 0 < n < LANES;
 * the others 0) and sum_lanes. Each of those files includes it once. */

#ifndef FEDLANE_COMPUTE_OPENBLAS_KERNELS_TEMPLATE_H
#define FEDLANE_COMPUTE_OPENBLAS_KERNELS_TEMPLATE_H

#define INLINE KERNEL_TARGET static inline __attribute__((always_inline))

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

enum { TILE = 5, PANEL = 512 };

INLINE vf splat(float f)
{
    return (vf){0} + f;
}

INLINE vf load(const float *p)
{
    vf v;
    memcpy(&v, p, sizeof v);
    return v;
}

INLINE void store(float *p, vf v)
{
    memcpy(p, &v, sizeof v);
}

INLINE vf load_width(const float *p, size_t width)
{
    return width == LANES ? load(p) : load_part(p, width);
}

INLINE void store_width(float *p, vf v, size_t width)
{
    if (width == LANES)
        store(p, v);
    else
        store_part(p, v, width);
}

INLINE vf select_lanes(vi mask, vf yes, vf no)
{
    return (vf)((mask & (vi)yes) | (~mask & (vi)no));
}

/* ---- sums of outer products: out[i][j] = sum over t of a(t, i) b[t][j], and what is done with it ---- */

enum finish { FINISH_STORE, FINISH_ADD, FINISH_SGD, FINISH_PROX };

struct outer {
    size_t terms, items, width;
    const float *a; /* a(t, i) = a[t a_term + i a_item] */
    size_t a_term, a_item;
    const float *b; /* rows of `width` */
    float *out;     /* rows of `width` */
    enum finish finish;
    float learning_rate, mu;
    const float *anchor; /* laid out as out */
};

/* Elementwise, so the split into vectors does not show in the bits. */
INLINE void finish_vector(const struct outer *o, size_t at, vf sum, size_t width)
{
    float *out = o->out + at;
    vf w;
    switch (o->finish) {
    case FINISH_STORE:
        store_width(out, sum, width);
        return;
    case FINISH_ADD:
        store_width(out, load_width(out, width) + sum, width);
        return;
    case FINISH_SGD:
        w = load_width(out, width);
        store_width(out, FMA(splat(-o->learning_rate), sum, w), width);
        return;
    case FINISH_PROX:
        w = load_width(out, width);
        sum = FMA(splat(o->mu), w - load_width(o->anchor + at, width), sum);
        store_width(out, FMA(splat(-o->learning_rate), sum, w), width);
        return;
    }
}

/* items x vectors vectors; the last one has `width` lanes. Constants, so that the sums stay in registers. */
INLINE void outer_tile(const struct outer *o, size_t i, size_t j, int items, int vectors, size_t width)
{
    vf sum[TILE][2];
    const float *a = o->a + i * o->a_item, *b = o->b + j;
    UNROLL for (int q = 0; q < items; q++)
    {
        sum[q][0] = splat(0);
        sum[q][1] = splat(0);
    }
    for (size_t t = 0; t < o->terms; t++, a += o->a_term, b += o->width) {
        vf first = load_width(b, vectors == 1 ? width : LANES);
        vf second = vectors == 2 ? load_width(b + LANES, width) : splat(0);
        UNROLL for (int q = 0; q < items; q++)
        {
            vf factor = splat(a[(size_t)q * o->a_item]);
            sum[q][0] = FMA(factor, first, sum[q][0]);
            if (vectors == 2)
                sum[q][1] = FMA(factor, second, sum[q][1]);
        }
    }
    UNROLL for (int q = 0; q < items; q++)
    {
        size_t at = (i + (size_t)q) * o->width + j;
        finish_vector(o, at, sum[q][0], vectors == 1 ? width : LANES);
        if (vectors == 2)
            finish_vector(o, at + LANES, sum[q][1], width);
    }
}

INLINE void outer_rows(const struct outer *o, size_t i, size_t from, size_t to, int items)
{
    size_t j = from;
    for (; j + 2 * LANES <= to; j += 2 * LANES)
        outer_tile(o, i, j, items, 2, LANES);
    if (to - j > LANES)
        outer_tile(o, i, j, items, 2, to - j - LANES);
    else if (to - j == LANES)
        outer_tile(o, i, j, items, 1, LANES);
    else if (to > j)
        outer_tile(o, i, j, items, 1, to - j);
}

/* Panels keep the rows of b that every tile reads in the first-level cache. */
KERNEL_TARGET static void outer_run(const struct outer *o)
{
    for (size_t from = 0; from < o->width; from += PANEL) {
        size_t to = o->width - from < PANEL ? o->width : from + PANEL, i = 0;
        for (; i + TILE <= o->items; i += TILE)
            outer_rows(o, i, from, to, TILE);
        switch (o->items - i) {
        case 4:
            outer_rows(o, i, from, to, 4);
            break;
        case 3:
            outer_rows(o, i, from, to, 3);
            break;
        case 2:
            outer_rows(o, i, from, to, 2);
            break;
        case 1:
            outer_rows(o, i, from, to, 1);
            break;
        default:
            break;
        }
    }
}

KERNEL_TARGET static void dense_input_gradient(const struct compute_op *op)
{
    const struct outer o = {.terms = op->outputs,
                            .items = op->rows,
                            .width = op->inputs,
                            .a = compute_arg(op, 0),
                            .a_term = 1,
                            .a_item = op->outputs,
                            .b = compute_arg(op, 1),
                            .out = compute_arg(op, 2),
                            .finish = FINISH_STORE};
    outer_run(&o);
}

/* The gradient of weights and biases into `w` and `b`, as `how` finishes it. */
KERNEL_TARGET static void weight_gradients(const struct compute_op *op, struct outer how, float *w, float *b,
                                           const float *w0, const float *b0)
{
    static const float one = 1;
    how.terms = op->rows;
    how.items = op->outputs;
    how.width = op->inputs;
    how.a = compute_arg(op, 1);
    how.a_term = op->outputs;
    how.a_item = 1;
    how.b = compute_arg(op, 0);
    how.out = w;
    how.anchor = w0;
    outer_run(&how);
    how.items = 1; /* the biases' gradient is that of weights whose input is 1 */
    how.width = op->outputs;
    how.b = how.a;
    how.a = &one;
    how.a_term = 0;
    how.out = b;
    how.anchor = b0;
    outer_run(&how);
}

KERNEL_TARGET static void dense_gradient(const struct compute_op *op)
{
    const struct outer how = {.finish = op->accumulate ? FINISH_ADD : FINISH_STORE};
    weight_gradients(op, how, compute_arg(op, 2), compute_arg(op, 3), NULL, NULL);
}

KERNEL_TARGET static void dense_update(const struct compute_op *op)
{
    const struct outer how = {
        .finish = op->mu == 0 ? FINISH_SGD : FINISH_PROX, .learning_rate = op->learning_rate, .mu = op->mu};
    weight_gradients(op, how, compute_arg(op, 2), compute_arg(op, 3), compute_arg(op, 4), compute_arg(op, 5));
}

/* ---- dot products: z[r][c] = sum over j of x[r][j] w[c][j], plus b[c] ---- */

INLINE void dot_tile(const struct compute_op *op, size_t r, size_t c, int rows, int columns)
{
    size_t k = op->inputs, n = op->outputs, j = 0;
    const float *x = (const float *)compute_arg(op, 0) + r * k,
                *w = (const float *)compute_arg(op, 1) + c * k;
    const float *b = (const float *)compute_arg(op, 2) + c;
    float *z = (float *)compute_arg(op, 3) + r * n + c;
    vf sum[2][TILE];
    UNROLL for (int q = 0; q < columns; q++)
    {
        sum[0][q] = splat(0);
        sum[1][q] = splat(0);
    }
    for (; j < k; j += LANES) {
        size_t width = k - j < LANES ? k - j : LANES;
        vf x0 = load_width(x + j, width), x1 = rows == 2 ? load_width(x + k + j, width) : splat(0);
        UNROLL for (int q = 0; q < columns; q++)
        {
            vf factor = load_width(w + (size_t)q * k + j, width);
            sum[0][q] = FMA(x0, factor, sum[0][q]);
            if (rows == 2)
                sum[1][q] = FMA(x1, factor, sum[1][q]);
        }
    }
    UNROLL for (int q = 0; q < columns; q++)
    {
        z[q] = sum_lanes(sum[0][q]) + b[q];
        if (rows == 2)
            z[n + (size_t)q] = sum_lanes(sum[1][q]) + b[q];
    }
}

INLINE void dot_rows(const struct compute_op *op, size_t r, int rows)
{
    size_t c = 0;
    for (; c + TILE <= op->outputs; c += TILE)
        dot_tile(op, r, c, rows, TILE);
    switch (op->outputs - c) {
    case 4:
        dot_tile(op, r, c, rows, 4);
        break;
    case 3:
        dot_tile(op, r, c, rows, 3);
        break;
    case 2:
        dot_tile(op, r, c, rows, 2);
        break;
    case 1:
        dot_tile(op, r, c, rows, 1);
        break;
    default:
        break;
    }
}

KERNEL_TARGET static void dense_forward(const struct compute_op *op)
{
    size_t r = 0;
    for (; r + 2 <= op->rows; r += 2)
        dot_rows(op, r, 2);
    if (r < op->rows)
        dot_rows(op, r, 1);
}

/* ---- relu ---- */

KERNEL_TARGET static void relu_forward(const struct compute_op *op)
{
    const float *x = compute_arg(op, 0);
    float *y = compute_arg(op, 1);
    for (size_t i = 0; i < op->rows; i += LANES) {
        size_t width = op->rows - i < LANES ? op->rows - i : LANES;
        vf v = load_width(x + i, width);
        store_width(y + i, select_lanes(v < splat(0), splat(0), v), width);
    }
}

KERNEL_TARGET static void relu_backward(const struct compute_op *op)
{
    const float *y = compute_arg(op, 0), *dy = compute_arg(op, 1);
    float *dx = compute_arg(op, 2);
    for (size_t i = 0; i < op->rows; i += LANES) {
        size_t width = op->rows - i < LANES ? op->rows - i : LANES;
        vi is_on = load_width(y + i, width) > splat(0);
        store_width(dx + i, select_lanes(is_on, load_width(dy + i, width), splat(0)), width);
    }
}

/* ---- softmax ---- */

/* exp(x) for x <= 0: 2^n e^r with |r| <= ln(2) / 2 and e^r by its polynomial (Cephes' expf coefficients),
 * within 2 units in the last place. Below -87 it gives exp(-87), 1e-38 instead of less. NaN stays NaN. */
INLINE vf exponential(vf x)
{
    const vf rounding = splat(12582912.0f); /* 1.5 * 2^23: adding it rounds to an integer in the low bits */
    x = select_lanes(x < splat(-87.0f), splat(-87.0f), x);
    vf shifted = FMA(x, splat(1.44269504088896341f), rounding);
    vf n = shifted - rounding;
    vf r = FMA(n, splat(-0.693359375f), x);
    r = FMA(n, splat(2.12194440e-4f), r);
    vf p = splat(1.9875691500e-4f);
    p = FMA(p, r, splat(1.3981999507e-3f));
    p = FMA(p, r, splat(8.3334519073e-3f));
    p = FMA(p, r, splat(4.1665795894e-2f));
    p = FMA(p, r, splat(1.6666665459e-1f));
    p = FMA(p, r, splat(5.0000001201e-1f));
    p = FMA(p * r, r, r) + splat(1);
    vi exponent = ((vi)shifted - (vi)rounding + 127) << 23;
    return p * (vf)exponent;
}

INLINE float largest(const float *z, size_t n)
{
    float most = z[0];
    if (n >= LANES) {
        vf v = load(z);
        for (size_t c = LANES; c < n; c += LANES) {
            vf next = load(c + LANES <= n ? z + c : z + n - LANES); /* looking twice at some does no harm */
            v = select_lanes(next > v, next, v);
        }
        most = v[0];
        for (int i = 1; i < LANES; i++)
            most = v[i] > most ? v[i] : most;
        return most;
    }
    for (size_t c = 1; c < n; c++)
        most = z[c] > most ? z[c] : most;
    return most;
}

/* to[r][c] = from[r][c] - the row's largest, and the label's of them */
INLINE void shift_rows(const float *from, float *to, size_t rows, size_t n, const int32_t *labels,
                       float *targets)
{
    for (size_t r = 0; r < rows; r++, from += n, to += n) {
        vf shift = splat(largest(from, n));
        for (size_t c = 0; c < n; c += LANES) {
            size_t width = n - c < LANES ? n - c : LANES;
            store_width(to + c, load_width(from + c, width) - shift, width);
        }
        targets[r] = to[labels[r]];
    }
}

/* All rows at once: with few classes a row would fill its vectors badly. */
INLINE void exponentials(float *values, size_t n)
{
    for (size_t i = 0; i < n; i += LANES) {
        size_t width = n - i < LANES ? n - i : LANES;
        store_width(values + i, exponential(load_width(values + i, width)), width);
    }
}

INLINE float row_sum(const float *values, size_t n)
{
    vf sum = splat(0);
    for (size_t c = 0; c < n; c += LANES)
        sum += load_width(values + c, n - c < LANES ? n - c : LANES);
    return sum_lanes(sum);
}

KERNEL_TARGET static void softmax_gradient(const struct compute_op *op)
{
    size_t n = op->outputs;
    const int32_t *labels = compute_arg(op, 1);
    float *dz = compute_arg(op, 2), *sums = compute_arg(op, 3);
    shift_rows(compute_arg(op, 0), dz, op->rows, n, labels, compute_arg(op, 4));
    exponentials(dz, op->rows * n);
    for (size_t r = 0; r < op->rows; r++, dz += n) {
        sums[r] = row_sum(dz, n);
        vf factor = splat(op->scale / sums[r]);
        for (size_t c = 0; c < n; c += LANES) {
            size_t width = n - c < LANES ? n - c : LANES;
            store_width(dz + c, load_width(dz + c, width) * factor, width);
        }
        dz[labels[r]] -= op->scale;
    }
}

/* Shifted logits: the largest are 0. */
INLINE bool is_first_largest(const float *shifted, int32_t label)
{
    if (!(shifted[label] >= 0))
        return false;
    for (int32_t c = 0; c < label; c++) {
        if (shifted[c] >= 0)
            return false;
    }
    return true;
}

KERNEL_TARGET static void softmax_loss(const struct compute_op *op)
{
    size_t n = op->outputs;
    const int32_t *labels = compute_arg(op, 1);
    float *z = compute_arg(op, 0), *sums = compute_arg(op, 2);
    int32_t *correct = compute_arg(op, 4);
    shift_rows(z, z, op->rows, n, labels, compute_arg(op, 3));
    for (size_t r = 0; r < op->rows; r++)
        correct[r] = is_first_largest(z + r * n, labels[r]);
    exponentials(z, op->rows * n);
    for (size_t r = 0; r < op->rows; r++)
        sums[r] = row_sum(z + r * n, n);
}

const struct cpu_kernels KERNELS = {.name = KERNELS_NAME,
                                    .run = {[COMPUTE_DENSE_FORWARD] = dense_forward,
                                            [COMPUTE_DENSE_INPUT_GRADIENT] = dense_input_gradient,
                                            [COMPUTE_DENSE_GRADIENT] = dense_gradient,
                                            [COMPUTE_DENSE_UPDATE] = dense_update,
                                            [COMPUTE_RELU_FORWARD] = relu_forward,
                                            [COMPUTE_RELU_BACKWARD] = relu_backward,
                                            [COMPUTE_SOFTMAX_GRADIENT] = softmax_gradient,
                                            [COMPUTE_SOFTMAX_LOSS] = softmax_loss}};

#endif
