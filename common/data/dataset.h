/* A data set split over devices: one pool of examples held once, and for each device the rows it owns, split
 * into train and test. Read-only after loading, so any number of threads may use it. */
#ifndef FEDLANE_DATA_DATASET_H
#define FEDLANE_DATA_DATASET_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"
#include "common/base/limits.h"
#include "common/base/real.h"

enum data_split { SPLIT_TRAIN, SPLIT_TEST };

struct device_data {
    int64_t ordinal;
    const char *name; /* what the source calls it, such as a file's name; "" where it calls it nothing */
    size_t num_train, num_test; /* at least 1 to train; a device may have nothing to test on */
    const uint32_t *rows; /* in the pool: num_train of train, then num_test of test, in the recipe's order */
};

struct dataset; /* opaque: how the pool is kept (bytes or floats) is its own business */

/* `data` is the object that a run spec has under "data", e.g. {"source": "fashion_mnist"}; docs/datasets.md
 * has the fields of each source. `default_seed` serves where the object has no "seed". Faults name the field,
 * or the file and the byte offset. */
enum err dataset_load(const json_t *data, uint64_t default_seed, struct dataset **out,
                      struct fault *fault) MUST_CHECK;
void dataset_free(struct dataset *d);

const char *dataset_name(const struct dataset *d); /* its "name", by default its source */
/* Shape of one example, e.g. {60} or {784}, {80} tokens, or {25, 300}: 25 word vectors of 300 numbers; the
 * product is dataset_num_features. */
int dataset_input(const struct dataset *d, int64_t out_shape[LIMIT_TENSOR_DIMS]);
/* Where features are tokens, whole numbers from 0 to this - 1; 0 where they are no tokens. */
size_t dataset_num_tokens(const struct dataset *d);
/* The characters that the tokens are, in their order, as UTF-8; NULL where features are no tokens. */
const char *dataset_vocabulary(const struct dataset *d);
/* SHA-256 of what the features stand for, which all devices of a run must agree in: of dataset_vocabulary, or
 * of the file of word vectors, unpacked. "" where features are plain numbers. */
const char *dataset_vocabulary_sha256(const struct dataset *d);
size_t dataset_num_features(const struct dataset *d);
int dataset_num_classes(const struct dataset *d);
size_t dataset_num_devices(const struct dataset *d);
const struct device_data *dataset_device(const struct dataset *d, size_t i); /* i-th, ascending ordinal */
const struct device_data *dataset_find(const struct dataset *d, int64_t ordinal); /* NULL if none */

/* Writes n examples of one device: indices[] count within the split (0..num_train-1 or 0..num_test-1). x is
 * [n][features] float32, standardised if the recipe says so; y is [n]. indices NULL means first, first+1, ...
 * first+n-1. */
void dataset_gather(const struct dataset *d, const struct device_data *device, enum data_split split,
                    size_t first, const uint32_t *indices, size_t n, real *out_x, int32_t *out_y);
/* The same with rows of x `stride` floats apart; what lies between them stays. */
void dataset_gather_apart(const struct dataset *d, const struct device_data *device, enum data_split split,
                          size_t first, const uint32_t *indices, size_t n, real *out_x, size_t stride,
                          int32_t *out_y);
/* "FILE, user \"ann\", example 3: ", counted from 0 in that file (of that user): where an example was read.
 * "" where that is not known. Returns out. */
#define DATASET_PLACE 256
const char *dataset_place(const struct dataset *d, const struct device_data *device, enum data_split split,
                          size_t example, char out[DATASET_PLACE]);
/* Examples per class of a device's train split; out has num_classes counts. */
void dataset_label_counts(const struct dataset *d, const struct device_data *device, enum data_split split,
                          int64_t *out);

#endif
