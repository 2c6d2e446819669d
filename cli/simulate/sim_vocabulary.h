/* A simulated run's vocabulary, which may be that of its data. */
#ifndef FEDLANE_CLI_SIMULATE_SIM_VOCABULARY_H
#define FEDLANE_CLI_SIMULATE_SIM_VOCABULARY_H

#include <jansson.h>
#include "common/base/err.h"

struct dataset;

/* Where the model asks for the data's ("vocabulary": "data"), or reads tokens and names none: writes it into
 * spec.model, so that it is stored with the run. *out_data: the data that were loaded for that, the caller's;
 * NULL where there was nothing to do. A model that cannot be read is left for others to refuse. */
enum err sim_settle_vocabulary(json_t *spec, struct dataset **out_data, struct fault *fault) MUST_CHECK;

#endif
