#include "server/httpd/internal.h"
#include <stdlib.h>
#include "common/base/clock.h"

/* Subscriptions by topic. A fixed table: topics need no life of their own, and a bucket that two of them
 * share costs a comparison. A subscription stands here before the state is read, so what changes afterwards
 * finds it: that alone is why no wake-up is lost. */
struct waiters {
    pthread_mutex_t mutex; /* taken before a loop's */
    struct subscription **buckets;
    size_t num_buckets; /* a power of two */
    size_t max;
    atomic_size_t count;
};

enum err waiters_new(size_t max_waiters, struct waiters **out)
{
    struct waiters *hub = calloc(1, sizeof *hub);
    if (!hub)
        return ERR_NO_MEMORY;
    hub->max = max_waiters;
    hub->num_buckets = 1024;
    while (hub->num_buckets < max_waiters && hub->num_buckets < ((size_t)1 << 20))
        hub->num_buckets *= 2;
    hub->buckets = calloc(hub->num_buckets, sizeof *hub->buckets);
    if (!hub->buckets) {
        free(hub);
        return ERR_NO_MEMORY;
    }
    (void)pthread_mutex_init(&hub->mutex, NULL);
    *out = hub;
    return ERR_OK;
}

void waiters_free(struct waiters *hub)
{
    if (!hub)
        return;
    (void)pthread_mutex_destroy(&hub->mutex);
    free(hub->buckets);
    free(hub);
}

/* FNV-1a, then mixed: its low bits alone are poor. */
uint64_t topic_of(const char *kind, const char *name)
{
    const char *parts[] = {kind, name ? name : ""};
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < 2; i++) {
        for (const char *p = parts[i]; *p; p++)
            hash = (hash ^ (unsigned char)*p) * 0x100000001b3u;
        hash = (hash ^ 0xff) * 0x100000001b3u; /* in no UTF-8 text: "ab","c" is not "a","bc" */
    }
    hash ^= hash >> 32;
    hash *= 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

static struct subscription **bucket_of(const struct waiters *hub, uint64_t topic)
{
    return &hub->buckets[topic & (hub->num_buckets - 1)];
}

void waiters_notify(struct waiters *hub, uint64_t topic)
{
    (void)pthread_mutex_lock(&hub->mutex);
    for (struct subscription *s = *bucket_of(hub, topic); s; s = s->next)
        if (s->topic == topic)
            loop_post(s->rq, INBOX_NOTIFIED);
    (void)pthread_mutex_unlock(&hub->mutex);
}

size_t waiters_count(const struct waiters *hub)
{
    return atomic_load(&hub->count);
}

static void subscription_add(struct waiters *hub, struct subscription *s)
{
    struct subscription **head = bucket_of(hub, s->topic);
    s->prev = NULL;
    s->next = *head;
    if (*head)
        (*head)->prev = s;
    *head = s;
}

enum err waiters_subscribe(struct request *rq, const uint64_t *topics, size_t num_topics, struct fault *fault)
{
    struct waiters *hub = rq->loop->httpd->config.waiters;
    if (!hub)
        bug("route %s waits, but the server was given no hub", rq->match.route->operation_id);
    waiters_unsubscribe(rq);
    struct subscription *list = arena_calloc(&rq->arena, num_topics, sizeof *list);
    if (!list)
        return reply_no_memory(fault);
    if (atomic_fetch_add(&hub->count, 1) >= hub->max) {
        atomic_fetch_sub(&hub->count, 1);
        return fault_set(fault, ERR_TOO_MANY_WAITERS, NULL,
                         "%zu requests wait already, the most that this server holds; try again later",
                         hub->max);
    }
    rq->wait.is_counted = true;
    rq->wait.subscriptions = list;
    rq->wait.num_subscriptions = num_topics;
    (void)pthread_mutex_lock(&hub->mutex);
    for (size_t i = 0; i < num_topics; i++) {
        list[i] = (struct subscription){.topic = topics[i], .rq = rq};
        subscription_add(hub, &list[i]);
    }
    (void)pthread_mutex_unlock(&hub->mutex);
    return ERR_OK;
}

void waiters_unsubscribe(struct request *rq)
{
    if (!rq->wait.is_counted)
        return;
    struct waiters *hub = rq->loop->httpd->config.waiters;
    (void)pthread_mutex_lock(&hub->mutex);
    for (size_t i = 0; i < rq->wait.num_subscriptions; i++) {
        struct subscription *s = &rq->wait.subscriptions[i];
        *(s->prev ? &s->prev->next : bucket_of(hub, s->topic)) = s->next;
        if (s->next)
            s->next->prev = s->prev;
    }
    (void)pthread_mutex_unlock(&hub->mutex);
    rq->wait.is_counted = false;
    atomic_fetch_sub(&hub->count, 1);
}

enum err waiter_park(struct request *rq, const uint64_t *topics, size_t num_topics, int64_t wait_ms,
                     wake_fn *wake, struct fault *fault)
{
    bool waits = wait_ms > 0 && !atomic_load(&rq->loop->httpd->is_draining);
    int64_t until_ns = mono_ns() + (waits ? wait_ms * 1000000 : 0);
    if (waits) {
        enum err e = waiters_subscribe(rq, topics, num_topics, fault);
        if (!e)
            e = timer_arm(&rq->loop->timers, &rq->timer, until_ns) ? reply_no_memory(fault) : ERR_OK;
        if (e)
            return e;
    }
    rq->wait.wake = wake;
    rq->wait.until_ns = until_ns;
    rq->wait.is_missed = true;
    rq->wait.is_last = false;
    return ERR_OK;
}
