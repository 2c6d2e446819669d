#include "server/httpd/internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "server/httpd/listen.h"
#include "server/httpd/peers.h"

#define MAX_THREADS           64
#define DEFAULT_THREADS       4
#define MIN_CONNECTION_MEMORY 4096

static void config_complete(struct httpd_config *c)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (!c->threads)
        c->threads = cores > DEFAULT_THREADS ? DEFAULT_THREADS : cores > 0 ? (unsigned)cores : 1;
    if (c->threads > MAX_THREADS)
        c->threads = MAX_THREADS;
    if (!c->max_connections)
        c->max_connections = LIMIT_CONNECTIONS;
    if (!c->timeout_s)
        c->timeout_s = LIMIT_SILENCE_S;
    if (!c->connection_memory)
        c->connection_memory = LIMIT_CONNECTION_MEMORY;
    if (c->connection_memory < MIN_CONNECTION_MEMORY)
        c->connection_memory = MIN_CONNECTION_MEMORY;
}

/* Every loop gets its socket, or closes it, even when an earlier one failed. */
static enum err loops_start(struct httpd *h, struct fault *fault)
{
    int fds[MAX_THREADS];
    const char *address = h->config.address;
    enum err e = listen_open(address, h->config.port, fds, h->num_loops, &h->port, fault);
    if (e)
        return e;
    bool is_v6 = strchr(address, ':') != NULL;
    (void)snprintf(h->url, sizeof h->url, "http%s://%s%s%s:%u", h->tls ? "s" : "", is_v6 ? "[" : "", address,
                   is_v6 ? "]" : "", (unsigned)h->port);
    for (size_t i = 0; i < h->num_loops; i++) {
        if (e)
            (void)close(fds[i]);
        else
            e = loop_start(&h->loops[i], h, fds[i], fault);
    }
    return e;
}

enum err httpd_start(const struct httpd_config *config, const struct route *routes, size_t num_routes,
                     const struct httpd_hooks *hooks, struct httpd **out, struct fault *fault)
{
    struct httpd *h = calloc(1, sizeof *h);
    if (!h)
        return reply_no_memory(fault);
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&h->idle, &attr);
    (void)pthread_condattr_destroy(&attr);
    (void)pthread_mutex_init(&h->mutex, NULL);
    h->config = *config;
    config_complete(&h->config);
    h->hooks = *hooks;
    enum err e = router_new(routes, num_routes, &h->router, fault);
    if (e)
        goto out;
    if (peers_new(h->config.max_connections_per_ip, &h->peers) != ERR_OK) {
        e = reply_no_memory(fault);
        goto out;
    }
    if (config->tls.cert && (e = tls_new(&config->tls, &h->tls, fault)) != ERR_OK)
        goto out;
    h->num_loops = h->config.threads;
    h->loops = calloc(h->num_loops, sizeof *h->loops);
    if (!h->loops) {
        e = reply_no_memory(fault);
        goto out;
    }
    e = loops_start(h, fault);
out:
    if (e)
        httpd_stop(h);
    else
        *out = h;
    return e;
}

uint16_t httpd_port(const struct httpd *h)
{
    return h->port;
}

const char *httpd_url(const struct httpd *h)
{
    return h->url;
}

enum err httpd_reload_tls(struct httpd *h, struct fault *fault)
{
    return h->tls ? tls_reload(h->tls, fault) : ERR_OK;
}

struct httpd_stats httpd_stats(const struct httpd *h)
{
    struct httpd_stats stats = {.requests_in_flight = atomic_load(&h->num_requests)};
    for (size_t i = 0; i < h->num_loops; i++)
        stats.connections += atomic_load(&h->loops[i].num_connections);
    if (h->config.waiters)
        stats.waiters = waiters_count(h->config.waiters);
    return stats;
}

static void loops_wake(struct httpd *h)
{
    for (size_t i = 0; h->loops && i < h->num_loops; i++)
        if (h->loops[i].is_started)
            loop_wake(&h->loops[i]);
}

void httpd_stop_accepting(struct httpd *h)
{
    atomic_store(&h->is_closing, true);
    loops_wake(h);
}

bool httpd_drain(struct httpd *h, int64_t timeout_ms)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(timeout_ms / 1000);
    until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    atomic_store(&h->is_closing, true);
    atomic_store(&h->is_draining, true);
    loops_wake(h);
    int error = 0;
    (void)pthread_mutex_lock(&h->mutex);
    while (atomic_load(&h->num_requests) && !error)
        error = pthread_cond_timedwait(&h->idle, &h->mutex, &until);
    bool is_idle = !atomic_load(&h->num_requests);
    (void)pthread_mutex_unlock(&h->mutex);
    return is_idle;
}

void httpd_stop(struct httpd *h)
{
    if (!h)
        return;
    atomic_store(&h->is_closing, true);
    atomic_store(&h->is_draining, true);
    atomic_store(&h->is_stopping, true);
    loops_wake(h);
    for (size_t i = 0; h->loops && i < h->num_loops; i++)
        loop_join(&h->loops[i]);
    free(h->loops);
    tls_free(h->tls);
    peers_free(h->peers);
    router_free(h->router);
    (void)pthread_cond_destroy(&h->idle);
    (void)pthread_mutex_destroy(&h->mutex);
    free(h);
}
