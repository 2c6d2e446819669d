#include "tests/store/power_vfs.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/base/rng.h"
#include "tests/store/shim_vfs.h"

#define SECTOR    512 /* what a disk writes whole */
#define MAX_FILES 16
#define MAX_SIZE  ((int64_t)64 << 20)

/* What of a file is on the disk, and which sectors differ from it in the cache. */
struct disk_file {
    char path[700];
    unsigned char *synced;
    int64_t synced_size;
    bool *is_dirty;      /* by sector */
    bool has_name;       /* its entry in the folder is on the disk */
    bool is_gone;        /* removed, which the disk may not know yet */
    bool is_new_journal; /* SQLite syncs the folder together with it, once */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct power_plan plan;
static int64_t num_calls;
static struct disk_file files[MAX_FILES];
static int num_files;
static uint64_t num_draws;

static void require(bool is_fine, const char *what)
{
    if (is_fine)
        return;
    perror(what);
    _exit(3);
}

static bool survives(void)
{
    return plan.survives && rng_u64(plan.survives, num_draws++) % 2;
}

static struct disk_file *file_of(const char *path)
{
    for (int i = 0; i < num_files; i++)
        if (strcmp(files[i].path, path) == 0)
            return &files[i];
    return NULL;
}

/* ---- the cut ---- */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* From the cache onto the disk: sectors as they come, the new size with the last of them. */
static void keep_some(struct disk_file *d, int64_t size)
{
    int fd = open(d->path, O_RDONLY | O_CLOEXEC);
    int64_t new_size = size < d->synced_size && survives() ? size : d->synced_size;
    for (int64_t at = 0; fd >= 0 && at < size; at += SECTOR) {
        if (!d->is_dirty[at / SECTOR] || !survives())
            continue;
        int64_t n = least(SECTOR, size - at);
        require(pread(fd, d->synced + at, (size_t)n, at) == n, d->path);
        new_size = at + n > new_size ? at + n : new_size;
    }
    if (fd >= 0)
        (void)close(fd);
    d->synced_size = new_size;
}

static void put_back(struct disk_file *d)
{
    struct stat st;
    int64_t size = stat(d->path, &st) == 0 && !d->is_gone ? (int64_t)st.st_size : 0;
    bool has_name = d->has_name || (!d->is_gone && survives());
    if (d->is_gone && survives())
        has_name = false;
    if (plan.survives && !d->is_gone)
        keep_some(d, size);
    (void)unlink(d->path);
    if (!has_name)
        return;
    int fd = open(d->path, O_WRONLY | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
    require(fd >= 0 && write(fd, d->synced, (size_t)d->synced_size) == d->synced_size && close(fd) == 0,
            d->path);
}

static _Noreturn void cut(void)
{
    for (int i = 0; i < num_files; i++)
        put_back(&files[i]);
    _exit(POWER_CUT);
}

/* With the lock held, which the cut keeps: no other thread writes after it. */
static void count(void)
{
    if (++num_calls == plan.cut_at)
        cut();
}

/* ---- SQLite's calls ---- */

/* All of it is on the disk now. */
static void read_synced(struct disk_file *d, const struct shim_file *f)
{
    sqlite3_file *real = f->real;
    sqlite3_int64 size = 0;
    require(real->pMethods->xFileSize(real, &size) == SQLITE_OK && size <= MAX_SIZE, d->path);
    require(size == 0 || real->pMethods->xRead(real, d->synced, (int)size, 0) == SQLITE_OK, d->path);
    d->synced_size = size;
    memset(d->is_dirty, 0, MAX_SIZE / SECTOR * sizeof *d->is_dirty);
}

static struct disk_file *new_file(const char *path, const struct shim_file *f)
{
    require(num_files < MAX_FILES && strlen(path) < sizeof files[0].path, "too many files");
    struct disk_file *d = &files[num_files++];
    (void)snprintf(d->path, sizeof d->path, "%s", path);
    d->synced = calloc(1, (size_t)MAX_SIZE);
    d->is_dirty = calloc((size_t)MAX_SIZE / SECTOR, sizeof *d->is_dirty);
    require(d->synced && d->is_dirty, "memory");
    read_synced(d, f);
    d->has_name = d->synced_size > 0; /* what is empty was made just now */
    return d;
}

static void power_opened(struct shim_file *f, const char *path, int flags)
{
    if (!path)
        return;
    (void)pthread_mutex_lock(&mutex);
    struct disk_file *d = file_of(path);
    if (!d)
        d = new_file(path, f);
    d->is_gone =
        false; /* one that was removed may find its old self on the disk, until the folder is synced */
    if (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL))
        d->is_new_journal = true;
    f->state = d;
    (void)pthread_mutex_unlock(&mutex);
}

static int power_write(struct shim_file *f, const void *bytes, int n, sqlite3_int64 offset)
{
    struct disk_file *d = f->state;
    if (!d)
        return shim_write(f, bytes, n, offset);
    (void)pthread_mutex_lock(&mutex);
    count();
    require(offset + n <= MAX_SIZE, "the file is too large");
    for (int64_t at = offset / SECTOR; at * SECTOR < offset + n; at++)
        d->is_dirty[at] = true;
    int rc = shim_write(f, bytes, n, offset);
    (void)pthread_mutex_unlock(&mutex);
    return rc;
}

static int power_truncate(struct shim_file *f, sqlite3_int64 size)
{
    (void)pthread_mutex_lock(&mutex);
    count();
    int rc = shim_truncate(f, size);
    (void)pthread_mutex_unlock(&mutex);
    return rc;
}

static int power_sync(struct shim_file *f, int flags)
{
    struct disk_file *d = f->state;
    (void)flags;
    (void)pthread_mutex_lock(&mutex);
    count();
    if (d && !plan.syncs_lie) {
        read_synced(d, f);
        for (int i = 0; d->is_new_journal && i < num_files; i++)
            files[i].has_name = !files[i].is_gone;
        d->is_new_journal = false;
    }
    (void)pthread_mutex_unlock(&mutex);
    return SQLITE_OK;
}

static int power_remove(const char *path, int sync_dir)
{
    (void)pthread_mutex_lock(&mutex);
    count();
    struct disk_file *d = file_of(path);
    if (d) {
        d->is_gone = true;
        d->has_name = d->has_name && !sync_dir;
    }
    int rc = shim_remove(path, sync_dir);
    (void)pthread_mutex_unlock(&mutex);
    return rc;
}

void power_vfs_install(const struct power_plan *p)
{
    plan = *p;
    static const struct shim_hooks hooks = {.opened = power_opened,
                                            .write = power_write,
                                            .truncate = power_truncate,
                                            .sync = power_sync,
                                            .remove = power_remove};
    shim_vfs_install(&hooks);
}
