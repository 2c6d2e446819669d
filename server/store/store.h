/* Where runs, rounds, tasks, devices and everything about them live. Backends are tables of functions:
 * store/memory (for `fedlane simulate` and tests) and store/sqlite.
 *
 * A write is a function and its argument. The backend runs it inside a transaction; many writes may share one
 * commit. A function that returns an error leaves no trace. `done` is called
 * after the commit (or the failure), never before: what it acknowledges is durable. Functions run one at a
 * time, in the order they were queued, so they may keep state that only they touch. They must not wait for
 * anything.
 *
 * After an error, its own or that of the commit, nothing in the store has changed and nobody is notified; who
 * asked may queue it again. Before its `done` a function may also be called a second time on the state that
 * it found the first time: when another one of its commit failed after it had changed something, all begin
 * anew. So it must fill its outputs anew each time it is called. What else it touches (a cache, what is
 * remembered of progress and of who was seen) is not undone: it must be right, or harmless, when the commit
 * fails after it. */
#ifndef FEDLANE_STORE_STORE_H
#define FEDLANE_STORE_STORE_H

#include <stdbool.h>
#include "common/base/arena.h"
#include "server/store/queries.h"

struct store;
struct store_txn;

typedef enum err (*store_fn)(struct store_txn *txn, void *arg);
typedef void (*store_done_fn)(void *ctx, enum err result);
/* After a commit, once for each distinct topic its functions notified, on the thread that committed. Must be
 * quick. */
typedef void (*store_listener)(void *ctx, const char *topic);

struct store_value {
    enum { VALUE_ANY, VALUE_TEXT, VALUE_INT, VALUE_REAL } type;
    const char *text;
    int64_t integer;
    double real;
};
static inline struct store_value store_text(const char *v)
{
    return (struct store_value){.type = VALUE_TEXT, .text = v};
}
static inline struct store_value store_int(int64_t v)
{
    return (struct store_value){.type = VALUE_INT, .integer = v};
}
/* For an optional condition: leave it out. */
static const struct store_value store_any = {.type = VALUE_ANY};
/* A filter that is absent when the text is NULL. */
static inline struct store_value store_text_or_any(const char *v)
{
    return v ? store_text(v) : store_any;
}

struct store_stats {
    int64_t commits, operations; /* since the start */
    int64_t queued;              /* operations that wait now */
    int64_t size_bytes;          /* of the database, 0 in memory */
};

struct store_ops {
    const char *name;
    /* Queues; never blocks on the disk. `done` may be NULL. ERR_UNAVAILABLE (and no call of done) when the
     * queue is full or the store is closing. The memory backend runs fn and done before it returns. */
    enum err (*write)(struct store *s, store_fn fn, void *arg, store_done_fn done, void *done_ctx) MUST_CHECK;
    /* A consistent snapshot, on the calling thread; fn must not write. */
    enum err (*read)(struct store *s, store_fn fn, void *arg) MUST_CHECK;
    void (*listen)(struct store *s, store_listener listener,
                   void *ctx); /* one listener; before the first write */
    /* Both on the committing thread. `begin` before the operations of a commit run: what they name is there
     * already; it may be NULL. `end` before each commit of an operation that succeeded; an error fails the
     * batch: every operation of it gets that error, as when the commit itself fails (ERR_STORAGE_FULL,
     * ERR_UNAVAILABLE, ERR_NO_MEMORY, ERR_INTERNAL). Before the first write. */
    void (*before_commit)(struct store *s, void (*begin)(void *ctx), enum err (*end)(void *ctx), void *ctx);
    void (*stats)(struct store *s, struct store_stats *out);
    void (*close)(struct store *s); /* runs what is queued, then releases everything */

    /* Within a transaction. Rows are the structs of records.h; texts that go out lie in the arena. */
    /* ERR_CONFLICT where the key or another unique column is taken. An event's id 0 is filled in. */
    enum err (*insert)(struct store_txn *txn, enum record_kind kind, void *row) MUST_CHECK;
    enum err (*update)(struct store_txn *txn, enum record_kind kind, const void *row)
        MUST_CHECK; /* whole row but FIXED_TABLE's columns, by key; ERR_NOT_FOUND */
    enum err (*put)(struct store_txn *txn, enum record_kind kind,
                    const void *row) MUST_CHECK; /* insert or replace, by key */
    enum err (*remove)(struct store_txn *txn, enum record_kind kind,
                       const void *row) MUST_CHECK; /* by the key columns of row; ERR_NOT_FOUND */
    /* By the key columns already set in row; the rest is filled. ERR_NOT_FOUND leaves row as it was. */
    enum err (*get)(struct store_txn *txn, enum record_kind kind, struct arena *arena, void *row) MUST_CHECK;
    /* args: one value per condition. limit 0: no limit. *out_rows is an array of the record's struct,
     * ties in the order broken by the key. A real that is NaN meets no condition. */
    enum err (*find)(struct store_txn *txn, enum query q, const struct store_value *args, size_t num_args,
                     int64_t limit, struct arena *arena, void **out_rows, size_t *out_count) MUST_CHECK;
    enum err (*count)(struct store_txn *txn, enum query q, const struct store_value *args, size_t num_args,
                      int64_t *out_count) MUST_CHECK;
    /* Tells the listener `topic` after the commit. Topics: "run:ID" (an event was added), "device:ID" and
     * "worker:ID" (a task may be claimed), "token:ID" (it ended, or has another secret), "events" (any
     * event), "advance" (the core has work). */
    enum err (*notify)(struct store_txn *txn, const char *topic) MUST_CHECK;
};

/* Every backend's struct begins with this; so does every transaction's. */
struct store {
    const struct store_ops *ops;
};
struct store_txn {
    struct store *store;
};

/* Thin calls through the table. */
#define store_insert(txn, kind, row)     ((txn)->store->ops->insert((txn), (kind), (row)))
#define store_update(txn, kind, row)     ((txn)->store->ops->update((txn), (kind), (row)))
#define store_put(txn, kind, row)        ((txn)->store->ops->put((txn), (kind), (row)))
#define store_remove(txn, kind, row)     ((txn)->store->ops->remove((txn), (kind), (row)))
#define store_get(txn, kind, arena, row) ((txn)->store->ops->get((txn), (kind), (arena), (row)))
#define store_notify(txn, topic)         ((txn)->store->ops->notify((txn), (topic)))
/* store_find(txn, QUERY_X, arena, limit, &rows, &count, value, value...) */
#define store_find(txn, query, arena, limit, out_rows, out_count, ...)                                       \
    ((txn)->store->ops->find((txn), (query), (const struct store_value[]){__VA_ARGS__},                      \
                             sizeof((const struct store_value[]){__VA_ARGS__}) / sizeof(struct store_value), \
                             (limit), (arena), (void **)(out_rows), (out_count)))
#define store_count(txn, query, out_count, ...)                                                              \
    ((txn)->store->ops->count(                                                                               \
        (txn), (query), (const struct store_value[]){__VA_ARGS__},                                           \
        sizeof((const struct store_value[]){__VA_ARGS__}) / sizeof(struct store_value), (out_count)))

/* Queues and waits for the commit: for a thread that may block (not the writer's own). Returns fn's or the
 * commit's error. */
enum err store_write_wait(struct store *s, store_fn fn, void *arg) MUST_CHECK;

enum err store_memory_open(struct store **out) MUST_CHECK;
/* Opens or makes `path`; migrates to the newest schema. Faults: a newer schema, a network file system, an
 * unwritable directory, a second process on the same file, a file that is no database. */
enum err store_sqlite_open(const char *path, struct store **out, struct fault *fault) MUST_CHECK;

#endif
