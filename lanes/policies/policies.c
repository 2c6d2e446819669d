#include "lanes/policies/policies.h"
#include <stdio.h>
#include "common/base/str.h"

const struct lanes_policy *const lanes_policies[] = {
    &policy_auto, &policy_srtf,     &policy_las,        &policy_fair,       &policy_pack,
    &policy_fifo, &policy_priority, &policy_salus_fifo, &policy_salus_srtf, &policy_salus_fair,
};
const size_t num_lanes_policies = sizeof lanes_policies / sizeof *lanes_policies;

enum err lanes_policy_named(const char *name, const struct lanes_policy **out, struct fault *fault)
{
    char names[256] = "";
    size_t len = 0;
    *out = NULL;
    for (size_t i = 0; i < num_lanes_policies && len < sizeof names; i++) {
        const struct lanes_policy *policy = lanes_policies[i];
        if (str_eq(policy->name, name)) {
            *out = policy;
            return ERR_OK;
        }
        len += (size_t)snprintf(names + len, sizeof names - len, "%s%s", len ? ", " : "", policy->name);
    }
    return fault_set(fault, ERR_USAGE, "policy", "there is no policy \"%.40s\"; there are: %s", name, names);
}
