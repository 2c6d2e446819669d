/* What the files of the simulation share. */
#ifndef FEDLANE_CLI_SIMULATE_SIM_IMPL_H
#define FEDLANE_CLI_SIMULATE_SIM_IMPL_H

#include "cli/simulate/sim.h"
#include "cli/simulate/sim_crew.h"
#include "common/base/clock.h"
#include "common/base/ids.h"
#include "common/data/dataset.h"
#include "common/model/arch.h"
#include "server/core/ops.h"

#define SIM_ARENA_MAX ((size_t)1 << 30) /* of one operation; a backstop, not a plan */

struct sim {
    struct store *store;
    struct blobs *blobs;
    struct core *core;
    struct clock_fake clock;
    struct sim_ids {
        uint64_t key, next;
    } ids;
    const struct dataset *data;
    struct dataset *own_data; /* NULL where it is the caller's */
    struct sim_crew *crew;
    char run_id[ID_SIZE];
    char (*worker_ids)[ID_SIZE]; /* each holds at most LIMIT_DEVICES_PER_WORKER devices */
    size_t num_workers;

    /* The model that tasks start from. */
    struct arch *arch;
    float *w_t;
    uint8_t *carried;
    int64_t w_version; /* -1: none yet */

    int64_t num_forgotten; /* rounds, from the first */
};

/* Registers every device of the data. */
enum err sim_register(struct sim *s, struct fault *fault) MUST_CHECK;

/* Claims what there is, runs it, and hands in the results in ascending ordinal. */
enum err sim_do_tasks(struct sim *s, size_t *out_num_tasks, struct fault *fault) MUST_CHECK;

/* Removes the tasks, updates, metrics and events of a closed round, and the events before it. Its own row
 * stays. Rounds must be forgotten in their order. */
enum err sim_forget(struct sim *s, int64_t round) MUST_CHECK;

/* Reads model `version` into w_t unless it is there. */
enum err sim_load_model(struct sim *s, int64_t version, struct fault *fault) MUST_CHECK;

#endif
