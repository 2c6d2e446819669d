/* Server-Sent Events: a reply that never ends by itself. */
#ifndef FEDLANE_HTTPD_SSE_H
#define FEDLANE_HTTPD_SSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/buf.h"
#include "common/base/err.h"
#include "server/httpd/waiters.h"

struct sse_source {
    /* Appends the next whole events (sse_event) to `out`, which is empty: a page of them, not more than fits.
     * Nothing appended: there are none now; called again after a notify of one of the topics. Called first
     * after the subscription. *out_end = true ends the stream once `out` is sent. An error cuts the
     * connection; the client comes back with Last-Event-ID. Runs in the request's own thread. */
    enum err (*next)(void *ctx, struct buf *out, bool *out_end);
    void (*free)(void *ctx); /* may be NULL; called exactly once, also when reply_events fails */
    void *ctx;
    const uint64_t *topics; /* copied */
    size_t num_topics;
    /* `next` is called again so long after the reply began, also where nothing is notified; INT64_MAX: it
     * need not be. */
    int64_t look_again_ms;
};

/* 200 text/event-stream. Begins at once, with a comment where there is no event yet. A comment every 15 s
 * keeps proxies and dead clients honest; ends when the server shuts down. Counts as a waiter:
 * ERR_TOO_MANY_WAITERS past the hub's limit. */
enum err reply_events(struct request *rq, const struct sse_source *source, struct fault *fault) MUST_CHECK;

/* One event. `id` and `event` may be NULL and must hold no line break; data of several lines becomes several
 * fields. On an error `out` is as before: ERR_PAYLOAD_TOO_LARGE where it does not fit. */
enum err sse_event(struct buf *out, const char *id, const char *event, const char *data) MUST_CHECK;

#endif
