#include <math.h>
#include "common/compute/compute_image.h"
#include "common/compute/reference/reference.h"

/* The place in the input under place i of the window that puts out (y, x). */
static size_t under(const struct compute_pool *g, size_t y, size_t x, size_t i)
{
    return ((y * g->stride + i / g->size) * g->width + x * g->stride + i % g->size) *
           compute_stride(g->channels);
}

void reference_pool_forward(const struct compute_op *op)
{
    const struct compute_pool *g = op->pool;
    const size_t stride = compute_stride(g->channels), size = g->out_height * g->out_width * stride;
    real *y = compute_arg(op, 1);
    uint8_t *largest = compute_arg(op, 2);
    for (size_t i = 0; i < op->rows * size; i++) {
        size_t pixel = i % size / stride;
        const real *x =
            (const real *)compute_arg(op, 0) + i / size * g->height * g->width * stride + i % stride;
        size_t best = 0;
        for (size_t k = 1; k < g->size * g->size; k++) {
            real v = x[under(g, pixel / g->out_width, pixel % g->out_width, k)],
                 most = x[under(g, pixel / g->out_width, pixel % g->out_width, best)];
            if (v > most || (isnan(v) && !isnan(most)))
                best = k;
        }
        y[i] = x[under(g, pixel / g->out_width, pixel % g->out_width, best)];
        largest[i] = (uint8_t)best;
    }
}

void reference_pool_backward(const struct compute_op *op)
{
    const struct compute_pool *g = op->pool;
    const size_t stride = compute_stride(g->channels), size = g->out_height * g->out_width * stride,
                 input = g->height * g->width * stride;
    const real *dy = compute_arg(op, 0);
    const uint8_t *largest = compute_arg(op, 1);
    real *dx = compute_arg(op, 2);
    for (size_t i = 0; i < op->rows * input; i++)
        dx[i] = 0;
    for (size_t i = 0; i < op->rows * size; i++) {
        size_t pixel = i % size / stride;
        dx[i / size * input + under(g, pixel / g->out_width, pixel % g->out_width, largest[i]) +
           i % stride] += dy[i];
    }
}

void reference_unpack(const struct compute_op *op)
{
    const struct compute_unpack *g = op->unpack;
    const size_t size = compute_stride(g->pixels * g->pixel);
    real *y = compute_arg(op, 1);
    for (size_t r = 0; r < op->rows; r++) {
        const real *x = (const real *)compute_arg(op, 0) + r * compute_stride(g->pixels * g->channels);
        for (size_t i = 0; i < size; i++) {
            size_t pixel = i / g->pixel, c = i % g->pixel;
            real v = 0;
            if (c < g->channels && pixel < g->pixels)
                v = x[g->is_planar ? c * g->pixels + pixel : pixel * g->channels + c];
            y[r * size + i] = v;
        }
    }
}
