/* A disk that fails on demand, below SQLite: the default VFS with a counter in front of what changes a file.
 */
#ifndef FEDLANE_TESTS_STORE_FAULT_VFS_H
#define FEDLANE_TESTS_STORE_FAULT_VFS_H

#include <stdbool.h>

enum disk_fault { DISK_FULL, DISK_BROKEN };

/* Before the first database is opened. */
void fault_vfs_install(void);
/* From the n-th write or sync on (0: the next), `count` of them fail. */
void fault_vfs_arm(enum disk_fault kind, int n, int count);
bool fault_vfs_hit(void); /* whether any call failed since it was armed */
/* The disk is well again. Whether any call failed. */
bool fault_vfs_disarm(void);
/* How often SQLite has waited a moment for another connection. */
int fault_vfs_sleeps(void);

#endif
