/* The HTTP server: threads, connections, limits, start and stop. Knows routes and hooks, nothing of what they
 * serve.
 *
 * Start:  waiters_new -> httpd_start.
 * Stop:   httpd_stop_accepting -> httpd_drain -> httpd_stop -> waiters_free. Whoever owns deferred requests
 * must complete them: httpd_stop waits for that. */
#ifndef FEDLANE_HTTPD_HTTPD_H
#define FEDLANE_HTTPD_HTTPD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"
#include "server/httpd/request.h"
#include "server/httpd/router.h"
#include "server/httpd/waiters.h"

struct httpd;

struct httpd_hooks {
    void *ctx; /* given to hooks, handlers, wake functions and sinks' open() */
    /* Who asks, and may he? Called for every matched route, with headers only, before the body is read; sets
     * REQUEST_CALLER. ERR_UNAUTHORIZED, ERR_TOKEN_REVOKED, ERR_TOKEN_EXPIRED, ERR_FORBIDDEN,
     * ERR_RATE_LIMITED, ERR_UNAVAILABLE with a fault that says what to do. May be NULL: everybody may do
     * everything (tests). */
    enum err (*authenticate)(void *ctx, struct request *rq, const struct route *route, struct fault *fault);
    /* After each exchange. route is NULL when none matched; status 0 when the client left before a reply. May
     * be NULL. Called by several threads at a time. */
    void (*observe)(void *ctx, const struct route *route, int status, int64_t duration_ns, uint64_t bytes_in,
                    uint64_t bytes_out);
};

/* Names of PEM files. */
struct httpd_tls {
    const char *cert; /* the server's certificate, then those between it and its authority. NULL: no TLS */
    const char *key;  /* of the certificate, without a password */
    const char *client_ca; /* who signs clients' certificates. NULL: clients need none */
};

struct httpd_config {
    const char
        *address;     /* numeric IPv4 or IPv6: "127.0.0.1", "::1"; "0.0.0.0" for all, "::" for all of both */
    uint16_t port;    /* 0: any free one */
    unsigned threads; /* 0: one per core, at most 4 */
    unsigned max_connections;        /* 0: LIMIT_CONNECTIONS; shared out evenly over the threads */
    unsigned max_connections_per_ip; /* 0: no limit. Beyond it a connection is closed at once */
    unsigned timeout_s;   /* a silent connection, or headers that take longer, are cut; 0: LIMIT_SILENCE_S */
    struct httpd_tls tls; /* copied; all NULL: plain HTTP */
    size_t connection_memory; /* bytes; 0: LIMIT_CONNECTION_MEMORY */
    struct waiters *waiters;  /* borrowed, outlives the server */
};

/* Listens and serves when it returns. ERR_CONFLICT: the port is taken (the fault names it and says what to
 * do); ERR_USAGE: a bad address or route table, or certificates that cannot be used; ERR_IO otherwise. */
enum err httpd_start(const struct httpd_config *config, const struct route *routes, size_t num_routes,
                     const struct httpd_hooks *hooks, struct httpd **out, struct fault *fault) MUST_CHECK;
uint16_t httpd_port(const struct httpd *h);   /* the actual one */
const char *httpd_url(const struct httpd *h); /* "http://127.0.0.1:8080" */

/* Reads the files of the certificates anew: the next handshakes use them, open connections go on. ERR_USAGE
 * with the file and what is wrong with it, ERR_NO_MEMORY: all stays as it was. ERR_OK without TLS. Any
 * thread. */
enum err httpd_reload_tls(struct httpd *h, struct fault *fault) MUST_CHECK;

struct httpd_stats {
    size_t connections, requests_in_flight, waiters;
};
struct httpd_stats httpd_stats(const struct httpd *h);

/* The listening sockets close; connections that are open go on, and are closed with their next reply. */
void httpd_stop_accepting(struct httpd *h);
/* Ends every long-poll (its wake function is called with timed_out) and event stream, then waits until no
 * request is in flight, at most timeout_ms. True when all have ended. Implies httpd_stop_accepting. */
bool httpd_drain(struct httpd *h, int64_t timeout_ms);
/* Waits for deferred requests, cuts what is left, ends the threads, frees h (NULL is fine). */
void httpd_stop(struct httpd *h);

#endif
