#include "server/httpd/internal.h"
#include "common/base/clock.h"
#include "common/base/log.h"

/* libmicrohttpd calls the access handler once with the headers, then for each piece of the body, then once
 * more at its end, and again after each resume. A reply can be given only in the first call and at the end.
 */

static enum MHD_Result answer_fault(struct request *rq)
{
    reply_fault(rq, &rq->fault);
    return send_reply(rq);
}

/* A refusal in the first call makes libmicrohttpd close the connection. That is right for a body that is
 * long, or not sent yet (Expect: 100-continue); a short one is swallowed and the connection lives on. */
static bool must_answer_at_once(const struct request *rq)
{
    return !request_has_body(rq) || rq->content_length > DRAIN_AT_ONCE || request_header(rq, "Expect");
}

static void body_goes_on(struct request *rq)
{
    struct loop *l = rq->loop;
    rq->fed_turn = l->turn;
    if (rq->is_fed || !request_has_body(rq))
        return;
    rq->is_fed = true;
    rq->fed_prev = NULL;
    rq->fed_next = l->fed;
    if (l->fed)
        l->fed->fed_prev = rq;
    l->fed = rq;
}

void exchange_forget(struct request *rq)
{
    if (!rq->is_fed)
        return;
    *(rq->fed_prev ? &rq->fed_prev->fed_next : &rq->loop->fed) = rq->fed_next;
    if (rq->fed_next)
        rq->fed_next->fed_prev = rq->fed_prev;
    rq->is_fed = false;
}

/* libmicrohttpd does not see an end that came together with the last bytes: its epoll is edge-triggered, and
 * the edge was spent on the bytes. Without this look such a request would live until the timeout. While it
 * has more to do at once, it may just be reading on: so who got on in this turn is looked at after the next.
 */
void exchange_cut_ended(struct loop *l)
{
    MHD_UNSIGNED_LONG_LONG wait_ms;
    bool goes_on = l->fed && MHD_get_timeout(l->daemon, &wait_ms) == MHD_YES && wait_ms == 0;
    for (struct request *rq = l->fed, *next; rq; rq = next) {
        next = rq->fed_next;
        if (goes_on && rq->fed_turn == l->turn)
            continue;
        exchange_forget(rq);
        if (!rq->is_suspended && (rq->phase == PHASE_BODY || rq->phase == PHASE_DRAIN) &&
            request_input_ended(rq))
            request_cut(rq);
    }
    l->turn++;
}

static enum MHD_Result on_head(struct request *rq)
{
    enum err e = head_check(rq, &rq->fault);
    if (!e && rq->reply.kind)
        return send_reply(rq); /* OPTIONS */
    if (!e)
        e = body_check(rq, &rq->fault);
    rq->phase = e ? PHASE_DRAIN : PHASE_BODY;
    if (e && must_answer_at_once(rq))
        return answer_fault(rq);
    body_goes_on(rq);
    return MHD_YES;
}

static enum MHD_Result on_bytes(struct request *rq, const char *bytes, size_t *size)
{
    size_t taken = 0;
    if (rq->stalled_since_ns) {
        rq->stalled_ns += mono_ns() - rq->stalled_since_ns;
        rq->stalled_since_ns = 0;
    }
    if (body_is_too_slow(rq, mono_ns())) {
        log_info("httpd", "%s %s: the body came too slowly: cut", rq->method_name, rq->path);
        return MHD_NO;
    }
    enum err e = body_write(rq, bytes, *size, &taken, &rq->fault);
    if (e) {
        rq->phase = PHASE_DRAIN;
        body_release(rq);
    } else if (taken < *size) {
        if (rq->loop->is_stopping)
            return MHD_NO;
        rq->stalled_since_ns = mono_ns();
        loop_suspend(rq);
    }
    *size = e ? 0 : *size - taken;
    body_goes_on(rq);
    return MHD_YES;
}

static enum MHD_Result on_drained_bytes(struct request *rq, size_t *size)
{
    rq->drained_size += *size;
    *size = 0;
    body_goes_on(rq);
    if (rq->drained_size <= DRAIN_AFTER_FAULT && !body_is_too_slow(rq, mono_ns()))
        return MHD_YES;
    log_info("httpd", "%s %s: %s; the rest of the body is too much to wait for: cut", rq->method_name,
             rq->path, rq->fault.detail);
    return MHD_NO;
}

static enum MHD_Result on_end(struct request *rq)
{
    if (rq->phase == PHASE_DRAIN || body_finish(rq, &rq->fault))
        return answer_fault(rq);
    rq->phase = PHASE_PENDING;
    settle_handler(rq);
    if (settle_is_ready(rq))
        return send_reply(rq);
    loop_suspend(rq);
    return MHD_YES;
}

static enum MHD_Result on_call(struct request *rq, const char *upload, size_t *upload_size)
{
    switch (rq->phase) {
    case PHASE_HEAD:
        return on_head(rq);
    case PHASE_BODY:
        return *upload_size ? on_bytes(rq, upload, upload_size) : on_end(rq);
    case PHASE_DRAIN:
        return *upload_size ? on_drained_bytes(rq, upload_size) : on_end(rq);
    case PHASE_PENDING:
        return send_reply(rq);
    case PHASE_REPLY:
    default:
        return MHD_YES;
    }
}

enum MHD_Result exchange_access(void *cls, struct MHD_Connection *mhd, const char *url, const char *method,
                                const char *version, const char *upload, size_t *upload_size, void **cursor)
{
    (void)version;
    struct request *rq = *cursor;
    if (!rq) {
        rq = request_new(cls, mhd, url, method);
        if (!rq)
            return MHD_NO;
        *cursor = rq;
    }
    log_request_id_set(rq->id);
    enum MHD_Result result = on_call(rq, upload, upload_size);
    log_request_id_set("");
    return result;
}

void exchange_completed(void *cls, struct MHD_Connection *mhd, void **cursor,
                        enum MHD_RequestTerminationCode code)
{
    (void)cls;
    (void)mhd;
    (void)code;
    struct request *rq = *cursor;
    if (!rq)
        return;
    const struct httpd_hooks *hooks = &rq->loop->httpd->hooks;
    int status = rq->phase == PHASE_REPLY ? rq->reply.status : 0;
    int64_t duration_ns = mono_ns() - rq->started_ns;
    log_request_id_set(rq->id);
    /* A refusal is what somebody will ask about, with the id from the other side's log. */
    log_write(status >= 400 ? LOG_INFO : LOG_DEBUG, "httpd", "%s %s %d %.1f ms", rq->method_name, rq->path,
              status, (double)duration_ns / 1e6);
    if (hooks->observe)
        hooks->observe(hooks->ctx, rq->match.route, status, duration_ns, rq->body_size, rq->reply.bytes_out);
    request_free(rq);
    *cursor = NULL;
    log_request_id_set("");
}
