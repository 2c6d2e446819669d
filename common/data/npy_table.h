/* NumPy arrays as examples: x [n, ...] and y [n] into a collector. */
#ifndef FEDLANE_DATA_NPY_TABLE_H
#define FEDLANE_DATA_NPY_TABLE_H

#include "common/data/classes.h"
#include "common/data/collector.h"
#include "common/data/npz.h"

/* All rows of two open arrays, for one device. x of bytes (or bools) stays bytes in the pool; all arrays of a
 * collector must agree in that and in the number of features. *first_file names whose x came first, NULL
 * before. */
struct npy_target {
    size_t device;
    enum data_split split;
    const char **first_file;
};
enum err npy_rows(struct npy *x, struct npy *y, const struct npy_target *target, struct classes *classes,
                  struct collector *out, struct fault *fault) MUST_CHECK;
/* The members x and y of an archive. */
enum err npz_rows(struct npz *z, const char *x, const char *y, const struct npy_target *target,
                  struct classes *classes, struct collector *out, struct fault *fault) MUST_CHECK;

#endif
