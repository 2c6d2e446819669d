/* Stands between SQLite and the disk: SQLite's default VFS with a look at everything that changes a file. */
#ifndef FEDLANE_TESTS_STORE_SHIM_VFS_H
#define FEDLANE_TESTS_STORE_SHIM_VFS_H

#include <sqlite3.h>

/* SQLite's part comes first; the real file lies behind. */
struct shim_file {
    sqlite3_file base;
    sqlite3_file *real;
    void *state; /* the hooks' own, NULL at first */
};

/* Each stands in the place of the call that it is named after, and makes it with the function below, or not;
 * NULL: the call goes through. Called from any thread. */
struct shim_hooks {
    void (*opened)(struct shim_file *f, const char *path, int flags); /* a temporary file has no path: NULL */
    int (*write)(struct shim_file *f, const void *bytes, int n, sqlite3_int64 offset);
    int (*truncate)(struct shim_file *f, sqlite3_int64 size);
    int (*sync)(struct shim_file *f, int flags);
    int (*remove)(const char *path, int sync_dir);
    void (*slept)(void); /* SQLite waited a moment for another connection's lock */
};

int shim_write(struct shim_file *f, const void *bytes, int n, sqlite3_int64 offset);
int shim_truncate(struct shim_file *f, sqlite3_int64 size);
int shim_sync(struct shim_file *f, int flags);
int shim_remove(const char *path, int sync_dir);

/* Before the first database is opened; once. The hooks stay the caller's. */
void shim_vfs_install(const struct shim_hooks *hooks);

#endif
