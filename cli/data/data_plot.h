/* The picture of a data set: how many examples each device has, and of which classes. */
#ifndef FEDLANE_CLI_DATA_DATA_PLOT_H
#define FEDLANE_CLI_DATA_DATA_PLOT_H

#include "cli/data/data_stats.h"
#include "cli/plot/script.h"

/* Appends the gnuplot script. Where there are more devices than a picture has columns, evenly chosen ones
 * stand for all, and it says so. */
enum err data_plot_script(enum picture picture, const struct dataset *d, const struct data_stats *s,
                          struct buf *out) MUST_CHECK;

#endif
