/* What weights are worth on a device's own data: loss and correct predictions on its train and test splits.
 */
#ifndef FEDLANE_WORKER_EVALUATOR_H
#define FEDLANE_WORKER_EVALUATOR_H

#include "worker/trainer.h"

struct split_evaluations {
    struct evaluation train, test; /* a split without examples has loss NaN and 0 examples */
};

/* Both splits "not evaluated": losses NaN, counts -1. */
void split_evaluations_init(struct split_evaluations *e);

/* Both splits of one device at weights w (model order). Errors are the trainer's. */
enum err evaluate_splits(const struct trainer_ops *ops, struct trainer *t, int64_t ordinal, const float *w,
                         struct split_evaluations *out) MUST_CHECK;

#endif
