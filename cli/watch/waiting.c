#include "cli/watch/waiting.h"

#include <stdio.h>
#include "common/base/str.h"

void waiting_line(const struct watched *run, char out[WAITING_LINE])
{
    *out = '\0';
    if (str_eq(run->status, "waiting_for_devices"))
        (void)snprintf(out, WAITING_LINE, "%s is %s", run->name, run->reason);
    else if (str_eq(run->status, "paused"))
        (void)snprintf(out, WAITING_LINE, "%s is paused: fedlane run resume %s", run->name, run->id);
    else if (str_eq(run->status, "pending") && str_eq(run->reason, "waiting to be started"))
        (void)snprintf(out, WAITING_LINE, "%s is not started: fedlane run start %s", run->name, run->id);
}
