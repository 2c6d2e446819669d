/* The LSTM's steps: a product of a few rows with w_hh, and then each gate. */
#ifndef FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_LSTM_H
#define FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_LSTM_H

INLINE vf magnitude(vf x)
{
    return (vf)((vi)x & INT32_MAX);
}

/* 1 / (1 + e^-x), by e^-|x|, which does not overflow. */
INLINE vf sigmoid(vf x)
{
    const vf e = exponential(-magnitude(x)), s = splat(1) / (splat(1) + e);
    return pick(x < splat(0), e * s, pick(is_number(x), s, x));
}

/* Below 0.625 by Cephes' polynomial for tanhf, which loses nothing near 0; else by e^-2|x|. */
INLINE vf hyperbolic_tangent(vf x)
{
    const vf a = magnitude(x), e = exponential(splat(-2) * a), square = x * x;
    vf p = FMA(splat(-5.70498872745e-3f), square, splat(2.06390887954e-2f));
    p = FMA(p, square, splat(-5.37397155531e-2f));
    p = FMA(p, square, splat(1.33314422036e-1f));
    p = FMA(p, square, splat(-3.33332819422e-1f));
    const vf large = (splat(1) - e) / (splat(1) + e);
    const vf with_sign = (vf)((vi)large | ((vi)x & INT32_MIN));
    return pick(a < splat(0.625f), FMA(p * square, x, x), pick(is_number(x), with_sign, x));
}

/* The first n floats, zeros behind them. Whole vectors but for the last, which others' values follow. */
INLINE vf load_part(const float *p, size_t n)
{
    float part[LANES] = {0};
    if (n >= LANES)
        return load(p);
    memcpy(part, p, n * sizeof *p);
    return load(part);
}

INLINE void store_part(float *p, vf v, size_t n)
{
    float part[LANES];
    if (n >= LANES) {
        store(p, v);
        return;
    }
    store(part, v);
    memcpy(p, part, n * sizeof *p);
}

/* Where one row's values of one step lie. */
struct lstm_cell {
    size_t units;
    float *z;                        /* gates i, f, g, o */
    const float *bias, *cell_before; /* cell_before: NULL at the first step */
    float *cell, *h;
    const float *dh, *dh_carried; /* dh: NULL where nothing comes from above */
    float *d_cell;                /* carried, in and out */
};

INLINE void lstm_cell_forward(const struct lstm_cell *c, size_t u)
{
    const size_t units = c->units, n = units - u;
    float *z = c->z + u;
    const float *b = c->bias + u;
    const vf i = sigmoid(load_part(z, n) + load_part(b, n)),
             f = sigmoid(load_part(z + units, n) + load_part(b + units, n)),
             g = hyperbolic_tangent(load_part(z + 2 * units, n) + load_part(b + 2 * units, n)),
             o = sigmoid(load_part(z + 3 * units, n) + load_part(b + 3 * units, n));
    vf cell = i * g;
    if (c->cell_before)
        cell = FMA(f, load_part(c->cell_before + u, n), cell);
    store_part(z, i, n);
    store_part(z + units, f, n);
    store_part(z + 2 * units, g, n);
    store_part(z + 3 * units, o, n);
    store_part(c->cell + u, cell, n);
    store_part(c->h + u, o * hyperbolic_tangent(cell), n);
}

INLINE void lstm_cell_backward(const struct lstm_cell *c, size_t u)
{
    const size_t units = c->units, n = units - u;
    float *z = c->z + u;
    const vf one = splat(1), i = load_part(z, n), f = load_part(z + units, n),
             g = load_part(z + 2 * units, n), o = load_part(z + 3 * units, n),
             squashed = hyperbolic_tangent(load_part(c->cell + u, n)),
             before = c->cell_before ? load_part(c->cell_before + u, n) : splat(0);
    vf dh = load_part(c->dh_carried + u, n);
    if (c->dh)
        dh += load_part(c->dh + u, n);
    const vf d_cell = FMA(dh * o, one - squashed * squashed, load_part(c->d_cell + u, n));
    store_part(z, d_cell * g * i * (one - i), n);
    store_part(z + units, d_cell * before * f * (one - f), n);
    store_part(z + 2 * units, d_cell * i * (one - g * g), n);
    store_part(z + 3 * units, dh * squashed * o * (one - o), n);
    store_part(c->d_cell + u, d_cell * f, n);
}

/* out[r][0..width) (+)= a[r] panels for the rows of one step, which are a_stride and out_stride apart. */
INLINE void lstm_product(size_t rows, const float *a, size_t a_stride, const float *panels, size_t run,
                         size_t width, float *out, size_t out_stride, bool adds)
{
    for (size_t j = 0; j < width; j += PANEL) {
        const struct panel p = {
            .lines = 1, .run = run, .panel = panels + j * run, .adds = adds, .out_stride = out_stride};
        for (size_t r = 0, n; r < rows; r += n) {
            const float *of_tile[PANEL_ROWS];
            n = panel_take(rows - r);
            for (size_t i = 0; i < n; i++)
                of_tile[i] = a + (r + i) * a_stride;
            panel_run(&p, of_tile, out + r * out_stride + j, n);
        }
    }
}

/* Padding that every step's row of h, cells and h_before ends with. */
INLINE void lstm_clear_ends(float *matrix, size_t rows, size_t units)
{
    const size_t stride = compute_stride(units);
    for (size_t r = 0; r < rows; r++)
        memset(matrix + r * stride + units, 0, (stride - units) * sizeof *matrix);
}

KERNEL_TARGET static void lstm_forward(const struct compute_op *op)
{
    const size_t steps = op->lstm->steps, units = op->lstm->units, stride = compute_stride(units),
                 z_stride = compute_stride(4 * units);
    const float *w = compute_arg(op, 0);
    float *z = compute_arg(op, 2), *cells = compute_arg(op, 3), *h = compute_arg(op, 4),
          *h_before = compute_arg(op, 5), *panels = compute_scratch_arg(op);
    for (size_t j = 0; j < z_stride; j++) {
        float *to = panels + j / PANEL * PANEL * units + j % PANEL;
        for (size_t k = 0; k < units; k++)
            to[k * PANEL] = j < 4 * units ? w[j * stride + k] : 0;
    }
    lstm_clear_ends(cells, op->rows * steps, units);
    lstm_clear_ends(h, op->rows * steps, units);
    for (size_t t = 0; t < steps; t++) {
        if (t > 0)
            lstm_product(op->rows, h + (t - 1) * stride, steps * stride, panels, units, z_stride,
                         z + t * z_stride, steps * z_stride, true);
        for (size_t r = 0; r < op->rows; r++) {
            const size_t at = r * steps + t;
            const struct lstm_cell c = {.units = units,
                                        .z = z + at * z_stride,
                                        .bias = compute_arg(op, 1),
                                        .cell_before = t ? cells + (at - 1) * stride : NULL,
                                        .cell = cells + at * stride,
                                        .h = h + at * stride};
            for (size_t u = 0; u < units; u += LANES)
                lstm_cell_forward(&c, u);
            if (t == 0)
                memset(h_before + at * stride, 0, stride * sizeof *h);
            else
                memcpy(h_before + at * stride, h + (at - 1) * stride, stride * sizeof *h);
        }
    }
}

KERNEL_TARGET static void lstm_backward(const struct compute_op *op)
{
    const size_t steps = op->lstm->steps, units = op->lstm->units, stride = compute_stride(units),
                 z_stride = compute_stride(4 * units);
    const float *dh = compute_arg(op, 0), *w = compute_arg(op, 1);
    float *z = compute_arg(op, 2), *cells = compute_arg(op, 3), *panels = compute_scratch_arg(op),
          *carried = panels + lstm_panels(op), *d_cells = carried + op->rows * stride;
    for (size_t j = 0; j < stride; j += PANEL) {
        for (size_t k = 0; k < 4 * units; k++)
            memcpy(panels + j * 4 * units + k * PANEL, w + k * stride + j, PANEL * sizeof *w);
    }
    memset(carried, 0, 2 * op->rows * stride * sizeof *carried);
    for (size_t t = steps; t-- > 0;) {
        for (size_t r = 0; r < op->rows; r++) {
            const size_t at = r * steps + t;
            const float *above = op->lstm->is_last_only ? dh + r * stride : dh + at * stride;
            const struct lstm_cell c = {.units = units,
                                        .z = z + at * z_stride,
                                        .cell_before = t ? cells + (at - 1) * stride : NULL,
                                        .cell = cells + at * stride,
                                        .dh = op->lstm->is_last_only && t + 1 < steps ? NULL : above,
                                        .dh_carried = carried + r * stride,
                                        .d_cell = d_cells + r * stride};
            for (size_t u = 0; u < units; u += LANES)
                lstm_cell_backward(&c, u);
        }
        if (t > 0)
            lstm_product(op->rows, z + t * z_stride, steps * z_stride, panels, 4 * units, stride, carried,
                         stride, false);
    }
}

#endif
