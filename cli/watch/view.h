/* How watched runs look: painted on a terminal, or a line for each thing that happens. */
#ifndef FEDLANE_CLI_WATCH_VIEW_H
#define FEDLANE_CLI_WATCH_VIEW_H

#include "cli/watch/screen.h"
#include "cli/watch/watched.h"

/* A progress bar and the lanes of each run. */
void view_paint(struct screen *s, const struct watched *runs, size_t num_runs);

/* What an event says, as a line of text; "" for one that needs no line. */
#define VIEW_LINE 1024
void view_line(const struct watched *w, const json_t *event, char out[VIEW_LINE]);
/* Where a run stands, for the start and the end. */
void view_state_line(const struct watched *w, char out[VIEW_LINE]);

#endif
