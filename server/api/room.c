#include "server/api/room.h"

#include <pthread.h>
#include <stdlib.h>

struct room {
    struct blobs *blobs;
    pthread_t thread;
    pthread_mutex_t lock; /* over what follows, and all waiters */
    pthread_cond_t changed;
    struct room_waiter *first;
    bool is_stopping;
};

static void unlink_waiter(struct room *r, struct room_waiter *w)
{
    *(w->previous ? &w->previous->next : &r->first) = w->next;
    if (w->next)
        w->next->previous = w->previous;
    w->is_waiting = false;
}

static void let_all_go_on(struct room *r, enum err e)
{
    while (r->first) {
        struct room_waiter *w = r->first;
        unlink_waiter(r, w);
        w->result = e;
        if (w->step)
            request_continue(w->rq, w->step);
        else
            request_resume(w->rq);
    }
}

static void *run(void *arg)
{
    struct room *r = arg;
    (void)pthread_mutex_lock(&r->lock);
    while (!r->is_stopping) {
        if (!r->first) {
            (void)pthread_cond_wait(&r->changed, &r->lock);
            continue;
        }
        (void)pthread_mutex_unlock(&r->lock);
        enum err e = r->blobs->ops->make_room(r->blobs);
        (void)pthread_mutex_lock(&r->lock);
        let_all_go_on(r, e);
    }
    (void)pthread_mutex_unlock(&r->lock);
    return NULL;
}

enum err room_new(struct blobs *blobs, struct room **out)
{
    struct room *r = calloc(1, sizeof *r);
    if (!r)
        return ERR_NO_MEMORY;
    r->blobs = blobs;
    bool has_lock = pthread_mutex_init(&r->lock, NULL) == 0;
    bool has_cond = pthread_cond_init(&r->changed, NULL) == 0;
    if (has_lock && has_cond && pthread_create(&r->thread, NULL, run, r) == 0) {
        *out = r;
        return ERR_OK;
    }
    if (has_cond)
        (void)pthread_cond_destroy(&r->changed);
    if (has_lock)
        (void)pthread_mutex_destroy(&r->lock);
    free(r);
    return ERR_NO_MEMORY;
}

void room_free(struct room *r)
{
    if (!r)
        return;
    (void)pthread_mutex_lock(&r->lock);
    r->is_stopping = true;
    (void)pthread_cond_signal(&r->changed);
    (void)pthread_mutex_unlock(&r->lock);
    (void)pthread_join(r->thread, NULL);
    if (r->first)
        bug("the server ends while an upload waits for room");
    (void)pthread_cond_destroy(&r->changed);
    (void)pthread_mutex_destroy(&r->lock);
    free(r);
}

static void link_waiter(struct room *r, struct room_waiter *w, struct request *rq, route_handler *step)
{
    *w = (struct room_waiter){
        .rq = rq, .step = step, .next = r->first, .is_waiting = true, .has_waited = true};
    if (r->first)
        r->first->previous = w;
    r->first = w;
    if (step)
        request_defer(rq);
    (void)pthread_cond_signal(&r->changed);
}

enum err room_wait(struct room *r, struct room_waiter *w, struct request *rq, route_handler *step,
                   bool *out_must_wait)
{
    *out_must_wait = false;
    if (!w->has_waited && !r->blobs->ops->is_full(r->blobs))
        return ERR_OK;
    (void)pthread_mutex_lock(&r->lock);
    enum err e = w->is_waiting ? ERR_OK : w->result;
    w->result = ERR_OK;
    w->has_waited = w->is_waiting;
    *out_must_wait = w->is_waiting || (e == ERR_OK && r->blobs->ops->is_full(r->blobs));
    if (*out_must_wait && !w->is_waiting)
        link_waiter(r, w, rq, step);
    (void)pthread_mutex_unlock(&r->lock);
    return e;
}

void room_forget(struct room *r, struct room_waiter *w)
{
    (void)pthread_mutex_lock(&r->lock);
    if (w->is_waiting)
        unlink_waiter(r, w);
    (void)pthread_mutex_unlock(&r->lock);
}
