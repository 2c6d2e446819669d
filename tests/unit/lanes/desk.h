/* A scheduler whose decisions are written down, for tests that send the events themselves. */
#ifndef FEDLANE_TESTS_UNIT_LANES_DESK_H
#define FEDLANE_TESTS_UNIT_LANES_DESK_H

#include "common/base/buf.h"
#include "lanes/core/scheduler.h"
#include "lanes/policies/policies.h"
#include "tests/support/unit.h"

struct desk {
    struct scheduler *s;
    struct buf words; /* decisions since desk_said: "enter 1:0.0, run 1:0.0, move 2:0.1, evict 2, leave 1
                         finished" */
    int64_t now;
    uint64_t next_tag;
};

/* Tags are 1, 2, 3, ... in the order of desk_submit, and so are ids. */
struct desk *desk_make(const struct lanes_policy *policy, size_t num_devices, const int64_t *capacities,
                       int max_concurrent, int overtake_limit);
void desk_free(struct desk *d);
/* Submits a job of ten steps; its id. Fails where it is refused. */
lanes_job_id desk_submit(struct desk *d, int64_t persistent, int64_t ephemeral);
/* What it submits, for requests that are not as all the others. */
struct lanes_request desk_request(int64_t persistent, int64_t ephemeral);
/* After 10 ns, the job's iteration is done. */
void desk_step(struct desk *d, lanes_job_id id);
void desk_last_step(struct desk *d, lanes_job_id id);
/* What was decided since the last call. */
void desk_said(struct desk *d, const char *words);

#endif
