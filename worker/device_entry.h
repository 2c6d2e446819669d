/* A device as it is registered: one entry of "devices" in POST /api/v1/workers. */
#ifndef FEDLANE_WORKER_DEVICE_ENTRY_H
#define FEDLANE_WORKER_DEVICE_ENTRY_H

#include <jansson.h>
#include "common/data/dataset.h"

/* {name: "PREFIX-ORDINAL", ordinal, dataset, num_examples, num_test_examples, input, classes}. At most 170
 * bytes of the prefix stand in the name. New reference; NULL when out of memory. */
json_t *device_entry(const char *prefix, const struct dataset *data, const struct device_data *device);

#endif
