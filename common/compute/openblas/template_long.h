/* Dot products (template_dot.h) of rows that do not fit the first-level cache together: they are walked
 * through in slices, a few columns at a time, and the partial sums wait in memory. What is added to what
 * stays the same, so the bits do. */
#ifndef FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_LONG_H
#define FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_LONG_H

/* Floats of a slice; rows and columns whose sums stay in registers meanwhile; columns and rows whose slices
 * stay in the cache. */
enum {
    LONG_SLICE = 512,
    LONG_ROWS = 5,
    LONG_WIDE = LANES == 16 ? 4 : 2,
    LONG_COLUMNS = 16,
    LONG_FITS = 8192,
    LONG_SUMS = 12
};

/* A slice of some rows and columns, `stride` floats apart, and where their sums wait. */
struct long_slice {
    const float *x, *w, *next; /* next: the columns that are fetched meanwhile */
    size_t stride, n;
    vf (*sums)[LONG_SUMS]; /* of each column, by rows */
};

/* rows and columns are constants, so that the sums stay in registers. */
INLINE void long_tile(const struct long_slice *s, size_t row, size_t column, int rows, int columns,
                      bool fetches)
{
    const float *x = s->x + row * s->stride, *w = s->w + column * s->stride;
    vf sum[LONG_WIDE][LONG_ROWS];
    UNROLL for (int i = 0; i < rows * columns; i++)
    {
        sum[i / rows][i % rows] = s->sums[column + (size_t)(i / rows)][row + (size_t)(i % rows)];
    }
    for (size_t j = 0; j < s->n; j += LANES) {
        vf of_columns[LONG_WIDE];
        UNROLL for (int c = 0; c < columns; c++)
        {
            of_columns[c] = load(w + (size_t)c * s->stride + j);
            if (fetches)
                __builtin_prefetch(s->next + (size_t)c * s->stride + j);
        }
        UNROLL for (int r = 0; r < rows; r++)
        {
            const vf v = load(x + (size_t)r * s->stride + j);
            UNROLL for (int c = 0; c < columns; c++)
            {
                sum[c][r] = FMA(v, of_columns[c], sum[c][r]);
            }
        }
    }
    UNROLL for (int i = 0; i < rows * columns; i++)
    {
        s->sums[column + (size_t)(i / rows)][row + (size_t)(i % rows)] = sum[i / rows][i % rows];
    }
}

INLINE void long_rows(const struct long_slice *s, size_t rows, size_t column, int columns)
{
    size_t row = 0;
    if (rows >= LONG_ROWS) {
        long_tile(s, 0, column, LONG_ROWS, columns, true);
        row = LONG_ROWS;
    }
    for (; rows - row >= LONG_ROWS; row += LONG_ROWS)
        long_tile(s, row, column, LONG_ROWS, columns, false);
    switch (rows - row) {
    case 4:
        long_tile(s, row, column, 4, columns, row == 0);
        break;
    case 3:
        long_tile(s, row, column, 3, columns, row == 0);
        break;
    case 2:
        long_tile(s, row, column, 2, columns, row == 0);
        break;
    case 1:
        long_tile(s, row, column, 1, columns, row == 0);
        break;
    default:
        break;
    }
}

/* What has its turn after `wide` columns from c + i on: in this slice, the next one, or the next block of
 * columns; at the end, what is there. */
INLINE const float *long_next(const struct dots *d, size_t c, size_t columns, size_t i, size_t from)
{
    size_t column = i + LONG_WIDE;
    if (column + LONG_WIDE > columns) {
        column = 0;
        from += LONG_SLICE;
    }
    if (from >= d->x_stride) {
        column = columns;
        from = 0;
    }
    return c + column + LONG_WIDE <= d->outputs ? d->w + (c + column) * d->x_stride + from : d->w;
}

/* Rows from r on, columns from c on. */
INLINE void long_block(const struct dots *d, size_t r, size_t rows, size_t c, size_t columns)
{
    vf sums[LONG_COLUMNS][LONG_SUMS];
    memset(sums, 0, sizeof sums);
    for (size_t from = 0; from < d->x_stride; from += LONG_SLICE) {
        struct long_slice s = {.x = d->x + r * d->x_stride + from,
                               .w = d->w + c * d->x_stride + from,
                               .stride = d->x_stride,
                               .n = d->x_stride - from < LONG_SLICE ? d->x_stride - from : LONG_SLICE,
                               .sums = sums};
        size_t i = 0;
        for (; i + LONG_WIDE <= columns; i += LONG_WIDE) {
            s.next = long_next(d, c, columns, i, from);
            long_rows(&s, rows, i, LONG_WIDE);
        }
        for (; i < columns; i++) {
            s.next = s.w + i * s.stride;
            long_rows(&s, rows, i, 1);
        }
    }
    for (size_t i = 0; i < columns; i++) {
        float *z = d->z + r * d->z_stride + c + i;
        for (size_t row = 0; row < rows; row += 4) { /* sums of rows that are not there are dropped */
            const vq four =
                d->b[c + i] + sum_lanes4(sums[i][row], sums[i][row + 1], sums[i][row + 2], sums[i][row + 3]);
            for (size_t q = 0; q < 4 && row + q < rows; q++, z += d->z_stride)
                *z = four[q];
        }
    }
}

KERNEL_TARGET static void dense_forward_long(const struct compute_op *op, const struct team_part *part)
{
    const bool is_by_rows = tiles_are_rows(op);
    const size_t first = is_by_rows ? part->from : 0, end = is_by_rows ? part->to : op->rows,
                 from = is_by_rows ? 0 : part->from, to = is_by_rows ? op->outputs : part->to;
    const struct dots d = {.outputs = op->outputs,
                           .x_stride = compute_stride(op->inputs),
                           .z_stride = compute_stride(op->outputs),
                           .x = compute_arg(op, 0),
                           .w = compute_arg(op, 1),
                           .b = compute_arg(op, 2),
                           .z = compute_arg(op, 3)};
    if (to == d.outputs && d.outputs < d.z_stride)
        clear_ends(&d, first, end - first);
    for (size_t c = from; c < to; c += LONG_COLUMNS) {
        const size_t columns = to - c < LONG_COLUMNS ? to - c : LONG_COLUMNS;
        for (size_t r = first; r < end; r += DOT_BLOCK)
            long_block(&d, r, end - r < DOT_BLOCK ? end - r : DOT_BLOCK, c, columns);
    }
}

KERNEL_TARGET static void dense_forward_any(const struct compute_op *op, const struct team_part *part)
{
    const size_t rows = op->rows < DOT_BLOCK ? op->rows : DOT_BLOCK;
    if (rows * compute_stride(op->inputs) > LONG_FITS)
        dense_forward_long(op, part);
    else
        dense_forward(op, part);
}

#endif
