#ifndef FEDLANE_API_TASK_JSON_H
#define FEDLANE_API_TASK_JSON_H

#include "server/api/context.h"

/* A task as people see it: its state, its times, what the device said. NULL: out of memory. */
json_t *task_json(struct api *api, const struct task_row *task);
/* The task that the path names. */
enum err task_of_path(const struct request *rq, struct store_txn *txn, struct arena *arena,
                      struct task_row *out, struct fault *fault) MUST_CHECK;

#endif
