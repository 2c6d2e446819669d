/* The examples of a data set, held once: bytes with a scaling per feature (images), floats, or a text from
 * which examples are cut when they are asked for. */
#ifndef FEDLANE_DATA_POOL_H
#define FEDLANE_DATA_POOL_H

#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"
#include "common/base/real.h"
#include "common/data/token_list.h"

/* Example r is the tokens[r * apart .. r * apart + steps - 1]. */
struct pool_text {
    struct token_list tokens;
    size_t steps;   /* tokens of an example; 0: the pool has no text */
    size_t apart;   /* 1: any place of the text may begin an example; steps: each has a text of its own */
    float *vectors; /* [][width]: token t is handed out as vectors[t], the steps one after another; NULL: as
                       the number t */
    size_t width;
};

/* Where rows were read: those from first_row on, up to the next origin's. */
struct pool_origin {
    size_t first_row;
    char *file, *user; /* texts of their own; file NULL: that of the origin before; user NULL: of nobody */
};

struct pool {
    size_t num_rows, num_features; /* rows are numbered by uint32_t, so at most UINT32_MAX of them */
    int num_classes;
    int32_t *labels; /* [num_rows], each 0..num_classes-1; NULL with a text: the token behind the example */
    /* Exactly one of these two is there, row-major [num_rows][num_features], or text.steps is not 0. */
    real *values;
    uint8_t *bytes;
    struct pool_text text;
    /* With bytes, [num_features] each: feature j of a byte b is (b - mean[j]) * scale[j], in float. */
    float *mean, *scale;
    /* By ascending first_row; none: nobody knows. */
    struct pool_origin *origins;
    size_t num_origins, origins_room;
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
int32_t pool_label(const struct pool *p, uint32_t row);
/* The rows behind the num_rows that there are come from this file (of this user, or NULL). ERR_NO_MEMORY. */
enum err pool_add_origin(struct pool *p, const char *file, const char *user) MUST_CHECK;
/* "FILE, user \"ann\", example 3: " of a row, or "". */
void pool_place(const struct pool *p, uint32_t row, char *out, size_t room);
/* Asks the processor to fetch the row, which is read soon. */
void pool_prefetch(const struct pool *p, uint32_t row);

#endif
