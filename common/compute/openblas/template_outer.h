/* Sums of outer products: out[i][j] = sum over t of a(t, i) b[t][j], and what is done with each. Every sum
 * runs over t in order, so tiles and panels do not show in the bits. */
#ifndef FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_OUTER_H
#define FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_OUTER_H

enum { OUTER_ITEMS = 5, OUTER_SPAN = OUTER_VECTORS * LANES, OUTER_CACHED = 1 << 18, OUTER_AHEAD = 32 };

enum finish { FINISH_STORE, FINISH_ADD, FINISH_SGD, FINISH_PROX };

struct outer {
    size_t terms, items, width; /* width is a multiple of LANES */
    const float *a;             /* a(t, i) = a[t a_term + i a_item] */
    size_t a_term, a_item;
    const float *b; /* rows of `width` */
    float *out;     /* rows of `width` */
    enum finish finish;
    float learning_rate, mu;
    const float *anchor;     /* laid out as out */
    bool fetches, fetches_b; /* out and anchor, or b, lie in no near cache: they are asked for early */
};

INLINE void finish_vector(const struct outer *o, enum finish how, size_t at, vf sum)
{
    float *out = o->out + at;
    if (how == FINISH_STORE) {
        store(out, sum);
        return;
    }
    vf w = load(out);
    if (how == FINISH_ADD) {
        store(out, w + sum);
        return;
    }
    if (how == FINISH_PROX)
        sum = FMA(splat(o->mu), w - load(o->anchor + at), sum);
    store(out, FMA(splat(-o->learning_rate), sum, w));
}

INLINE void finish_tile(const struct outer *o, enum finish how, size_t at, vf sum[OUTER_ITEMS][OUTER_VECTORS],
                        int items, int vectors)
{
    const struct outer here = *o; /* what is stored cannot change it */
    UNROLL for (int q = 0; q < items; q++)
    {
        UNROLL for (int v = 0; v < vectors; v++)
        {
            finish_vector(&here, how, at + (size_t)q * here.width + (size_t)v * LANES, sum[q][v]);
        }
    }
}

/* What the next tile will finish. */
INLINE void outer_fetch(const struct outer *o, size_t at, int items, int vectors)
{
    UNROLL for (int q = 0; q < items; q++)
    {
        UNROLL for (int v = 0; v < vectors; v++)
        {
            const size_t to = at + (size_t)q * o->width + (size_t)v * LANES;
            __builtin_prefetch(o->out + to, 1);
            if (o->finish == FINISH_PROX)
                __builtin_prefetch(o->anchor + to);
        }
    }
}

/* items and vectors are constants, so that the sums stay in registers; so do the two addresses of a. */
INLINE void outer_tile(const struct outer *o, size_t i, size_t j, int items, int vectors)
{
    vf sum[OUTER_ITEMS][OUTER_VECTORS];
    const size_t item = o->a_item, a_term = o->a_term, width = o->width;
    const float *a[2] = {o->a + i * item, items > 3 ? o->a + (i + 3) * item : NULL}, *b = o->b + j;
    UNROLL for (int q = 0; q < items; q++)
    {
        UNROLL for (int v = 0; v < vectors; v++)
        {
            sum[q][v] = splat(0);
        }
    }
    if (o->fetches)
        outer_fetch(o, i * o->width + j + OUTER_SPAN, items, vectors);
    for (size_t t = 0; t < o->terms; t++, b += width) {
        vf row[OUTER_VECTORS];
        UNROLL for (int v = 0; v < vectors; v++)
        {
            row[v] = load(b + v * LANES);
            if (o->fetches_b)
                __builtin_prefetch(b + OUTER_AHEAD * o->width + v * LANES);
        }
        UNROLL for (int q = 0; q < items; q++)
        {
            vf factor = splat(a[q / 3][(size_t)(q % 3) * item]);
            UNROLL for (int v = 0; v < vectors; v++)
            {
                sum[q][v] = FMA(factor, row[v], sum[q][v]);
            }
        }
        a[0] += a_term;
        if (items > 3)
            a[1] += a_term;
    }
    size_t at = i * width + j;
    switch (o->finish) {
    case FINISH_STORE:
        finish_tile(o, FINISH_STORE, at, sum, items, vectors);
        break;
    case FINISH_ADD:
        finish_tile(o, FINISH_ADD, at, sum, items, vectors);
        break;
    case FINISH_SGD:
        finish_tile(o, FINISH_SGD, at, sum, items, vectors);
        break;
    case FINISH_PROX:
        finish_tile(o, FINISH_PROX, at, sum, items, vectors);
        break;
    }
}

INLINE void outer_rows(const struct outer *o, size_t i, size_t from, size_t to, int items)
{
    size_t j = from;
    for (; j + OUTER_SPAN <= to; j += OUTER_SPAN)
        outer_tile(o, i, j, items, OUTER_VECTORS);
    switch ((to - j) / LANES) {
    case 1:
        outer_tile(o, i, j, items, 1);
        break;
#if OUTER_VECTORS == 4
    case 2:
        outer_tile(o, i, j, items, 2);
        break;
    case 3:
        outer_tile(o, i, j, items, 3);
        break;
#endif
    default:
        break;
    }
}

/* Panels keep the rows of b that every tile reads in the first-level cache. */
static size_t panel_width(size_t terms, size_t width)
{
    const size_t cached = 8192;
    if (terms * width <= cached)
        return width;
    size_t panel = cached / terms / OUTER_SPAN * OUTER_SPAN;
    return panel ? panel : OUTER_SPAN;
}

/* Columns from first to end, which are multiples of LANES. */
KERNEL_TARGET static void outer_run(const struct outer *o, size_t first, size_t end)
{
    size_t panel = panel_width(o->terms, o->width);
    for (size_t from = first; from < end; from += panel) {
        size_t to = end - from < panel ? end : from + panel, i = 0;
        for (; i + OUTER_ITEMS <= o->items; i += OUTER_ITEMS)
            outer_rows(o, i, from, to, OUTER_ITEMS);
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

KERNEL_TARGET static void dense_input_gradient(const struct compute_op *op, const struct team_part *part)
{
    const bool is_by_rows = tiles_are_rows(op);
    const size_t x_stride = compute_stride(op->inputs), z_stride = compute_stride(op->outputs),
                 first_row = is_by_rows ? part->from : 0;
    const struct outer o = {.terms = op->outputs,
                            .items = is_by_rows ? part->to - part->from : op->rows,
                            .width = x_stride,
                            .a = (const float *)compute_arg(op, 0) + first_row * z_stride,
                            .a_term = 1,
                            .a_item = z_stride,
                            .b = compute_arg(op, 1),
                            .out = (float *)compute_arg(op, 2) + first_row * x_stride,
                            .finish = FINISH_STORE,
                            .fetches_b = op->outputs * x_stride > OUTER_CACHED};
    outer_run(&o, is_by_rows ? 0 : part->from, is_by_rows ? x_stride : part->to);
}

/* The gradient of the part's weights and of all biases into `w` and `b`, as `how` finishes it. */
KERNEL_TARGET static void weight_gradients(const struct compute_op *op, const struct team_part *part,
                                           struct outer how, float *w, float *b, const float *w0,
                                           const float *b0)
{
    static const float one = 1;
    const float *dz = compute_arg(op, 1);
    const size_t x_stride = compute_stride(op->inputs);
    how.terms = op->rows;
    how.items = part->to - part->from;
    how.width = x_stride;
    how.a = dz + part->from;
    how.a_term = compute_stride(op->outputs);
    how.a_item = 1;
    how.b = compute_arg(op, 0);
    how.out = w + part->from * x_stride;
    how.anchor = w0 ? w0 + part->from * x_stride : NULL;
    how.fetches = op->outputs * x_stride > OUTER_CACHED;
    outer_run(&how, 0, how.width);
    if (part->from > 0)
        return;
    how.fetches = false;
    how.items = 1; /* the biases' gradient is that of weights whose input is 1 */
    how.width = how.a_term;
    how.b = dz;
    how.a = &one;
    how.a_term = 0;
    how.out = b;
    how.anchor = b0;
    outer_run(&how, 0, how.width);
}

KERNEL_TARGET static void dense_gradient(const struct compute_op *op, const struct team_part *part)
{
    const struct outer how = {.finish = op->accumulate ? FINISH_ADD : FINISH_STORE};
    weight_gradients(op, part, how, compute_arg(op, 2), compute_arg(op, 3), NULL, NULL);
}

KERNEL_TARGET static void dense_update(const struct compute_op *op, const struct team_part *part)
{
    const struct outer how = {
        .finish = op->mu == 0 ? FINISH_SGD : FINISH_PROX, .learning_rate = op->learning_rate, .mu = op->mu};
    weight_gradients(op, part, how, compute_arg(op, 2), compute_arg(op, 3), compute_arg(op, 4),
                     compute_arg(op, 5));
}

#endif
