/* Drawing by gnuplot, run as a process of its own: the script on its standard input, the picture from its
 * standard output. No shell. */
#ifndef FEDLANE_CLI_PLOT_GNUPLOT_H
#define FEDLANE_CLI_PLOT_GNUPLOT_H

#include <stdbool.h>
#include "common/base/buf.h"
#include "common/base/err.h"

#define GNUPLOT_INSTALL "apt install gnuplot-nox"

/* Appends text as a gnuplot string that means just itself: single quotes know no escapes, substitutions or
 * commands. Control characters become blanks. */
enum err gnuplot_quote(struct buf *script, const char *text) MUST_CHECK;

bool gnuplot_is_there(void);
/* What the script draws goes to the file descriptor. ERR_IO with what gnuplot said, or with how to install
 * it. */
enum err gnuplot_run(const struct buf *script, int out_fd, struct fault *fault) MUST_CHECK;

#endif
