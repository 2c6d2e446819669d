#ifndef FEDLANE_API_TASK_JSON_H
#define FEDLANE_API_TASK_JSON_H

#include "server/api/context.h"

/* A task as people see it: its state, its times, what the device said with its failure. NULL: out of memory.
 */
json_t *task_json(struct api *api, struct arena *arena, const struct task_row *task);
/* The same with what it said with its update, also for page_fill; `row` is a task_row. NULL: that could not
 * be read. */
json_t *task_render(struct reading *r, struct store_txn *txn, const void *row);
/* What the sender of an update gets. NULL: out of memory. */
json_t *receipt_json(const struct op_task_update *op);
/* ?status= and ?type=, where the route takes them; store_any where they are not given. */
enum err task_filters(struct reading *r, struct store_value *out_status,
                      struct store_value *out_type) MUST_CHECK;
/* The task that the path names. */
enum err task_of_path(const struct request *rq, struct store_txn *txn, struct arena *arena,
                      struct task_row *out, struct fault *fault) MUST_CHECK;

#endif
