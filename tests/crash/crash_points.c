/* Makes of the server one that kills itself with SIGKILL at a chosen point: FEDLANE_CRASH_AT=KIND:WHEN:N,
 * right before or right after ("before", "after") the N-th, from 1,
 *
 * - write: of a database file, a journal or a log (cutting one short and removing it count, too); or
 * "within": half of it is written
 * - sync: of one
 * - blobs: commit of the file of blobs
 * - commit: of the metadata; "before" is between the two commits
 * - done: batch of acknowledgements; "before" is between the commit and all that follows from it
 * - reply: that is handed to the HTTP library
 * - file: step of our own at a file or folder: writing (or "within": half of it), syncing, naming, removing
 *
 * Only tests/bin/fedlane-server-crash holds this: the points are wrapped by the linker, so that
 * fedlane-server knows nothing of them. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/base/str.h"
#include "server/httpd/internal.h"
#include "server/store/sqlite/db.h"
#include "server/store/topics.h"
#include "tests/store/shim_vfs.h"

enum point {
    POINT_WRITE,
    POINT_SYNC,
    POINT_BLOBS,
    POINT_COMMIT,
    POINT_DONE,
    POINT_REPLY,
    POINT_FILE,
    POINT_COUNT
};
static const char *const point_names[POINT_COUNT] = {"write", "sync",  "blobs", "commit",
                                                     "done",  "reply", "file"};

enum when { BEFORE, AFTER, WITHIN, NUM_WHEN };
static const char *const when_names[NUM_WHEN] = {"before", "after", "within"};

static enum point point = POINT_COUNT;
static enum when when;
static int64_t number;
static atomic_int_fast64_t calls[POINT_COUNT];

/* Whether this is the call that the server does not survive. */
static bool is_last(enum point p)
{
    return p == point && atomic_fetch_add(&calls[p], 1) + 1 == number;
}

ssize_t __real_write(int fd, const void *bytes, size_t n);
ssize_t __wrap_write(int fd, const void *bytes, size_t n);

static void die(void)
{
    char line[64];
    int n = snprintf(line, sizeof line, "crash point %s:%s:%lld\n", point_names[point], when_names[when],
                     (long long)number);
    if (__real_write(STDERR_FILENO, line, (size_t)n) == n)
        (void)kill(getpid(), SIGKILL);
    for (;;)
        (void)pause();
}

static void die_if(bool is_here, enum when w)
{
    if (is_here && w == when)
        die();
}

static int crash_write(struct shim_file *f, const void *bytes, int n, sqlite3_int64 offset)
{
    bool is_here = is_last(POINT_WRITE);
    die_if(is_here, BEFORE);
    int rc = shim_write(f, bytes, is_here && when == WITHIN ? n / 2 : n, offset);
    die_if(is_here, WITHIN);
    die_if(is_here, AFTER);
    return rc;
}

static int crash_truncate(struct shim_file *f, sqlite3_int64 size)
{
    bool is_here = is_last(POINT_WRITE);
    die_if(is_here, BEFORE);
    die_if(is_here, WITHIN); /* it is whole or not at all */
    int rc = shim_truncate(f, size);
    die_if(is_here, AFTER);
    return rc;
}

static int crash_remove(const char *path, int sync_dir)
{
    bool is_here = is_last(POINT_WRITE);
    die_if(is_here, BEFORE);
    die_if(is_here, WITHIN);
    int rc = shim_remove(path, sync_dir);
    die_if(is_here, AFTER);
    return rc;
}

static int crash_sync(struct shim_file *f, int flags)
{
    bool is_here = is_last(POINT_SYNC);
    die_if(is_here, BEFORE);
    int rc = shim_sync(f, flags);
    die_if(is_here, AFTER);
    return rc;
}

enum err __real_db_run(sqlite3_stmt *stmt, const char *doing) MUST_CHECK;
enum err __wrap_db_run(sqlite3_stmt *stmt, const char *doing) MUST_CHECK;
enum err __wrap_db_run(sqlite3_stmt *stmt, const char *doing)
{
    bool is_commit = str_eq(sqlite3_sql(stmt), "COMMIT"), is_blobs = str_eq(doing, "committing blobs");
    bool is_here = is_commit && is_last(is_blobs ? POINT_BLOBS : POINT_COMMIT);
    die_if(is_here, BEFORE);
    enum err e = __real_db_run(stmt, doing);
    die_if(is_here, AFTER);
    return e;
}

void __real_topics_deliver(struct topics *t, store_listener listener, void *ctx);
void __wrap_topics_deliver(struct topics *t, store_listener listener, void *ctx);
void __wrap_topics_deliver(struct topics *t, store_listener listener, void *ctx)
{
    bool is_here = is_last(POINT_DONE);
    die_if(is_here, BEFORE);
    __real_topics_deliver(t, listener, ctx);
    die_if(is_here, AFTER);
}

enum MHD_Result __real_send_reply(struct request *rq);
enum MHD_Result __wrap_send_reply(struct request *rq);
enum MHD_Result __wrap_send_reply(struct request *rq)
{
    bool is_here = is_last(POINT_REPLY);
    die_if(is_here, BEFORE);
    enum MHD_Result result = __real_send_reply(rq);
    die_if(is_here, AFTER);
    return result;
}

/* The log is not meant. */
ssize_t __wrap_write(int fd, const void *bytes, size_t n)
{
    bool is_here = fd != STDERR_FILENO && is_last(POINT_FILE);
    die_if(is_here, BEFORE);
    ssize_t done = __real_write(fd, bytes, is_here && when == WITHIN ? n / 2 : n);
    die_if(is_here, WITHIN);
    die_if(is_here, AFTER);
    return done;
}

/* A step that is whole or not at all. */
#define STEP(name, parameters, ...)                                                                          \
    int __real_##name parameters;                                                                            \
    int __wrap_##name parameters;                                                                            \
    int __wrap_##name parameters                                                                             \
    {                                                                                                        \
        bool is_here = is_last(POINT_FILE);                                                                  \
        die_if(is_here, BEFORE);                                                                             \
        die_if(is_here, WITHIN);                                                                             \
        int rc = __real_##name(__VA_ARGS__);                                                                 \
        die_if(is_here, AFTER);                                                                              \
        return rc;                                                                                           \
    }
STEP(fsync, (int fd), fd)
STEP(mkdir, (const char *path, mode_t mode), path, mode)
STEP(unlink, (const char *path), path)
STEP(rename, (const char *from, const char *to), from, to)
STEP(renameat2, (int at, const char *from, int to_at, const char *to, unsigned flags), at, from, to_at, to,
     flags)

/* The place of the text's first word, up to a colon, among the names; count where it is none of them. */
static size_t take_word(const char **text, const char *const *names, size_t count)
{
    size_t n = strcspn(*text, ":"), i = 0;
    while (i < count && (strlen(names[i]) != n || strncmp(names[i], *text, n) != 0))
        i++;
    *text += n + ((*text)[n] == ':');
    return i;
}

__attribute__((constructor)) static void arm(void)
{
    const char *at = getenv("FEDLANE_CRASH_AT"), *rest = at;
    if (!at)
        return;
    size_t p = take_word(&rest, point_names, POINT_COUNT), w = take_word(&rest, when_names, NUM_WHEN);
    bool has_within = p == POINT_WRITE || p == POINT_FILE;
    if (p == POINT_COUNT || w == NUM_WHEN || (w == WITHIN && !has_within) ||
        str_to_i64(rest, &number) != ERR_OK || number < 1) {
        (void)fprintf(stderr, "FEDLANE_CRASH_AT=%s: must be KIND:WHEN:N, see tests/crash/crash_points.c\n",
                      at);
        _exit(2);
    }
    point = (enum point)p;
    when = (enum when)w;
    static const struct shim_hooks hooks = {
        .write = crash_write, .truncate = crash_truncate, .sync = crash_sync, .remove = crash_remove};
    shim_vfs_install(&hooks);
}
