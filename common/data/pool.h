/* The examples of a data set, held once: bytes with a scaling per feature (images), or floats. */
#ifndef FEDLANE_DATA_POOL_H
#define FEDLANE_DATA_POOL_H

#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"
#include "common/base/real.h"

struct pool {
    size_t num_rows, num_features; /* rows are numbered by uint32_t, so at most UINT32_MAX of them */
    int num_classes;
    int32_t *labels; /* [num_rows], each 0..num_classes-1 */
    /* Exactly one of these two is there, row-major [num_rows][num_features]. */
    real *values;
    uint8_t *bytes;
    /* With bytes, [num_features] each: feature j of a byte b is (b - mean[j]) * scale[j], in float. */
    float *mean, *scale;
};

enum pool_scaling {
    POOL_SCALING_PIXELS, /* (b - mean) / (std + 0.001), per feature over the pool, population std */
    POOL_SCALING_UNIT,   /* b / 255 */
    POOL_SCALING_NONE,   /* b */
};

/* Allocates the labels and one of the two arrays, uninitialised. ERR_INVALID_FIELD, naming `field`, when the
 * pool would pass LIMIT_DATA_POOL bytes or UINT32_MAX rows; ERR_NO_MEMORY says how much was asked. */
enum err pool_alloc_floats(struct pool *p, size_t num_rows, size_t num_features, const char *field,
                           struct fault *fault) MUST_CHECK;
enum err pool_alloc_bytes(struct pool *p, size_t num_rows, size_t num_features, const char *field,
                          struct fault *fault) MUST_CHECK;
void pool_release(struct pool *p);

/* Fills mean and scale of a pool of bytes. */
enum err pool_scale(struct pool *p, enum pool_scaling scaling, struct fault *fault) MUST_CHECK;
/* Mean and population standard deviation of each feature of a pool of bytes, [num_features] doubles each.
 * Exact sums. */
enum err pool_statistics(const struct pool *p, double *out_mean, double *out_std) MUST_CHECK;

/* The features of one row as floats. */
void pool_read(const struct pool *p, uint32_t row, real *out);
/* Asks the processor to fetch the row, which is read soon. */
void pool_prefetch(const struct pool *p, uint32_t row);

#endif
