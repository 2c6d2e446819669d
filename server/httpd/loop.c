#include "server/httpd/internal.h"
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "common/base/clock.h"
#include "common/base/log.h"

#define STOP_GRACE_NS (500 * 1000000LL) /* for replies that are on their way when the server stops */

void loop_wake(struct loop *l)
{
    (void)pthread_mutex_lock(&l->mutex);
    if (!l->is_woken && eventfd_write(l->event_fd, 1) == 0)
        l->is_woken = true;
    (void)pthread_mutex_unlock(&l->mutex);
}

void loop_post(struct request *rq, enum inbox_flag flag)
{
    struct loop *l = rq->loop;
    (void)pthread_mutex_lock(&l->mutex);
    if (!rq->inbox) {
        rq->inbox_prev = l->inbox_tail;
        rq->inbox_next = NULL;
        if (l->inbox_tail)
            l->inbox_tail->inbox_next = rq;
        else
            l->inbox_head = rq;
        l->inbox_tail = rq;
    }
    rq->inbox |= flag;
    /* Written under the lock: past it, rq may be answered and the server gone. */
    if (!l->is_woken && eventfd_write(l->event_fd, 1) == 0)
        l->is_woken = true;
    (void)pthread_mutex_unlock(&l->mutex);
}

void loop_forget(struct request *rq)
{
    struct loop *l = rq->loop;
    (void)pthread_mutex_lock(&l->mutex);
    if (rq->inbox) {
        *(rq->inbox_prev ? &rq->inbox_prev->inbox_next : &l->inbox_head) = rq->inbox_next;
        *(rq->inbox_next ? &rq->inbox_next->inbox_prev : &l->inbox_tail) = rq->inbox_prev;
        rq->inbox = 0;
    }
    (void)pthread_mutex_unlock(&l->mutex);
}

void loop_suspend(struct request *rq)
{
    MHD_suspend_connection(rq->mhd);
    rq->is_suspended = true;
    rq->loop->num_suspended++;
}

void loop_resume(struct request *rq)
{
    rq->is_suspended = false;
    rq->loop->num_suspended--;
    MHD_resume_connection(rq->mhd);
}

/* All that happened since the last turn is dealt with before libmicrohttpd runs again: its pass over resumed
 * connections walks through all suspended ones, so there must be few such passes. */
static void loop_take_inbox(struct loop *l)
{
    struct request *todo = NULL, **end = &todo;
    (void)pthread_mutex_lock(&l->mutex);
    for (struct request *rq = l->inbox_head; rq; rq = rq->inbox_next) {
        rq->todo = rq->inbox;
        rq->inbox = 0;
        rq->todo_next = NULL;
        *end = rq;
        end = &rq->todo_next;
    }
    l->inbox_head = l->inbox_tail = NULL;
    if (l->is_woken) {
        eventfd_t ignored;
        (void)eventfd_read(l->event_fd, &ignored);
        l->is_woken = false;
    }
    (void)pthread_mutex_unlock(&l->mutex);
    /* No request is freed here: that happens only while libmicrohttpd runs. */
    for (struct request *rq = todo; rq; rq = rq->todo_next) {
        log_request_id_set(rq->id);
        settle_inbox(rq, rq->todo);
    }
    log_request_id_set("");
}

static void loop_fire_timers(struct loop *l, int64_t now_ns)
{
    for (struct timer *t; (t = timers_pop(&l->timers, now_ns));) {
        struct request *rq = (struct request *)(void *)((char *)t - offsetof(struct request, timer));
        log_request_id_set(rq->id);
        settle_timer(rq);
    }
    log_request_id_set("");
}

static void loop_shut_down_requests(struct loop *l)
{
    for (struct request *rq = l->live; rq; rq = rq->live_next)
        settle_shutdown(rq);
}

/* Does what the server's flags ask for, each once. */
static void loop_obey(struct loop *l)
{
    struct httpd *h = l->httpd;
    if (atomic_load(&h->is_closing) && !l->is_quiesced) {
        l->is_quiesced = true;
        MHD_socket fd = MHD_quiesce_daemon(l->daemon);
        if (fd != MHD_INVALID_SOCKET)
            (void)close(fd);
    }
    if (atomic_load(&h->is_draining) && !l->has_drained) {
        l->has_drained = true;
        loop_shut_down_requests(l);
    }
    if (atomic_load(&h->is_stopping) && !l->is_stopping) {
        l->is_stopping = true;
        l->stopping_since_ns = mono_ns();
        loop_shut_down_requests(l);
    }
}

static int loop_timeout_ms(struct loop *l)
{
    int64_t next_ns = timers_next_ns(&l->timers);
    int64_t cut_ns = connections_next_cut_ns(l);
    if (cut_ns < next_ns)
        next_ns = cut_ns;
    int64_t ms = l->is_stopping ? 10 : INT_MAX;
    if (next_ns != INT64_MAX) {
        int64_t now_ns = mono_ns();
        int64_t until_ms = next_ns > now_ns ? (next_ns - now_ns) / 1000000 + 1 : 0;
        if (until_ms < ms)
            ms = until_ms;
    }
    MHD_UNSIGNED_LONG_LONG mhd_ms;
    if (MHD_get_timeout(l->daemon, &mhd_ms) == MHD_YES && mhd_ms < (MHD_UNSIGNED_LONG_LONG)ms)
        ms = (int64_t)mhd_ms;
    return (int)ms;
}

static bool loop_is_finished(const struct loop *l)
{
    if (!l->is_stopping || l->num_suspended)
        return false;
    return !l->live || mono_ns() - l->stopping_since_ns > STOP_GRACE_NS;
}

/* A connection ends at the end of a turn of libmicrohttpd's. Where there had been too many of them, or no
 * descriptor was left, it listens again at the begin of the next turn only, and none may come: those who
 * wait to be accepted bring about none. */
static void loop_serve(struct loop *l)
{
    size_t before;
    do {
        before = atomic_load(&l->num_connections);
        (void)MHD_run(l->daemon);
    } while (atomic_load(&l->num_connections) < before);
}

static void *loop_run(void *arg)
{
    struct loop *l = arg;
    tls_use_in_this_thread(l->httpd->tls);
    struct pollfd fds[] = {{.fd = l->epoll_fd, .events = POLLIN}, {.fd = l->event_fd, .events = POLLIN}};
    while (!loop_is_finished(l)) {
        if (poll(fds, 2, loop_timeout_ms(l)) < 0 && errno != EINTR)
            bug("poll: %s", strerror(errno));
        loop_take_inbox(l);
        int64_t now_ns = mono_ns();
        loop_fire_timers(l, now_ns);
        loop_obey(l);
        connections_cut_slow(l, now_ns);
        loop_serve(l);
        exchange_cut_ended(l);
    }
    MHD_stop_daemon(l->daemon);
    l->daemon = NULL;
    return NULL;
}

enum err loop_start(struct loop *l, struct httpd *h, int listen_fd, struct fault *fault)
{
    l->httpd = h;
    l->listen_fd = listen_fd;
    (void)pthread_mutex_init(&l->mutex, NULL);
    l->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (l->event_fd < 0) {
        (void)close(listen_fd);
        return fault_set(fault, ERR_IO, NULL, "cannot make an eventfd: %s", strerror(errno));
    }
    enum err e = daemon_start(l, fault);
    if (e)
        return e;
    int error = pthread_create(&l->thread, NULL, loop_run, l);
    if (error) {
        MHD_stop_daemon(l->daemon);
        return fault_set(fault, ERR_IO, NULL, "cannot start a server thread: %s", strerror(error));
    }
    l->is_started = true;
    return ERR_OK;
}

void loop_join(struct loop *l)
{
    if (!l->httpd)
        return; /* never started */
    if (l->is_started)
        (void)pthread_join(l->thread, NULL);
    timers_release(&l->timers);
    if (l->event_fd >= 0)
        (void)close(l->event_fd);
    (void)pthread_mutex_destroy(&l->mutex);
}
