/* The course of a run in a few values, for lists of runs. */
#ifndef FEDLANE_API_SPARKLINE_H
#define FEDLANE_API_SPARKLINE_H

#include <jansson.h>
#include "server/store/store.h"

#define MAX_SPARKLINE 100

/* Adds "sparklines": {"train_loss": [...], "test_accuracy": [...]} to a run's JSON (run_json()): at most
 * `max` (2 to MAX_SPARKLINE) of the values over all devices, evenly spaced over the rounds that were
 * evaluated, the first and the newest among them. Found by their keys: a run of many rounds costs no more
 * than a short one. */
enum err sparklines_put(struct store_txn *txn, const struct run_row *run, int64_t max,
                        json_t *json) MUST_CHECK;

#endif
