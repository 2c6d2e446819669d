#include "server/api/running_uploads.h"

#include <pthread.h>
#include <stdlib.h>
#include "common/base/log.h"
#include "common/base/str.h"

/* `put` is NULL once another request took the upload. Its lock is held while bytes are written, which may
 * take as long as the disk does. */
struct running_upload {
    struct running_uploads *owner;
    struct running_upload *next;
    char id[ID_SIZE];
    size_t num_users;     /* under the list's lock */
    pthread_mutex_t lock; /* over what follows; who begins holds it until it knows */
    int64_t began_at;
    struct blob_put *put;
};

struct running_uploads {
    struct blobs *blobs;
    pthread_mutex_t lock; /* over the list; taken before, or without, an upload's own */
    struct running_upload *first;
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
    if (r->first)
        bug("the server ends while the upload %s runs", r->first->id);
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

static struct running_upload **place_of(struct running_uploads *r, const char *id)
{
    struct running_upload **link = &r->first;
    while (*link && !str_eq((*link)->id, id))
        link = &(*link)->next;
    return link;
}

/* The one with this id, which is replaced by `by` (may be NULL); the caller leaves it. */
static struct running_upload *replace(struct running_uploads *r, const char *id, struct running_upload *by)
{
    (void)pthread_mutex_lock(&r->lock);
    struct running_upload **link = place_of(r, id), *u = *link;
    if (u) {
        *link = u->next;
        u->num_users++;
    }
    if (by) {
        by->next = r->first;
        r->first = by;
    }
    (void)pthread_mutex_unlock(&r->lock);
    return u;
}

static void forget(struct running_upload *u)
{
    struct running_uploads *r = u->owner;
    (void)pthread_mutex_lock(&r->lock);
    struct running_upload **link = place_of(r, u->id);
    if (*link == u) /* and not one that took its place */
        *link = u->next;
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
    if (!u)
        return;
    (void)pthread_mutex_lock(&u->lock);
    enum err e = pause_put(u, &offset);
    (void)pthread_mutex_unlock(&u->lock);
    if (e == ERR_OK)
        log_info("api", "upload %s: another request goes on with it, at %lld", u->id, (long long)offset);
    leave(u);
}

void running_upload_take(struct running_uploads *r, const char *id)
{
    struct running_upload *u = replace(r, id, NULL);
    if (u)
        take_from(u);
}

enum err running_upload_begin(struct running_uploads *r, const char *id, int64_t blob_id,
                              struct running_upload **out, int64_t *out_offset)
{
    struct running_upload *u = calloc(1, sizeof *u);
    if (!u)
        return ERR_NO_MEMORY;
    u->owner = r;
    u->num_users = 1;
    if (str_copy(u->id, sizeof u->id, id) != ERR_OK || pthread_mutex_init(&u->lock, NULL) != 0) {
        free(u);
        return ERR_NO_MEMORY;
    }
    (void)pthread_mutex_lock(&u->lock);
    struct running_upload *former = replace(r, id, u);
    if (former)
        take_from(former);
    enum err e = r->blobs->ops->put_resume(r->blobs, blob_id, &u->put, out_offset);
    if (e == ERR_OK)
        u->began_at = *out_offset;
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

bool running_upload_began_at(struct running_uploads *r, const char *id, int64_t *out_offset)
{
    (void)pthread_mutex_lock(&r->lock);
    struct running_upload *u = *place_of(r, id);
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
