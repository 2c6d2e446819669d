#include "cli/watch/waiting.h"

#include <stdio.h>
#include "common/base/str.h"

bool waiting_line(const struct watched *run, char out[WAITING_LINE])
{
    bool is_paused = str_eq(run->status, "paused"),
         is_held = str_eq(run->status, "pending") && str_eq(run->reason, "waiting to be started");
    *out = '\0';
    if (str_eq(run->status, "waiting_for_devices"))
        (void)snprintf(out, WAITING_LINE, "%s is %s", run->name, run->reason);
    else if (is_paused || is_held)
        (void)snprintf(out, WAITING_LINE, "%s is %s: fedlane run %s %s", run->name,
                       is_paused ? "paused" : "not started", is_paused ? "resume" : "start", run->id);
    return is_paused || is_held;
}
