/* Simulated time: how long a device takes for a task. Times are nanoseconds since the start of the run;
 * INT64_MAX is never. Pure arithmetic. */
#ifndef FEDLANE_CLI_SIMULATE_SIM_TIME_H
#define FEDLANE_CLI_SIMULATE_SIM_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_NEVER INT64_MAX
#define SIM_MS_NS INT64_C(1000000)

/* from_ns counts, to_ns does not. */
struct sim_interval {
    int64_t from_ns, to_ns;
};

struct sim_device {
    int64_t ordinal;
    double steps_per_s, up_bytes_per_s, down_bytes_per_s; /* INFINITY: takes no time */
    const struct sim_interval *online; /* ascending, apart from each other; behind the last one: offline */
    size_t num_online;                 /* 0: always online */
    double upload_ms;                  /* as the worker keeps it (worker/upload_time.h) */
};

/* A train task on its way through a device. */
struct sim_timing {
    /* Given. */
    int64_t steps;          /* the budget */
    int64_t steps_assigned; /* of the whole job */
    bool accept_partial;    /* false: less than the whole job is only told, and no weights are sent */
    int64_t model_bytes;    /* to download, and to upload */
    int64_t deadline_ns;
    /* Found. */
    bool has_started;
    int64_t next_ns;        /* when it starts; once it has, when its answer is with the server */
    int64_t deadline_steps; /* steps that are done when the deadline comes; -1: it does not come before the
                               budget is spent */
    double download_ms, compute_ms, upload_ms; /* without the time offline */
};

/* Seconds as time; SIM_NEVER for what is too long. */
int64_t sim_seconds(double seconds);
/* The first moment from `from_ns` on at which the device is online. */
int64_t sim_online_from(const struct sim_device *d, int64_t from_ns);
/* How long it is online between two moments. */
int64_t sim_online_between(const struct sim_device *d, int64_t from_ns, int64_t to_ns);
/* When it was online for work_ns since from_ns: work pauses while it is offline. */
int64_t sim_work_until(const struct sim_device *d, int64_t from_ns, int64_t work_ns);

/* Lets the device, which is online, begin at now_ns: download, steps, upload. As the worker does it: it stops
 * so long before the deadline that its upload comes in time, but finishes the step that it is at. */
void sim_timing_start(struct sim_timing *t, const struct sim_device *d, int64_t now_ns);

#endif
