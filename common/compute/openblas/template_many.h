/* Products with many rows: out[i][j] = sum over t of a(t, i) b(t, j). Sums stand in registers, MANY_ROWS x
 * MANY_VECTORS of them, and run over MANY_TERMS terms in order; then the blocks' sums are added up in order.
 * So bits depend on the number of terms alone, and each kernel may be run on a part of the rows, or of the
 * outputs where it makes a weight's gradient. */
#ifndef FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_MANY_H
#define FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_MANY_H

/* A panel of b, and a block of a, stay in the first-level cache. */
enum { MANY_TERMS = 128, MANY_WIDTH = MANY_VECTORS * LANES };

static inline size_t at_most_of(size_t n, size_t most)
{
    return n < most ? n : most;
}

struct many {
    size_t terms, a_item, a_term, b_term, out_item;
    const float *a;    /* a(t, i) = a[t a_term + i a_item] */
    const float *b;    /* one or more vectors, b_term apart */
    float *out;        /* the same, out_item apart */
    const float *bias; /* as b; added to each sum. NULL: none */
    bool adds;         /* to what is in out */
};

/* items and vectors are constants, so that the sums stay in registers; so do the four addresses of a. */
INLINE void many_tile(const struct many *m, size_t first, int items, int vectors)
{
    vf sum[MANY_ROWS][MANY_VECTORS];
    const size_t item = m->a_item, a_term = m->a_term, b_term = m->b_term;
    const float *a[(MANY_ROWS + 2) / 3], *b = m->b;
    UNROLL for (int i = 0; i < items; i++)
    {
        if (i % 3 == 0)
            a[i / 3] = m->a + (first + (size_t)i) * item;
        UNROLL for (int v = 0; v < vectors; v++)
        {
            sum[i][v] = splat(0);
        }
    }
    for (size_t t = 0; t < m->terms; t++, b += b_term) {
        vf row[MANY_VECTORS];
        UNROLL for (int v = 0; v < vectors; v++)
        {
            row[v] = load(b + v * LANES);
        }
        UNROLL for (int i = 0; i < items; i++)
        {
            const vf factor = splat(a[i / 3][(size_t)(i % 3) * item]);
            UNROLL for (int v = 0; v < vectors; v++)
            {
                sum[i][v] = FMA(factor, row[v], sum[i][v]);
            }
        }
        UNROLL for (int i = 0; i < items; i += 3)
        {
            a[i / 3] += a_term;
        }
    }
    UNROLL for (int i = 0; i < items; i++)
    {
        UNROLL for (int v = 0; v < vectors; v++)
        {
            float *to = m->out + (first + (size_t)i) * m->out_item + v * LANES;
            vf s = sum[i][v];
            if (m->bias)
                s += load(m->bias + v * LANES);
            if (m->adds)
                s += load(to);
            store(to, s);
        }
    }
}

#define MANY_CASE(count)                                                                                     \
    case count:                                                                                              \
        many_tile(m, i, count, vectors);                                                                     \
        break

INLINE void many_tiles(const struct many *m, size_t items, int vectors)
{
    size_t i = 0;
    for (; items - i >= 2 * MANY_ROWS || items - i == MANY_ROWS; i += MANY_ROWS)
        many_tile(m, i, MANY_ROWS, vectors);
    /* Two tiles of nearly the same size: a few sums alone would wait for each other. */
    for (size_t n; i < items; i += n) {
        n = items - i > MANY_ROWS ? (items - i + 1) / 2 : items - i;
        switch (n) {
            MANY_CASE(1);
            MANY_CASE(2);
            MANY_CASE(3);
            MANY_CASE(4);
            MANY_CASE(5);
            MANY_CASE(6);
#if MANY_ROWS == 12
            MANY_CASE(7);
            MANY_CASE(8);
            MANY_CASE(9);
            MANY_CASE(10);
            MANY_CASE(11);
            MANY_CASE(12);
#endif
        default:
            break;
        }
    }
}

/* `width` columns, a multiple of LANES up to MANY_WIDTH. */
KERNEL_TARGET static void many_run(const struct many *m, size_t items, size_t width)
{
    if (width == MANY_WIDTH)
        many_tiles(m, items, MANY_VECTORS);
    else
        many_tiles(m, items, 1);
}

/* Four rows of four: to[k][i] = from[i][k] */
INLINE void transpose_four(const float *from, size_t stride, float *to, size_t to_stride)
{
    vq row[4];
    UNROLL for (int i = 0; i < 4; i++)
    {
        memcpy(&row[i], from + (size_t)i * stride, sizeof row[i]);
    }
    const vq a = __builtin_shufflevector(row[0], row[1], 0, 4, 1, 5),
             b = __builtin_shufflevector(row[2], row[3], 0, 4, 1, 5),
             c = __builtin_shufflevector(row[0], row[1], 2, 6, 3, 7),
             d = __builtin_shufflevector(row[2], row[3], 2, 6, 3, 7);
    const vq out[4] = {__builtin_shufflevector(a, b, 0, 1, 4, 5), __builtin_shufflevector(a, b, 2, 3, 6, 7),
                       __builtin_shufflevector(c, d, 0, 1, 4, 5), __builtin_shufflevector(c, d, 2, 3, 6, 7)};
    UNROLL for (int k = 0; k < 4; k++)
    {
        memcpy(to + (size_t)k * to_stride, &out[k], sizeof out[k]);
    }
}

/* panel[t][i] = w[j + i][t] for `terms` (rounded up to fours) and `width` columns; w has `rows`, behind which
 * it counts as 0. */
KERNEL_TARGET static void many_pack_across(const float *w, size_t rows, size_t stride, size_t j, size_t terms,
                                           size_t width, float *panel)
{
    const size_t columns = j < rows ? at_most_of(rows - j, width) : 0;
    size_t i = 0;
    w += j * stride;
    for (; i + 4 <= columns; i += 4) {
        for (size_t t = 0; t < terms; t += 4)
            transpose_four(w + i * stride + t, stride, panel + t * width + i, width);
    }
    for (; i < width; i++) {
        for (size_t t = 0; t < terms; t++)
            panel[t * width + i] = i < columns ? w[i * stride + t] : 0;
    }
}

/* panel[t][j] = b[t][j] */
INLINE void many_pack(const float *b, size_t stride, size_t terms, size_t width, float *panel)
{
    for (size_t t = 0; t < terms; t++) {
        for (size_t j = 0; j < width; j += LANES)
            store(panel + t * width + j, load(b + t * stride + j));
    }
}

/* Blocks of nearly the same size. */
static inline size_t many_block(size_t terms)
{
    const size_t blocks = (terms + MANY_TERMS - 1) / MANY_TERMS;
    return blocks ? (terms + 4 * blocks - 1) / (4 * blocks) * 4 : 0;
}

KERNEL_TARGET static void dense_forward_many(const struct compute_op *op, const struct team_part *part)
{
    float panel[MANY_TERMS * MANY_WIDTH] __attribute__((aligned(64)));
    const size_t x_stride = compute_stride(op->inputs), z_stride = compute_stride(op->outputs);
    const bool is_by_rows = tiles_are_rows(op);
    const size_t first = is_by_rows ? part->from : 0, rows = is_by_rows ? part->to - part->from : op->rows,
                 from = is_by_rows ? 0 : part->from,
                 to = is_by_rows || part->to == op->outputs ? z_stride : part->to,
                 block = many_block(op->inputs);
    const float *x = (const float *)compute_arg(op, 0) + first * x_stride, *w = compute_arg(op, 1),
                *b = compute_arg(op, 2);
    float *z = (float *)compute_arg(op, 3) + first * z_stride;
    size_t t = 0;
    do {
        const size_t terms = at_most_of(op->inputs - t, block);
        for (size_t j = from; j < to; j += MANY_WIDTH) {
            const size_t width = at_most_of(to - j, MANY_WIDTH);
            many_pack_across(w + t, op->outputs, x_stride, j, terms, width, panel);
            const struct many m = {.terms = terms,
                                   .a = x + t,
                                   .a_item = x_stride,
                                   .a_term = 1,
                                   .b = panel,
                                   .b_term = width,
                                   .out = z + j,
                                   .out_item = z_stride,
                                   .bias = t ? NULL : b + j,
                                   .adds = t > 0};
            many_run(&m, rows, width);
        }
        t += terms;
    } while (t < op->inputs);
}

KERNEL_TARGET static void dense_input_gradient_many(const struct compute_op *op, const struct team_part *part)
{
    float panel[MANY_TERMS * MANY_WIDTH] __attribute__((aligned(64)));
    const size_t x_stride = compute_stride(op->inputs), z_stride = compute_stride(op->outputs);
    const bool is_by_rows = tiles_are_rows(op);
    const size_t first = is_by_rows ? part->from : 0, rows = is_by_rows ? part->to - part->from : op->rows,
                 from = is_by_rows ? 0 : part->from, to = is_by_rows ? x_stride : part->to,
                 block = many_block(op->outputs);
    const float *dz = (const float *)compute_arg(op, 0) + first * z_stride, *w = compute_arg(op, 1);
    float *dx = (float *)compute_arg(op, 2) + first * x_stride;
    size_t t = 0;
    do {
        const size_t terms = at_most_of(op->outputs - t, block);
        for (size_t j = from; j < to; j += MANY_WIDTH) {
            const size_t width = at_most_of(to - j, MANY_WIDTH);
            many_pack(w + t * x_stride + j, x_stride, terms, width, panel);
            const struct many m = {.terms = terms,
                                   .a = dz + t,
                                   .a_item = z_stride,
                                   .a_term = 1,
                                   .b = panel,
                                   .b_term = width,
                                   .out = dx + j,
                                   .out_item = x_stride,
                                   .adds = t > 0};
            many_run(&m, rows, width);
        }
        t += terms;
    } while (t < op->outputs);
}

/* A weight's gradient is summed up in blocks of so many outputs and inputs. */
enum { MANY_OUTPUTS = 48, MANY_INPUTS = 128 };

/* Of outputs from i on and inputs from j on: sums [outputs][inputs]. */
KERNEL_TARGET static void many_gradient_block(const struct compute_op *op, size_t i, size_t outputs, size_t j,
                                              size_t inputs, float *sums)
{
    float dz_block[MANY_TERMS * MANY_OUTPUTS] __attribute__((aligned(64)));
    const size_t x_stride = compute_stride(op->inputs), z_stride = compute_stride(op->outputs),
                 padded = compute_stride(outputs);
    const float *x = (const float *)compute_arg(op, 0) + j, *dz = (const float *)compute_arg(op, 1) + i;
    const size_t block = many_block(op->rows);
    size_t t = 0;
    do {
        const size_t terms = at_most_of(op->rows - t, block);
        many_pack(dz + t * z_stride, z_stride, terms, padded, dz_block);
        for (size_t k = 0; k < inputs; k += MANY_WIDTH) {
            const size_t width = at_most_of(inputs - k, MANY_WIDTH);
            const struct many m = {.terms = terms,
                                   .a = dz_block,
                                   .a_item = 1,
                                   .a_term = padded,
                                   .b = x + t * x_stride + k,
                                   .b_term = x_stride,
                                   .out = sums + k,
                                   .out_item = inputs,
                                   .adds = t > 0};
            many_run(&m, outputs, width);
        }
        t += terms;
    } while (t < op->rows);
}

/* The biases' gradient is that of weights whose input is 1. */
KERNEL_TARGET static void bias_gradient(const struct compute_op *op, struct outer how, float *b,
                                        const float *b0)
{
    static const float one = 1;
    how.terms = op->rows;
    how.items = 1;
    how.width = compute_stride(op->outputs);
    how.a = &one;
    how.b = compute_arg(op, 1);
    how.out = b;
    how.anchor = b0;
    outer_run(&how, 0, how.width);
}

/* Of the part's outputs, and all biases. */
KERNEL_TARGET static void many_gradients(const struct compute_op *op, const struct team_part *part,
                                         struct outer how, float *w, float *b, const float *w0,
                                         const float *b0)
{
    float sums[MANY_OUTPUTS * MANY_INPUTS] __attribute__((aligned(64)));
    const size_t stride = compute_stride(op->inputs);
    how.out = w;
    how.anchor = w0;
    for (size_t i = part->from; i < part->to; i += MANY_OUTPUTS) {
        const size_t outputs = at_most_of(part->to - i, MANY_OUTPUTS);
        for (size_t j = 0; j < stride; j += MANY_INPUTS) {
            const size_t inputs = at_most_of(stride - j, MANY_INPUTS);
            many_gradient_block(op, i, outputs, j, inputs, sums);
            for (size_t q = 0; q < outputs; q++) {
                for (size_t k = 0; k < inputs; k += LANES)
                    finish_vector(&how, how.finish, (i + q) * stride + j + k, load(sums + q * inputs + k));
            }
        }
    }
    if (part->from == 0)
        bias_gradient(op, how, b, b0);
}

KERNEL_TARGET static void dense_gradient_many(const struct compute_op *op, const struct team_part *part)
{
    const struct outer how = {.finish = op->accumulate ? FINISH_ADD : FINISH_STORE};
    many_gradients(op, part, how, compute_arg(op, 2), compute_arg(op, 3), NULL, NULL);
}

KERNEL_TARGET static void dense_update_many(const struct compute_op *op, const struct team_part *part)
{
    const struct outer how = {
        .finish = op->mu == 0 ? FINISH_SGD : FINISH_PROX, .learning_rate = op->learning_rate, .mu = op->mu};
    many_gradients(op, part, how, compute_arg(op, 2), compute_arg(op, 3), compute_arg(op, 4),
                   compute_arg(op, 5));
}

#endif
