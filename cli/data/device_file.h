/* One device's examples of one split as a file that the source `directory` reads back to the same bits. */
#ifndef FEDLANE_CLI_DATA_DEVICE_FILE_H
#define FEDLANE_CLI_DATA_DEVICE_FILE_H

#include "common/data/dataset.h"

enum device_file_kind { DEVICE_FILE_NPZ, DEVICE_FILE_CSV };
extern const char *const device_file_endings[]; /* "npz", "csv" */
#define DEVICE_FILE_LABEL "label"               /* the title of the labels' column */

/* npz: x [n][features] float32, y [n] int32. csv: a line of titles, x0, x1, ... and the label; nine digits,
 * which say a float32 exactly. Features are as the trainer gets them. ERR_IO, ERR_STORAGE_FULL,
 * ERR_NO_MEMORY. */
enum err device_file_write(const char *path, enum device_file_kind kind, const struct dataset *d,
                           const struct device_data *device, enum data_split split,
                           struct fault *fault) MUST_CHECK;

#endif
