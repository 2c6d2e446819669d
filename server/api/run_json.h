#ifndef FEDLANE_API_RUN_JSON_H
#define FEDLANE_API_RUN_JSON_H

#include "server/api/context.h"

/* A run as every reply shows it, with the newest round's aggregated metrics. NULL: out of memory, or the
 * store failed. */
json_t *run_json(struct store_txn *txn, struct arena *arena, const struct run_row *run);
/* Every how many rounds is evaluated, as the config in force says. */
int64_t run_json_every(const struct run_row *run);
/* The run that the path names. */
enum err run_of_path(struct reading *r, struct store_txn *txn, struct run_row *out) MUST_CHECK;

#endif
