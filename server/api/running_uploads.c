#include "server/api/running_uploads.h"

#include <pthread.h>
#include <stdlib.h>
#include "common/base/log.h"
#include "server/store/idmap.h"

/* `put` is NULL once another request took the upload. */
struct running_upload {
    struct running_uploads *owner;
    int64_t blob_id;
    size_t num_users;     /* under the table's lock */
    pthread_mutex_t lock; /* over what follows; who begins holds it until the store has found the upload */
    int64_t began_at;
    struct blob_put *put;
};

struct running_uploads {
    struct blobs *blobs;
    pthread_mutex_t lock; /* over the table; taken before, or without, an upload's own */
    struct idmap running;
};

enum err running_uploads_new(struct blobs *blobs, struct running_uploads **out)
{
    struct running_uploads *r = calloc(1, sizeof *r);
    if (!r)
        return ERR_NO_MEMORY;
    r->blobs = blobs;
    if (pthread_mutex_init(&r->lock, NULL) != 0) {
        free(r);
        return ERR_NO_MEMORY;
    }
    *out = r;
    return ERR_OK;
}

void running_uploads_free(struct running_uploads *r)
{
    if (!r)
        return;
    if (r->running.count)
        bug("the server ends while %zu uploads run", r->running.count);
    idmap_release(&r->running);
    (void)pthread_mutex_destroy(&r->lock);
    free(r);
}

static void upload_free(struct running_upload *u)
{
    (void)pthread_mutex_destroy(&u->lock);
    free(u);
}

static void leave(struct running_upload *u)
{
    struct running_uploads *r = u->owner;
    (void)pthread_mutex_lock(&r->lock);
    bool is_last = --u->num_users == 0;
    (void)pthread_mutex_unlock(&r->lock);
    if (is_last)
        upload_free(u);
}

/* The one of this blob, which is replaced by `by` (NULL: by none); the caller leaves it. */
static enum err replace(struct running_uploads *r, int64_t blob_id, struct running_upload *by,
                        struct running_upload **out)
{
    (void)pthread_mutex_lock(&r->lock);
    enum err e = by ? idmap_reserve(&r->running) : ERR_OK;
    *out = e == ERR_OK ? idmap_remove(&r->running, blob_id) : NULL;
    if (*out)
        (*out)->num_users++;
    if (e == ERR_OK && by)
        idmap_set(&r->running, blob_id, by);
    (void)pthread_mutex_unlock(&r->lock);
    return e;
}

static void forget(struct running_upload *u)
{
    struct running_uploads *r = u->owner;
    (void)pthread_mutex_lock(&r->lock);
    if (idmap_get(&r->running, u->blob_id) == u) /* and not one that took its place */
        (void)idmap_remove(&r->running, u->blob_id);
    (void)pthread_mutex_unlock(&r->lock);
}

static enum err pause_put(struct running_upload *u, int64_t *out_offset)
{
    int64_t blob_id;
    struct blob_put *put = u->put;
    u->put = NULL;
    return put ? u->owner->blobs->ops->put_pause(put, &blob_id, out_offset) : ERR_CONFLICT;
}

static void take_from(struct running_upload *u)
{
    int64_t offset = 0;
    (void)pthread_mutex_lock(&u->lock);
    enum err e = pause_put(u, &offset);
    (void)pthread_mutex_unlock(&u->lock);
    if (e == ERR_OK)
        log_info("api", "the upload in blob %lld: another request goes on with it, at %lld",
                 (long long)u->blob_id, (long long)offset);
    leave(u);
}

void running_upload_take(struct running_uploads *r, int64_t blob_id)
{
    struct running_upload *u;
    if (replace(r, blob_id, NULL, &u) == ERR_OK && u)
        take_from(u);
}

/* With its lock held. */
static enum err begin(struct running_upload *u, int64_t *out_offset)
{
    struct running_uploads *r = u->owner;
    struct running_upload *former;
    enum err e = replace(r, u->blob_id, u, &former);
    if (e != ERR_OK)
        return e;
    if (former)
        take_from(former);
    e = r->blobs->ops->put_resume(r->blobs, u->blob_id, &u->put, out_offset);
    u->began_at = e == ERR_OK ? *out_offset : 0;
    return e;
}

enum err running_upload_begin(struct running_uploads *r, int64_t blob_id, struct running_upload **out,
                              int64_t *out_offset)
{
    struct running_upload *u = blob_id > 0 ? calloc(1, sizeof *u) : NULL;
    if (blob_id <= 0)
        return ERR_NOT_FOUND;
    if (!u)
        return ERR_NO_MEMORY;
    u->owner = r;
    u->num_users = 1;
    u->blob_id = blob_id;
    if (pthread_mutex_init(&u->lock, NULL) != 0) {
        free(u);
        return ERR_NO_MEMORY;
    }
    (void)pthread_mutex_lock(&u->lock);
    enum err e = begin(u, out_offset);
    (void)pthread_mutex_unlock(&u->lock);
    if (e == ERR_OK) {
        *out = u;
        return ERR_OK;
    }
    forget(u);
    leave(u);
    return e;
}

bool running_upload_has_room(struct running_upload *u, size_t n)
{
    (void)pthread_mutex_lock(&u->lock);
    bool has_room = !u->put || u->owner->blobs->ops->put_has_room(u->put, n);
    (void)pthread_mutex_unlock(&u->lock);
    return has_room;
}

enum err running_upload_write(struct running_upload *u, const void *bytes, size_t n)
{
    (void)pthread_mutex_lock(&u->lock);
    enum err e = u->put ? u->owner->blobs->ops->put_write(u->put, bytes, n) : ERR_CONFLICT;
    (void)pthread_mutex_unlock(&u->lock);
    return e;
}

enum err running_upload_end(struct running_upload *u, bool is_whole, int64_t *out_offset)
{
    struct running_uploads *r = u->owner;
    int64_t blob_id;
    forget(u);
    (void)pthread_mutex_lock(&u->lock);
    enum err e = ERR_CONFLICT;
    if (u->put && is_whole) {
        e = r->blobs->ops->put_end(u->put, &blob_id);
        u->put = NULL;
    } else {
        e = pause_put(u, out_offset);
    }
    (void)pthread_mutex_unlock(&u->lock);
    leave(u);
    return e;
}

bool running_upload_began_at(struct running_uploads *r, int64_t blob_id, int64_t *out_offset)
{
    (void)pthread_mutex_lock(&r->lock);
    struct running_upload *u = idmap_get(&r->running, blob_id);
    if (u)
        u->num_users++;
    (void)pthread_mutex_unlock(&r->lock);
    if (!u)
        return false;
    (void)pthread_mutex_lock(&u->lock);
    bool is_running = u->put != NULL;
    if (is_running)
        *out_offset = u->began_at;
    (void)pthread_mutex_unlock(&u->lock);
    leave(u);
    return is_running;
}
