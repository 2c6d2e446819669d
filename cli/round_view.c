#include "cli/round_view.h"

const struct table_column round_columns[] = {
    {"round", "round|n", CELL_COUNT, 5},
    {"type", "type", CELL_TEXT, 5},
    {"outcome", "outcome|status", CELL_TEXT, 9},
    {"train loss", "metrics.train_loss", CELL_NUMBER, 10},
    {"accuracy", "metrics.test_accuracy", CELL_PERCENT, 8},
    {"mu", "proximal_mu", CELL_NUMBER, 6},
    {"done", "steps_done", CELL_COUNT, 7},
    {"of steps", "steps_assigned", CELL_COUNT, 8},
    {"received", "received", CELL_COUNT, 8},
    {"partial", "partial", CELL_COUNT, 7},
    {"dropped", "dropped", CELL_COUNT, 7},
    {"failed", "failed", CELL_COUNT, 6},
    {"late", "late", CELL_COUNT, 4},
    {"time s", "time_s", CELL_NUMBER, 10},
};
const size_t num_timed_round_columns = sizeof round_columns / sizeof *round_columns;
const size_t num_round_columns = sizeof round_columns / sizeof *round_columns - 1;
