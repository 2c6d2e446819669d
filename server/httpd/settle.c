#include "server/httpd/internal.h"
#include "common/base/clock.h"
#include "common/base/log.h"

bool settle_is_ready(const struct request *rq)
{
    return !rq->is_deferred && !rq->wait.wake && (rq->reply.kind || rq->is_dropped);
}

static void *ctx_of(const struct request *rq)
{
    return rq->loop->httpd->hooks.ctx;
}

/* The wait, if there was one, is over; the reply is there. */
static void finish(struct request *rq)
{
    rq->wait.wake = NULL;
    timer_disarm(&rq->loop->timers, &rq->timer);
    if (rq->reply.kind != REPLY_EVENTS)
        waiters_unsubscribe(rq);
    if (rq->is_suspended)
        loop_resume(rq);
}

static bool is_timed_out(const struct request *rq)
{
    return atomic_load(&rq->loop->httpd->is_draining) || mono_ns() >= rq->wait.until_ns;
}

static void settle(struct request *rq, enum err e, struct fault *fault);

/* One look at what a parked request waits for. */
static void look(struct request *rq)
{
    struct fault fault = FAULT_NONE;
    bool timed_out = is_timed_out(rq);
    rq->wait.is_missed = false;
    rq->wait.is_last = timed_out;
    enum err e = rq->wait.wake(ctx_of(rq), rq, timed_out, &fault);
    settle(rq, e, &fault);
}

/* After any step: what is next? A deferred request is another thread's now; only is_deferred may be read. */
static void settle(struct request *rq, enum err e, struct fault *fault)
{
    if (rq->is_deferred)
        return;
    if (!e && !rq->reply.kind && rq->wait.wake && rq->wait.is_last)
        e = reply_empty(rq, 204);
    if (!e && !rq->reply.kind && rq->wait.wake) {
        if (rq->wait.is_missed || is_timed_out(rq))
            look(rq);
        return;
    }
    if (!e && !rq->reply.kind)
        e = fault_set(fault, ERR_INTERNAL, NULL, "the handler of %s set no reply",
                      rq->match.route->operation_id);
    if (e) {
        fault->err = e;
        reply_fault(rq, fault);
    }
    finish(rq);
}

void settle_handler(struct request *rq)
{
    struct fault fault = FAULT_NONE;
    enum err e = rq->match.route->handler(ctx_of(rq), rq, &fault);
    settle(rq, e, &fault);
}

static void settle_returned(struct request *rq, bool goes_on)
{
    struct fault fault = FAULT_NONE;
    if (!rq->is_deferred)
        bug("request %s: completed or continued without request_defer()", rq->id);
    rq->is_deferred = false;
    settle(rq, goes_on ? rq->step(ctx_of(rq), rq, &fault) : ERR_OK, &fault);
}

/* An event after some quiet goes out at once; those that follow it closely go together, so that many open
 * streams of a busy run cost little. */
static void resume_events(struct request *rq)
{
    struct reply *r = &rq->reply;
    int64_t due_ns = r->sent_ns + (int64_t)SSE_GATHER_MS * 1000000;
    if (r->is_gathering)
        return;
    if (r->kind == REPLY_EVENTS && mono_ns() < due_ns)
        r->is_gathering = timer_arm(&rq->loop->timers, &rq->timer, due_ns) == ERR_OK;
    if (!r->is_gathering)
        loop_resume(rq);
}

static void settle_notified(struct request *rq)
{
    if (rq->wait.wake && rq->is_deferred) {
        rq->wait.is_missed = true;
    } else if (rq->wait.wake && request_client_gone(rq)) {
        rq->is_dropped = true;
        finish(rq);
    } else if (rq->wait.wake) {
        look(rq);
    } else if (rq->is_suspended && !rq->is_deferred && rq->phase != PHASE_PENDING) {
        resume_events(rq);
    }
}

void settle_inbox(struct request *rq, unsigned flags)
{
    if (flags & (INBOX_COMPLETE | INBOX_CONTINUE))
        settle_returned(rq, flags & INBOX_CONTINUE);
    if (flags & INBOX_NOTIFIED)
        settle_notified(rq);
    if ((flags & INBOX_RESUME) && rq->is_suspended && rq->phase != PHASE_PENDING)
        loop_resume(rq);
}

void settle_timer(struct request *rq)
{
    if (rq->wait.wake && rq->is_deferred) {
        rq->wait.is_missed = true;
    } else if (rq->wait.wake) {
        look(rq);
    } else if (rq->reply.kind == REPLY_EVENTS && rq->is_suspended) {
        rq->reply.is_comment_due = !rq->reply.is_gathering;
        loop_resume(rq);
    }
}

void settle_shutdown(struct request *rq)
{
    log_request_id_set(rq->id);
    if (rq->wait.wake && rq->is_deferred)
        rq->wait.is_missed = true;
    else if (rq->wait.wake)
        look(rq);
    else if (rq->is_suspended && rq->phase != PHASE_PENDING &&
             (rq->loop->is_stopping || rq->reply.kind == REPLY_EVENTS))
        loop_resume(rq);
    log_request_id_set("");
}
