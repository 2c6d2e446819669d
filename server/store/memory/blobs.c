#include "server/store/blobs.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/buf.h"
#include "common/base/limits.h"
#include "server/store/idmap.h"

struct memory_blob {
    char *bytes;
    size_t size;
    bool is_paused;  /* an upload that goes on later */
    bool is_running; /* and does just now, with a copy of what is here: that stays where it fails */
};

struct memory_blobs {
    struct blobs base;
    pthread_mutex_t mutex;
    struct idmap blobs; /* struct memory_blob */
    int64_t last_id, total_bytes;
};

struct blob_put {
    struct memory_blobs *blobs;
    struct buf bytes;
    int64_t id; /* of one that was resumed; 0: none yet */
};

static struct memory_blobs *blobs_of(struct blobs *b)
{
    return (struct memory_blobs *)b;
}

static void blob_free(struct memory_blob *blob)
{
    free(blob->bytes);
    free(blob);
}

static const struct memory_blob *whole_blob(const struct memory_blobs *b, int64_t id)
{
    const struct memory_blob *blob = idmap_get(&b->blobs, id);
    return blob && !blob->is_paused ? blob : NULL;
}

static enum err memory_put_begin(struct blobs *b, struct blob_put **out)
{
    struct blob_put *p = calloc(1, sizeof *p);
    if (!p)
        return ERR_NO_MEMORY;
    p->blobs = blobs_of(b);
    buf_init(&p->bytes, (size_t)LIMIT_BLOB_BYTES);
    *out = p;
    return ERR_OK;
}

static enum err memory_put_write(struct blob_put *p, const void *bytes, size_t n)
{
    return buf_append(&p->bytes, bytes, n);
}

static void put_free(struct blob_put *p)
{
    buf_release(&p->bytes);
    free(p);
}

static void memory_put_abort(struct blob_put *p)
{
    struct memory_blobs *b = p->blobs;
    (void)pthread_mutex_lock(&b->mutex);
    struct memory_blob *blob = p->id ? idmap_remove(&b->blobs, p->id) : NULL;
    (void)pthread_mutex_unlock(&b->mutex);
    if (blob)
        blob_free(blob);
    put_free(p);
}

static bool memory_put_has_room(struct blob_put *p, size_t n)
{
    (void)p;
    (void)n;
    return true;
}

static bool memory_is_full(struct blobs *b)
{
    (void)b;
    return false;
}

static enum err memory_make_room(struct blobs *b)
{
    (void)b;
    return ERR_OK;
}

/* The rest with the mutex held. */
static enum err keep_new(struct memory_blobs *b, struct blob_put *p, bool is_paused, int64_t *out_id)
{
    struct memory_blob *blob = calloc(1, sizeof *blob);
    enum err e = blob ? idmap_reserve(&b->blobs) : ERR_NO_MEMORY;
    if (!e)
        e = buf_take(&p->bytes, &blob->bytes, &blob->size);
    if (e) {
        free(blob);
        return e;
    }
    blob->is_paused = is_paused;
    *out_id = ++b->last_id;
    idmap_set(&b->blobs, *out_id, blob);
    return ERR_OK;
}

static enum err keep_resumed(struct memory_blobs *b, struct blob_put *p, bool is_paused, int64_t *out_id)
{
    struct memory_blob *blob = idmap_get(&b->blobs, p->id);
    if (!blob)
        return ERR_NOT_FOUND; /* it was removed meanwhile */
    blob->is_running = false;
    char *bytes;
    size_t size;
    enum err e = buf_take(&p->bytes, &bytes, &size);
    if (e)
        return e;
    free(blob->bytes);
    *blob = (struct memory_blob){.bytes = bytes, .size = size, .is_paused = is_paused};
    *out_id = p->id;
    return ERR_OK;
}

static enum err put_keep(struct blob_put *p, bool is_paused, int64_t *out_id)
{
    struct memory_blobs *b = p->blobs;
    (void)pthread_mutex_lock(&b->mutex);
    enum err e = p->id ? keep_resumed(b, p, is_paused, out_id) : keep_new(b, p, is_paused, out_id);
    if (!e) {
        struct memory_blob *blob = idmap_get(&b->blobs, *out_id);
        char *exact = realloc(blob->bytes, blob->size + 1);
        blob->bytes = exact ? exact : blob->bytes;
        b->total_bytes += is_paused ? 0 : (int64_t)blob->size;
    }
    (void)pthread_mutex_unlock(&b->mutex);
    put_free(p);
    return e;
}

static enum err memory_put_end(struct blob_put *p, int64_t *out_id)
{
    return put_keep(p, false, out_id);
}

static enum err memory_put_pause(struct blob_put *p, int64_t *out_id, int64_t *out_size)
{
    *out_size = (int64_t)p->bytes.len;
    return put_keep(p, true, out_id);
}

static enum err memory_put_resume(struct blobs *base, int64_t id, struct blob_put **out, int64_t *out_size)
{
    struct memory_blobs *b = blobs_of(base);
    struct blob_put *p = NULL;
    enum err e = memory_put_begin(base, &p);
    if (e)
        return e;
    (void)pthread_mutex_lock(&b->mutex);
    struct memory_blob *blob = idmap_get(&b->blobs, id);
    e = !blob || !blob->is_paused ? ERR_NOT_FOUND
        : blob->is_running        ? ERR_CONFLICT
                                  : buf_append(&p->bytes, blob->bytes, blob->size);
    if (!e)
        blob->is_running = true;
    (void)pthread_mutex_unlock(&b->mutex);
    if (e) {
        put_free(p);
        return e;
    }
    p->id = id;
    *out_size = (int64_t)p->bytes.len;
    *out = p;
    return ERR_OK;
}

static enum err memory_size(struct blobs *base, int64_t id, int64_t *out_size)
{
    struct memory_blobs *b = blobs_of(base);
    (void)pthread_mutex_lock(&b->mutex);
    const struct memory_blob *blob = whole_blob(b, id);
    if (blob)
        *out_size = (int64_t)blob->size;
    (void)pthread_mutex_unlock(&b->mutex);
    return blob ? ERR_OK : ERR_NOT_FOUND;
}

static enum err memory_read(struct blobs *base, int64_t id, int64_t offset, void *out, size_t n)
{
    struct memory_blobs *b = blobs_of(base);
    enum err e = ERR_OK;
    (void)pthread_mutex_lock(&b->mutex);
    const struct memory_blob *blob = whole_blob(b, id);
    if (!blob)
        e = ERR_NOT_FOUND;
    else if (offset < 0 || (uint64_t)offset > blob->size || n > blob->size - (size_t)offset)
        e = ERR_RANGE_NOT_SATISFIABLE;
    else if (n)
        memcpy(out, blob->bytes + offset, n);
    (void)pthread_mutex_unlock(&b->mutex);
    return e;
}

static enum err memory_remove(struct blobs *base, int64_t id)
{
    struct memory_blobs *b = blobs_of(base);
    (void)pthread_mutex_lock(&b->mutex);
    struct memory_blob *blob = idmap_remove(&b->blobs, id);
    if (blob && !blob->is_paused)
        b->total_bytes -= (int64_t)blob->size;
    (void)pthread_mutex_unlock(&b->mutex);
    if (!blob)
        return ERR_NOT_FOUND;
    blob_free(blob);
    return ERR_OK;
}

static enum err memory_commit(struct blobs *b)
{
    (void)b;
    return ERR_OK;
}

static int64_t memory_commit_begin(struct blobs *b)
{
    (void)b;
    return 0;
}

static enum err memory_commit_end(struct blobs *b, int64_t begun)
{
    (void)begun;
    return memory_commit(b);
}

static bool memory_has_garbage(struct blobs *b)
{
    (void)b;
    return false;
}

static enum err memory_collect(struct blobs *base, bool (*is_named)(void *ctx, int64_t id), void *ctx,
                               int64_t *out_removed)
{
    struct memory_blobs *b = blobs_of(base);
    *out_removed = 0;
    /* By number, not by slot: removing moves slots. */
    for (int64_t id = 1; id <= b->last_id; id++)
        if (idmap_get(&b->blobs, id) && !is_named(ctx, id) && memory_remove(base, id) == ERR_OK)
            ++*out_removed;
    return ERR_OK;
}

static int64_t memory_total_bytes(struct blobs *base)
{
    struct memory_blobs *b = blobs_of(base);
    (void)pthread_mutex_lock(&b->mutex);
    int64_t total = b->total_bytes;
    (void)pthread_mutex_unlock(&b->mutex);
    return total;
}

static void memory_close(struct blobs *base)
{
    struct memory_blobs *b = blobs_of(base);
    for (size_t i = 0; i < b->blobs.capacity; i++)
        if (b->blobs.slots[i].id)
            blob_free(b->blobs.slots[i].value);
    idmap_release(&b->blobs);
    (void)pthread_mutex_destroy(&b->mutex);
    free(b);
}

static const struct blob_ops memory_ops = {
    .name = "memory",
    .put_begin = memory_put_begin,
    .put_write = memory_put_write,
    .put_has_room = memory_put_has_room,
    .is_full = memory_is_full,
    .make_room = memory_make_room,
    .put_end = memory_put_end,
    .put_abort = memory_put_abort,
    .put_pause = memory_put_pause,
    .put_resume = memory_put_resume,
    .size = memory_size,
    .read = memory_read,
    .remove = memory_remove,
    .commit = memory_commit,
    .commit_begin = memory_commit_begin,
    .commit_end = memory_commit_end,
    .has_garbage = memory_has_garbage,
    .collect = memory_collect,
    .total_bytes = memory_total_bytes,
    .close = memory_close,
};

enum err blobs_memory_open(struct blobs **out)
{
    struct memory_blobs *b = calloc(1, sizeof *b);
    if (!b)
        return ERR_NO_MEMORY;
    if (pthread_mutex_init(&b->mutex, NULL)) {
        free(b);
        return ERR_NO_MEMORY;
    }
    b->base.ops = &memory_ops;
    *out = &b->base;
    return ERR_OK;
}
