#include "cli/watch/sse.h"
#include <stdio.h>
#include <string.h>
#include "common/base/str.h"

void sse_reader_init(struct sse_reader *r,
                     enum err (*on_event)(void *ctx, const char *id, const char *type, const char *data),
                     void *ctx)
{
    *r = (struct sse_reader){
        .line = BUF_INIT(SSE_MAX_EVENT), .data = BUF_INIT(SSE_MAX_EVENT), .on_event = on_event, .ctx = ctx};
}

void sse_reader_release(struct sse_reader *r)
{
    buf_release(&r->line);
    buf_release(&r->data);
}

void sse_reader_restart(struct sse_reader *r)
{
    buf_clear(&r->line);
    buf_clear(&r->data);
    r->type[0] = '\0';
    memcpy(r->id, r->last_id, sizeof r->id);
    r->after_cr = r->is_started = false;
}

static enum err dispatch(struct sse_reader *r)
{
    enum err e = ERR_OK;
    memcpy(r->last_id, r->id, sizeof r->last_id);
    if (r->data.len > 0) {
        r->data.data[--r->data.len] = '\0'; /* the line end behind the last line */
        e = r->on_event(r->ctx, r->last_id, r->type[0] ? r->type : "message", r->data.data);
    }
    buf_clear(&r->data);
    r->type[0] = '\0';
    return e;
}

static enum err take_field(struct sse_reader *r, const char *name, const char *value)
{
    enum err e = ERR_OK;
    if (str_eq(name, "data")) {
        e = buf_puts(&r->data, value);
        if (!e)
            e = buf_puts(&r->data, "\n");
    } else if (str_eq(name, "event")) {
        (void)snprintf(r->type, sizeof r->type, "%s", value);
    } else if (str_eq(name, "id")) {
        /* One that is too long could not be sent back whole: the former stays. */
        if (str_copy(r->id, sizeof r->id, value) != ERR_OK)
            return ERR_OK;
    }
    return e;
}

static enum err take_line(struct sse_reader *r)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    char *line = r->line.data;
    if (r->line.len == 0)
        return dispatch(r);
    if (!r->is_started && str_has_prefix(line, byte_order_mark))
        line += strlen(byte_order_mark);
    r->is_started = true;
    char *colon = strchr(line, ':');
    if (colon == line)
        return ERR_OK; /* a comment */
    char *value = colon ? colon + 1 : line + strlen(line);
    if (colon)
        *colon = '\0';
    return take_field(r, line, *value == ' ' ? value + 1 : value);
}

enum err sse_feed(struct sse_reader *r, const void *bytes, size_t n)
{
    const char *at = bytes, *end = at + n;
    while (at < end) {
        if (r->after_cr && *at == '\n')
            at++;
        r->after_cr = false;
        const char *stop = at;
        while (stop < end && *stop != '\n' && *stop != '\r')
            stop++;
        enum err e = buf_append(&r->line, at, (size_t)(stop - at));
        if (!e && stop < end) {
            r->after_cr = *stop == '\r';
            e = take_line(r);
            buf_clear(&r->line);
        }
        if (e)
            return e;
        at = stop < end ? stop + 1 : end;
    }
    return ERR_OK;
}
