/* Traces of jobs, to run again under other policies. Two formats, told apart by the first character.
 *
 * CSV: lines that begin with '#' are comments; then titles, in any order; then a line per job, in any order.
 * arrival_s, steps, step_s (seconds of a step), persistent_mb and ephemeral_mb (of 1,000,000 bytes) are
 * required; told_steps (what the job says on arrival, 0: nothing; without the column: steps), priority
 * (default 0) and weight (default 1) are not.
 *
 * JSON Lines, as a service records them: the first line is of the devices,
 *   {"type":"lanes_trace","version":1,"capacity_bytes":[14000000000]}
 * and each other one of a job, written when it leaves:
 *   {"type":"job","name":"...","tenant":"...","arrival_ns":0,"start_ns":0,"end_ns":20,"outcome":"finished",
 *    "steps":2,"told_steps":2,"step_ns":10,"persistent_bytes":1,"ephemeral_bytes":1,"priority":0,"weight":1}
 * Times are ns since the trace began; start_ns is that of the first iteration, -1 where there was none; steps
 * are those it did, step_ns what one took on average; told_steps is 0 where the job did not say. name and
 * tenant are for people. A job with no step is in the trace, but there is nothing of it to run again. */
#ifndef FEDLANE_LANES_TRACE_TRACE_H
#define FEDLANE_LANES_TRACE_TRACE_H

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "lanes/virtual/virtual.h"

struct lanes_trace {
    size_t num_devices; /* 0: the trace does not say */
    int64_t capacity_bytes[LANES_MAX_DEVICES];
    struct virtual_job *jobs; /* ascending arrival; those of the same time as in the file */
    size_t num_jobs;
};

/* Everything lies in the arena. ERR_BAD_FILE names file, line and what is wrong there; ERR_NO_MEMORY. */
enum err lanes_trace_read(const char *path, struct arena *arena, struct lanes_trace *out,
                          struct fault *fault) MUST_CHECK;

/* A job that has left, for the line of it. */
struct lanes_trace_job {
    const char *name, *tenant; /* "" where there is none */
    struct virtual_job job;    /* told_length_ns is not recorded */
    int64_t start_ns, end_ns;
    int outcome; /* enum lanes_leave_reason */
};

/* Append a line each, with its end. */
enum err lanes_trace_write_head(struct buf *out, const int64_t *capacity_bytes,
                                size_t num_devices) MUST_CHECK;
enum err lanes_trace_write_job(struct buf *out, const struct lanes_trace_job *job) MUST_CHECK;
/* Reads such a line (of len bytes, without its end). ERR_INVALID_FIELD, ERR_MALFORMED_JSON and the like; the
 * fault does not name the file. Texts lie in the arena. */
enum err lanes_trace_parse_head(const char *line, size_t len, struct arena *arena, struct lanes_trace *out,
                                struct fault *fault) MUST_CHECK;
enum err lanes_trace_parse_job(const char *line, size_t len, struct arena *arena, struct lanes_trace_job *out,
                               struct fault *fault) MUST_CHECK;

#endif
