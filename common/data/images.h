/* A pool of images from IDX files: what the sources fashion_mnist and idx share. */
#ifndef FEDLANE_DATA_IMAGES_H
#define FEDLANE_DATA_IMAGES_H

#include <jansson.h>
#include <stdint.h>
#include "common/base/err.h"
#include "common/data/pool.h"
#include "common/data/source.h"

/* One file of images and the file of their labels. */
struct image_pair {
    const char *images, *labels;             /* paths */
    const char *images_field, *labels_field; /* what faults name */
};

struct image_files {
    struct image_pair pairs[2]; /* their examples follow one another in the pool: train first */
    size_t num_pairs;
    const char *hint; /* ends the message about a file that is not there; may be "" */
};

/* What a source adds to its files: each image is one row of bytes, in the files' order. num_classes 0: one
 * more than the largest label. `partition` is the object of that name or NULL. Labels, counts and sizes are
 * checked. */
struct image_options {
    int64_t num_classes;
    int scaling; /* enum pool_scaling */
    const json_t *partition;
    const char *default_partition;
};
enum err images_load(const struct image_files *files, const struct image_options *options, uint64_t seed,
                     struct loaded *out, struct fault *fault) MUST_CHECK;

/* The choices of a "standardise" field, in the order of enum pool_scaling. */
extern const char *const image_scalings[];

#endif
