/* Many kept-alive HTTP/1.1 connections driven by one thread: one request at a time on each, no pipelining.
 *
 * Closed loop (rate 0): who has its answer asks next() for another request at once. Open loop: requests fall
 * due at even times, whatever the server does; each takes the connection that has rested longest, and its
 * latency counts from when it was due, so a stall shows in every request that it held up.
 *
 * A client belongs to the thread that uses it; several clients share nothing. */
#ifndef FEDLANE_BENCH_LOAD_CLIENT_H
#define FEDLANE_BENCH_LOAD_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"

struct load;

/* What is sent, in this order; all of it borrowed until done(). */
struct load_request {
    const char *head; /* request line, fields (Content-Length too) and the empty line */
    size_t head_size;
    const void *body; /* the body, or how it begins */
    size_t body_size;
    const void *fill; /* over and over, fill_total bytes in all: a large body from a small buffer */
    size_t fill_size;
    uint64_t fill_total;
};

struct load_answer {
    int status;            /* 0: the connection ended, or what came is no answer with a Content-Length */
    const char *head;      /* NUL-ended; until done() returns */
    const char *body;      /* the first keep_body bytes of it, NUL-ended; until done() returns */
    size_t body_size;      /* of the bytes in `body` */
    uint64_t content_size; /* of all */
    int64_t latency_ns;    /* to the last byte, from the first try to send or from when it was due */
};

struct load_config {
    uint16_t port;          /* on 127.0.0.1 */
    size_t num_connections; /* raises RLIMIT_NOFILE as far as it may */
    size_t num_sources;     /* they come from 127.0.0.1, 127.0.0.2, ... in turns; 0: from 127.0.0.1 */
    const char *ca_file;    /* PEM: speak TLS and trust this authority; NULL: plain */
    double rate;            /* requests a second over all connections; 0: closed loop */
    size_t keep_body;       /* bytes of each answer's body that done() wants */
    void *ctx;              /* of the two below */
    /* The next request of a connection (0 to num_connections - 1). False: it has none, and rests (closed
     * loop: until load_poke). */
    bool (*next)(void *ctx, size_t connection, struct load_request *out);
    /* Its answer. A connection that ended is opened anew for its next request; where that fails the program
     * ends. May be NULL. */
    void (*done)(void *ctx, size_t connection, const struct load_answer *answer);
};

struct load_stats {
    uint64_t num_sent, num_answered; /* requests begun; answers, those with status 0 too */
    uint64_t num_ended;              /* connections that ended under a request: status 0 */
    uint64_t num_reopened;           /* connections opened anew */
    size_t in_flight;
    uint64_t num_late; /* open loop: due, but no connection is free yet */
};

/* Open loop: opens all connections, one after the other; closed loop: load_run opens each with its first
 * request, and the program ends where that fails. Ignores SIGPIPE. ERR_NETWORK, ERR_BAD_FILE (of ca_file),
 * ERR_NO_MEMORY. */
enum err load_new(const struct load_config *config, struct load **out, struct fault *fault) MUST_CHECK;
void load_free(struct load *l);
/* Sends and receives for so long, until load_stop(), or (closed loop) until every connection rests. What is
 * in flight then stays so; the next call goes on. */
void load_run(struct load *l, int64_t duration_ns);
/* As load_run, but sends nothing new: waits for answers. True when all came in time. */
bool load_drain(struct load *l, int64_t duration_ns);
void load_stop(struct load *l);                    /* from next() or done() */
void load_poke(struct load *l, size_t connection); /* a resting connection asks next() again */
/* From now on; what was due before is forgotten. */
void load_set_rate(struct load *l, double rate);
struct load_stats load_stats(const struct load *l);

#endif
