#include "server/store/sqlite/blobs.h"
#include <stdlib.h>
#include "common/base/log.h"
#include "server/store/sqlite/location.h"

struct blob_put {
    struct sqlite_blobs *blobs;
    struct blob_object *object;
    struct buf filling; /* the chunk that is not full yet */
    size_t chunk_size;
};

static struct sqlite_blobs *blobs_of(struct blobs *b)
{
    return (struct sqlite_blobs *)b;
}

/* The more uploads run, the smaller the chunks that they gather in memory. With `state` held. */
static size_t next_chunk_size(const struct sqlite_blobs *b)
{
    int64_t share = FILLING_BYTES / (b->num_open > 0 ? b->num_open : 1) / CHUNK_UNIT * CHUNK_UNIT;
    if (share < CHUNK_UNIT)
        share = CHUNK_UNIT;
    return share < (int64_t)LIMIT_BLOB_CHUNK ? (size_t)share : LIMIT_BLOB_CHUNK;
}

static enum err sqlite_put_begin(struct blobs *base, struct blob_put **out)
{
    struct sqlite_blobs *b = blobs_of(base);
    struct blob_put *p = calloc(1, sizeof *p);
    if (!p)
        return ERR_NO_MEMORY;
    p->blobs = b;
    buf_init(&p->filling, LIMIT_BLOB_CHUNK);
    (void)pthread_mutex_lock(&b->state);
    struct blob_object values = {.id = b->last_id + 1, .wanted = OBJECT_OPEN};
    enum err e = object_add(b, &values, &p->object);
    if (!e)
        b->last_id++;
    p->chunk_size = next_chunk_size(b);
    (void)pthread_mutex_unlock(&b->state);
    if (e)
        free(p);
    else
        *out = p;
    return e;
}

/* Where much has gathered, who brings more writes it out first: no upload is faster than the disk. */
static enum err make_room(struct sqlite_blobs *b)
{
    (void)pthread_mutex_lock(&b->state);
    bool is_full = b->pending_bytes >= PENDING_BYTES;
    (void)pthread_mutex_unlock(&b->state);
    if (!is_full)
        return ERR_OK;
    (void)pthread_mutex_lock(&b->io);
    (void)pthread_mutex_lock(&b->state);
    is_full = b->pending_bytes >= PENDING_BYTES;
    (void)pthread_mutex_unlock(&b->state);
    enum err e = is_full ? blobs_flush(b, true) : ERR_OK;
    (void)pthread_mutex_unlock(&b->io);
    return e;
}

static enum err hand_over_chunk(struct blob_put *p)
{
    struct sqlite_blobs *b = p->blobs;
    enum err e = make_room(b);
    if (e)
        return e;
    (void)pthread_mutex_lock(&b->state);
    e = object_append(b, p->object, &p->filling);
    p->chunk_size = next_chunk_size(b);
    (void)pthread_mutex_unlock(&b->state);
    return e;
}

static enum err sqlite_put_write(struct blob_put *p, const void *bytes, size_t n)
{
    /* Only this upload changes the object's size. */
    if (n > (size_t)LIMIT_BLOB_BYTES - (size_t)p->object->size - p->filling.len)
        return ERR_PAYLOAD_TOO_LARGE;
    enum err e = ERR_OK;
    while (n && !e) {
        size_t room = p->chunk_size - p->filling.len, take = n < room ? n : room;
        e = buf_append(&p->filling, bytes, take);
        bytes = (const char *)bytes + take;
        n -= take;
        if (!e && p->filling.len == p->chunk_size)
            e = hand_over_chunk(p);
    }
    return e;
}

static void put_free(struct blob_put *p)
{
    buf_release(&p->filling);
    free(p);
}

static void sqlite_put_abort(struct blob_put *p)
{
    struct sqlite_blobs *b = p->blobs;
    (void)pthread_mutex_lock(&b->state);
    object_want(b, p->object, OBJECT_DROPPED);
    (void)pthread_mutex_unlock(&b->state);
    put_free(p);
}

static enum err sqlite_put_end(struct blob_put *p, int64_t *out_id)
{
    enum err e = p->filling.len ? hand_over_chunk(p) : ERR_OK;
    if (e) {
        sqlite_put_abort(p);
        return e;
    }
    struct sqlite_blobs *b = p->blobs;
    (void)pthread_mutex_lock(&b->state);
    *out_id = p->object->id;
    b->total_bytes += p->object->size;
    object_want(b, p->object, OBJECT_ENDED);
    (void)pthread_mutex_unlock(&b->state);
    put_free(p);
    return ERR_OK;
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
    e = blob_file_size(b, id, out_size);
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
        e = blob_file_size(b, id, &size);
    if (!e && !is_known)
        e = check_range(size, offset, n);
    if (!e)
        e = blob_file_read(b, id, offset, out, in_file);
    (void)pthread_mutex_unlock(&b->io);
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
    if (is_known && !e) {
        object_want(b, o, OBJECT_DROPPED);
        b->total_bytes -= size;
    }
    (void)pthread_mutex_unlock(&b->state);
    if (is_known)
        return e;
    e = blob_file_size(b, id, &size);
    if (e)
        return e;
    struct blob_object values = {.id = id, .size = size, .wanted = OBJECT_DROPPED, .is_in_file = true};
    (void)pthread_mutex_lock(&b->state);
    e = object_add(b, &values, &o);
    if (!e)
        b->total_bytes -= size;
    (void)pthread_mutex_unlock(&b->state);
    return e;
}

static enum err sqlite_remove(struct blobs *base, int64_t id)
{
    struct sqlite_blobs *b = blobs_of(base);
    (void)pthread_mutex_lock(&b->io);
    enum err e = remove_with_io(b, id);
    (void)pthread_mutex_unlock(&b->io);
    return e;
}

static enum err sqlite_commit(struct blobs *base)
{
    struct sqlite_blobs *b = blobs_of(base);
    (void)pthread_mutex_lock(&b->state);
    bool has_work = b->waiting.first || b->garbage.first;
    (void)pthread_mutex_unlock(&b->state);
    if (!has_work)
        return ERR_OK;
    (void)pthread_mutex_lock(&b->io);
    enum err e = blobs_flush(b, false);
    (void)pthread_mutex_unlock(&b->io);
    return e;
}

static bool sqlite_has_garbage(struct blobs *base)
{
    struct sqlite_blobs *b = blobs_of(base);
    (void)pthread_mutex_lock(&b->state);
    bool has_garbage = b->garbage.first != NULL;
    (void)pthread_mutex_unlock(&b->state);
    return has_garbage;
}

/* An upload or a removal that a crash cut short has a row, but no size. */
static enum err drop_unfinished(struct sqlite_blobs *b, int64_t id)
{
    struct blob_object *o,
        values = {.id = id, .size = INT64_MAX, .wanted = OBJECT_DROPPED, .is_in_file = true};
    (void)pthread_mutex_lock(&b->state);
    enum err e = idmap_get(&b->objects, id) ? ERR_OK : object_add(b, &values, &o);
    (void)pthread_mutex_unlock(&b->state);
    return e;
}

static enum err collect_one(struct sqlite_blobs *b, bool (*is_named)(void *ctx, int64_t id), void *ctx,
                            int64_t id, int64_t *removed)
{
    int64_t size;
    enum err e = sqlite_size(&b->base, id, &size);
    if (e && e != ERR_NOT_FOUND)
        return e;
    if (!e && is_named(ctx, id))
        return ERR_OK;
    e = e ? drop_unfinished(b, id) : sqlite_remove(&b->base, id);
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
    objects_release(b);
    blob_file_close(b);
    location_release(b->lock);
    (void)pthread_mutex_destroy(&b->state);
    (void)pthread_mutex_destroy(&b->io);
    free(b);
}

static void sqlite_close(struct blobs *base)
{
    struct sqlite_blobs *b = blobs_of(base);
    if (b->open.first)
        bug("the blobs were closed while an upload ran");
    if (sqlite_commit(base))
        log_error("store", "blobs that no run names yet were lost at the end");
    blobs_free(b);
}

static const struct blob_ops sqlite_ops = {
    .name = "sqlite",
    .put_begin = sqlite_put_begin,
    .put_write = sqlite_put_write,
    .put_end = sqlite_put_end,
    .put_abort = sqlite_put_abort,
    .size = sqlite_size,
    .read = sqlite_read,
    .remove = sqlite_remove,
    .commit = sqlite_commit,
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
    if (pthread_mutex_init(&b->io, NULL) || pthread_mutex_init(&b->state, NULL)) {
        free(b);
        return fault_set(fault, ERR_NO_MEMORY, NULL, "no memory to open %s", path);
    }
    enum err e = location_take(path, &b->lock, fault);
    if (!e)
        e = blob_file_open(b, path, fault);
    if (e) {
        blobs_free(b);
        return e;
    }
    *out = &b->base;
    return ERR_OK;
}
