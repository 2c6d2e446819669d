/* A device as it is registered: one entry of "devices" in POST /api/v1/workers. */
#ifndef FEDLANE_WORKER_DEVICE_ENTRY_H
#define FEDLANE_WORKER_DEVICE_ENTRY_H

#include <jansson.h>
#include "common/data/dataset.h"

/* {name: "PREFIX-NAME", ordinal, dataset, num_examples, num_test_examples, input, classes}; NAME is the
 * device's name in the data, or its ordinal where it has none. The prefix is cut where all would be more than
 * LIMIT_NAME bytes. New reference; NULL when out of memory. */
json_t *device_entry(const char *prefix, const struct dataset *data, const struct device_data *device);

#endif
