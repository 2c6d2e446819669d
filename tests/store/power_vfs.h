/* A disk with a cache, below SQLite: what was not synced is lost when the power is cut. */
#ifndef FEDLANE_TESTS_STORE_POWER_VFS_H
#define FEDLANE_TESTS_STORE_POWER_VFS_H

#include <stdbool.h>
#include <stdint.h>

#define POWER_CUT 77 /* the exit status */

struct power_plan {
    int64_t cut_at;    /* the power is cut instead of this write, truncation, sync or removal, from 1 */
    uint64_t survives; /* 0: nothing that was not synced; else the seed that says which sectors did get to the
                          disk, and which names in the folder */
    bool syncs_lie;    /* a sync does nothing */
};

/* In the process that the cut is to end, before the first database is opened: the files are put back to what
 * a disk would hold, and the process exits with POWER_CUT. There is no real sync, so it is fast. */
void power_vfs_install(const struct power_plan *plan);

#endif
