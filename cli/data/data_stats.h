/* How a data set lies on its devices, in numbers. Examples are those that train and those that test. */
#ifndef FEDLANE_CLI_DATA_DATA_STATS_H
#define FEDLANE_CLI_DATA_DATA_STATS_H

#include <jansson.h>
#include "common/base/err.h"
#include "common/data/dataset.h"

struct data_stats {
    size_t num_devices;
    int num_classes;
    int64_t train, test;
    /* Examples per device; sd is that of the population, with n and not n - 1 below. */
    double mean, sd, median;
    int64_t min, max;
    double mean_labels; /* distinct ones on a device */
    int64_t *sizes;     /* [num_devices]: examples of each device, in the data set's order */
    int64_t *sorted;    /* [num_devices]: likewise, the largest first */
    int64_t *class_examples, *class_devices; /* [num_classes]: of the class; who have some of it */
};

enum err data_stats_init(struct data_stats *s, const struct dataset *d) MUST_CHECK;
void data_stats_release(struct data_stats *s);

/* Examples per class of one device, train and test, in the first num_classes of out, which has room for twice
 * as many. */
void data_counts(const struct dataset *d, const struct device_data *device, int64_t *out);

/* {"name", "devices", "examples", "train", ..., "per_device": {...}, "per_class": [{...}]}. NULL: no memory.
 */
json_t *data_stats_json(const struct data_stats *s, const struct dataset *d);
/* {"ordinal", "name" (where it has one), "examples", "train", "test", "labels": {"3": 12}}. NULL: no memory.
 */
json_t *data_device_json(const struct dataset *d, size_t i);

#endif
