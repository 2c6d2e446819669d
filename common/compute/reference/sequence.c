#include <string.h>
#include "common/compute/compute_lstm.h"
#include "common/compute/reference/reference.h"

void reference_last_step(const struct compute_op *op)
{
    const struct compute_lstm *g = op->lstm;
    const size_t stride = compute_stride(g->units);
    const real *h = compute_arg(op, 0);
    real *last = compute_arg(op, 1);
    for (size_t r = 0; r < op->rows; r++)
        memcpy(last + r * stride, h + ((r + 1) * g->steps - 1) * stride, stride * sizeof *h);
}

/* The row of step i of all rows' steps. */
static size_t token_of(const struct compute_op *op, size_t i)
{
    const struct compute_table *g = op->table;
    const real *tokens = compute_arg(op, 0);
    return (size_t)tokens[i / g->steps * compute_stride(g->steps) + i % g->steps];
}

void reference_gather(const struct compute_op *op)
{
    const size_t stride = compute_stride(op->table->width);
    const real *table = compute_arg(op, 1);
    real *y = compute_arg(op, 2);
    for (size_t i = 0; i < op->rows * op->table->steps; i++)
        memcpy(y + i * stride, table + token_of(op, i) * stride, stride * sizeof *y);
}

void reference_scatter_add(const struct compute_op *op)
{
    const size_t stride = compute_stride(op->table->width);
    const real *dy = compute_arg(op, 1);
    real *d_table = compute_arg(op, 2);
    if (!op->accumulate) {
        for (size_t i = 0; i < op->table->vocabulary * stride; i++)
            d_table[i] = 0;
    }
    for (size_t i = 0; i < op->rows * op->table->steps; i++) {
        real *row = d_table + token_of(op, i) * stride;
        for (size_t j = 0; j < stride; j++)
            row[j] += dy[i * stride + j];
    }
}
