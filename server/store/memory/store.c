#include <pthread.h>
#include <stdlib.h>
#include "server/store/memory/table.h"
#include "server/store/topics.h"

struct memory_store {
    struct store base;
    pthread_rwlock_t lock; /* over the tables */
    struct memory_table tables[RECORD_COUNT];
    struct memory_undo undo;
    store_listener listener;
    void *listener_ctx;
    void (*begin_hook)(void *ctx);
    enum err (*before_commit)(void *ctx);
    void *before_commit_ctx;
    int64_t commits, operations;
};

struct memory_txn {
    struct store_txn base;
    struct topics topics;
    bool is_write;
};

static struct memory_store *store_of(struct store *s)
{
    return (struct memory_store *)s;
}

static struct memory_table *table_of(struct store_txn *txn, enum record_kind kind)
{
    return &store_of(txn->store)->tables[kind];
}

/* Runs fn and keeps or undoes what it did; the lock is held. */
static enum err run_write(struct memory_store *s, struct memory_txn *txn, store_fn fn, void *arg)
{
    int64_t last_numbers[RECORD_COUNT];
    for (size_t i = 0; i < RECORD_COUNT; i++)
        last_numbers[i] = s->tables[i].last_number;
    if (s->begin_hook)
        s->begin_hook(s->before_commit_ctx);
    enum err e = fn(&txn->base, arg);
    if (!e && s->before_commit)
        e = s->before_commit(s->before_commit_ctx);
    s->operations++;
    if (!e) {
        undo_commit(&s->undo);
        s->commits++;
        return ERR_OK;
    }
    undo_rollback(&s->undo);
    for (size_t i = 0; i < RECORD_COUNT; i++)
        s->tables[i].last_number = last_numbers[i];
    topics_cut(&txn->topics, 0);
    return e;
}

static enum err memory_write(struct store *base, store_fn fn, void *arg, store_done_fn done, void *done_ctx)
{
    struct memory_store *s = store_of(base);
    struct memory_txn txn = {.base = {base}, .is_write = true};
    topics_init(&txn.topics);
    (void)pthread_rwlock_wrlock(&s->lock);
    enum err result = run_write(s, &txn, fn, arg);
    (void)pthread_rwlock_unlock(&s->lock);
    /* Without the lock: both may start the next write. */
    topics_deliver(&txn.topics, s->listener, s->listener_ctx);
    topics_release(&txn.topics);
    if (done)
        done(done_ctx, result);
    return ERR_OK;
}

static enum err memory_read(struct store *base, store_fn fn, void *arg)
{
    struct memory_store *s = store_of(base);
    struct memory_txn txn = {.base = {base}};
    (void)pthread_rwlock_rdlock(&s->lock);
    enum err e = fn(&txn.base, arg);
    (void)pthread_rwlock_unlock(&s->lock);
    return e;
}

static void memory_listen(struct store *base, store_listener listener, void *ctx)
{
    store_of(base)->listener = listener;
    store_of(base)->listener_ctx = ctx;
}

static void memory_before_commit(struct store *base, void (*begin)(void *ctx), enum err (*end)(void *ctx),
                                 void *ctx)
{
    store_of(base)->begin_hook = begin;
    store_of(base)->before_commit = end;
    store_of(base)->before_commit_ctx = ctx;
}

static void memory_stats(struct store *base, struct store_stats *out)
{
    struct memory_store *s = store_of(base);
    (void)pthread_rwlock_rdlock(&s->lock);
    *out = (struct store_stats){.commits = s->commits, .operations = s->operations};
    (void)pthread_rwlock_unlock(&s->lock);
}

static void memory_close(struct store *base)
{
    struct memory_store *s = store_of(base);
    for (size_t i = 0; i < RECORD_COUNT; i++)
        table_release(&s->tables[i]);
    undo_release(&s->undo);
    (void)pthread_rwlock_destroy(&s->lock);
    free(s);
}

static struct memory_undo *undo_of(struct store_txn *txn)
{
    if (!((struct memory_txn *)txn)->is_write)
        bug("a read changed the store");
    return &store_of(txn->store)->undo;
}

static enum err memory_insert(struct store_txn *txn, enum record_kind kind, void *row)
{
    return table_insert(table_of(txn, kind), row, undo_of(txn));
}

static enum err memory_update(struct store_txn *txn, enum record_kind kind, const void *row)
{
    return table_update(table_of(txn, kind), row, undo_of(txn));
}

static enum err memory_put(struct store_txn *txn, enum record_kind kind, const void *row)
{
    return table_put(table_of(txn, kind), row, undo_of(txn));
}

static enum err memory_remove(struct store_txn *txn, enum record_kind kind, const void *row)
{
    return table_remove(table_of(txn, kind), row, undo_of(txn));
}

static enum err memory_get(struct store_txn *txn, enum record_kind kind, struct arena *arena, void *row)
{
    const void *found = table_get(table_of(txn, kind), row);
    return found ? row_copy_out(kind, found, arena, row) : ERR_NOT_FOUND;
}

static enum err memory_find(struct store_txn *txn, enum query q, const struct store_value *args,
                            size_t num_args, int64_t limit, struct arena *arena, void **out_rows,
                            size_t *out_count)
{
    schema_check_args(q, args, num_args);
    return table_find(table_of(txn, schema_query(q)->kind), q, args, limit, arena, out_rows, out_count);
}

static enum err memory_count(struct store_txn *txn, enum query q, const struct store_value *args,
                             size_t num_args, int64_t *out_count)
{
    schema_check_args(q, args, num_args);
    *out_count = table_count(table_of(txn, schema_query(q)->kind), q, args);
    return ERR_OK;
}

static enum err memory_notify(struct store_txn *txn, const char *topic)
{
    (void)undo_of(txn);
    return topics_add(&((struct memory_txn *)txn)->topics, topic);
}

static const struct store_ops memory_ops = {
    .name = "memory",
    .write = memory_write,
    .read = memory_read,
    .listen = memory_listen,
    .before_commit = memory_before_commit,
    .stats = memory_stats,
    .close = memory_close,
    .insert = memory_insert,
    .update = memory_update,
    .put = memory_put,
    .remove = memory_remove,
    .get = memory_get,
    .find = memory_find,
    .count = memory_count,
    .notify = memory_notify,
};

enum err store_memory_open(struct store **out)
{
    struct memory_store *s = calloc(1, sizeof *s);
    if (!s)
        return ERR_NO_MEMORY;
    if (pthread_rwlock_init(&s->lock, NULL)) {
        free(s);
        return ERR_NO_MEMORY;
    }
    s->base.ops = &memory_ops;
    for (size_t i = 0; i < RECORD_COUNT; i++)
        table_init(&s->tables[i], (enum record_kind)i);
    *out = &s->base;
    return ERR_OK;
}
