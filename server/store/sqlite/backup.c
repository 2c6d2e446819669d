#include "server/store/backup.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "server/store/sqlite/blobs.h"
#include "server/store/sqlite/copy.h"
#include "server/store/sqlite/location.h"

/* Of a step: 2 MiB of blobs, for which the writer waits; 1 MiB of metadata, for which nobody does. */
#define BLOB_PAGES  64
#define META_PAGES  256
#define SYNC_STEPS  8 /* a copy is never far behind on its disk, so that no step waits for that */
#define READ_ONLY   "PRAGMA query_only = ON;"
#define UNTOUCHED   "PRAGMA trusted_schema = OFF;"
#define TO_THE_DISK "cannot write the copy in %.300s: %s. See that its disk has room, then try again"

static enum err join(const char *dir, const char *name, char out[PATH_MAX], struct fault *fault)
{
    int n = snprintf(out, PATH_MAX, "%s/%s", dir, name);
    if (n > 0 && n < PATH_MAX)
        return ERR_OK;
    return fault_set(fault, ERR_USAGE, NULL, "the path %.200s... is too long", dir);
}

static bool goes_on(const struct backup_watch *watch, const struct db_copy *copy)
{
    int64_t done, total;
    db_copy_bytes(copy, &done, &total);
    return !watch || watch->goes_on(watch->ctx, done, total);
}

static enum err copy_failed(enum err e, const char *to_dir, struct fault *fault)
{
    if (!e || fault->err)
        return e;
    if (e == ERR_CANCELLED)
        return fault_set(fault, e, NULL, "the copying was given up");
    return fault_set(fault, e, NULL, TO_THE_DISK, to_dir,
                     e == ERR_STORAGE_FULL ? "the disk is full" : err_name(e));
}

/* The whole of a database that nobody writes to, or that is read in a transaction. */
static enum err copy_all(sqlite3 *from, const char *to_dir, const char *name,
                         const struct backup_watch *watch, struct fault *fault)
{
    char to[PATH_MAX];
    struct db_copy *copy = NULL;
    bool is_done = false;
    enum err e = join(to_dir, name, to, fault);
    if (!e)
        e = db_copy_begin(from, to, &copy, fault);
    for (int i = 1; !e && !is_done; i++) {
        e = db_copy_step(copy, META_PAGES, &is_done);
        if (!e && i % SYNC_STEPS == 0)
            e = db_copy_sync(copy);
        if (!e && !goes_on(watch, copy))
            e = ERR_CANCELLED;
    }
    if (!e)
        e = db_copy_sync(copy);
    db_copy_end(copy);
    return copy_failed(e, to_dir, fault);
}

/* --- while a server writes --- */

struct online {
    struct sqlite_blobs *blobs;
    struct db_copy *copy;
    sqlite3 *snapshot; /* reads the metadata of the moment when the blobs were complete */
    bool is_done;
};

/* On the writer's thread, between two commits. Nothing of this transaction is in the file yet, so the
 * snapshot is what was committed last, and the blobs of that were committed before it. */
static enum err step(struct store_txn *txn, void *arg)
{
    struct online *o = arg;
    int64_t rows;
    (void)txn;
    (void)pthread_mutex_lock(&o->blobs->io);
    enum err e = db_copy_step(o->copy, BLOB_PAGES, &o->is_done);
    (void)pthread_mutex_unlock(&o->blobs->io);
    /* A second call, after another operation of its commit failed, finds the snapshot there: it is of the
     * same state. */
    if (!e && o->is_done && sqlite3_get_autocommit(o->snapshot))
        e = db_error(o->snapshot, sqlite3_exec(o->snapshot, "BEGIN", NULL, NULL, NULL), "beginning a backup");
    if (!e && o->is_done)
        e = db_int(o->snapshot, "SELECT count(*) FROM sqlite_schema", &rows);
    return e;
}

static enum err copy_blobs(struct online *o, struct store *store, const char *to_dir,
                           const struct backup_watch *watch, struct fault *fault)
{
    char to[PATH_MAX];
    enum err e = join(to_dir, BLOBS_FILE, to, fault);
    if (e)
        return e;
    (void)pthread_mutex_lock(&o->blobs->io);
    e = db_copy_begin(o->blobs->db, to, &o->copy, fault);
    (void)pthread_mutex_unlock(&o->blobs->io);
    for (int i = 1; !e && !o->is_done; i++) {
        e = store_write_wait(store, step, o);
        if (!e && i % SYNC_STEPS == 0)
            e = db_copy_sync(o->copy);
        if (!e && !goes_on(watch, o->copy))
            e = ERR_CANCELLED;
    }
    if (!e)
        e = db_copy_sync(o->copy);
    (void)pthread_mutex_lock(&o->blobs->io);
    db_copy_end(o->copy);
    (void)pthread_mutex_unlock(&o->blobs->io);
    return copy_failed(e, to_dir, fault);
}

enum err backup_online(struct store *store, struct blobs *blobs, const char *from_dir, const char *to_dir,
                       const struct backup_watch *watch, struct fault *fault)
{
    struct online o = {.blobs = (struct sqlite_blobs *)blobs};
    char path[PATH_MAX];
    enum err e = join(from_dir, STORE_FILE, path, fault);
    if (!e)
        e = db_open(path, READ_ONLY UNTOUCHED, &o.snapshot, fault);
    if (!e)
        e = copy_blobs(&o, store, to_dir, watch, fault);
    if (!e)
        e = copy_all(o.snapshot, to_dir, STORE_FILE, watch, fault);
    if (o.snapshot)
        db_rollback(o.snapshot);
    db_close(o.snapshot);
    return e;
}

/* --- while none does --- */

/* Takes the file's lock, too. */
static enum err open_closed(const char *dir, const char *name, int *lock, sqlite3 **out, struct fault *fault)
{
    char path[PATH_MAX];
    enum err e = join(dir, name, path, fault);
    if (!e && access(path, F_OK) != 0)
        e = fault_set(fault, ERR_USAGE, NULL,
                      "there is no %s: name the server's data directory with --data-dir", path);
    if (!e)
        e = location_take(path, lock, fault);
    return e ? e : db_open(path, UNTOUCHED, out, fault);
}

static enum err copy_closed(const char *from_dir, const char *to_dir, const char *name, int *lock,
                            const struct backup_watch *watch, struct fault *fault)
{
    sqlite3 *db = NULL;
    enum err e = open_closed(from_dir, name, lock, &db, fault);
    if (!e)
        e = copy_all(db, to_dir, name, watch, fault);
    db_close(db);
    return e;
}

enum err backup_offline(const char *from_dir, const char *to_dir, const struct backup_watch *watch,
                        struct fault *fault)
{
    int store_lock = -1, blobs_lock = -1;
    enum err e = copy_closed(from_dir, to_dir, STORE_FILE, &store_lock, watch, fault);
    if (!e)
        e = copy_closed(from_dir, to_dir, BLOBS_FILE, &blobs_lock, watch, fault);
    location_release(blobs_lock);
    location_release(store_lock);
    return e;
}

static enum err compact_closed(const char *dir, const char *name, int *lock, struct fault *fault)
{
    sqlite3 *db = NULL;
    enum err e = open_closed(dir, name, lock, &db, fault);
    if (!e && (e = db_error(db, sqlite3_exec(db, "VACUUM", NULL, NULL, NULL), "compacting")))
        e = fault_set(
            fault, e, NULL,
            "cannot compact %s in %.300s: %s. It is as it was. Compacting needs room for a second copy, in "
            "the directory and in the one for temporary files (SQLITE_TMPDIR names another)",
            name, dir, sqlite3_errmsg(db));
    db_close(db);
    return e;
}

enum err compact_offline(const char *dir, struct fault *fault)
{
    int store_lock = -1, blobs_lock = -1;
    enum err e = compact_closed(dir, STORE_FILE, &store_lock, fault);
    if (!e)
        e = compact_closed(dir, BLOBS_FILE, &blobs_lock, fault);
    location_release(blobs_lock);
    location_release(store_lock);
    return e;
}
