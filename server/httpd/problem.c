#include "server/httpd/internal.h"
#include <string.h>
#include "common/base/log.h"
#include "common/base/str.h"

static enum err problem_json(struct request *rq, const struct fault *fault, json_t **out)
{
    int status = err_http_status(fault->err);
    json_t *body = json_pack("{s:s, s:s, s:i, s:s, s:s, s:s}", "type", "about:blank", "title",
                             MHD_get_reason_phrase_for((unsigned)status), "status", status, "detail",
                             fault->detail, "code", err_code(fault->err), "request_id", rq->id);
    if (body && fault->field[0] && json_object_set_new(body, "field", json_string(fault->field)) != 0) {
        json_decref(body);
        body = NULL;
    }
    *out = body;
    return body ? ERR_OK : ERR_NO_MEMORY;
}

enum err reply_problem(struct request *rq, const struct fault *fault)
{
    json_t *body;
    enum err e = problem_json(rq, fault, &body);
    return e ? e : reply_json_as(rq, err_http_status(fault->err), "application/problem+json", body);
}

/* A fault can quote what a client sent, cut anywhere: what is no UTF-8 would spoil the JSON. */
static void make_utf8(char *text)
{
    for (size_t n = strlen(text), used; n > 0; text += used, n -= used) {
        used = utf8_sequence(text, n);
        if (!used) {
            *text = '?';
            used = 1;
        }
    }
}

/* What is shown: no internals. They go into the log, where the request id finds them. */
static struct fault shown_fault(struct request *rq, const struct fault *fault)
{
    struct fault shown = *fault;
    if (shown.err > ERR_STORAGE_FULL)
        shown.err = ERR_INTERNAL;
    int status = err_http_status(shown.err);
    if (shown.err == ERR_INTERNAL) {
        log_error("httpd", "%s %s: %s: %s", rq->method_name, rq->path, err_name(fault->err), fault->detail);
        (void)fault_set(&shown, ERR_INTERNAL, NULL,
                        "the server failed; its log says why, under request id %s", rq->id);
    } else if (status >= 500) {
        log_warning("httpd", "%s %s: %s: %s", rq->method_name, rq->path, err_name(fault->err), fault->detail);
    }
    if (!shown.detail[0])
        (void)fault_set(&shown, shown.err, shown.field, "%s", err_code(shown.err));
    str_hide_tokens(shown.detail);
    str_hide_tokens(shown.field);
    make_utf8(shown.detail);
    make_utf8(shown.field);
    return shown;
}

static enum err error_fields(struct request *rq, const struct fault *fault)
{
    int status = err_http_status(fault->err);
    enum err e = ERR_OK;
    if (status == 401)
        e = reply_header(rq, "WWW-Authenticate", "Bearer");
    if ((status == 429 || status == 503) && err_retry_helps(fault->err))
        e = reply_header(rq, "Retry-After", RETRY_AFTER_S);
    if (fault->err == ERR_METHOD_NOT_ALLOWED)
        e = reply_allow(rq);
    return e;
}

void reply_fault(struct request *rq, const struct fault *fault)
{
    static const char last_words[] =
        "{\"type\":\"about:blank\",\"title\":\"Service Unavailable\",\"status\":503,"
        "\"detail\":\"not enough memory; try again in a few seconds\","
        "\"code\":\"unavailable\"}";
    const struct route *route = rq->match.route;
    struct fault shown = shown_fault(rq, fault);
    reply_reset(rq);
    rq->reply.fields = rq->fault_fields;
    enum err e = route && route->render_error ? route->render_error(rq, &shown) : reply_problem(rq, &shown);
    if (!e)
        e = error_fields(rq, &shown);
    if (!e)
        return;
    reply_reset(rq);
    rq->reply = (struct reply){.kind = REPLY_BYTES,
                               .status = 503,
                               .media_type = "application/problem+json",
                               .bytes = last_words,
                               .size = sizeof last_words - 1};
}
