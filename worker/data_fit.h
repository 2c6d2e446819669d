/* Can these data train this model? */
#ifndef FEDLANE_WORKER_DATA_FIT_H
#define FEDLANE_WORKER_DATA_FIT_H

#include "common/data/dataset.h"
#include "common/model/arch.h"

/* Of a model with layers: examples of its input's shape, no more classes than it tells apart, tokens that are
 * in its embedding and stand for what the run says. ERR_INVALID_FIELD says both sides of what does not fit:
 * the first token that stands for something else, or the file, the example and the position of the first
 * number that is no token. */
enum err data_fit(const struct arch *arch, const struct dataset *data, struct fault *fault) MUST_CHECK;

#endif
