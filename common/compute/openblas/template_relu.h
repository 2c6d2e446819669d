#ifndef FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_RELU_H
#define FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_RELU_H

KERNEL_TARGET static void relu_forward(const struct compute_op *op)
{
    const float *x = compute_arg(op, 0);
    float *y = compute_arg(op, 1);
    size_t i = 0;
    for (; i + LANES <= op->rows; i += LANES)
        store(y + i, at_least(load(x + i), splat(0)));
    for (; i < op->rows; i++)
        y[i] = x[i] < 0 ? 0 : x[i];
}

KERNEL_TARGET static void relu_backward(const struct compute_op *op)
{
    const float *y = compute_arg(op, 0), *dy = compute_arg(op, 1);
    float *dx = compute_arg(op, 2);
    size_t i = 0;
    for (; i + LANES <= op->rows; i += LANES)
        store(dx + i, where_positive(load(y + i), load(dy + i)));
    for (; i < op->rows; i++)
        dx[i] = y[i] > 0 ? dy[i] : 0;
}

#endif
