/* Features on one scale: (x - mean) / (std + 0.001), with mean and deviation of each device's own training
 * examples, or given. */
#ifndef FEDLANE_DATA_STANDARDISE_H
#define FEDLANE_DATA_STANDARDISE_H

#include <jansson.h>
#include "common/base/err.h"
#include "common/data/pool.h"
#include "common/data/shares.h"

enum standardise_kind {
    STANDARDISE_NONE,
    STANDARDISE_DEVICE, /* by the training examples of the device that owns a row */
    STANDARDISE_GIVEN,  /* by what the field says */
    STANDARDISE_PIXELS, /* of a pool of bytes only: see enum pool_scaling */
    STANDARDISE_UNIT,
};

struct standardise {
    enum standardise_kind kind;
    const json_t *mean, *std; /* GIVEN; borrowed: a number, or a list of one per feature */
};

/* The field "data.standardise": NULL, "none", "device", {"mean": ..., "std": ...}, "pixels" or "unit". */
enum err standardise_parse(const json_t *value, struct standardise *out, struct fault *fault) MUST_CHECK;

/* To the pool, once rows are shared out and split: num_train[k] rows of device k, from the front, train.
 * Lists must have a number per feature. A pool of bytes stays one except for DEVICE; PIXELS and UNIT are
 * refused for floats. Each row belongs to at most one device; a row of none is left as it is. */
enum err standardise_apply(const struct standardise *s, struct pool *pool, const struct shares *shares,
                           const size_t *num_train, struct fault *fault) MUST_CHECK;

#endif
