/* A policy: which of two jobs comes first, and what it keeps of each job to know that. Whether anything may
 * run is not its choice, so no policy can leave a device idle while a job could run. */
#ifndef FEDLANE_LANES_CORE_POLICY_H
#define FEDLANE_LANES_CORE_POLICY_H

#include <stdbool.h>
#include <stdint.h>
#include "common/base/err.h"

struct scheduler;
struct lanes_job;

typedef bool (*lanes_before_fn)(const struct scheduler *s, const struct lanes_job *a,
                                const struct lanes_job *b);

/* How memory is given. All false and 0: our rules. The others are what Salus's code does, one by one, so that
 * each difference can be measured alone. */
struct lanes_rules {
    int pad_persistent_percent, pad_ephemeral_percent; /* added to what a job says that it needs */
    bool lane_holds_persistent; /* a lane has P + E of the job that opened it, and its jobs' P lie in it */
    bool fixed_lanes;           /* first fit; lanes neither grow nor shrink */
    bool never_merge;
    bool unbounded_overtaking;
    bool whole_milliseconds; /* in what is remembered of a job's time */
    bool in_order;           /* memory is given in the policy's order alone: nobody overtakes its first */
};

struct lanes_policy {
    const char *name;
    const char *help; /* one line */
    struct lanes_rules rules;
    /* Whether a runs before b, of two jobs in the same device's memory; ties go to who arrived first. */
    lanes_before_fn runs_before;
    /* The same of two that wait for memory. NULL: as runs_before. */
    lanes_before_fn enters_before;
    /* May be NULL. on_arrive is called again for each job when a policy takes over from another. on_enter: it
     * is about to get memory. on_leave: the job has finished, or left without (job->reason), and is in no
     * list any more. */
    void (*on_arrive)(struct scheduler *s, struct lanes_job *job);
    void (*on_enter)(struct scheduler *s, struct lanes_job *job);
    void (*on_iteration)(struct scheduler *s, struct lanes_job *job, int64_t duration_ns);
    void (*on_leave)(struct scheduler *s, struct lanes_job *job);
    /* State of its own, s->policy_state; both NULL where it has none. `reset` empties it. */
    enum err (*open)(struct scheduler *s);
    void (*reset)(struct scheduler *s);
    void (*close)(struct scheduler *s);
    const char *(*reason)(const struct scheduler *s);
};

#endif
