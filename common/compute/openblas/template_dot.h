/* Dot products: z[r][c] = sum over j of x[r][j] w[c][j], plus b[c]. Vectors run along the features, so each
 * sum is one of LANES partial sums and then theirs, whatever tile it falls into. */
#ifndef FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_DOT_H
#define FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_DOT_H

/* Rows that meet each pair of weight rows while it is in the first-level cache. */
enum { DOT_BLOCK = 10 };

struct dots {
    size_t outputs, x_stride, z_stride;
    const float *x, *w, *b;
    float *z;
};

/* One vector of features: rows x columns products. */
INLINE void dot_terms(vf sum[DOT_BLOCK][2], const float *x, const float *w, size_t stride, int rows,
                      int columns)
{
    vf w0 = load(w), w1 = columns == 2 ? load(w + stride) : splat(0);
    UNROLL for (int r = 0; r < rows; r++)
    {
        vf v = load(x + (size_t)r * stride);
        sum[r][0] = FMA(v, w0, sum[r][0]);
        if (columns == 2)
            sum[r][1] = FMA(v, w1, sum[r][1]);
    }
}

/* Two rows, two columns: four sums at once, stored as two pairs. */
INLINE void dot_store_pairs(const struct dots *d, vf sum[DOT_BLOCK][2], float *z, const float *b, int rows)
{
    const vq bias = {b[0], b[1], b[0], b[1]};
    UNROLL for (int r = 0; r < rows; r += 2)
    {
        bool has_second = r + 1 < rows;
        vq four = sum_lanes4(sum[r][0], sum[r][1], has_second ? sum[r + 1][0] : splat(0),
                             has_second ? sum[r + 1][1] : splat(0));
        vpairs pairs = (vpairs)(four + bias);
        memcpy(z + (size_t)r * d->z_stride, &pairs, sizeof pairs[0]);
        double second = pairs[1];
        if (has_second)
            memcpy(z + (size_t)(r + 1) * d->z_stride, &second, sizeof second);
    }
}

INLINE void dot_store_singles(const struct dots *d, vf sum[DOT_BLOCK][2], float *z, const float *b, int rows)
{
    UNROLL for (int r = 0; r < rows; r += 4)
    {
        vq four =
            sum_lanes4(sum[r][0], r + 1 < rows ? sum[r + 1][0] : splat(0),
                       r + 2 < rows ? sum[r + 2][0] : splat(0), r + 3 < rows ? sum[r + 3][0] : splat(0));
        int count = rows - r < 4 ? rows - r : 4;
        UNROLL for (int i = 0; i < count; i++)
        {
            z[(size_t)(r + i) * d->z_stride] = four[i] + b[0];
        }
    }
}

/* Column by column: z[c][r], rows rounded up to fours. */
INLINE void dot_store_across(const struct dots *d, vf sum[DOT_BLOCK][2], float *z, const float *b, int rows,
                             int columns)
{
    UNROLL for (int c = 0; c < columns; c++)
    {
        UNROLL for (int r = 0; r < rows; r += 4)
        {
            vq four = b[c] + sum_lanes4(sum[r][c], r + 1 < rows ? sum[r + 1][c] : splat(0),
                                        r + 2 < rows ? sum[r + 2][c] : splat(0),
                                        r + 3 < rows ? sum[r + 3][c] : splat(0));
            memcpy(z + (size_t)c * d->z_stride + (size_t)r, &four, sizeof four);
        }
    }
}

/* rows and columns are constants, so that the sums stay in registers. */
INLINE void dot_tile(const struct dots *d, size_t r, size_t c, int rows, int columns, bool is_across)
{
    size_t k = d->x_stride;
    const float *x = d->x + r * k, *w = d->w + c * k;
    vf sum[DOT_BLOCK][2];
    UNROLL for (int i = 0; i < rows; i++)
    {
        sum[i][0] = splat(0);
        sum[i][1] = splat(0);
    }
    for (size_t j = 0; j < k; j += LANES) {
        dot_terms(sum, x + j, w + j, k, rows, columns);
    }
    if (is_across)
        dot_store_across(d, sum, d->z + c * d->z_stride + r, d->b + c, rows, columns);
    else if (columns == 2)
        dot_store_pairs(d, sum, d->z + r * d->z_stride + c, d->b + c, rows);
    else
        dot_store_singles(d, sum, d->z + r * d->z_stride + c, d->b + c, rows);
}

INLINE void dot_rows(const struct dots *d, size_t r, size_t rows, size_t c, int columns, bool is_across)
{
    if (DOT_ROWS == DOT_BLOCK && rows == DOT_BLOCK) {
        dot_tile(d, r, c, DOT_BLOCK, columns, is_across);
        return;
    }
    for (; rows >= 5; rows -= 5, r += 5)
        dot_tile(d, r, c, 5, columns, is_across);
    switch (rows) {
    case 4:
        dot_tile(d, r, c, 4, columns, is_across);
        break;
    case 3:
        dot_tile(d, r, c, 3, columns, is_across);
        break;
    case 2:
        dot_tile(d, r, c, 2, columns, is_across);
        break;
    case 1:
        dot_tile(d, r, c, 1, columns, is_across);
        break;
    default:
        break;
    }
}

/* The padding is what is left of these zeros when the row is written. */
INLINE void clear_ends(const struct dots *d, size_t r, size_t rows)
{
    for (float *end = d->z + (r + 1) * d->z_stride; rows > 0; rows--, end += d->z_stride) {
        UNROLL for (int i = LANES; i <= 16; i += LANES)
        {
            store(end - i, splat(0));
        }
    }
}

KERNEL_TARGET static void dense_forward(const struct compute_op *op, const struct team_part *part)
{
    const bool is_by_rows = tiles_are_rows(op);
    const size_t first_row = is_by_rows ? part->from : 0, end_row = is_by_rows ? part->to : op->rows,
                 first_output = is_by_rows ? 0 : part->from, end_output = is_by_rows ? op->outputs : part->to;
    const struct dots d = {.outputs = op->outputs,
                           .x_stride = compute_stride(op->inputs),
                           .z_stride = compute_stride(op->outputs),
                           .x = compute_arg(op, 0),
                           .w = compute_arg(op, 1),
                           .b = compute_arg(op, 2),
                           .z = compute_arg(op, 3)};
    for (size_t r = first_row; r < end_row; r += DOT_BLOCK) {
        size_t rows = end_row - r < DOT_BLOCK ? end_row - r : DOT_BLOCK, c = first_output;
        if (end_output == d.outputs && d.outputs < d.z_stride)
            clear_ends(&d, r, rows);
        for (; c + 2 <= end_output; c += 2)
            dot_rows(&d, r, rows, c, 2, false);
        if (c < end_output)
            dot_rows(&d, r, rows, c, 1, false);
    }
}

#endif
