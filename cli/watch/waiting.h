/* What a run that does not go on waits for. */
#ifndef FEDLANE_CLI_WATCH_WAITING_H
#define FEDLANE_CLI_WATCH_WAITING_H

#include "cli/watch/watched.h"

#define WAITING_LINE (256 + 512 + 8)

/* A line that says it; "" for a run that goes on or has ended. Whether it names a command that helps. */
bool waiting_line(const struct watched *run, char out[WAITING_LINE]);

#endif
