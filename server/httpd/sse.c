#include "server/httpd/sse.h"
#include "server/httpd/internal.h"
#include <string.h>
#include "common/base/clock.h"

#define PAGE_MAX (16 * MIB) /* more than the largest event */

enum err reply_events(struct request *rq, const struct sse_source *source, struct fault *fault)
{
    enum err e = reply_empty(rq, 200);
    if (!e)
        e = reply_header(rq, "Cache-Control", "no-store");
    if (e)
        e = reply_no_memory(fault);
    else
        e = waiters_subscribe(rq, source->topics, source->num_topics, fault);
    if (e) {
        if (source->free)
            source->free(source->ctx);
        return e;
    }
    rq->reply.kind = REPLY_EVENTS;
    rq->reply.is_comment_due = true; /* Firefox takes the reply for begun with the first byte of its body */
    rq->reply.media_type = "text/event-stream";
    rq->reply.events = *source;
    rq->reply.look_again_ns = INT64_MAX;
    if (source->look_again_ms < (INT64_MAX - mono_ns()) / 1000000)
        rq->reply.look_again_ns = mono_ns() + source->look_again_ms * 1000000;
    buf_init(&rq->reply.page, PAGE_MAX);
    return ERR_OK;
}

static enum err field_put(struct buf *out, const char *name, const char *text, size_t n)
{
    enum err e = buf_puts(out, name);
    if (!e)
        e = buf_append(out, text, n);
    return e ? e : buf_append(out, "\n", 1);
}

/* A line break in an id or a type would start a field of the sender's choosing. */
static enum err line_put(struct buf *out, const char *name, const char *text)
{
    if (strpbrk(text, "\r\n"))
        return ERR_INVALID_FIELD;
    return field_put(out, name, text, strlen(text));
}

enum err sse_event(struct buf *out, const char *id, const char *event, const char *data)
{
    size_t former = out->len;
    enum err e = id ? line_put(out, "id: ", id) : ERR_OK;
    if (!e && event)
        e = line_put(out, "event: ", event);
    for (const char *at = data; !e;) {
        size_t n = strcspn(at, "\r\n");
        e = field_put(out, "data: ", at, n);
        at += n;
        if (!*at)
            break;
        at += at[0] == '\r' && at[1] == '\n' ? 2 : 1;
    }
    if (!e)
        e = buf_append(out, "\n", 1);
    /* A part of an event would run into the next one. */
    if (e && out->len > former) {
        out->len = former;
        out->data[former] = '\0';
    }
    return e;
}
