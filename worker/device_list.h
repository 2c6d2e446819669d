/* Which devices of its data a worker is: "0-9,12", or all. */
#ifndef FEDLANE_WORKER_DEVICE_LIST_H
#define FEDLANE_WORKER_DEVICE_LIST_H

#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"
#include "common/data/dataset.h"

/* Ordinals in ascending order, each once. ERR_USAGE with a fault that shows what is wrong in the text; more
 * than LIMIT_DEVICES_PER_WORKER is refused. The caller frees *out_ordinals. */
enum err device_list_parse(const char *text, int64_t **out_ordinals, size_t *out_count,
                           struct fault *fault) MUST_CHECK;

/* The devices of `data` that `text` names; NULL names all. A device that the data do not have is ERR_USAGE;
 * the fault names data_path and says which devices there are. */
enum err device_list_choose(const char *text, const struct dataset *data, const char *data_path,
                            int64_t **out_ordinals, size_t *out_count, struct fault *fault) MUST_CHECK;

#endif
