/* Routes are data: one row per method and path. What httpd needs to refuse a request before its body is read,
 * and what handlers and tests read about themselves, stands in the row. */
#ifndef FEDLANE_HTTPD_ROUTER_H
#define FEDLANE_HTTPD_ROUTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"

struct request;

/* HEAD is answered by the GET row without its body; OPTIONS with 204 and Allow. */
enum http_method { HTTP_GET, HTTP_POST, HTTP_PUT, HTTP_PATCH, HTTP_DELETE, HTTP_METHODS };

enum body_kind {
    BODY_NONE,   /* a request with a body is refused */
    BODY_JSON,   /* gathered, digest verified, parsed: request_json() */
    BODY_STREAM, /* given to the route's sink piece by piece as it arrives */
};

/* A handler reads fields, calls the core, and sets a reply (reply.h). `ctx` is the hooks' ctx.
 * ERR_OK with a reply set: the reply is sent. ERR_OK after request_defer(): the reply comes later. ERR_OK
 * after waiter_park(): httpd calls the wake function next. Anything else: `fault` (its err is set to the
 * returned one) is rendered; a reply set before is dropped. Never blocks for long: it runs in the thread that
 * serves thousands. */
typedef enum err route_handler(void *ctx, struct request *rq, struct fault *fault);

/* Where a streamed body goes. All of it runs in the request's own thread. */
struct body_sink_ops {
    /* Headers only, authenticated, path and query valid, declared length within the limit: the last chance to
     * refuse before the body is read. *out_sink may not be NULL on ERR_OK. */
    enum err (*open)(void *ctx, struct request *rq, void **out_sink, struct fault *fault);
    /* Takes up to n bytes and says how many. Fewer than n: no more room now; httpd stops reading this
     * connection until request_resume(rq). An error is answered after the rest of the body was drained (up to
     * a cap). */
    enum err (*write)(void *sink, const void *bytes, size_t n, size_t *out_taken, struct fault *fault);
    /* Called once, unless the handler took the sink by request_sink_take(): failure, digest mismatch, client
     * gone. Releases everything. */
    void (*abort)(void *sink);
};

/* Renders an error in the manner of the route: calls reply_*(). NULL in a row is problem+json (RFC 9457). */
typedef enum err error_renderer(struct request *rq, const struct fault *fault);

struct route {
    const char *operation_id; /* unique: "run_create" */
    enum http_method method;
    /* Segments: literal ("runs", "tasks:claim"), "{name}", "{name}:suffix", and as the last one "*name" for
     * all that remains (also nothing). A literal wins over "{name}:suffix", that over "{name}", that over
     * "*name". */
    const char *path;
    uint32_t roles; /* a bit mask that only the authenticate hook reads */
    enum body_kind body;
    bool body_is_optional; /* BODY_JSON: an empty body is fine, request_json() is then NULL */
    bool parses_itself;    /* BODY_JSON: the handler reads the text, or calls request_json_parse() */
    uint64_t body_limit;   /* bytes; 0 is LIMIT_JSON_BODY with BODY_JSON, LIMIT_MODEL_BYTES + header with
                              BODY_STREAM */
    const char *const *media_types; /* accepted Content-Types, NULL-ended; NULL: application/json with
                                       BODY_JSON, any with BODY_STREAM */
    const char *const *query; /* known query parameters, NULL-ended; NULL: none. Others are refused by name */
    bool ignores_unknown; /* unknown query parameters are ignored; handlers do the same with JSON fields */
    bool is_idempotent;   /* honours Idempotency-Key; read by the API */
    bool is_audited;      /* what it does is put on record; read by the API */
    int max_wait_s;       /* long-poll: the most that ?wait= may ask for; 0: no long-poll */
    const struct body_sink_ops *sink; /* BODY_STREAM */
    route_handler *handler;
    error_renderer *render_error;
};

/* The method's name, "GET". */
const char *http_method_name(enum http_method m);

#endif
