/* A device as it is registered: one entry of "devices" in POST /api/v1/workers. */
#ifndef FEDLANE_WORKER_DEVICE_ENTRY_H
#define FEDLANE_WORKER_DEVICE_ENTRY_H

#include <jansson.h>
#include <stdbool.h>
#include "common/data/dataset.h"

/* {name: "PREFIX-NAME", ordinal, dataset, num_examples, num_test_examples, input, classes}, and
 * capabilities.vocabulary_sha256 where features stand for characters or word vectors; NAME is the
 * device's name in the data, or its ordinal where it has none. The prefix is cut where all would be more than
 * LIMIT_NAME bytes. New reference; NULL when out of memory. */
json_t *device_entry(const char *prefix, const struct dataset *data, const struct device_data *device);
/* Adds capabilities.label_counts, {"0": training examples of class 0, ...}, where there are at most
 * LIMIT_LABEL_COUNTS classes: as many devices as a worker may be then fit into one registration. False when
 * out of memory. */
bool device_entry_count_labels(json_t *entry, const struct dataset *data, const struct device_data *device);

#endif
