/* The devices of a run: who it waits for, and who takes part once it started. */
#ifndef FEDLANE_CORE_POPULATION_H
#define FEDLANE_CORE_POPULATION_H

#include "server/core/work.h"

/* The frozen population, ascending ordinal; in the arena. */
enum err population_load(struct work *w, const struct run_row *run, struct run_device_row **out,
                         size_t *out_count) MUST_CHECK;

/* The one at a position of it, of run->population; in the arena. */
enum err population_member(struct work *w, const struct run_row *run, size_t position,
                           struct run_device_row **out) MUST_CHECK;

/* The device that is `member` now: where it was revoked and another has registered under its ordinal, that
 * one takes its place (*member and its row change, with the new one's sizes). out->revoked_at says that there
 * is none. */
enum err population_device(struct work *w, const struct run_row *run, struct run_device_row *member,
                           struct device_row *out) MUST_CHECK;

/* Whether the run's devices are there. True: they are frozen into the store, and run->population and dataset
 * set; *out_reason is "", or which others it goes without. False: *out_reason says what it waits for.
 * ERR_INVALID_FIELD with a fault: they can never serve this run. */
enum err population_freeze(struct work *w, struct run_row *run, const struct plan *plan, bool *out_is_there,
                           const char **out_reason) MUST_CHECK;

#endif
