/* The memory of one device: what jobs hold (P), and lanes for what their iterations need (E).
 *
 * A job that comes gets a lane by the paper's rule: a new one of size E where that fits; else the smallest
 * lane with at least E; else the smallest that can grow to E. Where none of this fits, lanes that are idle
 * are merged, the smallest first into another, until it does: a lane too many costs memory that a waiting job
 * could use. A lane shrinks to its largest job's E when a job leaves it, and ends with its last one. */
#ifndef FEDLANE_LANES_CORE_MEMORY_H
#define FEDLANE_LANES_CORE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "lanes/core/policy.h"
#include "lanes/core/scheduler.h"

struct lane {
    int64_t size;       /* bytes; 0 while it is not there */
    int64_t largest;    /* E of its largest job */
    int64_t persistent; /* of its jobs, where the rules let P lie in the lane */
    size_t num_jobs;
    bool is_running;
};

struct device_memory {
    int64_t capacity, persistent, in_lanes;
    size_t num_lanes;
    struct lane lanes[LANES_MAX_LANES]; /* a lane keeps its place as long as it is there */
};

/* How a job would get in. */
enum fit_kind { FIT_NONE, FIT_NEW, FIT_EXISTING, FIT_GROWN };
struct fit {
    enum fit_kind kind;
    int lane;
};

/* Without merging. */
struct fit memory_fit(const struct device_memory *m, const struct lanes_rules *rules, int64_t persistent,
                      int64_t ephemeral);
/* A fit that memory_fit gave just now. The lane's number. */
int memory_enter(struct device_memory *m, const struct lanes_rules *rules, struct fit fit, int64_t persistent,
                 int64_t ephemeral);
/* The smallest idle lane, and the one to merge it into: the smallest of the others that holds its jobs.
 * False where there is none, or where no more than keep_lanes are there. */
bool memory_mergeable(const struct device_memory *m, size_t keep_lanes, int *out_from, int *out_into);
/* The jobs of the first lane are those of the second. */
void memory_merge(struct device_memory *m, int from, int into);
/* A job leaves its lane. `largest`: E of the largest job that stays in it. */
void memory_leave(struct device_memory *m, const struct lanes_rules *rules, int lane, int64_t persistent,
                  int64_t largest);
/* bug() unless the sums are right and within the capacity. */
void memory_check(const struct device_memory *m);
static inline int64_t memory_used(const struct device_memory *m)
{
    return m->persistent + m->in_lanes;
}

#endif
