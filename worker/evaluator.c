#include "worker/evaluator.h"
#include <math.h>

void split_evaluations_init(struct split_evaluations *e)
{
    const struct evaluation none = {.loss = NAN, .examples = -1, .correct = -1};
    *e = (struct split_evaluations){.train = none, .test = none};
}

enum err evaluate_splits(const struct trainer_ops *ops, struct trainer *t, int64_t ordinal, const float *w,
                         struct split_evaluations *out)
{
    enum err e = ops->evaluate(t, ordinal, SPLIT_TRAIN, w, &out->train);
    return e ? e : ops->evaluate(t, ordinal, SPLIT_TEST, w, &out->test);
}
