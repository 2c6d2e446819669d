#include "server/store/sqlite/blobs.h"
#include <stdlib.h>
#include <string.h>
#include "common/base/log.h"
#include "server/store/sqlite/location.h"

struct blob_put {
    struct sqlite_blobs *blobs;
    struct blob_object *object;
    struct buf filling; /* the chunk that is not full yet */
    size_t chunk_size;
    bool is_resumed; /* what came before outlives a failure */
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

static bool sqlite_is_full(struct blobs *base)
{
    struct sqlite_blobs *b = blobs_of(base);
    (void)pthread_mutex_lock(&b->state);
    bool is_full = b->pending_bytes >= PENDING_BYTES;
    (void)pthread_mutex_unlock(&b->state);
    return is_full;
}

/* Where much has gathered, who brings more writes it out first: no upload is faster than the disk. */
static enum err sqlite_make_room(struct blobs *base)
{
    struct sqlite_blobs *b = blobs_of(base);
    if (!sqlite_is_full(base))
        return ERR_OK;
    (void)pthread_mutex_lock(&b->io);
    enum err e = sqlite_is_full(base) ? blobs_flush(b, true) : ERR_OK;
    (void)pthread_mutex_unlock(&b->io);
    return e;
}

static enum err hand_over_chunk(struct blob_put *p)
{
    struct sqlite_blobs *b = p->blobs;
    enum err e = sqlite_make_room(&b->base);
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

static void put_give_up(struct blob_put *p, int wanted)
{
    struct sqlite_blobs *b = p->blobs;
    (void)pthread_mutex_lock(&b->state);
    object_want(b, p->object, p->object->is_removed ? OBJECT_DROPPED : wanted);
    (void)pthread_mutex_unlock(&b->state);
    put_free(p);
}

static void sqlite_put_abort(struct blob_put *p)
{
    put_give_up(p, OBJECT_DROPPED);
}

/* A chunk begins at a multiple of CHUNK_UNIT, so what lies behind the last one is a chunk of its own: the
 * upload goes on by writing that anew. */
static enum err hand_over_rest(struct blob_put *p)
{
    size_t rest = p->filling.len % (size_t)CHUNK_UNIT;
    char tail[CHUNK_UNIT];
    enum err e = ERR_OK;
    if (rest && rest < p->filling.len) {
        p->filling.len -= rest;
        memcpy(tail, p->filling.data + p->filling.len, rest);
        e = hand_over_chunk(p);
        if (!e)
            e = buf_append(&p->filling, tail, rest);
    }
    return !e && p->filling.len ? hand_over_chunk(p) : e;
}

static enum err sqlite_put_pause(struct blob_put *p, int64_t *out_id, int64_t *out_size)
{
    struct sqlite_blobs *b = p->blobs;
    enum err e = hand_over_rest(p);
    (void)pthread_mutex_lock(&b->state);
    *out_id = p->object->id;
    *out_size = p->object->size;
    bool is_removed = p->object->is_removed;
    object_want(b, p->object, is_removed ? OBJECT_DROPPED : OBJECT_PAUSED);
    (void)pthread_mutex_unlock(&b->state);
    put_free(p);
    return is_removed ? ERR_NOT_FOUND : e;
}

/* With `io` held and nothing of it in memory. */
static enum err resume_from_file(struct sqlite_blobs *b, int64_t id, struct blob_put *p)
{
    int64_t size = 0, offset = 0, tail = 0;
    enum err e = blob_file_size(b, id, &size);
    if (!e && size >= 0)
        e = ERR_NOT_FOUND;
    if (!e)
        e = blob_file_tail(b, id, &offset, &tail);
    if (!e && tail % CHUNK_UNIT == 0) {
        offset += tail;
        tail = 0;
    }
    if (!e)
        e = buf_reserve(&p->filling, (size_t)tail);
    if (!e)
        e = blob_file_read(b, id, offset, p->filling.data, (size_t)tail);
    if (e)
        return e;
    p->filling.len = (size_t)tail;
    struct blob_object values = {.id = id, .size = offset, .wanted = OBJECT_OPEN, .is_in_file = true};
    (void)pthread_mutex_lock(&b->state);
    e = object_add(b, &values, &p->object);
    p->chunk_size = next_chunk_size(b);
    (void)pthread_mutex_unlock(&b->state);
    while (p->chunk_size < p->filling.len)
        p->chunk_size += (size_t)CHUNK_UNIT;
    return e;
}

static enum err resume_with_io(struct sqlite_blobs *b, int64_t id, struct blob_put *p)
{
    (void)pthread_mutex_lock(&b->state);
    const struct blob_object *o = idmap_get(&b->objects, id);
    bool is_paused = o && o->wanted == OBJECT_PAUSED;
    enum err e = !o || is_paused ? ERR_OK : o->wanted == OBJECT_OPEN ? ERR_CONFLICT : ERR_NOT_FOUND;
    (void)pthread_mutex_unlock(&b->state);
    if (!e && is_paused)
        e = blobs_flush(b, false);
    return e ? e : resume_from_file(b, id, p);
}

static enum err sqlite_put_resume(struct blobs *base, int64_t id, struct blob_put **out, int64_t *out_size)
{
    struct sqlite_blobs *b = blobs_of(base);
    struct blob_put *p = calloc(1, sizeof *p);
    if (!p)
        return ERR_NO_MEMORY;
    p->blobs = b;
    p->is_resumed = true;
    buf_init(&p->filling, LIMIT_BLOB_CHUNK);
    (void)pthread_mutex_lock(&b->io);
    enum err e = resume_with_io(b, id, p);
    (void)pthread_mutex_unlock(&b->io);
    if (e) {
        put_free(p);
        return e;
    }
    *out = p;
    *out_size = p->object->size + (int64_t)p->filling.len;
    return ERR_OK;
}

static enum err sqlite_put_end(struct blob_put *p, int64_t *out_id)
{
    enum err e = p->filling.len ? hand_over_chunk(p) : ERR_OK;
    if (e) {
        put_give_up(p, p->is_resumed ? OBJECT_PAUSED : OBJECT_DROPPED);
        return e;
    }
    struct sqlite_blobs *b = p->blobs;
    (void)pthread_mutex_lock(&b->state);
    *out_id = p->object->id;
    bool is_removed = p->object->is_removed;
    b->total_bytes += is_removed ? 0 : p->object->size;
    object_want(b, p->object, is_removed ? OBJECT_DROPPED : OBJECT_ENDED);
    (void)pthread_mutex_unlock(&b->state);
    put_free(p);
    return is_removed ? ERR_NOT_FOUND : ERR_OK;
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
    .put_begin = sqlite_put_begin,
    .put_write = sqlite_put_write,
    .is_full = sqlite_is_full,
    .make_room = sqlite_make_room,
    .put_end = sqlite_put_end,
    .put_abort = sqlite_put_abort,
    .put_pause = sqlite_put_pause,
    .put_resume = sqlite_put_resume,
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
