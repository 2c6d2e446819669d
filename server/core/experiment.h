/* Experiments: named groups of runs. */
#ifndef FEDLANE_CORE_EXPERIMENT_H
#define FEDLANE_CORE_EXPERIMENT_H

#include "server/core/work.h"

#define EXPERIMENT_DEFAULT_NAME "Default" /* has the id "0", made at the first start */

/* The id of the experiment with this name, or else this id; made where there is none. */
enum err experiment_resolve(struct work *w, const char *name_or_id, const char **out_id) MUST_CHECK;
enum err experiment_insert(struct work *w, const char *name, const char *description,
                           struct experiment_row *out) MUST_CHECK;

#endif
