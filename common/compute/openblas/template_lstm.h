/* The LSTM's steps: a product of a few rows with w_hh, and then each gate. */
#ifndef FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_LSTM_H
#define FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_LSTM_H

/* The first n floats, of at most LANES; other values follow them. */
INLINE vf lstm_load(const float *p, size_t n)
{
    return n == LANES ? load(p) : load_part(p, n);
}

INLINE void lstm_store(float *p, vf v, size_t n)
{
    if (n == LANES)
        store(p, v);
    else
        store_part(p, v, n);
}

/* Where one row's values of one step lie. */
struct lstm_cell {
    size_t units;
    float *z;                        /* gates i, f, g, o */
    const float *bias, *cell_before; /* cell_before: NULL at the first step */
    float *cell, *h, *h_to_next;     /* h_to_next: where the next step has h_before; NULL at the last */
    const float *dh, *dh_carried;    /* dh: NULL where nothing comes from above */
    float *d_cell;                   /* carried, in and out */
};

/* n units from u on; n is a constant but for the last few. */
INLINE void lstm_units_forward(const struct lstm_cell *c, size_t u, size_t n)
{
    const size_t units = c->units;
    float *z = c->z + u;
    const float *b = c->bias + u;
    const vf i = sigmoid(lstm_load(z, n) + lstm_load(b, n)),
             f = sigmoid(lstm_load(z + units, n) + lstm_load(b + units, n)),
             g = hyperbolic_tangent(lstm_load(z + 2 * units, n) + lstm_load(b + 2 * units, n)),
             o = sigmoid(lstm_load(z + 3 * units, n) + lstm_load(b + 3 * units, n));
    vf cell = i * g;
    if (c->cell_before)
        cell = FMA(f, lstm_load(c->cell_before + u, n), cell);
    const vf h = o * hyperbolic_tangent(cell);
    lstm_store(z, i, n);
    lstm_store(z + units, f, n);
    lstm_store(z + 2 * units, g, n);
    lstm_store(z + 3 * units, o, n);
    lstm_store(c->cell + u, cell, n);
    lstm_store(c->h + u, h, n);
    if (c->h_to_next)
        lstm_store(c->h_to_next + u, h, n);
}

INLINE void lstm_units_backward(const struct lstm_cell *c, size_t u, size_t n)
{
    const size_t units = c->units;
    float *z = c->z + u;
    const vf one = splat(1), i = lstm_load(z, n), f = lstm_load(z + units, n),
             g = lstm_load(z + 2 * units, n), o = lstm_load(z + 3 * units, n),
             squashed = hyperbolic_tangent(lstm_load(c->cell + u, n)),
             before = c->cell_before ? lstm_load(c->cell_before + u, n) : splat(0);
    vf dh = lstm_load(c->dh_carried + u, n);
    if (c->dh)
        dh += lstm_load(c->dh + u, n);
    const vf d_cell = FMA(dh * o, one - squashed * squashed, lstm_load(c->d_cell + u, n));
    lstm_store(z, d_cell * g * i * (one - i), n);
    lstm_store(z + units, d_cell * before * f * (one - f), n);
    lstm_store(z + 2 * units, d_cell * i * (one - g * g), n);
    lstm_store(z + 3 * units, dh * squashed * o * (one - o), n);
    lstm_store(c->d_cell + u, d_cell * f, n);
}

/* Of so many rows, the next step's are in the second-level cache as it is. */
enum { LSTM_NEAR_ROWS = 16 };

/* The step that comes next, to which the CPU does not see the way: other rows' steps lie between. */
INLINE void lstm_prefetch(const float *row, size_t width)
{
    for (size_t i = 0; i < width; i += 16)
        __builtin_prefetch(row + i, 1, 2);
}

INLINE void lstm_cell(const struct lstm_cell *c, bool is_forward)
{
    const struct lstm_cell here = *c; /* what is stored cannot change it */
    for (size_t u = 0; u < here.units;) {
        const size_t left = here.units - u, n = left < LANES ? left : LANES;
        if (n < LANES && is_forward)
            lstm_units_forward(&here, u, n);
        else if (n < LANES)
            lstm_units_backward(&here, u, n);
        else if (is_forward)
            lstm_units_forward(&here, u, LANES);
        else
            lstm_units_backward(&here, u, LANES);
        u += n;
    }
}

/* out[r][0..width) (+)= a[r] panels for the rows of one step, which are a_stride and out_stride apart; panels
 * of `depth` lines, `terms` of them used. */
INLINE void lstm_product(size_t rows, const float *a, size_t a_stride, const float *panels, size_t terms,
                         size_t depth, size_t width, float *out, size_t out_stride, bool adds)
{
    for (size_t j = 0; j < width; j += MANY_WIDTH) {
        const size_t columns = at_most_of(width - j, MANY_WIDTH);
        const struct many m = {.terms = terms,
                               .a = a,
                               .a_item = a_stride,
                               .a_term = 1,
                               .b = panels + j * depth,
                               .b_term = columns,
                               .out = out + j,
                               .out_item = out_stride,
                               .adds = adds};
        many_run(&m, rows, columns);
    }
}

/* Padding that every step's row of h, cells and h_before ends with. */
INLINE void lstm_clear_ends(float *matrix, size_t rows, size_t units)
{
    const size_t stride = compute_stride(units);
    for (size_t r = 0; r < rows; r++)
        memset(matrix + r * stride + units, 0, (stride - units) * sizeof *matrix);
}

KERNEL_TARGET static void lstm_forward_prepare(const struct compute_op *op)
{
    const size_t units = op->lstm->units, z_stride = compute_stride(4 * units), depth = lstm_panel_depth(op);
    float *panels = compute_scratch_arg(op);
    for (size_t j = 0; j < z_stride; j += MANY_WIDTH)
        many_pack_across(compute_arg(op, 0), 4 * units, compute_stride(units), j, units,
                         at_most_of(z_stride - j, MANY_WIDTH), panels + j * depth);
}

/* Some rows, through all steps. */
KERNEL_TARGET static void lstm_forward(const struct compute_op *op, const struct team_part *part)
{
    const size_t steps = op->lstm->steps, units = op->lstm->units, stride = compute_stride(units),
                 z_stride = compute_stride(4 * units), depth = lstm_panel_depth(op),
                 rows = part->to - part->from, first = part->from * steps;
    const float *panels = compute_scratch_arg(op);
    float *z = (float *)compute_arg(op, 2) + first * z_stride,
          *cells = (float *)compute_arg(op, 3) + first * stride,
          *h = (float *)compute_arg(op, 4) + first * stride,
          *h_before = (float *)compute_arg(op, 5) + first * stride;
    lstm_clear_ends(cells, rows * steps, units);
    lstm_clear_ends(h, rows * steps, units);
    lstm_clear_ends(h_before, rows * steps, units);
    for (size_t t = 0; t < steps; t++) {
        if (t > 0)
            lstm_product(rows, h + (t - 1) * stride, steps * stride, panels, units, depth, z_stride,
                         z + t * z_stride, steps * z_stride, true);
        for (size_t r = 0; r < rows; r++) {
            const size_t at = r * steps + t;
            const struct lstm_cell c = {.units = units,
                                        .z = z + at * z_stride,
                                        .bias = compute_arg(op, 1),
                                        .cell_before = t ? cells + (at - 1) * stride : NULL,
                                        .cell = cells + at * stride,
                                        .h = h + at * stride,
                                        .h_to_next = t + 1 < steps ? h_before + (at + 1) * stride : NULL};
            if (t + 1 < steps && op->rows > LSTM_NEAR_ROWS)
                lstm_prefetch(z + (at + 1) * z_stride, z_stride);
            lstm_cell(&c, true);
            if (t == 0)
                memset(h_before + at * stride, 0, units * sizeof *h);
        }
    }
}

KERNEL_TARGET static void lstm_backward_prepare(const struct compute_op *op)
{
    const size_t units = op->lstm->units, stride = compute_stride(units), depth = lstm_panel_depth(op);
    float *panels = compute_scratch_arg(op);
    for (size_t j = 0; j < stride; j += MANY_WIDTH)
        many_pack((const float *)compute_arg(op, 1) + j, stride, 4 * units,
                  at_most_of(stride - j, MANY_WIDTH), panels + j * depth);
}

KERNEL_TARGET static void lstm_backward(const struct compute_op *op, const struct team_part *part)
{
    const size_t steps = op->lstm->steps, units = op->lstm->units, stride = compute_stride(units),
                 z_stride = compute_stride(4 * units), depth = lstm_panel_depth(op),
                 rows = part->to - part->from, first = part->from * steps;
    const float *dh = (const float *)compute_arg(op, 0) +
                      (op->lstm->is_last_only ? part->from : first) * stride,
                *panels = compute_scratch_arg(op);
    float *z = (float *)compute_arg(op, 2) + first * z_stride,
          *cells = (float *)compute_arg(op, 3) + first * stride,
          *carried = (float *)compute_scratch_arg(op) + lstm_panels(op) + part->from * stride,
          *d_cells = carried + op->rows * stride;
    memset(carried, 0, rows * stride * sizeof *carried);
    memset(d_cells, 0, rows * stride * sizeof *d_cells);
    for (size_t t = steps; t-- > 0;) {
        for (size_t r = 0; r < rows; r++) {
            const size_t at = r * steps + t;
            const float *above = op->lstm->is_last_only ? dh + r * stride : dh + at * stride;
            const struct lstm_cell c = {.units = units,
                                        .z = z + at * z_stride,
                                        .cell_before = t ? cells + (at - 1) * stride : NULL,
                                        .cell = cells + at * stride,
                                        .dh = op->lstm->is_last_only && t + 1 < steps ? NULL : above,
                                        .dh_carried = carried + r * stride,
                                        .d_cell = d_cells + r * stride};
            if (t > 0 && op->rows > LSTM_NEAR_ROWS)
                lstm_prefetch(z + (at - 1) * z_stride, z_stride);
            lstm_cell(&c, false);
        }
        if (t > 0)
            lstm_product(rows, z + t * z_stride, steps * z_stride, panels, 4 * units, depth, stride, carried,
                         stride, false);
    }
}

#endif
