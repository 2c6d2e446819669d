#include "server/httpd/internal.h"
#include <string.h>
#include <strings.h>
#include "common/base/log.h"
#include "common/base/str.h"
#include "server/httpd/uri.h"

/* "GET, HEAD, OPTIONS" of a path's methods. */
static const char *allow_text(struct request *rq)
{
    struct buf text = BUF_INIT(KIB);
    enum err e = ERR_OK;
    for (enum http_method m = 0; m < HTTP_METHODS && !e; m++)
        if (rq->match.allowed & (1u << m))
            e = buf_printf(&text, "%s, %s", http_method_name(m), m == HTTP_GET ? "HEAD, " : "");
    if (!e)
        e = buf_puts(&text, "OPTIONS");
    const char *copy = e ? NULL : arena_strdup(&rq->arena, text.data);
    buf_release(&text);
    return copy;
}

enum err reply_allow(struct request *rq)
{
    const char *allow = allow_text(rq);
    return allow ? reply_header(rq, "Allow", allow) : ERR_NO_MEMORY;
}

static bool method_parse(const char *name, enum http_method *out)
{
    for (enum http_method m = 0; m < HTTP_METHODS; m++)
        if (str_eq(name, http_method_name(m))) {
            *out = m;
            return true;
        }
    return false;
}

static enum err method_refused(struct request *rq, struct fault *fault)
{
    if (str_eq(rq->method_name, "OPTIONS")) {
        enum err e = reply_empty(rq, 204);
        if (!e)
            e = reply_allow(rq);
        return e ? reply_no_memory(fault) : ERR_OK;
    }
    return fault_set(fault, ERR_METHOD_NOT_ALLOWED, NULL,
                     "this path does not take %s; the Allow header lists what it takes", rq->method_name);
}

static enum err route_find(struct request *rq, struct fault *fault)
{
    const char *const *segments;
    size_t num_segments;
    enum http_method method = HTTP_METHODS;
    enum err e = uri_split(rq->path, &rq->arena, &segments, &num_segments, fault);
    if (e)
        return e;
    rq->is_head = str_eq(rq->method_name, "HEAD");
    if (rq->is_head)
        method = HTTP_GET;
    else
        (void)method_parse(rq->method_name, &method);
    e = router_match(rq->loop->httpd->router, method, segments, num_segments, &rq->arena, &rq->match, fault);
    if (e)
        return e;
    if (!rq->match.allowed)
        return fault_set(fault, ERR_NOT_FOUND, NULL,
                         "there is nothing at this path; see /api/v1/openapi.json");
    return rq->match.route ? ERR_OK : method_refused(rq, fault);
}

static bool query_is_known(const struct route *route, const char *name)
{
    for (const char *const *known = route->query; known && *known; known++)
        if (str_eq(*known, name))
            return true;
    return false;
}

struct query_reading {
    struct request *rq;
    struct fault *fault;
    enum err err;
};

static enum err query_add(struct request *rq, const char *raw_name, const char *raw_value,
                          struct fault *fault)
{
    const char *name, *value;
    enum err e = uri_decode(raw_name, strlen(raw_name), "query", &rq->arena, &name, fault);
    if (!e)
        e = uri_decode(raw_value, strlen(raw_value), name, &rq->arena, &value, fault);
    if (e)
        return e;
    if (!query_is_known(rq->match.route, name)) {
        if (rq->match.route->ignores_unknown)
            return ERR_OK;
        return fault_set(fault, ERR_UNKNOWN_FIELD, name, "this route knows no query parameter of this name");
    }
    if (request_query(rq, name))
        return fault_set(fault, ERR_INVALID_FIELD, name, "a query parameter may be given only once");
    if (rq->num_query == LIMIT_QUERY_PARAMS)
        return fault_set(fault, ERR_INVALID_FIELD, "query", "at most %d query parameters",
                         LIMIT_QUERY_PARAMS);
    rq->query[rq->num_query++] = (struct query_param){.name = name, .value = value};
    return ERR_OK;
}

static enum MHD_Result query_visit(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct query_reading *reading = cls;
    (void)kind;
    reading->err = query_add(reading->rq, name, value ? value : "", reading->fault);
    return reading->err ? MHD_NO : MHD_YES;
}

static enum err query_read(struct request *rq, struct fault *fault)
{
    struct query_reading reading = {.rq = rq, .fault = fault};
    int given = MHD_get_connection_values(rq->mhd, MHD_GET_ARGUMENT_KIND, NULL, NULL);
    if (given <= 0)
        return ERR_OK;
    size_t room = given < LIMIT_QUERY_PARAMS ? (size_t)given : LIMIT_QUERY_PARAMS;
    rq->query = arena_calloc(&rq->arena, room, sizeof *rq->query);
    if (!rq->query)
        return reply_no_memory(fault);
    (void)MHD_get_connection_values(rq->mhd, MHD_GET_ARGUMENT_KIND, query_visit, &reading);
    return reading.err;
}

/* Who asks is settled before what is asked is judged: a stranger learns nothing from our error texts. */
enum err head_check(struct request *rq, struct fault *fault)
{
    const struct httpd *h = rq->loop->httpd;
    enum err e = framing_check(rq, fault);
    if (e)
        return e;
    if (!connection_is_trusted(rq))
        return fault_set(
            fault, ERR_UNAUTHORIZED, NULL,
            "this server answers who shows a certificate that its authority has signed for clients: "
            "curl --cert client.pem --key client.key, fedlane --cert client.pem --key client.key");
    if (atomic_load(&h->is_stopping))
        return fault_set(fault, ERR_UNAVAILABLE, NULL, "the server is stopping; try again in a few seconds");
    e = route_find(rq, fault);
    if (e || !rq->match.route)
        return e;
    if (h->hooks.authenticate) {
        e = h->hooks.authenticate(h->hooks.ctx, rq, rq->match.route, fault);
        if (e) {
            fault->err = e;
            return e;
        }
    }
    return query_read(rq, fault);
}
