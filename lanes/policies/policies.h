/* The table of policies: docs/lanes.md says what each is good for. */
#ifndef FEDLANE_LANES_POLICIES_POLICIES_H
#define FEDLANE_LANES_POLICIES_POLICIES_H

#include <stddef.h>
#include "lanes/core/policy.h"

/* Ours; `auto` first, and then those that it chooses from. */
extern const struct lanes_policy policy_auto, policy_fifo, policy_srtf, policy_fair, policy_las, policy_pack,
    policy_priority;
/* What Salus's code does (MLSys 2020), to compare with. */
extern const struct lanes_policy policy_salus_fifo, policy_salus_srtf, policy_salus_fair;

extern const struct lanes_policy *const lanes_policies[];
extern const size_t num_lanes_policies;
/* The one of this name. ERR_USAGE with the names that there are. */
enum err lanes_policy_named(const char *name, const struct lanes_policy **out,
                            struct fault *fault) MUST_CHECK;

#endif
