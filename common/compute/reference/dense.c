#include "common/compute/reference/reference.h"

void reference_dense_forward(const struct compute_op *op)
{
    size_t inputs = compute_stride(op->inputs), outputs = compute_stride(op->outputs);
    const real *x = compute_arg(op, 0), *w = compute_arg(op, 1), *b = compute_arg(op, 2);
    real *z = compute_arg(op, 3);
    for (size_t r = 0; r < op->rows; r++) {
        for (size_t c = 0; c < op->outputs; c++) {
            double sum = (double)b[c];
            for (size_t j = 0; j < op->inputs; j++)
                sum += (double)x[r * inputs + j] * (double)w[c * inputs + j];
            z[r * outputs + c] = (real)sum;
        }
    }
    reference_pad(z, op->rows, op->outputs);
}

void reference_dense_input_gradient(const struct compute_op *op)
{
    size_t inputs = compute_stride(op->inputs), outputs = compute_stride(op->outputs);
    const real *dz = compute_arg(op, 0), *w = compute_arg(op, 1);
    real *dx = compute_arg(op, 2);
    for (size_t r = 0; r < op->rows; r++) {
        for (size_t j = 0; j < op->inputs; j++) {
            double sum = 0;
            for (size_t c = 0; c < op->outputs; c++)
                sum += (double)dz[r * outputs + c] * (double)w[c * inputs + j];
            dx[r * inputs + j] = (real)sum;
        }
    }
    reference_pad(dx, op->rows, op->inputs);
}

static double weight_gradient(const struct compute_op *op, const real *x, const real *dz, size_t c, size_t j)
{
    size_t inputs = compute_stride(op->inputs), outputs = compute_stride(op->outputs);
    double sum = 0;
    for (size_t r = 0; r < op->rows; r++)
        sum += (double)dz[r * outputs + c] * (double)x[r * inputs + j];
    return sum;
}

static double bias_gradient(const struct compute_op *op, const real *dz, size_t c)
{
    size_t outputs = compute_stride(op->outputs);
    double sum = 0;
    for (size_t r = 0; r < op->rows; r++)
        sum += (double)dz[r * outputs + c];
    return sum;
}

void reference_dense_gradient(const struct compute_op *op)
{
    size_t inputs = compute_stride(op->inputs);
    const real *x = compute_arg(op, 0), *dz = compute_arg(op, 1);
    real *dw = compute_arg(op, 2), *db = compute_arg(op, 3);
    for (size_t c = 0; c < op->outputs; c++) {
        for (size_t j = 0; j < op->inputs; j++)
            reference_put(op, &dw[c * inputs + j], weight_gradient(op, x, dz, c, j));
        reference_put(op, &db[c], bias_gradient(op, dz, c));
    }
    reference_pad(dw, op->outputs, op->inputs);
    reference_pad(db, 1, op->outputs);
}

void reference_dense_update(const struct compute_op *op)
{
    size_t inputs = compute_stride(op->inputs);
    const real *x = compute_arg(op, 0), *dz = compute_arg(op, 1);
    real *w = compute_arg(op, 2), *b = compute_arg(op, 3);
    const real *w0 = compute_arg(op, 4), *b0 = compute_arg(op, 5);
    for (size_t c = 0; c < op->outputs; c++) {
        for (size_t j = 0; j < op->inputs; j++) {
            size_t i = c * inputs + j;
            reference_step(op, &w[i], w0[i], weight_gradient(op, x, dz, c, j));
        }
        reference_step(op, &b[c], b0[c], bias_gradient(op, dz, c));
    }
}
