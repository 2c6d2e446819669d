#include "tests/store/fault_vfs.h"
#include <pthread.h>
#include <stdatomic.h>
#include "tests/store/shim_vfs.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static enum disk_fault fault_kind;
static int calls_left, faults_left;
static bool has_failed;
static atomic_int num_sleeps;

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

static int fault_write(struct shim_file *f, const void *bytes, int n, sqlite3_int64 offset)
{
    enum disk_fault kind;
    if (fails(&kind))
        return kind == DISK_FULL ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    return shim_write(f, bytes, n, offset);
}

static int fault_truncate(struct shim_file *f, sqlite3_int64 size)
{
    enum disk_fault kind;
    return fails(&kind) ? SQLITE_IOERR_TRUNCATE : shim_truncate(f, size);
}

static int fault_sync(struct shim_file *f, int flags)
{
    enum disk_fault kind;
    return fails(&kind) ? SQLITE_IOERR_FSYNC : shim_sync(f, flags);
}

static void note_sleep(void)
{
    atomic_fetch_add(&num_sleeps, 1);
}

int fault_vfs_sleeps(void)
{
    return atomic_load(&num_sleeps);
}

void fault_vfs_install(void)
{
    static const struct shim_hooks hooks = {
        .write = fault_write, .truncate = fault_truncate, .sync = fault_sync, .slept = note_sleep};
    shim_vfs_install(&hooks);
}
