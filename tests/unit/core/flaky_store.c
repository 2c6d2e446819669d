#include "tests/unit/core/flaky_store.h"

#include <pthread.h>
#include <stdlib.h>

static bool fails(struct flaky *f)
{
    f->calls++;
    if (f->left < 0 || f->left-- > 0)
        return false;
    f->failures++;
    return true;
}

static enum err failure(const struct flaky *f, enum err otherwise)
{
    return f->err ? f->err : otherwise;
}

/* -- rows */

struct flaky_store {
    struct store base;
    struct store *real;
    struct flaky *flaky;
};

struct flaky_txn {
    struct store_txn base;
    struct store_txn *real;
    struct flaky *flaky;
};

struct call {
    struct flaky_store *store;
    store_fn fn;
    void *arg;
    pthread_mutex_t mutex; /* over the rest, of a write */
    pthread_cond_t ended;
    bool has_ended;
    enum err result;
};

static struct flaky_store *store_of(struct store *s)
{
    return (struct flaky_store *)s;
}

static enum err call_fn(struct store_txn *txn, void *arg)
{
    const struct call *c = arg;
    struct flaky_txn outer = {{&c->store->base}, txn, c->store->flaky};
    return c->fn(&outer.base, c->arg);
}

static void call_ended(void *ctx, enum err result)
{
    struct call *c = ctx;
    (void)pthread_mutex_lock(&c->mutex);
    c->result = result;
    c->has_ended = true;
    (void)pthread_cond_signal(&c->ended);
    (void)pthread_mutex_unlock(&c->mutex);
}

/* Whatever is below, all is done when this returns, and `done` is called on the caller's thread. */
static enum err flaky_write(struct store *s, store_fn fn, void *arg, store_done_fn done, void *done_ctx)
{
    struct call c = {.store = store_of(s), .fn = fn, .arg = arg};
    if (fails(store_of(s)->flaky))
        return failure(store_of(s)->flaky, ERR_UNAVAILABLE);
    (void)pthread_mutex_init(&c.mutex, NULL);
    (void)pthread_cond_init(&c.ended, NULL);
    enum err e = store_of(s)->real->ops->write(store_of(s)->real, call_fn, &c, call_ended, &c);
    (void)pthread_mutex_lock(&c.mutex);
    while (!e && !c.has_ended)
        (void)pthread_cond_wait(&c.ended, &c.mutex);
    (void)pthread_mutex_unlock(&c.mutex);
    (void)pthread_cond_destroy(&c.ended);
    (void)pthread_mutex_destroy(&c.mutex);
    if (!e && done)
        done(done_ctx, c.result);
    return e;
}

static enum err flaky_read(struct store *s, store_fn fn, void *arg)
{
    struct call c = {.store = store_of(s), .fn = fn, .arg = arg};
    return store_of(s)->real->ops->read(store_of(s)->real, call_fn, &c);
}

static void flaky_listen(struct store *s, store_listener listener, void *ctx)
{
    store_of(s)->real->ops->listen(store_of(s)->real, listener, ctx);
}

static void flaky_before_commit(struct store *s, void (*begin)(void *ctx), enum err (*end)(void *ctx),
                                void *ctx)
{
    store_of(s)->real->ops->before_commit(store_of(s)->real, begin, end, ctx);
}

static void flaky_stats(struct store *s, struct store_stats *out)
{
    store_of(s)->real->ops->stats(store_of(s)->real, out);
}

static void flaky_close(struct store *s)
{
    store_of(s)->real->ops->close(store_of(s)->real);
    free(s);
}

#define REAL(txn) (((struct flaky_txn *)(txn))->real)
#define FAIL_MAYBE(txn)                                                                                      \
    if (fails(((struct flaky_txn *)(txn))->flaky))                                                           \
    return failure(((struct flaky_txn *)(txn))->flaky, ERR_STORAGE_FULL)

static enum err flaky_insert(struct store_txn *txn, enum record_kind kind, void *row)
{
    FAIL_MAYBE(txn);
    return store_insert(REAL(txn), kind, row);
}

static enum err flaky_update(struct store_txn *txn, enum record_kind kind, const void *row)
{
    FAIL_MAYBE(txn);
    return store_update(REAL(txn), kind, row);
}

static enum err flaky_put(struct store_txn *txn, enum record_kind kind, const void *row)
{
    FAIL_MAYBE(txn);
    return store_put(REAL(txn), kind, row);
}

static enum err flaky_remove(struct store_txn *txn, enum record_kind kind, const void *row)
{
    FAIL_MAYBE(txn);
    return store_remove(REAL(txn), kind, row);
}

static enum err flaky_get(struct store_txn *txn, enum record_kind kind, struct arena *arena, void *row)
{
    FAIL_MAYBE(txn);
    return store_get(REAL(txn), kind, arena, row);
}

static enum err flaky_find(struct store_txn *txn, enum query q, const struct store_value *args,
                           size_t num_args, int64_t limit, struct arena *arena, void **out_rows,
                           size_t *out_count)
{
    FAIL_MAYBE(txn);
    return REAL(txn)->store->ops->find(REAL(txn), q, args, num_args, limit, arena, out_rows, out_count);
}

static enum err flaky_count(struct store_txn *txn, enum query q, const struct store_value *args,
                            size_t num_args, int64_t *out_count)
{
    FAIL_MAYBE(txn);
    return REAL(txn)->store->ops->count(REAL(txn), q, args, num_args, out_count);
}

static enum err flaky_notify(struct store_txn *txn, const char *topic)
{
    FAIL_MAYBE(txn);
    return store_notify(REAL(txn), topic);
}

static const struct store_ops store_ops = {
    .name = "flaky",
    .write = flaky_write,
    .read = flaky_read,
    .listen = flaky_listen,
    .before_commit = flaky_before_commit,
    .stats = flaky_stats,
    .close = flaky_close,
    .insert = flaky_insert,
    .update = flaky_update,
    .put = flaky_put,
    .remove = flaky_remove,
    .get = flaky_get,
    .find = flaky_find,
    .count = flaky_count,
    .notify = flaky_notify,
};

enum err flaky_store_over(struct flaky *f, struct store *real, struct store **out)
{
    struct flaky_store *s = calloc(1, sizeof *s);
    if (!s)
        return ERR_NO_MEMORY;
    *s = (struct flaky_store){.base = {&store_ops}, .real = real, .flaky = f};
    *out = &s->base;
    return ERR_OK;
}

enum err flaky_store_open(struct flaky *f, struct store **out)
{
    struct store *real;
    enum err e = store_memory_open(&real);
    return e ? e : flaky_store_over(f, real, out);
}

/* -- weights */

struct flaky_blobs {
    struct blobs base;
    struct blobs *real;
    struct flaky *flaky;
};

struct blob_put {
    struct flaky_blobs *blobs;
    struct blob_put *real;
    bool is_resumed;
};

static struct flaky_blobs *blobs_of(struct blobs *b)
{
    return (struct flaky_blobs *)b;
}

static enum err flaky_put_begin(struct blobs *b, struct blob_put **out)
{
    if (fails(blobs_of(b)->flaky))
        return failure(blobs_of(b)->flaky, ERR_STORAGE_FULL);
    struct blob_put *p = calloc(1, sizeof *p);
    if (!p)
        return ERR_NO_MEMORY;
    p->blobs = blobs_of(b);
    enum err e = p->blobs->real->ops->put_begin(p->blobs->real, &p->real);
    if (e)
        free(p);
    else
        *out = p;
    return e;
}

static enum err flaky_put_write(struct blob_put *p, const void *bytes, size_t n)
{
    if (fails(p->blobs->flaky))
        return failure(p->blobs->flaky, ERR_STORAGE_FULL);
    return p->blobs->real->ops->put_write(p->real, bytes, n);
}

static bool flaky_put_has_room(struct blob_put *p, size_t n)
{
    return p->blobs->real->ops->put_has_room(p->real, n);
}

static bool flaky_is_full(struct blobs *b)
{
    return blobs_of(b)->real->ops->is_full(blobs_of(b)->real);
}

static enum err flaky_make_room(struct blobs *b)
{
    return blobs_of(b)->real->ops->make_room(blobs_of(b)->real);
}

static void flaky_put_abort(struct blob_put *p)
{
    p->blobs->real->ops->put_abort(p->real);
    free(p);
}

/* Like the real ones, it frees p whatever happens, and leaves what put_resume finds where it had been
 * resumed.
 */
static enum err flaky_put_end(struct blob_put *p, int64_t *out_id)
{
    int64_t id, size;
    struct flaky *flaky = p->blobs->flaky;
    const struct blob_ops *real = p->blobs->real->ops;
    if (!fails(flaky)) {
        enum err e = real->put_end(p->real, out_id);
        free(p);
        return e;
    }
    enum err e = failure(flaky, ERR_STORAGE_FULL);
    if (!p->is_resumed)
        real->put_abort(p->real);
    else if (real->put_pause(p->real, &id, &size))
        e = ERR_NOT_FOUND; /* it was removed meanwhile */
    free(p);
    return e;
}

static enum err flaky_put_pause(struct blob_put *p, int64_t *out_id, int64_t *out_size)
{
    struct flaky *flaky = p->blobs->flaky;
    enum err e = p->blobs->real->ops->put_pause(p->real, out_id, out_size);
    free(p);
    return !e && fails(flaky) ? failure(flaky, ERR_STORAGE_FULL) : e;
}

static enum err flaky_put_resume(struct blobs *b, int64_t id, struct blob_put **out, int64_t *out_size)
{
    struct blob_put *p = calloc(1, sizeof *p);
    if (!p)
        return ERR_NO_MEMORY;
    p->blobs = blobs_of(b);
    enum err e = fails(p->blobs->flaky)
                     ? failure(p->blobs->flaky, ERR_STORAGE_FULL)
                     : p->blobs->real->ops->put_resume(p->blobs->real, id, &p->real, out_size);
    p->is_resumed = true;
    if (e)
        free(p);
    else
        *out = p;
    return e;
}

static enum err flaky_size(struct blobs *b, int64_t id, int64_t *out_size)
{
    return blobs_of(b)->real->ops->size(blobs_of(b)->real, id, out_size);
}

static enum err flaky_blob_read(struct blobs *b, int64_t id, int64_t offset, void *out, size_t n)
{
    if (blobs_of(b)->flaky->bad_blob && id == blobs_of(b)->flaky->bad_blob)
        return blobs_of(b)->flaky->bad_err;
    if (fails(blobs_of(b)->flaky))
        return failure(blobs_of(b)->flaky, ERR_STORAGE_FULL);
    return blobs_of(b)->real->ops->read(blobs_of(b)->real, id, offset, out, n);
}

static enum err flaky_blob_remove(struct blobs *b, int64_t id)
{
    return blobs_of(b)->real->ops->remove(blobs_of(b)->real, id);
}

static enum err flaky_commit(struct blobs *b)
{
    if (fails(blobs_of(b)->flaky))
        return failure(blobs_of(b)->flaky, ERR_STORAGE_FULL);
    return blobs_of(b)->real->ops->commit(blobs_of(b)->real);
}

static int64_t flaky_commit_begin(struct blobs *b)
{
    return blobs_of(b)->real->ops->commit_begin(blobs_of(b)->real);
}

static enum err flaky_commit_end(struct blobs *b, int64_t begun)
{
    if (fails(blobs_of(b)->flaky))
        return failure(blobs_of(b)->flaky, ERR_STORAGE_FULL);
    return blobs_of(b)->real->ops->commit_end(blobs_of(b)->real, begun);
}

static enum err flaky_collect(struct blobs *b, bool (*is_named)(void *ctx, int64_t id), void *ctx,
                              int64_t *out_removed)
{
    return blobs_of(b)->real->ops->collect(blobs_of(b)->real, is_named, ctx, out_removed);
}

static bool flaky_has_garbage(struct blobs *b)
{
    return blobs_of(b)->real->ops->has_garbage(blobs_of(b)->real);
}

static int64_t flaky_total_bytes(struct blobs *b)
{
    return blobs_of(b)->real->ops->total_bytes(blobs_of(b)->real);
}

static void flaky_blobs_close(struct blobs *b)
{
    blobs_of(b)->real->ops->close(blobs_of(b)->real);
    free(b);
}

static const struct blob_ops blob_ops = {
    .name = "flaky",
    .put_begin = flaky_put_begin,
    .put_write = flaky_put_write,
    .put_has_room = flaky_put_has_room,
    .is_full = flaky_is_full,
    .make_room = flaky_make_room,
    .put_end = flaky_put_end,
    .put_abort = flaky_put_abort,
    .put_pause = flaky_put_pause,
    .put_resume = flaky_put_resume,
    .size = flaky_size,
    .read = flaky_blob_read,
    .remove = flaky_blob_remove,
    .commit = flaky_commit,
    .commit_begin = flaky_commit_begin,
    .commit_end = flaky_commit_end,
    .has_garbage = flaky_has_garbage,
    .collect = flaky_collect,
    .total_bytes = flaky_total_bytes,
    .close = flaky_blobs_close,
};

enum err flaky_blobs_over(struct flaky *f, struct blobs *real, struct blobs **out)
{
    struct flaky_blobs *b = calloc(1, sizeof *b);
    if (!b)
        return ERR_NO_MEMORY;
    *b = (struct flaky_blobs){.base = {&blob_ops}, .real = real, .flaky = f};
    *out = &b->base;
    return ERR_OK;
}

enum err flaky_blobs_open(struct flaky *f, struct blobs **out)
{
    struct blobs *real;
    enum err e = blobs_memory_open(&real);
    return e ? e : flaky_blobs_over(f, real, out);
}
