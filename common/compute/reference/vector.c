#include <math.h>
#include "common/base/rng.h"
#include "common/compute/reference/reference.h"

void reference_relu_forward(const struct compute_op *op)
{
    const real *x = compute_arg(op, 0);
    real *y = compute_arg(op, 1);
    for (size_t i = 0; i < op->rows; i++)
        y[i] = x[i] < 0 ? 0 : x[i];
}

void reference_relu_backward(const struct compute_op *op)
{
    const real *y = compute_arg(op, 0), *dy = compute_arg(op, 1);
    real *dx = compute_arg(op, 2);
    for (size_t i = 0; i < op->rows; i++)
        dx[i] = y[i] > 0 ? dy[i] : 0;
}

void reference_tanh_forward(const struct compute_op *op)
{
    const real *x = compute_arg(op, 0);
    real *y = compute_arg(op, 1);
    for (size_t i = 0; i < op->rows; i++)
        y[i] = (real)tanh((double)x[i]);
}

void reference_tanh_backward(const struct compute_op *op)
{
    const real *y = compute_arg(op, 0), *dy = compute_arg(op, 1);
    real *dx = compute_arg(op, 2);
    for (size_t i = 0; i < op->rows; i++)
        dx[i] = (real)((double)dy[i] * (1 - (double)y[i] * (double)y[i]));
}

void reference_dropout(const struct compute_op *op)
{
    const real *x = compute_arg(op, 0);
    real *y = compute_arg(op, 1);
    const double rate = (double)op->scale;
    for (size_t i = 0; i < op->rows; i++)
        y[i] = rng_uniform(op->key, i) < rate ? 0 : (real)((double)x[i] / (1 - rate));
}

void reference_prox_step(const struct compute_op *op)
{
    const real *g = compute_arg(op, 0), *w0 = compute_arg(op, 2);
    real *w = compute_arg(op, 1);
    for (size_t i = 0; i < op->rows; i++)
        reference_step(op, &w[i], w0[i], (double)g[i]);
}

void reference_prox_gradient(const struct compute_op *op)
{
    const real *w = compute_arg(op, 1), *w0 = compute_arg(op, 2);
    real *g = compute_arg(op, 0);
    for (size_t i = 0; i < op->rows; i++)
        g[i] = (real)((double)g[i] + (double)op->mu * ((double)w[i] - (double)w0[i]));
}

void reference_dot(const struct compute_op *op)
{
    const real *a = compute_arg(op, 0), *b = compute_arg(op, 1);
    double *out = compute_arg(op, 2), sum = 0;
    for (size_t i = 0; i < op->rows; i++)
        sum += (double)a[i] * (double)b[i];
    *out = sum;
}

void reference_squared_distance(const struct compute_op *op)
{
    const real *a = compute_arg(op, 0), *b = compute_arg(op, 1);
    double *out = compute_arg(op, 2), sum = 0;
    for (size_t i = 0; i < op->rows; i++) {
        double difference = (double)a[i] - (double)b[i];
        sum += difference * difference;
    }
    *out = sum;
}
