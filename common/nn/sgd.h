/* The size of a step and the pull towards w0, the weights that the device received [arXiv 1812.06127,
 * algorithm 2]. With plain SGD a step is w <- w - learning_rate (grad + mu (w - w0)), which each layer makes
 * on its own; other optimizers (common/fl/optimizer.h) put another direction in the gradient's place. */
#ifndef FEDLANE_NN_SGD_H
#define FEDLANE_NN_SGD_H

#include "common/base/real.h"

struct sgd {
    real learning_rate;
    real proximal_mu; /* 0 is plain SGD, bit for bit */
};

#endif
