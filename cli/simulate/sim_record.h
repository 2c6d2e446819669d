/* A simulation that is followed to its end, and what is kept of it. */
#ifndef FEDLANE_CLI_SIMULATE_SIM_RECORD_H
#define FEDLANE_CLI_SIMULATE_SIM_RECORD_H

#include <jansson.h>
#include "cli/simulate/sim.h"
#include "cli/simulate/sim_report.h"
#include "common/base/buf.h"

struct sim_record {
    struct sim *sim; /* borrowed */
    struct buf csv;  /* metrics.csv so far */
    struct sim_targets targets;
    int64_t last_round; /* the newest one in it; -1: none */
    json_t *last;       /* the round of type "final"; NULL until it is there */
};

/* Told of each closed round, in order; round is borrowed. */
typedef enum err (*sim_round_fn)(void *ctx, json_t *round);

enum err sim_record_init(struct sim_record *r, struct sim *sim) MUST_CHECK;
void sim_record_release(struct sim_record *r);

/* sim_step, and takes the rounds that it closed. */
enum err sim_record_step(struct sim_record *r, sim_round_fn on_round, void *ctx, bool *out_is_finished,
                         struct fault *fault) MUST_CHECK;
/* Once it is finished: the run, in the arena, and the final line, which the caller decrefs. */
enum err sim_record_end(struct sim_record *r, struct arena *arena, struct run_row *out_run,
                        json_t **out_final) MUST_CHECK;

/* Makes a folder with the folders above it, and makes sure that it can be written. */
enum err sim_make_folder(const char *dir, struct fault *fault) MUST_CHECK;
/* Whether it can. Leaves what was there. */
enum err sim_check_folder(const char *dir, struct fault *fault) MUST_CHECK;
/* dir/name, at once. */
enum err sim_put_file(const char *dir, const char *name, const void *bytes, size_t n,
                      struct fault *fault) MUST_CHECK;
/* metrics.csv, model.safetensors and, when those are there, run.json, in dir, which is made. Where run.json
 * is, all three are of one run; on an error none is left. */
enum err sim_record_put(struct sim_record *r, const char *dir, const struct run_row *run, const json_t *final,
                        struct fault *fault) MUST_CHECK;

#endif
