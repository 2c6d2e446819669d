/* An optimizer's settings as the operation that makes its steps wants them. */
#ifndef FEDLANE_NN_DESCENT_H
#define FEDLANE_NN_DESCENT_H

#include "common/compute/compute_descent.h"
#include "common/fl/optimizer.h"

/* step: of the job, from 1. */
struct compute_descent descent_of(const struct optimizer *o, uint64_t step);

#endif
