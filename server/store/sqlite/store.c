#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "server/store/sqlite/location.h"
#include "server/store/sqlite/migrate.h"
#include "server/store/sqlite/readers.h"
#include "server/store/sqlite/writer.h"

#define APPLICATION_ID 0x464c6d64 /* "FLmd": tells a Fedlane database from others */

/* The checkpointer copies the log into the database, so SQLite's own checkpoint is off. */
static const char pragmas[] = "PRAGMA journal_mode = WAL;"
                              "PRAGMA synchronous = FULL;"
                              "PRAGMA foreign_keys = ON;"
                              "PRAGMA trusted_schema = OFF;"
                              "PRAGMA temp_store = MEMORY;"
                              "PRAGMA cache_size = -8192;" /* of db.c's pool */
                              "PRAGMA journal_size_limit = 67108864;"
                              "PRAGMA wal_autocheckpoint = 0;";

struct sqlite_store {
    struct store base;
    char path[PATH_MAX];
    int lock;
    struct writer *writer;
    struct readers readers;
    struct checkpointer checkpointer;
};

static struct sqlite_store *store_of(struct store *s)
{
    return (struct sqlite_store *)s;
}

static enum err sqlite_write(struct store *s, store_fn fn, void *arg, store_done_fn done, void *done_ctx)
{
    return writer_queue(store_of(s)->writer, fn, arg, done, done_ctx);
}

static enum err sqlite_read(struct store *s, store_fn fn, void *arg)
{
    return readers_run(&store_of(s)->readers, s, fn, arg);
}

static void sqlite_listen(struct store *s, store_listener listener, void *ctx)
{
    writer_listen(store_of(s)->writer, listener, ctx);
}

static void sqlite_before_commit(struct store *s, void (*begin)(void *ctx), enum err (*end)(void *ctx),
                                 void *ctx)
{
    writer_before_commit(store_of(s)->writer, begin, end, ctx);
}

static int64_t file_size(const char *path, const char *suffix)
{
    char name[PATH_MAX + 8];
    struct stat st;
    (void)snprintf(name, sizeof name, "%s%s", path, suffix);
    return stat(name, &st) ? 0 : (int64_t)st.st_size;
}

static void sqlite_stats(struct store *s, struct store_stats *out)
{
    writer_stats(store_of(s)->writer, out);
    out->size_bytes = file_size(store_of(s)->path, "") + file_size(store_of(s)->path, "-wal");
}

static void sqlite_close(struct store *base)
{
    struct sqlite_store *s = store_of(base);
    writer_stop(s->writer);
    checkpointer_stop(&s->checkpointer);
    readers_release(&s->readers);
    writer_free(s->writer);
    location_release(s->lock);
    free(s);
}

static struct conn *conn_of(struct store_txn *txn)
{
    return ((struct sqlite_txn *)txn)->conn;
}

static struct conn *writable(struct store_txn *txn)
{
    if (!((struct sqlite_txn *)txn)->topics)
        bug("a read changed the store");
    return conn_of(txn);
}

static enum err sqlite_insert(struct store_txn *txn, enum record_kind kind, void *row)
{
    return conn_insert(writable(txn), kind, row);
}

static enum err sqlite_update(struct store_txn *txn, enum record_kind kind, const void *row)
{
    return conn_update(writable(txn), kind, row);
}

static enum err sqlite_put(struct store_txn *txn, enum record_kind kind, const void *row)
{
    return conn_put(writable(txn), kind, row);
}

static enum err sqlite_remove(struct store_txn *txn, enum record_kind kind, const void *row)
{
    return conn_remove(writable(txn), kind, row);
}

static enum err sqlite_get(struct store_txn *txn, enum record_kind kind, struct arena *arena, void *row)
{
    return conn_get(conn_of(txn), kind, arena, row);
}

static enum err sqlite_find(struct store_txn *txn, enum query q, const struct store_value *args,
                            size_t num_args, int64_t limit, struct arena *arena, void **out_rows,
                            size_t *out_count)
{
    schema_check_args(q, args, num_args);
    return conn_find(conn_of(txn), q, args, limit, arena, out_rows, out_count);
}

static enum err sqlite_count(struct store_txn *txn, enum query q, const struct store_value *args,
                             size_t num_args, int64_t *out_count)
{
    schema_check_args(q, args, num_args);
    return conn_count(conn_of(txn), q, args, out_count);
}

static enum err sqlite_notify(struct store_txn *txn, const char *topic)
{
    (void)writable(txn);
    return topics_add(((struct sqlite_txn *)txn)->topics, topic);
}

static const struct store_ops sqlite_ops = {
    .name = "sqlite",
    .write = sqlite_write,
    .read = sqlite_read,
    .listen = sqlite_listen,
    .before_commit = sqlite_before_commit,
    .stats = sqlite_stats,
    .close = sqlite_close,
    .insert = sqlite_insert,
    .update = sqlite_update,
    .put = sqlite_put,
    .remove = sqlite_remove,
    .get = sqlite_get,
    .find = sqlite_find,
    .count = sqlite_count,
    .notify = sqlite_notify,
};

/* The writer's connection, with the newest schema. */
static enum err open_database(struct sqlite_store *s, struct conn **out, struct fault *fault)
{
    struct conn *conn = NULL;
    enum err e = conn_new(s->path, pragmas, &conn, fault);
    if (!e)
        e = migrate(conn->db, s->path, APPLICATION_ID, sql_migrations, sql_migrations_count, fault);
    if (!e)
        e = conn_prepare_all(conn, fault);
    if (e)
        conn_free(conn);
    else
        *out = conn;
    return e;
}

static enum err start(struct sqlite_store *s, struct fault *fault)
{
    struct conn *conn = NULL;
    enum err e = open_database(s, &conn, fault);
    if (e)
        return e;
    e = readers_init(&s->readers, s->path);
    if (e) {
        conn_free(conn);
        return fault_set(fault, e, NULL, "no memory to open %s", s->path);
    }
    e = checkpointer_start(&s->checkpointer, s->path, &s->readers, fault);
    if (e) {
        readers_release(&s->readers);
        conn_free(conn);
        return e;
    }
    e = writer_new(&s->base, conn, &s->readers, &s->checkpointer, &s->writer);
    if (e) {
        checkpointer_stop(&s->checkpointer);
        readers_release(&s->readers);
        return fault_set(fault, e, NULL, "cannot start the writer of %s", s->path);
    }
    return ERR_OK;
}

enum err store_sqlite_open(const char *path, struct store **out, struct fault *fault)
{
    struct sqlite_store *s = calloc(1, sizeof *s);
    if (!s)
        return fault_set(fault, ERR_NO_MEMORY, NULL, "no memory to open %s", path);
    s->base.ops = &sqlite_ops;
    s->lock = -1;
    enum err e = location_take(path, &s->lock, fault);
    if (!e) {
        (void)snprintf(s->path, sizeof s->path, "%s", path);
        e = start(s, fault);
    }
    if (e) {
        location_release(s->lock);
        free(s);
        return e;
    }
    *out = &s->base;
    return ERR_OK;
}
