#include "tests/store/fault_vfs.h"
#include <pthread.h>
#include <sqlite3.h>
#include <string.h>

/* SQLite's part comes first; the real file lies behind. */
struct fault_file {
    sqlite3_file base;
    sqlite3_file *real;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static enum disk_fault fault_kind;
static int calls_left, faults_left;
static bool has_failed;

static bool fails(enum disk_fault *out_kind)
{
    (void)pthread_mutex_lock(&mutex);
    bool is_failing = faults_left > 0 && calls_left-- <= 0;
    *out_kind = fault_kind;
    if (is_failing) {
        faults_left--;
        has_failed = true;
    }
    (void)pthread_mutex_unlock(&mutex);
    return is_failing;
}

void fault_vfs_arm(enum disk_fault kind, int n, int count)
{
    (void)pthread_mutex_lock(&mutex);
    fault_kind = kind;
    calls_left = n;
    faults_left = count;
    has_failed = false;
    (void)pthread_mutex_unlock(&mutex);
}

bool fault_vfs_hit(void)
{
    (void)pthread_mutex_lock(&mutex);
    bool was_failing = has_failed;
    (void)pthread_mutex_unlock(&mutex);
    return was_failing;
}

bool fault_vfs_disarm(void)
{
    (void)pthread_mutex_lock(&mutex);
    faults_left = 0;
    (void)pthread_mutex_unlock(&mutex);
    return fault_vfs_hit();
}

static sqlite3_file *real_of(sqlite3_file *f)
{
    return ((struct fault_file *)f)->real;
}

#define FORWARD(f, method, ...) real_of(f)->pMethods->method(real_of(f), __VA_ARGS__)

static int fault_close(sqlite3_file *f)
{
    return real_of(f)->pMethods->xClose(real_of(f));
}

static int fault_read(sqlite3_file *f, void *out, int n, sqlite3_int64 offset)
{
    return FORWARD(f, xRead, out, n, offset);
}

static int fault_write(sqlite3_file *f, const void *bytes, int n, sqlite3_int64 offset)
{
    enum disk_fault kind;
    if (fails(&kind))
        return kind == DISK_FULL ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    return FORWARD(f, xWrite, bytes, n, offset);
}

static int fault_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    enum disk_fault kind;
    return fails(&kind) ? SQLITE_IOERR_TRUNCATE : FORWARD(f, xTruncate, size);
}

static int fault_sync(sqlite3_file *f, int flags)
{
    enum disk_fault kind;
    return fails(&kind) ? SQLITE_IOERR_FSYNC : FORWARD(f, xSync, flags);
}

static int fault_size(sqlite3_file *f, sqlite3_int64 *out)
{
    return FORWARD(f, xFileSize, out);
}

static int fault_lock(sqlite3_file *f, int level)
{
    return FORWARD(f, xLock, level);
}

static int fault_unlock(sqlite3_file *f, int level)
{
    return FORWARD(f, xUnlock, level);
}

static int fault_check_lock(sqlite3_file *f, int *out)
{
    return FORWARD(f, xCheckReservedLock, out);
}

static int fault_control(sqlite3_file *f, int op, void *arg)
{
    return FORWARD(f, xFileControl, op, arg);
}

static int fault_sector(sqlite3_file *f)
{
    return real_of(f)->pMethods->xSectorSize(real_of(f));
}

static int fault_device(sqlite3_file *f)
{
    return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f));
}

static int fault_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **out)
{
    return FORWARD(f, xShmMap, page, size, extend, out);
}

static int fault_shm_lock(sqlite3_file *f, int offset, int n, int flags)
{
    return FORWARD(f, xShmLock, offset, n, flags);
}

static void fault_shm_barrier(sqlite3_file *f)
{
    real_of(f)->pMethods->xShmBarrier(real_of(f));
}

static int fault_shm_unmap(sqlite3_file *f, int delete)
{
    return FORWARD(f, xShmUnmap, delete);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = fault_close,
    .xRead = fault_read,
    .xWrite = fault_write,
    .xTruncate = fault_truncate,
    .xSync = fault_sync,
    .xFileSize = fault_size,
    .xLock = fault_lock,
    .xUnlock = fault_unlock,
    .xCheckReservedLock = fault_check_lock,
    .xFileControl = fault_control,
    .xSectorSize = fault_sector,
    .xDeviceCharacteristics = fault_device,
    .xShmMap = fault_shm_map,
    .xShmLock = fault_shm_lock,
    .xShmBarrier = fault_shm_barrier,
    .xShmUnmap = fault_shm_unmap,
};

static sqlite3_vfs *real_vfs;
static sqlite3_vfs vfs;

static int fault_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *out_flags)
{
    (void)v;
    struct fault_file *file = (struct fault_file *)f;
    memset(file, 0, sizeof *file);
    file->real = (sqlite3_file *)(file + 1);
    int rc = real_vfs->xOpen(real_vfs, name, file->real, flags, out_flags);
    if (file->real->pMethods)
        file->base.pMethods = &methods;
    return rc;
}

/* The rest of the real VFS looks at its own state only through the pointer it is given. */
static int fault_delete(sqlite3_vfs *v, const char *name, int sync)
{
    (void)v;
    return real_vfs->xDelete(real_vfs, name, sync);
}

static int fault_access(sqlite3_vfs *v, const char *name, int flags, int *out)
{
    (void)v;
    return real_vfs->xAccess(real_vfs, name, flags, out);
}

static int fault_path(sqlite3_vfs *v, const char *name, int n, char *out)
{
    (void)v;
    return real_vfs->xFullPathname(real_vfs, name, n, out);
}

static int fault_last_error(sqlite3_vfs *v, int n, char *out)
{
    (void)v;
    (void)n;
    (void)out;
    return 0;
}

void fault_vfs_install(void)
{
    real_vfs = sqlite3_vfs_find(NULL);
    vfs = *real_vfs;
    vfs.zName = "faulty";
    vfs.pNext = NULL;
    vfs.szOsFile = (int)sizeof(struct fault_file) + real_vfs->szOsFile;
    vfs.xOpen = fault_open;
    vfs.xDelete = fault_delete;
    vfs.xAccess = fault_access;
    vfs.xFullPathname = fault_path;
    vfs.xGetLastError = fault_last_error;
    (void)sqlite3_vfs_register(&vfs, 1);
}
