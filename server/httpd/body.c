#include "server/httpd/internal.h"
#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include "common/base/str.h"
#include "common/json/json_spec.h"

bool request_has_body(const struct request *rq)
{
    return rq->content_length > 0;
}

static uint64_t body_limit(const struct route *route)
{
    if (route->body == BODY_NONE)
        return 0;
    if (route->body_limit)
        return route->body_limit;
    return route->body == BODY_JSON ? LIMIT_JSON_BODY
                                    : (uint64_t)LIMIT_MODEL_BYTES + LIMIT_SAFETENSORS_HEADER;
}

static enum err too_large(const struct route *route, struct fault *fault)
{
    if (route->body == BODY_NONE)
        return fault_set(fault, ERR_PAYLOAD_TOO_LARGE, NULL, "this route takes no body; send none");
    return fault_set(fault, ERR_PAYLOAD_TOO_LARGE, NULL,
                     "the body is larger than the %" PRIu64 " bytes that this route takes",
                     body_limit(route));
}

/* "Application/JSON; charset=utf-8" to "application/json". */
static enum err media_type_read(struct request *rq, struct fault *fault)
{
    const char *header = request_header(rq, "Content-Type");
    if (!header)
        return ERR_OK;
    header += strspn(header, " \t");
    char *copy = arena_strndup(&rq->arena, header, strcspn(header, "; \t"));
    if (!copy)
        return reply_no_memory(fault);
    for (char *p = copy; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    rq->media_type = copy;
    return ERR_OK;
}

static enum err media_type_check(struct request *rq, struct fault *fault)
{
    static const char *const json_only[] = {"application/json", NULL};
    const struct route *route = rq->match.route;
    const char *const *accepted = route->media_types;
    enum err e = media_type_read(rq, fault);
    if (e)
        return e;
    if (!accepted && route->body == BODY_JSON)
        accepted = json_only;
    for (const char *const *type = accepted; type && *type; type++)
        if (str_eq(*type, rq->media_type))
            accepted = NULL;
    if (accepted)
        return fault_set(fault, ERR_UNSUPPORTED_MEDIA_TYPE, "Content-Type",
                         "send the header Content-Type: %s, not \"%s\"", accepted[0], rq->media_type);
    const char *encoding = request_header(rq, "Content-Encoding");
    if (encoding && strcmp(encoding, "identity") != 0)
        return fault_set(fault, ERR_UNSUPPORTED_MEDIA_TYPE, "Content-Encoding",
                         "send the body as it is, without Content-Encoding");
    return ERR_OK;
}

static enum err digest_read(struct request *rq, struct fault *fault)
{
    const char *header = request_header(rq, "Content-Digest");
    if (!header)
        return ERR_OK;
    enum err e = content_digest_parse(header, rq->digest);
    rq->has_digest = !e;
    if (e == ERR_INVALID_FIELD)
        return fault_set(fault, e, "Content-Digest", "malformed; expected sha-256=:BASE64: (RFC 9530)");
    return ERR_OK; /* other algorithms only: nothing that we could check */
}

enum err body_check(struct request *rq, struct fault *fault)
{
    const struct route *route = rq->match.route;
    enum err e = ERR_OK;
    if (rq->content_length != REQUEST_LENGTH_UNKNOWN && rq->content_length > body_limit(route))
        return too_large(route, fault);
    buf_init(&rq->body, route->body == BODY_JSON ? (size_t)body_limit(route) : 0);
    if (request_has_body(rq) && route->body != BODY_NONE)
        e = media_type_check(rq, fault);
    if (!e)
        e = digest_read(rq, fault);
    if (e || route->body != BODY_STREAM)
        return e;
    e = sha256_new(&rq->hash);
    if (e)
        return reply_no_memory(fault);
    e = route->sink->open(rq->loop->httpd->hooks.ctx, rq, &rq->sink, fault);
    if (e)
        fault->err = e;
    else if (!rq->sink)
        bug("the sink of route %s opened as NULL", route->operation_id);
    return e;
}

static enum err stream_write(struct request *rq, const char *bytes, size_t n, size_t *out_taken,
                             struct fault *fault)
{
    enum err e = rq->match.route->sink->write(rq->sink, bytes, n, out_taken, fault);
    if (!e && *out_taken > n)
        bug("the sink of route %s took more than it was given", rq->match.route->operation_id);
    if (!e)
        e = sha256_update(rq->hash, bytes, *out_taken);
    if (e)
        fault->err = e;
    return e;
}

enum err body_write(struct request *rq, const char *bytes, size_t n, size_t *out_taken, struct fault *fault)
{
    const struct route *route = rq->match.route;
    enum err e = ERR_OK;
    if (n > body_limit(route) - rq->body_size)
        return too_large(route, fault);
    *out_taken = n;
    if (route->body == BODY_STREAM)
        e = stream_write(rq, bytes, n, out_taken, fault);
    else if (buf_append(&rq->body, bytes, n))
        e = reply_no_memory(fault);
    rq->body_size += e ? 0 : *out_taken;
    return e;
}

enum err request_json_parse(struct request *rq, struct fault *fault)
{
    if (rq->json || !rq->body.len)
        return ERR_OK;
    return json_text_parse(rq->body.data, rq->body.len, &rq->json, fault);
}

static enum err json_read(struct request *rq, struct fault *fault)
{
    if (rq->body.len)
        return rq->match.route->parses_itself ? ERR_OK : request_json_parse(rq, fault);
    if (rq->match.route->body_is_optional)
        return ERR_OK;
    return fault_set(fault, ERR_MALFORMED_JSON, NULL, "the body is empty; this route takes a JSON object");
}

static void drop_sink(struct request *rq)
{
    if (rq->sink)
        rq->match.route->sink->abort(rq->sink);
    rq->sink = NULL;
}

static enum err check_digest(struct request *rq, struct fault *fault)
{
    enum err e = ERR_OK;
    if (rq->hash) {
        uint8_t digest[SHA256_SIZE];
        e = sha256_final(rq->hash, digest);
        if (e)
            return fault_set(fault, e, NULL, "SHA-256 failed");
        hex_encode(digest, sizeof digest, rq->sha256);
        rq->has_sha256 = true;
    }
    if (rq->has_digest) {
        char actual[SHA256_HEX_SIZE];
        e = request_body_sha256(rq, actual);
        if (e)
            return fault_set(fault, e, NULL, "SHA-256 failed");
        if (strcmp(actual, rq->digest) != 0)
            return fault_set(fault, ERR_DIGEST_MISMATCH, "Content-Digest",
                             "the body that arrived has SHA-256 %s, the header says %s; send it again",
                             actual, rq->digest);
    }
    return ERR_OK;
}

enum err body_finish(struct request *rq, struct fault *fault)
{
    enum err e = check_digest(rq, fault);
    if (e)
        drop_sink(rq); /* before the answer: who hears it finds nothing left of the body */
    return !e && rq->match.route->body == BODY_JSON ? json_read(rq, fault) : e;
}

bool body_is_too_slow(const struct request *rq, int64_t now_ns)
{
    int64_t allowed_ns = (int64_t)rq->loop->httpd->config.timeout_s * 1000000000 + rq->stalled_ns;
    uint64_t got = rq->body_size + rq->drained_size;
    return (now_ns - rq->started_ns - allowed_ns) / 1000000000 > (int64_t)(got / LIMIT_BODY_RATE);
}

void body_release(struct request *rq)
{
    drop_sink(rq);
    sha256_free(rq->hash);
    rq->hash = NULL;
    json_decref(rq->json);
    rq->json = NULL;
    buf_release(&rq->body);
}

const json_t *request_json(const struct request *rq)
{
    return rq->json;
}

const char *request_body(const struct request *rq, size_t *out_len)
{
    *out_len = rq->body.len;
    return rq->body.data ? rq->body.data : "";
}

enum err request_body_sha256(struct request *rq, char out[SHA256_HEX_SIZE])
{
    if (!rq->has_sha256) {
        if (rq->hash)
            bug("the SHA-256 of a streamed body is asked for before its end");
        size_t n;
        const char *text = request_body(rq, &n);
        enum err e = sha256_hex(text, n, rq->sha256);
        if (e)
            return e;
        rq->has_sha256 = true;
    }
    return str_copy(out, SHA256_HEX_SIZE, rq->sha256);
}

bool request_body_is_wrong(const struct request *rq)
{
    return rq->has_digest && rq->has_sha256 && strcmp(rq->sha256, rq->digest) != 0;
}

uint64_t request_body_size(const struct request *rq)
{
    return rq->body_size;
}

void *request_sink_take(struct request *rq)
{
    void *sink = rq->sink;
    rq->sink = NULL;
    return sink;
}
