#include "server/httpd/internal.h"
#include <string.h>
#include "common/base/clock.h"
#include "common/base/log.h"

/* Content readers. 0 is "nothing yet": without suspending, libmicrohttpd would ask again at once, for ever.
 */

ssize_t stream_source(void *cls, uint64_t position, char *buf, size_t max)
{
    struct request *rq = cls;
    struct reply *r = &rq->reply;
    size_t n = 0;
    enum err e = r->source.pull(r->source.ctx, r->offset + position, buf, max, &n);
    if (e) {
        log_request_id_set(rq->id);
        log_warning("httpd", "%s %s: cut after %llu bytes: %s", rq->method_name, rq->path,
                    (unsigned long long)position, err_name(e));
        log_request_id_set("");
        return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    if (n > max)
        bug("a body source gave more than it was asked for");
    r->bytes_out += n;
    if (n)
        return (ssize_t)n;
    if (rq->loop->is_stopping)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    loop_suspend(rq);
    return 0;
}

static bool is_draining(const struct request *rq)
{
    return atomic_load(&rq->loop->httpd->is_draining);
}

/* Fills an empty page. */
static enum err page_next(struct reply *r)
{
    buf_clear(&r->page);
    r->page_sent = 0;
    enum err e = r->events.next(r->events.ctx, &r->page, &r->is_ended);
    if (!e && !r->page.len && !r->is_ended && r->is_comment_due)
        e = buf_puts(&r->page, ":\n\n");
    r->is_comment_due = false;
    return e;
}

/* While there is nothing: a comment now and then, and the look that the source asked for. */
static enum err wait_on(struct request *rq)
{
    struct reply *r = &rq->reply;
    int64_t now_ns = mono_ns(), due_ns = now_ns + (int64_t)SSE_COMMENT_MS * 1000000;
    if (r->look_again_ns > now_ns && r->look_again_ns < due_ns)
        due_ns = r->look_again_ns;
    return timer_arm(&rq->loop->timers, &rq->timer, due_ns);
}

static ssize_t page_copy(struct reply *r, char *buf, size_t max)
{
    size_t n = r->page.len - r->page_sent;
    if (n > max)
        n = max;
    memcpy(buf, r->page.data + r->page_sent, n);
    r->page_sent += n;
    r->bytes_out += n;
    return (ssize_t)n;
}

ssize_t stream_events(void *cls, uint64_t position, char *buf, size_t max)
{
    (void)position;
    struct request *rq = cls;
    struct reply *r = &rq->reply;
    timer_disarm(&rq->loop->timers, &rq->timer);
    r->is_gathering = false;
    if (r->page_sent < r->page.len)
        return page_copy(r, buf, max);
    if (r->is_ended || is_draining(rq))
        return MHD_CONTENT_READER_END_OF_STREAM;
    enum err e = page_next(r);
    if (!e && !r->page.len && !r->is_ended)
        e = wait_on(rq);
    if (e) {
        log_warning("httpd", "%s %s: event stream cut: %s", rq->method_name, rq->path, err_name(e));
        return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    if (r->page.len) {
        if (r->page.data[0] != ':')
            r->sent_ns = mono_ns();
        return page_copy(r, buf, max);
    }
    if (r->is_ended)
        return MHD_CONTENT_READER_END_OF_STREAM;
    loop_suspend(rq);
    return 0;
}
