/* What a simulation says about its rounds and its end. Nothing in it depends on real time. */
#ifndef FEDLANE_CLI_SIMULATE_SIM_REPORT_H
#define FEDLANE_CLI_SIMULATE_SIM_REPORT_H

#include <jansson.h>
#include "common/base/buf.h"
#include "server/store/records.h"

/* A closed round, as a JSON object; the last one has "type": "final". start_ms: when simulated time began, -1
 * where there is none. NULL when out of memory. */
json_t *sim_round_json(const struct round_row *round, int64_t start_ms);

/* When the model first had a test accuracy of 0.1, 0.2 ... 0.9. A round's accuracy is that of the model that
 * it begins with, so it counts from then on. */
#define SIM_NUM_TARGETS 9
struct sim_targets {
    int64_t start_ms;                /* as above */
    int64_t rounds[SIM_NUM_TARGETS]; /* done by then; -1: not reached */
    int64_t at_ms[SIM_NUM_TARGETS];
};
void sim_targets_init(struct sim_targets *t, int64_t start_ms);
/* Rounds in their order; `json` is what sim_round_json made of it. */
void sim_targets_add(struct sim_targets *t, const struct round_row *round, const json_t *json);

/* The final line: `last` is the final round, or NULL where the run ended before it. New reference or NULL. */
json_t *sim_final_json(const struct run_row *run, const json_t *last, const struct sim_targets *targets);
/* run.json: the run with the spec that was in force, and `final`. */
json_t *sim_run_json(const struct run_row *run, const json_t *final);

/* metrics.csv: a titles line, then a line per round. */
enum err sim_csv_titles(struct buf *csv) MUST_CHECK;
enum err sim_csv_row(struct buf *csv, const json_t *round) MUST_CHECK;

#endif
