/* The reference's operations, by subject; each takes the whole operation. */
#ifndef FEDLANE_COMPUTE_REFERENCE_H
#define FEDLANE_COMPUTE_REFERENCE_H

#include "common/compute/compute_impl.h"

/* Makes the padding 0. */
void reference_pad(real *matrix, size_t rows, size_t width);

/* What is done with a gradient: written down, or added to what is there; or a step with it. */
static inline void reference_put(const struct compute_op *op, real *to, double gradient)
{
    *to = (real)(op->accumulate ? (double)*to + gradient : gradient);
}

static inline void reference_step(const struct compute_op *op, real *w, real w0, double gradient)
{
    double h = gradient + (double)op->mu * ((double)*w - (double)w0);
    *w = (real)((double)*w - (double)op->learning_rate * h);
}

void reference_dense_forward(const struct compute_op *op);
void reference_dense_input_gradient(const struct compute_op *op);
void reference_dense_gradient(const struct compute_op *op);
void reference_dense_update(const struct compute_op *op);
void reference_softmax_gradient(const struct compute_op *op);
void reference_softmax_loss(const struct compute_op *op);
void reference_relu_forward(const struct compute_op *op);
void reference_relu_backward(const struct compute_op *op);
void reference_tanh_forward(const struct compute_op *op);
void reference_tanh_backward(const struct compute_op *op);
void reference_unpack(const struct compute_op *op);
void reference_conv_forward(const struct compute_op *op);
void reference_conv_input_gradient(const struct compute_op *op);
void reference_conv_gradient(const struct compute_op *op);
void reference_conv_update(const struct compute_op *op);
void reference_pool_forward(const struct compute_op *op);
void reference_pool_backward(const struct compute_op *op);
void reference_lstm_forward(const struct compute_op *op);
void reference_lstm_backward(const struct compute_op *op);
void reference_sigmoid_gradient(const struct compute_op *op);
void reference_sigmoid_loss(const struct compute_op *op);
void reference_dropout(const struct compute_op *op);
void reference_last_step(const struct compute_op *op);
void reference_gather(const struct compute_op *op);
void reference_scatter_add(const struct compute_op *op);
void reference_descent(const struct compute_op *op);
void reference_prox_step(const struct compute_op *op);
void reference_prox_gradient(const struct compute_op *op);
void reference_dot(const struct compute_op *op);
void reference_squared_distance(const struct compute_op *op);

#endif
