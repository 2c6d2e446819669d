#include "server/conductor.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include "common/base/log.h"

#define RETRY_MS   1000        /* after a failure */
#define LONGEST_MS (60 * 1000) /* the clock may be a test's, which jumps */

struct conductor {
    struct core *core;
    struct clock clock;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_wanted, is_stopping, has_thread;
};

/* Sleeps until somebody wakes it or `ms` are over. False: the end. */
static bool wait_for_work(struct conductor *c, int64_t ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(ms / 1000);
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&c->lock);
    int rc = 0;
    while (!c->is_wanted && !c->is_stopping && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&c->changed, &c->lock, &until);
    c->is_wanted = false;
    bool goes_on = !c->is_stopping;
    pthread_mutex_unlock(&c->lock);
    return goes_on;
}

static int64_t work(struct conductor *c)
{
    int64_t next_ms = INT64_MAX;
    enum err e = core_advance(c->core, &next_ms);
    if (e != ERR_OK) {
        log_error("core", "due work failed (%s); it is tried again in a second", err_name(e));
        return RETRY_MS;
    }
    if (next_ms == INT64_MAX)
        return LONGEST_MS;
    int64_t wait = next_ms - clock_now_ms(&c->clock);
    if (wait < 0)
        return 0;
    return wait < LONGEST_MS ? wait : LONGEST_MS;
}

static void *run(void *arg)
{
    struct conductor *c = arg;
    while (wait_for_work(c, work(c)))
        ;
    return NULL;
}

static int init_locks(struct conductor *c)
{
    pthread_condattr_t monotonic;
    int rc = pthread_condattr_init(&monotonic);
    if (rc != 0)
        return rc;
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    rc = pthread_cond_init(&c->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return rc != 0 ? rc : pthread_mutex_init(&c->lock, NULL);
}

enum err conductor_new(struct core *core, struct clock clock, struct conductor **out)
{
    struct conductor *c = calloc(1, sizeof *c);
    if (!c)
        return ERR_NO_MEMORY;
    c->core = core;
    c->clock = clock;
    if (init_locks(c) != 0) {
        free(c);
        return ERR_NO_MEMORY;
    }
    *out = c;
    return ERR_OK;
}

enum err conductor_start(struct conductor *c)
{
    c->has_thread = pthread_create(&c->thread, NULL, run, c) == 0;
    return c->has_thread ? ERR_OK : ERR_NO_MEMORY;
}

void conductor_wake(struct conductor *c)
{
    pthread_mutex_lock(&c->lock);
    c->is_wanted = true;
    pthread_cond_signal(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

void conductor_stop(struct conductor *c)
{
    if (!c->has_thread)
        return;
    pthread_mutex_lock(&c->lock);
    c->is_stopping = true;
    pthread_cond_signal(&c->changed);
    pthread_mutex_unlock(&c->lock);
    pthread_join(c->thread, NULL);
    c->has_thread = false;
}

void conductor_free(struct conductor *c)
{
    if (!c)
        return;
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    free(c);
}
