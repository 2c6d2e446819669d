/* The gnuplot script of a plot. */
#ifndef FEDLANE_CLI_PLOT_SCRIPT_H
#define FEDLANE_CLI_PLOT_SCRIPT_H

#include "cli/plot/series.h"
#include "common/base/buf.h"

/* One panel: a metric, a curve per run. */
struct panel {
    const char *metric;
    const struct series *curves;
    size_t num_curves;
};

enum picture { PICTURE_SVG, PICTURE_PNG };
/* From the ending of a file's name; ERR_USAGE. */
enum err picture_of(const char *path, enum picture *out, struct fault *fault) MUST_CHECK;

enum err plot_script(enum picture picture, const struct panel *panels, size_t num_panels,
                     struct buf *out) MUST_CHECK;

#endif
