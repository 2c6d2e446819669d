/* All rounds of a run, however many there are: read in pieces. */
#ifndef FEDLANE_API_ROUND_WALK_H
#define FEDLANE_API_ROUND_WALK_H

#include "server/store/store.h"

/* *out_stop = true: this was the last one that is wanted. The row's texts are good until it returns. */
typedef enum err round_visit(void *ctx, const struct round_row *round, bool *out_stop);

/* In order, from the round behind `after` on (-1: from the first); ends with the first error of `visit`. */
enum err round_walk(struct store_txn *txn, const char *run_id, int64_t after, round_visit *visit,
                    void *ctx) MUST_CHECK;

#endif
