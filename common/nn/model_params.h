/* Between the model's own order of parameters and how a block has them. */
#ifndef FEDLANE_NN_MODEL_PARAMS_H
#define FEDLANE_NN_MODEL_PARAMS_H

#include "common/nn/layer.h"

/* One tensor: `params` has all of the model's, `block` is the start of a block; padding becomes 0. */
enum err model_params_write(struct compute *c, const struct model_tensor *t, struct compute_slice block,
                            const real *params) MUST_CHECK;
enum err model_params_read(struct compute *c, const struct model_tensor *t, struct compute_slice block,
                           real *out_params) MUST_CHECK;

#endif
