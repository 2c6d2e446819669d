/* Where a database file lies: on a local disk, in a folder that can be written, used by this process alone.
 */
#ifndef FEDLANE_STORE_SQLITE_LOCATION_H
#define FEDLANE_STORE_SQLITE_LOCATION_H

#include <stdbool.h>
#include "common/base/err.h"

/* Makes the file (mode 0600, empty) if there is none and locks it for this process by PATH.lock, which stays
 * behind. *out_lock is given back to location_release. ERR_CONFLICT: another process has it. */
enum err location_take(const char *path, int *out_lock, struct fault *fault) MUST_CHECK;
void location_release(int lock); /* -1 is legal */

/* Whether locks and shared memory cannot be trusted there: `magic` is f_type of statfs(2), `type` the name in
 * /proc/self/mountinfo ("" when unknown), which tells a local FUSE from a remote one. */
bool filesystem_is_remote(unsigned long magic, const char *type);

#endif
