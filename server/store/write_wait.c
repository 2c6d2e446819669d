#include <pthread.h>
#include "server/store/store.h"

struct waiter {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    bool is_done;
    enum err result;
};

static void wake(void *ctx, enum err result)
{
    struct waiter *w = ctx;
    (void)pthread_mutex_lock(&w->mutex);
    w->is_done = true;
    w->result = result;
    (void)pthread_cond_signal(&w->cond);
    (void)pthread_mutex_unlock(&w->mutex);
}

enum err store_write_wait(struct store *s, store_fn fn, void *arg)
{
    struct waiter w = {.mutex = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};
    enum err e = s->ops->write(s, fn, arg, wake, &w);
    if (!e) {
        (void)pthread_mutex_lock(&w.mutex);
        while (!w.is_done)
            (void)pthread_cond_wait(&w.cond, &w.mutex);
        e = w.result;
        (void)pthread_mutex_unlock(&w.mutex);
    }
    (void)pthread_cond_destroy(&w.cond);
    (void)pthread_mutex_destroy(&w.mutex);
    return e;
}
