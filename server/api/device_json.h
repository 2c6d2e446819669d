#ifndef FEDLANE_API_DEVICE_JSON_H
#define FEDLANE_API_DEVICE_JSON_H

#include "server/api/context.h"

/* A device as every reply shows it, with its presence and its open tasks. NULL: out of memory, or the store
 * failed. */
json_t *device_json(struct api *api, struct store_txn *txn, struct arena *arena,
                    const struct device_row *device);
/* The device, or worker, that the path names. */
enum err device_of_path(struct reading *r, struct store_txn *txn, struct device_row *out) MUST_CHECK;
enum err worker_of_path(struct reading *r, struct store_txn *txn, struct worker_row *out) MUST_CHECK;

#endif
