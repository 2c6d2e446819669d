/* A data set made of arrays, in place of those that read files: implements what trainers use of
 * common/data/dataset.h. */
#ifndef FEDLANE_TESTS_SUPPORT_MEMORY_DATASET_H
#define FEDLANE_TESTS_SUPPORT_MEMORY_DATASET_H

#include <jansson.h>
#include "common/data/dataset.h"

/* Empty: add devices in ascending ordinal. */
struct dataset *memory_dataset_new(size_t num_features, int num_classes);
/* x is [num_train + num_test][features], train first; both are copied. */
void memory_dataset_add(struct dataset *d, int64_t ordinal, const real *x, const int32_t *y, size_t num_train,
                        size_t num_test);
/* A device of random examples: normal features, labels from a random linear rule, so that there is something
 * to learn. */
void memory_dataset_add_random(struct dataset *d, int64_t ordinal, size_t num_train, size_t num_test);
/* The devices of tiny_golden.json. */
struct dataset *memory_dataset_tiny(const json_t *golden);

#endif
