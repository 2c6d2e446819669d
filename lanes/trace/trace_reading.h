/* A trace file while it is read. */
#ifndef FEDLANE_LANES_TRACE_TRACE_READING_H
#define FEDLANE_LANES_TRACE_TRACE_READING_H

#include "lanes/trace/trace.h"

#define TRACE_MOST_S      1e9 /* of any time, and of all steps together: sums of ns stay exact */
#define TRACE_MOST_STEP_S 1e5

struct trace_reading {
    const char *path;
    char *at; /* the rest of the text; lines get a NUL for their end */
    size_t line;
    struct arena *arena;
    struct fault *fault;
    struct lanes_trace *out;
    size_t max_jobs; /* of out->jobs: as many as there are lines */
    double all_steps, all_s;
};

/* The next line, without its end; NULL after the last. */
char *trace_next_line(struct trace_reading *r);
/* "FILE: line N: ..." */
enum err trace_fault(const struct trace_reading *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Checks what both formats have, and keeps it. */
enum err trace_keep(struct trace_reading *r, const struct virtual_job *job) MUST_CHECK;
enum err trace_read_csv(struct trace_reading *r) MUST_CHECK;

#endif
