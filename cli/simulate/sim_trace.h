/* A trace of devices: how fast each is, and when it is online. A CSV file with the titles device,
 * steps_per_s, up_bytes_per_s, down_bytes_per_s, online_from_s, online_to_s in any order; all but device may
 * be left out. A device has a row for each time it is online; its speeds stand in any of its rows. */
#ifndef FEDLANE_CLI_SIMULATE_SIM_TRACE_H
#define FEDLANE_CLI_SIMULATE_SIM_TRACE_H

#include "cli/simulate/sim_time.h"
#include "common/base/arena.h"
#include "common/base/err.h"

struct sim_trace_device {
    int64_t ordinal;
    size_t line;                                          /* of its first row in time */
    double steps_per_s, up_bytes_per_s, down_bytes_per_s; /* NaN: the trace does not say */
    struct sim_interval *online;                          /* ascending, apart from each other */
    size_t num_online;                                    /* 0: always */
};

struct sim_trace {
    struct sim_trace_device *devices; /* ascending ordinal */
    size_t num_devices;
};

/* Everything lies in the arena. ERR_BAD_FILE names file, line, column and device. */
enum err sim_trace_load(const char *path, struct arena *arena, struct sim_trace *out,
                        struct fault *fault) MUST_CHECK;

#endif
