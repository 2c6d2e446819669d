/* What a plot shows: for each run and metric, a value per round. */
#ifndef FEDLANE_CLI_PLOT_SERIES_H
#define FEDLANE_CLI_PLOT_SERIES_H

#include <jansson.h>
#include "cli/csv.h"
#include "common/base/arena.h"
#include "common/base/err.h"

struct series {
    const char *name; /* of the run */
    size_t num_points;
    struct series_point {
        int64_t round;
        double value;
    } * points; /* ascending rounds; unknown values are left out */
};

/* `metric` is a member of a round ("steps_done") or of its metrics ("train_loss"). A final round has no work,
 * so it counts for metrics only. Everything in the arena; `name` is borrowed. */
enum err series_of_rounds(const json_t *rounds, const char *name, const char *metric, struct arena *arena,
                          struct series *out) MUST_CHECK;
/* Of metrics.csv of a simulation (a column per metric), or of the server's (columns name and value; the
 * values over all devices). ERR_BAD_FILE where the metric is not in it: the fault says what is. */
enum err series_of_csv(const struct csv *csv, const char *name, const char *metric, struct arena *arena,
                       struct series *out, struct fault *fault) MUST_CHECK;

#endif
