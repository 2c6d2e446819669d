/* The columns of a round, as `simulate` prints them and as the server's rounds have them. */
#ifndef FEDLANE_CLI_ROUND_VIEW_H
#define FEDLANE_CLI_ROUND_VIEW_H

#include "cli/table.h"

extern const struct table_column round_columns[];
extern const size_t num_round_columns;
/* With one more: the seconds of simulated time. */
extern const size_t num_timed_round_columns;

#endif
