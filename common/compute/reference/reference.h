/* The reference's operations, by subject; each takes the whole operation. */
#ifndef FEDLANE_COMPUTE_REFERENCE_H
#define FEDLANE_COMPUTE_REFERENCE_H

#include "common/compute/compute_impl.h"

/* Makes the padding 0. */
void reference_pad(real *matrix, size_t rows, size_t width);

void reference_dense_forward(const struct compute_op *op);
void reference_dense_input_gradient(const struct compute_op *op);
void reference_dense_gradient(const struct compute_op *op);
void reference_dense_update(const struct compute_op *op);
void reference_softmax_gradient(const struct compute_op *op);
void reference_softmax_loss(const struct compute_op *op);
void reference_relu_forward(const struct compute_op *op);
void reference_relu_backward(const struct compute_op *op);
void reference_prox_gradient(const struct compute_op *op);
void reference_dot(const struct compute_op *op);
void reference_squared_distance(const struct compute_op *op);

#endif
