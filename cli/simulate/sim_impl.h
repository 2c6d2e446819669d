/* What the files of the simulation share. */
#ifndef FEDLANE_CLI_SIMULATE_SIM_IMPL_H
#define FEDLANE_CLI_SIMULATE_SIM_IMPL_H

#include "cli/simulate/sim.h"
#include "cli/simulate/sim_crew.h"
#include "cli/simulate/sim_systems.h"
#include "common/base/clock.h"
#include "common/base/ids.h"
#include "common/data/dataset.h"
#include "common/model/arch.h"
#include "server/core/ops.h"

#define SIM_ARENA_MAX ((size_t)1 << 30) /* of one operation; a backstop, not a plan */
#define SIM_START_MS  86400000 /* the core's clock at the start: any time but 0, which is "not yet" */

struct sim {
    struct store *store;
    struct blobs *blobs;
    struct core *core;
    struct clock_fake clock; /* now_ns in the core's milliseconds */
    int64_t now_ns;          /* since the start */
    struct sim_ids {
        uint64_t key, next;
    } ids;
    const struct dataset *data;
    struct dataset *own_data; /* NULL where it is the caller's */
    struct sim_systems systems;
    struct sim_crew *crew;
    char run_id[ID_SIZE];
    char (*worker_ids)[ID_SIZE]; /* each holds at most LIMIT_DEVICES_PER_WORKER devices */
    size_t num_workers;

    /* Tasks of the open round that were claimed and are not yet handed in. */
    struct sim_job *jobs;
    size_t num_jobs;
    struct arena offers;  /* their texts */
    struct arena scratch; /* of one operation */

    /* The model that tasks start from. */
    struct arch *arch;
    float *w_t;
    uint8_t *carried;
    int64_t w_version; /* -1: none yet */
    int64_t w_bytes;   /* of its file */

    int64_t num_forgotten; /* rounds, from the first */
};

/* Registers every device of the data. */
enum err sim_register(struct sim *s, struct fault *fault) MUST_CHECK;

/* Claims what there is; drops what is left of other rounds than the open one. */
enum err sim_claim_tasks(struct sim *s, int64_t round, struct fault *fault) MUST_CHECK;
/* Begins the tasks whose devices can do so now, and hands in the answers that are there now, in ascending
 * ordinal. */
enum err sim_do_tasks(struct sim *s, const struct round_row *round, size_t *out_count,
                      struct fault *fault) MUST_CHECK;
/* When the next task begins or is answered. */
int64_t sim_next_ns(const struct sim *s);
void sim_drop_tasks(struct sim *s);

/* Removes the tasks, updates and metrics of a closed round. Its own row stays. Rounds must be forgotten in
 * their order. */
enum err sim_forget(struct sim *s, int64_t round) MUST_CHECK;

/* Reads model `version` into w_t unless it is there. */
enum err sim_load_model(struct sim *s, int64_t version, struct fault *fault) MUST_CHECK;

#endif
