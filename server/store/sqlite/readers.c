#include "server/store/sqlite/readers.h"
#include <stdlib.h>
#include "common/base/log.h"

static const char pragmas[] = "PRAGMA query_only = ON;"
                              "PRAGMA trusted_schema = OFF;"
                              "PRAGMA temp_store = MEMORY;"
                              "PRAGMA cache_size = -256;";

enum err readers_init(struct readers *r, const char *path)
{
    *r = (struct readers){.path = path};
    atomic_init(&r->commits, 0);
    return pthread_mutex_init(&r->mutex, NULL) ? ERR_NO_MEMORY : ERR_OK;
}

static enum err reader_new(const char *path, struct reader **out)
{
    struct reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return ERR_NO_MEMORY;
    struct fault fault = FAULT_NONE;
    enum err e = conn_new(path, pragmas, &reader->conn, &fault);
    if (e)
        log_error("store", "%s", fault.detail);
    if (!e)
        e = db_prepare(reader->conn->db, "BEGIN", &reader->begin);
    if (!e)
        e = db_prepare(reader->conn->db, "COMMIT", &reader->end);
    if (e) {
        conn_free(reader->conn);
        free(reader);
        return e == ERR_NO_MEMORY ? e : ERR_UNAVAILABLE;
    }
    *out = reader;
    return ERR_OK;
}

static enum err take(struct readers *r, struct reader **out)
{
    (void)pthread_mutex_lock(&r->mutex);
    struct reader *reader = r->idle;
    if (reader)
        r->idle = reader->next;
    (void)pthread_mutex_unlock(&r->mutex);
    if (!reader)
        return reader_new(r->path, out);
    *out = reader;
    return ERR_OK;
}

/* An error may have taken the transaction with it. */
static void end(struct reader *reader)
{
    if (reader->is_open && !sqlite3_get_autocommit(reader->conn->db) && db_run(reader->end, "ending a read"))
        db_rollback(reader->conn->db);
    reader->is_open = false;
}

/* The number of commits is read first: what the transaction then sees is that or newer. */
static enum err begin(struct readers *r, struct reader *reader)
{
    uint64_t commits = atomic_load(&r->commits);
    if (reader->is_open && reader->commits == commits)
        return ERR_OK;
    end(reader);
    reader->commits = commits;
    enum err e = db_run(reader->begin, "beginning a read");
    reader->is_open = !e;
    return e;
}

static void give_back(struct readers *r, struct reader *reader)
{
    if (reader->commits != atomic_load(&r->commits) || sqlite3_get_autocommit(reader->conn->db))
        end(reader);
    (void)pthread_mutex_lock(&r->mutex);
    reader->next = r->idle;
    r->idle = reader;
    (void)pthread_mutex_unlock(&r->mutex);
}

enum err readers_run(struct readers *r, struct store *store, store_fn fn, void *arg)
{
    struct reader *reader;
    enum err e = take(r, &reader);
    if (e)
        return e;
    struct sqlite_txn txn = {.base = {store}, .conn = reader->conn};
    e = begin(r, reader);
    if (!e)
        e = fn(&txn.base, arg);
    give_back(r, reader);
    return e;
}

void readers_note_commit(struct readers *r)
{
    atomic_fetch_add(&r->commits, 1);
}

void readers_let_go(struct readers *r)
{
    (void)pthread_mutex_lock(&r->mutex);
    for (struct reader *reader = r->idle; reader; reader = reader->next)
        end(reader);
    (void)pthread_mutex_unlock(&r->mutex);
}

void readers_release(struct readers *r)
{
    while (r->idle) {
        struct reader *reader = r->idle;
        r->idle = reader->next;
        conn_free(reader->conn);
        free(reader);
    }
    (void)pthread_mutex_destroy(&r->mutex);
}
