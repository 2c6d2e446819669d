/* loss.svg and accuracy.svg of a sweep: a line for each point, with a band of one standard deviation. */
#ifndef FEDLANE_CLI_SIMULATE_SWEEP_PLOT_H
#define FEDLANE_CLI_SIMULATE_SWEEP_PLOT_H

#include "cli/simulate/sweep.h"
#include "common/base/buf.h"

/* What metrics.csv says of a point, over its runs. */
struct sweep_means {
    const char **columns; /* NULL where no run counts */
    size_t num_columns, num_rows;
    struct sweep_mean_row {
        const char *round, *type;
        int64_t num_runs;
        struct sweep_stat *stats; /* one for each column */
    } * rows;
};

struct sweep_plots {
    const struct sweep *s;
    struct sweep_plot {
        struct buf data; /* of the gnuplot script: a block for each line */
        size_t *points;  /* of which point each line is; freed */
        size_t num_lines;
        double least, most; /* of the means */
        double last_round;
    } plots[2];
};

enum err sweep_plots_init(struct sweep_plots *p, const struct sweep *s) MUST_CHECK;
void sweep_plots_release(struct sweep_plots *p);
enum err sweep_plots_add(struct sweep_plots *p, size_t point, const struct sweep_means *means) MUST_CHECK;
/* Writes the pictures; where gnuplot is not installed, it says so on stderr, and that is no error. */
enum err sweep_plots_put(struct sweep_plots *p) MUST_CHECK;

#endif
