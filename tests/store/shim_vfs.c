#include "tests/store/shim_vfs.h"
#include <string.h>

static const struct shim_hooks *hooks;
static sqlite3_vfs *real_vfs;
static sqlite3_vfs vfs;

static sqlite3_file *real_of(sqlite3_file *f)
{
    return ((struct shim_file *)f)->real;
}

#define FORWARD(f, method, ...) real_of(f)->pMethods->method(real_of(f), __VA_ARGS__)

int shim_write(struct shim_file *f, const void *bytes, int n, sqlite3_int64 offset)
{
    return FORWARD(&f->base, xWrite, bytes, n, offset);
}

int shim_truncate(struct shim_file *f, sqlite3_int64 size)
{
    return FORWARD(&f->base, xTruncate, size);
}

int shim_sync(struct shim_file *f, int flags)
{
    return FORWARD(&f->base, xSync, flags);
}

int shim_remove(const char *path, int sync_dir)
{
    return real_vfs->xDelete(real_vfs, path, sync_dir);
}

static int on_close(sqlite3_file *f)
{
    return real_of(f)->pMethods->xClose(real_of(f));
}

static int on_read(sqlite3_file *f, void *out, int n, sqlite3_int64 offset)
{
    return FORWARD(f, xRead, out, n, offset);
}

static int on_write(sqlite3_file *f, const void *bytes, int n, sqlite3_int64 offset)
{
    return (hooks->write ? hooks->write : shim_write)((struct shim_file *)f, bytes, n, offset);
}

static int on_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    return (hooks->truncate ? hooks->truncate : shim_truncate)((struct shim_file *)f, size);
}

static int on_sync(sqlite3_file *f, int flags)
{
    return (hooks->sync ? hooks->sync : shim_sync)((struct shim_file *)f, flags);
}

static int on_size(sqlite3_file *f, sqlite3_int64 *out)
{
    return FORWARD(f, xFileSize, out);
}

static int on_lock(sqlite3_file *f, int level)
{
    return FORWARD(f, xLock, level);
}

static int on_unlock(sqlite3_file *f, int level)
{
    return FORWARD(f, xUnlock, level);
}

static int on_check_lock(sqlite3_file *f, int *out)
{
    return FORWARD(f, xCheckReservedLock, out);
}

static int on_control(sqlite3_file *f, int op, void *arg)
{
    return FORWARD(f, xFileControl, op, arg);
}

static int on_sector(sqlite3_file *f)
{
    return real_of(f)->pMethods->xSectorSize(real_of(f));
}

static int on_device(sqlite3_file *f)
{
    return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f));
}

static int on_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **out)
{
    return FORWARD(f, xShmMap, page, size, extend, out);
}

static int on_shm_lock(sqlite3_file *f, int offset, int n, int flags)
{
    return FORWARD(f, xShmLock, offset, n, flags);
}

static void on_shm_barrier(sqlite3_file *f)
{
    real_of(f)->pMethods->xShmBarrier(real_of(f));
}

static int on_shm_unmap(sqlite3_file *f, int delete)
{
    return FORWARD(f, xShmUnmap, delete);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = on_close,
    .xRead = on_read,
    .xWrite = on_write,
    .xTruncate = on_truncate,
    .xSync = on_sync,
    .xFileSize = on_size,
    .xLock = on_lock,
    .xUnlock = on_unlock,
    .xCheckReservedLock = on_check_lock,
    .xFileControl = on_control,
    .xSectorSize = on_sector,
    .xDeviceCharacteristics = on_device,
    .xShmMap = on_shm_map,
    .xShmLock = on_shm_lock,
    .xShmBarrier = on_shm_barrier,
    .xShmUnmap = on_shm_unmap,
};

static int on_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *out_flags)
{
    (void)v;
    struct shim_file *file = (struct shim_file *)f;
    memset(file, 0, sizeof *file);
    file->real = (sqlite3_file *)(file + 1);
    int rc = real_vfs->xOpen(real_vfs, name, file->real, flags, out_flags);
    if (file->real->pMethods)
        file->base.pMethods = &methods;
    if (!rc && hooks->opened)
        hooks->opened(file, name, flags);
    return rc;
}

/* The rest of the real VFS looks at its own state only through the pointer it is given. */
static int on_remove(sqlite3_vfs *v, const char *name, int sync)
{
    (void)v;
    return (hooks->remove ? hooks->remove : shim_remove)(name, sync);
}

static int on_access(sqlite3_vfs *v, const char *name, int flags, int *out)
{
    (void)v;
    return real_vfs->xAccess(real_vfs, name, flags, out);
}

static int on_path(sqlite3_vfs *v, const char *name, int n, char *out)
{
    (void)v;
    return real_vfs->xFullPathname(real_vfs, name, n, out);
}

static int on_sleep(sqlite3_vfs *v, int microseconds)
{
    (void)v;
    if (hooks->slept)
        hooks->slept();
    return real_vfs->xSleep(real_vfs, microseconds);
}

static int on_last_error(sqlite3_vfs *v, int n, char *out)
{
    (void)v;
    (void)n;
    (void)out;
    return 0;
}

void shim_vfs_install(const struct shim_hooks *h)
{
    hooks = h;
    real_vfs = sqlite3_vfs_find(NULL);
    vfs = *real_vfs;
    vfs.zName = "shim";
    vfs.pNext = NULL;
    vfs.szOsFile = (int)sizeof(struct shim_file) + real_vfs->szOsFile;
    vfs.xOpen = on_open;
    vfs.xDelete = on_remove;
    vfs.xAccess = on_access;
    vfs.xFullPathname = on_path;
    vfs.xSleep = on_sleep;
    vfs.xGetLastError = on_last_error;
    (void)sqlite3_vfs_register(&vfs, 1);
}
