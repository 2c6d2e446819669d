/* The inside of a data set, for common/data and its tests. */
#ifndef FEDLANE_DATA_DATASET_IMPL_H
#define FEDLANE_DATA_DATASET_IMPL_H

#include "common/data/dataset.h"
#include "common/data/source.h"

struct dataset {
    char *name;
    struct loaded loaded; /* shares.rows is what the devices' rows point into */
    size_t num_devices;
    struct device_data *devices; /* device k has ordinal devices[0].ordinal + k */
};

#endif
