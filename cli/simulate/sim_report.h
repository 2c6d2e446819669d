/* What a simulation says about its rounds and its end. Nothing in it depends on real time. */
#ifndef FEDLANE_CLI_SIMULATE_SIM_REPORT_H
#define FEDLANE_CLI_SIMULATE_SIM_REPORT_H

#include <jansson.h>
#include "common/base/buf.h"
#include "server/store/records.h"

/* A closed round, as a JSON object; the last one has "type": "final". NULL when out of memory. */
json_t *sim_round_json(const struct round_row *round);
/* The final line: `last` is the final round, or NULL where the run ended before it. New reference or NULL. */
json_t *sim_final_json(const struct run_row *run, const json_t *last);
/* run.json: the run with the spec that was in force, and `final`. */
json_t *sim_run_json(const struct run_row *run, const json_t *final);

/* metrics.csv: a titles line, then a line per round. */
enum err sim_csv_titles(struct buf *csv) MUST_CHECK;
enum err sim_csv_row(struct buf *csv, const json_t *round) MUST_CHECK;

#endif
