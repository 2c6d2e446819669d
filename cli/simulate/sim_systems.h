/* The devices of a simulation as the run spec's "systems" has them: speeds drawn for each, or from a trace.
 */
#ifndef FEDLANE_CLI_SIMULATE_SIM_SYSTEMS_H
#define FEDLANE_CLI_SIMULATE_SIM_SYSTEMS_H

#include <jansson.h>
#include "cli/simulate/sim_time.h"
#include "common/base/arena.h"
#include "common/data/dataset.h"

struct sim_systems {
    bool is_timed;              /* false: everything takes no time */
    struct sim_device *devices; /* all of the data's, ascending ordinal */
    size_t num_devices;
    struct arena arena; /* of the times online */
};

/* `spec` is a run spec that has been checked. A trace must have each device that the run may take, and none
 * that the data have not. */
enum err sim_systems_load(const json_t *spec, const struct dataset *data, struct sim_systems *out,
                          struct fault *fault) MUST_CHECK;
void sim_systems_release(struct sim_systems *s);

struct sim_device *sim_systems_device(const struct sim_systems *s, int64_t ordinal); /* must be there */

#endif
