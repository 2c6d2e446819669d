#include "server/store/sqlite/pace.h"
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes after which the disk is asked to begin, or has to have them. */
#define AHEAD_BYTES ((sqlite3_int64)512 * 1024)
#define PIECE_BYTES ((sqlite3_int64)256 * 1024)
/* What is set aside at once: an eighth of the file, at most 8 MiB. */
#define RESERVE_SHARE 8
#define RESERVE_BYTES ((sqlite3_int64)8 * 1024 * 1024)

/* SQLite's part comes first; the real file lies behind. */
struct paced_file {
    sqlite3_file base;
    sqlite3_file *real;
    int fd;                        /* our own on the same file; -1: in pieces */
    sqlite3_int64 from, to, bytes; /* written since the disk was last asked: all lies in [from, to) */
    sqlite3_int64 reserved;        /* the blocks before it are set aside, or that was tried */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* over these as they are made */
static sqlite3_vfs *real_vfs;
static sqlite3_vfs ahead_vfs, pieces_vfs;

static struct paced_file *paced(sqlite3_file *f)
{
    return (struct paced_file *)f;
}

#define FORWARD(f, method, ...) paced(f)->real->pMethods->method(paced(f)->real, __VA_ARGS__)

static void nothing_written(struct paced_file *p)
{
    p->from = p->to = p->bytes = 0;
}

static int on_sync(sqlite3_file *f, int flags)
{
    nothing_written(paced(f));
    return FORWARD(f, xSync, flags);
}

static int on_write(sqlite3_file *f, const void *bytes, int n, sqlite3_int64 offset)
{
    struct paced_file *p = paced(f);
    int rc = FORWARD(f, xWrite, bytes, n, offset);
    p->from = p->bytes && p->from < offset ? p->from : offset;
    p->to = p->to > offset + n ? p->to : offset + n;
    p->bytes += n;
    if (rc || p->bytes < (p->fd < 0 ? PIECE_BYTES : AHEAD_BYTES))
        return rc;
    if (p->fd < 0)
        return on_sync(f, SQLITE_SYNC_NORMAL);
    /* Only begins. What goes wrong the next sync says: it looks at the file, whoever had it written. */
    (void)sync_file_range(p->fd, p->from, p->to - p->from, SYNC_FILE_RANGE_WRITE);
    nothing_written(p);
    return rc;
}

/* The file is about to have `size` bytes. Its length does not change here, and a disk that cannot set blocks
 * aside, or is full, is none the worse: the writes themselves will tell. */
static void reserve(struct paced_file *p, sqlite3_int64 size)
{
    if (p->fd < 0 || size <= p->reserved)
        return;
    sqlite3_int64 more = size / RESERVE_SHARE < RESERVE_BYTES ? size / RESERVE_SHARE : RESERVE_BYTES;
    (void)fallocate(p->fd, FALLOC_FL_KEEP_SIZE, p->reserved, size + more - p->reserved);
    p->reserved = size + more;
}

static int on_control(sqlite3_file *f, int op, void *arg)
{
    if (op == SQLITE_FCNTL_SIZE_HINT)
        reserve(paced(f), *(sqlite3_int64 *)arg);
    return FORWARD(f, xFileControl, op, arg);
}

static int on_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    paced(f)->reserved = size; /* what was set aside behind it is free again */
    return FORWARD(f, xTruncate, size);
}

/* Ours last: closing any descriptor of a file ends the process's locks on it. */
static int on_close(sqlite3_file *f)
{
    int rc = paced(f)->real->pMethods->xClose(paced(f)->real);
    if (paced(f)->fd >= 0)
        (void)close(paced(f)->fd);
    return rc;
}

static int on_read(sqlite3_file *f, void *out, int n, sqlite3_int64 offset)
{
    return FORWARD(f, xRead, out, n, offset);
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

static int on_sector(sqlite3_file *f)
{
    return paced(f)->real->pMethods->xSectorSize(paced(f)->real);
}

static int on_device(sqlite3_file *f)
{
    return paced(f)->real->pMethods->xDeviceCharacteristics(paced(f)->real);
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
    paced(f)->real->pMethods->xShmBarrier(paced(f)->real);
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
    if (!(flags & SQLITE_OPEN_MAIN_DB)) /* a journal or a log: as ever */
        return real_vfs->xOpen(real_vfs, name, f, flags, out_flags);
    struct paced_file *p = paced(f);
    *p = (struct paced_file){.real = (sqlite3_file *)(p + 1), .fd = -1};
    int rc = real_vfs->xOpen(real_vfs, name, p->real, flags, out_flags);
    if (p->real->pMethods)
        p->base.pMethods = &methods;
    struct stat st;
    if (!rc && v == &ahead_vfs)
        p->fd = open(name, O_RDWR | O_CLOEXEC);
    if (p->fd >= 0 && fstat(p->fd, &st) == 0)
        p->reserved = st.st_size;
    return rc;
}

static int add(sqlite3_vfs *v, const char *name)
{
    *v = *real_vfs; /* what is not replaced looks at its own state only through the pointer it is given */
    v->zName = name;
    v->pNext = NULL;
    v->szOsFile += (int)sizeof(struct paced_file);
    v->xOpen = on_open;
    return sqlite3_vfs_register(v, 0);
}

/* Over SQLite's own, or what a test has put in its place before it opens a database. */
static int add_both(void)
{
    sqlite3_vfs *default_vfs = sqlite3_vfs_find(NULL);
    if (default_vfs == real_vfs)
        return SQLITE_OK;
    real_vfs = default_vfs;
    int rc = add(&ahead_vfs, "fedlane-ahead");
    return rc ? rc : add(&pieces_vfs, "fedlane-pieces");
}

const char *pace_vfs(enum pace pace)
{
    if (pace == PACE_NONE)
        return NULL;
    (void)pthread_mutex_lock(&mutex);
    int rc = add_both();
    (void)pthread_mutex_unlock(&mutex);
    return rc ? NULL : pace == PACE_AHEAD ? ahead_vfs.zName : pieces_vfs.zName;
}
