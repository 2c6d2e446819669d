/* Plain SGD with the proximal term [arXiv 1812.06127, algorithm 2]: w <- w - learning_rate (grad + mu (w -
 * w0)), w0 the weights that the device received. It has no state. An optimizer with momentum does not take
 * this term through its state: that would be another algorithm. */
#ifndef FEDLANE_NN_SGD_H
#define FEDLANE_NN_SGD_H

#include "common/base/real.h"

struct sgd {
    real learning_rate;
    real proximal_mu; /* 0 is plain SGD, bit for bit */
};

#endif
