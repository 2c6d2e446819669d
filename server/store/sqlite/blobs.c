#include "server/store/sqlite/blobs.h"
#include <stdlib.h>
#include <string.h>
#include "common/base/log.h"
#include "server/store/sqlite/location.h"

static struct sqlite_blobs *blobs_of(struct blobs *b)
{
    return (struct sqlite_blobs *)b;
}

static bool sqlite_is_full(struct blobs *base)
{
    struct sqlite_blobs *b = blobs_of(base);
    (void)pthread_mutex_lock(&b->state);
    bool is_full = b->held_bytes >= HELD_BYTES;
    (void)pthread_mutex_unlock(&b->state);
    return is_full;
}

static enum err sqlite_make_room(struct blobs *base)
{
    return blob_flusher_make_room(blobs_of(base));
}

/* True: the answer lies in memory, in *out_error; else it is the file's. With `state` held. */
static bool know_size(const struct sqlite_blobs *b, int64_t id, struct blob_object **out, enum err *out_error,
                      int64_t *out_size)
{
    *out = idmap_get(&b->objects, id);
    if (!*out)
        return false;
    *out_error = (*out)->wanted == OBJECT_ENDED ? ERR_OK : ERR_NOT_FOUND;
    if (!*out_error)
        *out_size = (*out)->size;
    return true;
}

/* In the file; with `io` held. */
static enum err whole_size(struct sqlite_blobs *b, int64_t id, int64_t *out_size)
{
    int64_t size = 0;
    enum err e = blob_file_size(b, id, &size);
    if (!e && size < 0)
        e = ERR_NOT_FOUND;
    if (!e)
        *out_size = size;
    return e;
}

static enum err sqlite_size(struct blobs *base, int64_t id, int64_t *out_size)
{
    struct sqlite_blobs *b = blobs_of(base);
    struct blob_object *o;
    enum err e = ERR_OK;
    (void)pthread_mutex_lock(&b->state);
    bool is_known = know_size(b, id, &o, &e, out_size);
    (void)pthread_mutex_unlock(&b->state);
    if (is_known)
        return e;
    (void)pthread_mutex_lock(&b->io);
    e = whole_size(b, id, out_size);
    (void)pthread_mutex_unlock(&b->io);
    return e;
}

static enum err check_range(int64_t size, int64_t offset, size_t n)
{
    bool fits = offset >= 0 && offset <= size && n <= (uint64_t)(size - offset);
    return fits ? ERR_OK : ERR_RANGE_NOT_SATISFIABLE;
}

static enum err sqlite_read(struct blobs *base, int64_t id, int64_t offset, void *out, size_t n)
{
    struct sqlite_blobs *b = blobs_of(base);
    struct blob_object *o;
    enum err e = ERR_OK;
    int64_t size = 0;
    size_t in_file = n;
    (void)pthread_mutex_lock(&b->state);
    bool is_known = know_size(b, id, &o, &e, &size);
    if (is_known && !e)
        e = check_range(size, offset, n);
    if (is_known && !e)
        in_file = object_read(o, offset, out, n);
    (void)pthread_mutex_unlock(&b->state);
    if (e || !in_file)
        return e;
    /* What was not in memory a moment ago is in the file: chunks only move that way. */
    (void)pthread_mutex_lock(&b->io);
    if (!is_known)
        e = whole_size(b, id, &size);
    if (!e && !is_known)
        e = check_range(size, offset, n);
    if (!e)
        e = blob_file_read(b, id, offset, out, in_file);
    (void)pthread_mutex_unlock(&b->io);
    return e;
}

/* One that is in the file only. Of an upload or a removal that was cut short the size is not known. */
static enum err drop_from_file(struct sqlite_blobs *b, int64_t id, int64_t size)
{
    struct blob_object *o,
        values = {
            .id = id, .size = size < 0 ? INT64_MAX : size, .wanted = OBJECT_DROPPED, .is_in_file = true};
    (void)pthread_mutex_lock(&b->state);
    enum err e = idmap_get(&b->objects, id) ? ERR_OK : object_add(b, &values, &o);
    if (!e && size > 0)
        b->total_bytes -= size;
    (void)pthread_mutex_unlock(&b->state);
    return e;
}

/* With `io` held no flush and no other remove runs, so what memory does not know stays so. */
static enum err remove_with_io(struct sqlite_blobs *b, int64_t id)
{
    struct blob_object *o;
    int64_t size = 0;
    enum err e = ERR_OK;
    (void)pthread_mutex_lock(&b->state);
    bool is_known = know_size(b, id, &o, &e, &size);
    if (is_known && o->wanted == OBJECT_PAUSED)
        e = ERR_OK;
    if (is_known && o->wanted == OBJECT_OPEN && !o->is_removed) {
        o->is_removed = true;
        e = ERR_OK;
    } else if (is_known && !e) {
        object_want(b, o, OBJECT_DROPPED);
        b->total_bytes -= size;
    }
    (void)pthread_mutex_unlock(&b->state);
    if (is_known)
        return e;
    e = blob_file_size(b, id, &size);
    return e ? e : drop_from_file(b, id, size);
}

static enum err sqlite_remove(struct blobs *base, int64_t id)
{
    struct sqlite_blobs *b = blobs_of(base);
    (void)pthread_mutex_lock(&b->io);
    enum err e = remove_with_io(b, id);
    (void)pthread_mutex_unlock(&b->io);
    return e;
}

static bool has_waiting(struct sqlite_blobs *b)
{
    (void)pthread_mutex_lock(&b->state);
    bool has_work = b->waiting.first || b->garbage.first;
    (void)pthread_mutex_unlock(&b->state);
    return has_work;
}

static enum err sqlite_commit(struct blobs *base)
{
    struct sqlite_blobs *b = blobs_of(base);
    if (!has_waiting(b))
        return ERR_OK;
    (void)pthread_mutex_lock(&b->io);
    enum err e = blobs_flush(b, false);
    (void)pthread_mutex_unlock(&b->io);
    return e;
}

static int64_t sqlite_commit_begin(struct blobs *base)
{
    return blob_flusher_begin(blobs_of(base));
}

static enum err sqlite_commit_end(struct blobs *base, int64_t begun)
{
    return blob_flusher_end(blobs_of(base), begun) ? ERR_OK : sqlite_commit(base);
}

static bool sqlite_has_garbage(struct blobs *base)
{
    struct sqlite_blobs *b = blobs_of(base);
    (void)pthread_mutex_lock(&b->state);
    bool has_garbage = b->garbage.first != NULL;
    (void)pthread_mutex_unlock(&b->state);
    return has_garbage;
}

static enum err collect_one(struct sqlite_blobs *b, bool (*is_named)(void *ctx, int64_t id), void *ctx,
                            int64_t id, int64_t *removed)
{
    if (is_named(ctx, id))
        return ERR_OK;
    enum err e = sqlite_remove(&b->base, id);
    if (e == ERR_NOT_FOUND) /* its removal was cut short */
        e = drop_from_file(b, id, SIZE_REMOVED);
    if (!e)
        ++*removed;
    return e;
}

static enum err sqlite_collect(struct blobs *base, bool (*is_named)(void *ctx, int64_t id), void *ctx,
                               int64_t *out_removed)
{
    struct sqlite_blobs *b = blobs_of(base);
    int64_t *ids = NULL;
    size_t count = 0;
    *out_removed = 0;
    enum err e = sqlite_commit(base);
    if (e)
        return e;
    (void)pthread_mutex_lock(&b->io);
    e = blob_file_ids(b, &ids, &count);
    (void)pthread_mutex_unlock(&b->io);
    for (size_t i = 0; !e && i < count; i++)
        e = collect_one(b, is_named, ctx, ids[i], out_removed);
    free(ids);
    return e;
}

static int64_t sqlite_total_bytes(struct blobs *base)
{
    struct sqlite_blobs *b = blobs_of(base);
    (void)pthread_mutex_lock(&b->state);
    int64_t total = b->total_bytes;
    (void)pthread_mutex_unlock(&b->state);
    return total;
}

static void blobs_free(struct sqlite_blobs *b)
{
    blob_flusher_stop(b);
    objects_release(b);
    blob_file_close(b);
    location_release(b->lock);
    (void)pthread_cond_destroy(&b->flusher_changed);
    (void)pthread_mutex_destroy(&b->state);
    (void)pthread_mutex_destroy(&b->io);
    free(b);
}

static void sqlite_close(struct blobs *base)
{
    struct sqlite_blobs *b = blobs_of(base);
    if (b->open.first)
        bug("the blobs were closed while an upload ran");
    blob_flusher_stop(b);
    if (sqlite_commit(base))
        log_error("store", "blobs that no run names yet were lost at the end");
    blobs_free(b);
}

static const struct blob_ops sqlite_ops = {
    .name = "sqlite",
    .put_begin = blob_put_begin,
    .put_write = blob_put_write,
    .put_has_room = blob_put_has_room,
    .is_full = sqlite_is_full,
    .make_room = sqlite_make_room,
    .put_end = blob_put_end,
    .put_abort = blob_put_abort,
    .put_pause = blob_put_pause,
    .put_resume = blob_put_resume,
    .size = sqlite_size,
    .read = sqlite_read,
    .remove = sqlite_remove,
    .commit = sqlite_commit,
    .commit_begin = sqlite_commit_begin,
    .commit_end = sqlite_commit_end,
    .has_garbage = sqlite_has_garbage,
    .collect = sqlite_collect,
    .total_bytes = sqlite_total_bytes,
    .close = sqlite_close,
};

enum err blobs_sqlite_open(const char *path, struct blobs **out, struct fault *fault)
{
    struct sqlite_blobs *b = calloc(1, sizeof *b);
    if (!b)
        return fault_set(fault, ERR_NO_MEMORY, NULL, "no memory to open %s", path);
    b->base.ops = &sqlite_ops;
    b->lock = -1;
    if (pthread_mutex_init(&b->io, NULL) || pthread_mutex_init(&b->state, NULL) ||
        pthread_cond_init(&b->flusher_changed, NULL)) {
        free(b);
        return fault_set(fault, ERR_NO_MEMORY, NULL, "no memory to open %s", path);
    }
    enum err e = location_take(path, &b->lock, fault);
    if (!e)
        e = blob_file_open(b, path, fault);
    if (!e && (e = blob_flusher_start(b)))
        e = fault_set(fault, e, NULL, "cannot start a thread for %s", path);
    if (e) {
        blobs_free(b);
        return e;
    }
    *out = &b->base;
    return ERR_OK;
}
