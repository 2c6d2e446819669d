/* The background's pieces of work, one run's next step each. */
#ifndef FEDLANE_CORE_STEPS_H
#define FEDLANE_CORE_STEPS_H

#include "server/core/work.h"

/* A run and what it needs now. */
enum due { DUE_NOTHING, DUE_MODEL, DUE_DEVICES, DUE_CLOCK, DUE_AGGREGATION };
struct due_run {
    char id[ID_SIZE];
    int64_t round;
    enum due what;
};

/* Does it, transaction included. *out_has_more: there may be a next step at once. ERR_OK where it is no
 * longer due. */
enum err step_do(struct core *c, const struct due_run *due, bool *out_has_more) MUST_CHECK;

#endif
