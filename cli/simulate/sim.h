/* A whole federated run in one process: the server's rules over the store in memory, the worker's task
 * runner, a clock that is turned by hand and ids from a keyed stream. No HTTP, no files, nothing that depends
 * on real time, so a spec and a seed give the same bits every time, with any number of threads, and the same
 * as the server gives over HTTP.
 *
 *   sim_new -> (sim_step -> sim_rounds)... until it is finished -> sim_run, sim_model -> sim_free */
#ifndef FEDLANE_CLI_SIMULATE_SIM_H
#define FEDLANE_CLI_SIMULATE_SIM_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/data/dataset.h"
#include "server/store/records.h"

struct sim;

/* Checks the spec, loads its data, registers every device and makes sure that the run can start. `spec` is
 * only read. `data` is what the spec's "data" gives, which then outlives the simulation, or NULL: it loads
 * its own. Faults name the field, or the data file. */
enum err sim_new(const json_t *spec, const struct dataset *data, int threads, struct sim **out,
                 struct fault *fault) MUST_CHECK;
void sim_free(struct sim *s);

/* Checks the spec, but not what lies in its "data", and gives the run as it would start, with every default
 * in its spec; texts in the arena. */
enum err sim_check(const json_t *spec, struct arena *arena, struct run_row *out,
                   struct fault *fault) MUST_CHECK;
/* The data of a spec. */
enum err sim_load_data(const json_t *spec, struct dataset **out, struct fault *fault) MUST_CHECK;

/* Goes on until there is nothing to do but tasks, and does those that are due, or turns the clock to the next
 * ones. ERR_CONFLICT when the run waits for
 * something that cannot come; the fault says for what. */
enum err sim_step(struct sim *s, bool *out_is_finished, struct fault *fault) MUST_CHECK;

/* The run as it is now; texts in the arena. */
enum err sim_run(struct sim *s, struct arena *arena, struct run_row *out) MUST_CHECK;
/* The closed rounds behind number `after` (-1: all), ascending, in the arena. */
enum err sim_rounds(struct sim *s, int64_t after, struct arena *arena, struct round_row **out,
                    size_t *out_count) MUST_CHECK;
/* When simulated time began, in the milliseconds of the rows; -1 where the run has none. */
int64_t sim_start_ms(const struct sim *s);
/* Appends the newest model's safetensors file. */
enum err sim_model(struct sim *s, struct buf *out) MUST_CHECK;

#endif
