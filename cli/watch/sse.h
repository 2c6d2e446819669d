/* Reads a text/event-stream (WHATWG HTML, "Server-sent events") as it comes, in pieces of any size. */
#ifndef FEDLANE_CLI_WATCH_SSE_H
#define FEDLANE_CLI_WATCH_SSE_H

#include <stddef.h>
#include "common/base/buf.h"
#include "common/base/err.h"

#define SSE_MAX_ID    64
#define SSE_MAX_EVENT ((size_t)4 << 20)

struct sse_reader {
    struct buf line, data;
    char type[64];
    char id[SSE_MAX_ID + 1];      /* of the event that comes */
    char last_id[SSE_MAX_ID + 1]; /* of the last whole one, "" before the first; stays over a reconnection */
    bool after_cr, is_started;
    /* Called for each whole event; `data` has no line end behind its last line. */
    enum err (*on_event)(void *ctx, const char *id, const char *type, const char *data);
    void *ctx;
};

void sse_reader_init(struct sse_reader *r,
                     enum err (*on_event)(void *ctx, const char *id, const char *type, const char *data),
                     void *ctx);
void sse_reader_release(struct sse_reader *r);
/* A new connection: half an event is forgotten, last_id is kept. */
void sse_reader_restart(struct sse_reader *r);
/* ERR_PAYLOAD_TOO_LARGE for an event past SSE_MAX_EVENT, ERR_NO_MEMORY, on_event's error. */
enum err sse_feed(struct sse_reader *r, const void *bytes, size_t n) MUST_CHECK;

#endif
