/* How far a sweep is: a bar on a terminal, else a line for each run that ended. */
#ifndef FEDLANE_CLI_SIMULATE_SWEEP_PROGRESS_H
#define FEDLANE_CLI_SIMULATE_SWEEP_PROGRESS_H

#include "cli/simulate/sweep.h"
#include "cli/watch/screen.h"

struct sweep_progress {
    const struct sweep *s;
    struct screen screen;
    bool is_terminal;
    size_t num_told;
    int64_t start_ns;
    double work_before; /* of the runs that an earlier call did */
};

/* Tells of the runs that were done before. */
enum err sweep_progress_begin(struct sweep_progress *p, const struct sweep *s) MUST_CHECK;
void sweep_progress_end(struct sweep_progress *p);
enum err sweep_progress_ended(struct sweep_progress *p, const struct sweep_run *run) MUST_CHECK;
/* With the sweep's lock held. */
void sweep_progress_paint(struct sweep_progress *p);

#endif
