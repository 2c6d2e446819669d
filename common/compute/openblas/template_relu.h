#ifndef FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_RELU_H
#define FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_RELU_H

INLINE void relu_forward_vector(const float *x, float *y, size_t width)
{
    vf v = load_width(x, width);
    store_width(y, select_less(v, splat(0), splat(0), v), width);
}

KERNEL_TARGET static void relu_forward(const struct compute_op *op)
{
    const float *x = compute_arg(op, 0);
    float *y = compute_arg(op, 1);
    size_t i = 0;
    for (; i + LANES <= op->rows; i += LANES)
        relu_forward_vector(x + i, y + i, LANES);
    if (i < op->rows)
        relu_forward_vector(x + i, y + i, op->rows - i);
}

INLINE void relu_backward_vector(const float *y, const float *dy, float *dx, size_t width)
{
    vf gradient = load_width(dy, width);
    store_width(dx, select_less(splat(0), load_width(y, width), gradient, splat(0)), width);
}

KERNEL_TARGET static void relu_backward(const struct compute_op *op)
{
    const float *y = compute_arg(op, 0), *dy = compute_arg(op, 1);
    float *dx = compute_arg(op, 2);
    size_t i = 0;
    for (; i + LANES <= op->rows; i += LANES)
        relu_backward_vector(y + i, dy + i, dx + i, LANES);
    if (i < op->rows)
        relu_backward_vector(y + i, dy + i, dx + i, op->rows - i);
}

#endif
