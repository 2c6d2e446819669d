/* Convolution as matrix products: the windows of an image become the rows of a matrix (im2col), and BLAS
 * does the rest, one image at a time, so that results do not depend on which images stand together. */
#ifndef FEDLANE_COMPUTE_OPENBLAS_CONV_H
#define FEDLANE_COMPUTE_OPENBLAS_CONV_H

#include "common/compute/compute_impl.h"

/* Whether BLAS takes the sizes: none is 0, and its int holds them. */
bool blas_conv_supports(const struct compute_op *op);
size_t blas_conv_scratch(const struct compute_op *op); /* bytes */
void blas_conv_run(const struct compute_op *op);

#endif
