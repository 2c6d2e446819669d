/* Uploads. What they bring goes into memory and nothing here waits for the file, but resuming one, which
 * reads what lies behind its last whole unit. */
#include <stdlib.h>
#include "server/store/sqlite/blobs.h"

struct blob_put {
    struct sqlite_blobs *blobs;
    struct blob_object *object;
    bool is_resumed; /* what came before outlives a failure */
};

static enum err put_new(struct blobs *base, struct blob_put **out)
{
    struct blob_put *p = calloc(1, sizeof *p);
    if (!p)
        return ERR_NO_MEMORY;
    p->blobs = (struct sqlite_blobs *)base;
    *out = p;
    return ERR_OK;
}

enum err blob_put_begin(struct blobs *base, struct blob_put **out)
{
    struct blob_put *p = NULL;
    enum err e = put_new(base, &p);
    if (e)
        return e;
    struct sqlite_blobs *b = p->blobs;
    (void)pthread_mutex_lock(&b->state);
    struct blob_object values = {.id = b->last_id + 1, .wanted = OBJECT_OPEN};
    e = object_add(b, &values, &p->object);
    if (!e)
        b->last_id++;
    (void)pthread_mutex_unlock(&b->state);
    if (e)
        free(p);
    else
        *out = p;
    return e;
}

/* With `state` held: a flush takes from the one what it adds to the other. */
static int64_t put_size(const struct blob_put *p)
{
    return p->object->size + (int64_t)p->object->filling.size;
}

enum err blob_put_write(struct blob_put *p, const void *bytes, size_t n)
{
    struct sqlite_blobs *b = p->blobs;
    (void)pthread_mutex_lock(&b->state);
    enum err e = n > (size_t)(LIMIT_BLOB_BYTES - put_size(p)) ? ERR_PAYLOAD_TOO_LARGE
                                                              : object_write(b, p->object, bytes, n);
    (void)pthread_mutex_unlock(&b->state);
    return e;
}

bool blob_put_has_room(struct blob_put *p, size_t n)
{
    struct sqlite_blobs *b = p->blobs;
    (void)pthread_mutex_lock(&b->state);
    const struct chunk_buffer *f = &p->object->filling;
    bool has_room = f->size + n <= (f->capacity == FULL_CHUNK ? FULL_CHUNK : (size_t)CHUNK_UNIT);
    (void)pthread_mutex_unlock(&b->state);
    return has_room;
}

/* With `state` held. Frees p; true: the blob was removed while the upload ran. */
static bool put_leave(struct blob_put *p, int wanted)
{
    bool is_removed = p->object->is_removed;
    object_want(p->blobs, p->object, is_removed ? OBJECT_DROPPED : wanted);
    free(p);
    return is_removed;
}

void blob_put_abort(struct blob_put *p)
{
    struct sqlite_blobs *b = p->blobs;
    (void)pthread_mutex_lock(&b->state);
    (void)put_leave(p, OBJECT_DROPPED);
    (void)pthread_mutex_unlock(&b->state);
}

/* A chunk begins at a multiple of CHUNK_UNIT, so what lies behind the last one is a chunk of its own: the
 * upload goes on by writing that anew. */
static enum err seal_for_later(struct sqlite_blobs *b, struct blob_object *o)
{
    size_t units = o->filling.size / (size_t)CHUNK_UNIT * (size_t)CHUNK_UNIT;
    enum err e = units ? object_seal(b, o, units) : ERR_OK;
    return !e && o->filling.size ? object_seal(b, o, o->filling.size) : e;
}

enum err blob_put_pause(struct blob_put *p, int64_t *out_id, int64_t *out_size)
{
    struct sqlite_blobs *b = p->blobs;
    (void)pthread_mutex_lock(&b->state);
    enum err e = seal_for_later(b, p->object);
    *out_id = p->object->id;
    *out_size = p->object->size;
    bool is_removed = put_leave(p, OBJECT_PAUSED);
    (void)pthread_mutex_unlock(&b->state);
    return is_removed ? ERR_NOT_FOUND : e;
}

enum err blob_put_end(struct blob_put *p, int64_t *out_id)
{
    struct sqlite_blobs *b = p->blobs;
    (void)pthread_mutex_lock(&b->state);
    struct blob_object *o = p->object;
    enum err e = o->filling.size ? object_seal(b, o, o->filling.size) : ERR_OK;
    if (!e) {
        *out_id = o->id;
        b->total_bytes += o->is_removed ? 0 : o->size;
    }
    int wanted = !e ? OBJECT_ENDED : p->is_resumed ? OBJECT_PAUSED : OBJECT_DROPPED;
    bool is_removed = put_leave(p, wanted);
    (void)pthread_mutex_unlock(&b->state);
    return !e && is_removed ? ERR_NOT_FOUND : e;
}

/* --- resuming --- */

/* With `io` held and nothing of it in memory. */
static enum err read_tail(struct sqlite_blobs *b, int64_t id, int64_t *out_offset, char **out_tail,
                          size_t *out_size)
{
    int64_t size = 0, tail = 0;
    enum err e = blob_file_size(b, id, &size);
    if (!e && size >= 0)
        e = ERR_NOT_FOUND;
    if (!e)
        e = blob_file_tail(b, id, out_offset, &tail);
    if (e)
        return e;
    if (tail % CHUNK_UNIT == 0) {
        *out_offset += tail;
        tail = 0;
    }
    *out_size = (size_t)tail;
    *out_tail = malloc((size_t)tail + 1);
    return *out_tail ? blob_file_read(b, id, *out_offset, *out_tail, (size_t)tail) : ERR_NO_MEMORY;
}

static enum err resume_from_file(struct sqlite_blobs *b, int64_t id, struct blob_put *p, int64_t *out_size)
{
    char *tail = NULL;
    size_t size = 0;
    struct blob_object values = {.id = id, .wanted = OBJECT_OPEN, .is_in_file = true};
    enum err e = read_tail(b, id, &values.size, &tail, &size);
    (void)pthread_mutex_lock(&b->state);
    if (!e)
        e = object_add(b, &values, &p->object);
    if (!e && (e = object_write(b, p->object, tail, size)))
        object_want(b, p->object, OBJECT_PAUSED);
    if (!e)
        *out_size = put_size(p);
    (void)pthread_mutex_unlock(&b->state);
    free(tail);
    return e;
}

static enum err resume_with_io(struct sqlite_blobs *b, int64_t id, struct blob_put *p, int64_t *out_size)
{
    (void)pthread_mutex_lock(&b->state);
    const struct blob_object *o = idmap_get(&b->objects, id);
    bool is_paused = o && o->wanted == OBJECT_PAUSED;
    enum err e = !o || is_paused ? ERR_OK : o->wanted == OBJECT_OPEN ? ERR_CONFLICT : ERR_NOT_FOUND;
    (void)pthread_mutex_unlock(&b->state);
    if (!e && is_paused)
        e = blobs_flush(b, false);
    return e ? e : resume_from_file(b, id, p, out_size);
}

enum err blob_put_resume(struct blobs *base, int64_t id, struct blob_put **out, int64_t *out_size)
{
    struct blob_put *p = NULL;
    enum err e = put_new(base, &p);
    if (e)
        return e;
    struct sqlite_blobs *b = p->blobs;
    p->is_resumed = true;
    (void)pthread_mutex_lock(&b->io);
    e = resume_with_io(b, id, p, out_size);
    (void)pthread_mutex_unlock(&b->io);
    if (e) {
        free(p);
        return e;
    }
    *out = p;
    return ERR_OK;
}
