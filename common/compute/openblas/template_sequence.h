/* Rows of tables and of sequences: copies and sums of whole vectors. */
#ifndef FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_SEQUENCE_H
#define FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_SEQUENCE_H

INLINE void copy_row(float *to, const float *from, size_t stride)
{
    for (size_t j = 0; j < stride; j += LANES)
        store(to + j, load(from + j));
}

KERNEL_TARGET static void last_step(const struct compute_op *op)
{
    const size_t steps = op->lstm->steps, stride = compute_stride(op->lstm->units);
    const float *h = compute_arg(op, 0);
    float *last = compute_arg(op, 1);
    for (size_t r = 0; r < op->rows; r++)
        copy_row(last + r * stride, h + ((r + 1) * steps - 1) * stride, stride);
}

KERNEL_TARGET static void gather(const struct compute_op *op)
{
    const size_t steps = op->table->steps, stride = compute_stride(op->table->width);
    const float *tokens = compute_arg(op, 0), *table = compute_arg(op, 1);
    float *y = compute_arg(op, 2);
    for (size_t r = 0; r < op->rows; r++, tokens += compute_stride(steps)) {
        for (size_t t = 0; t < steps; t++, y += stride)
            copy_row(y, table + (size_t)tokens[t] * stride, stride);
    }
}

/* A token's rows are added in their order. */
KERNEL_TARGET static void scatter_add(const struct compute_op *op)
{
    const size_t steps = op->table->steps, stride = compute_stride(op->table->width);
    const float *tokens = compute_arg(op, 0), *dy = compute_arg(op, 1);
    float *d_table = compute_arg(op, 2);
    if (!op->accumulate)
        memset(d_table, 0, op->table->vocabulary * stride * sizeof *d_table);
    for (size_t r = 0; r < op->rows; r++, tokens += compute_stride(steps)) {
        for (size_t t = 0; t < steps; t++, dy += stride) {
            float *row = d_table + (size_t)tokens[t] * stride;
            for (size_t j = 0; j < stride; j += LANES)
                store(row + j, load(row + j) + load(dy + j));
        }
    }
}

/* Channels of an image lie apart in x, and steps of a sequence together. */
KERNEL_TARGET static void unpack(const struct compute_op *op)
{
    const struct compute_unpack *g = op->unpack;
    const size_t x_size = compute_stride(g->pixels * g->channels),
                 y_size = compute_stride(g->pixels * g->pixel);
    const float *x = compute_arg(op, 0);
    float *y = compute_arg(op, 1);
    for (size_t r = 0; r < op->rows; r++, x += x_size, y += y_size) {
        if (g->is_planar || g->pixel > g->channels || y_size > g->pixels * g->pixel)
            memset(y, 0, y_size * sizeof *y);
        if (!g->is_planar && g->pixel == g->channels) {
            memcpy(y, x, g->pixels * g->channels * sizeof *y);
        } else if (!g->is_planar) {
            for (size_t p = 0; p < g->pixels; p++)
                memcpy(y + p * g->pixel, x + p * g->channels, g->channels * sizeof *y);
        } else {
            for (size_t c = 0; c < g->channels; c++) {
                for (size_t p = 0; p < g->pixels; p++)
                    y[p * g->pixel + c] = x[c * g->pixels + p];
            }
        }
    }
}

#endif
