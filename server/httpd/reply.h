/* Setting the reply of a request: by the thread that owns it (the loop, or the one it was deferred to). The
 * last call wins. Sent when the handler returns ERR_OK, or by request_complete(). X-Request-Id,
 * X-Content-Type-Options and Referrer-Policy are added to every reply, and a Content-Security-Policy that
 * allows nothing where the handler set none. */
#ifndef FEDLANE_HTTPD_REPLY_H
#define FEDLANE_HTTPD_REPLY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"
#include "server/httpd/request.h"

/* Compact JSON. Steals `body`, also on error; NULL is ERR_NO_MEMORY. */
enum err reply_json(struct request *rq, int status, json_t *body) MUST_CHECK;
enum err reply_empty(struct request *rq, int status) MUST_CHECK; /* 204, 202, 304 */
/* Copies the bytes. */
enum err reply_bytes(struct request *rq, int status, const char *media_type, const void *bytes,
                     size_t n) MUST_CHECK;
/* Takes the bytes: they are freed by free(), also on error. */
enum err reply_bytes_take(struct request *rq, int status, const char *media_type, void *bytes,
                          size_t n) MUST_CHECK;
/* Bytes that outlive the server (embedded files); `etag` may be NULL. */
enum err reply_static(struct request *rq, const char *media_type, const void *bytes, size_t n,
                      const char *etag) MUST_CHECK;
/* The fault in the route's own manner (error_renderer). Retry-After stands where a retry can help and the
 * status is 429 or 503; WWW-Authenticate on 401. Never fails: out of memory it sends a shorter reply. */
void reply_fault(struct request *rq, const struct fault *fault);
/* The default error_renderer: application/problem+json {type, title, status, detail, code, request_id,
 * field?}. */
enum err reply_problem(struct request *rq, const struct fault *fault) MUST_CHECK;

/* Headers of the coming reply, kept when the reply itself is set or set again. Name and value are copied.
 * ERR_INVALID_FIELD for control characters. */
enum err reply_header(struct request *rq, const char *name, const char *value) MUST_CHECK;
/* The same for the reply to an error, should it come to that: what the client needs to do better. */
enum err reply_fault_header(struct request *rq, const char *name, const char *value) MUST_CHECK;
/* ETag: `tag` without quotes. A GET or HEAD with a matching If-None-Match is answered 304 in place of 200. */
enum err reply_etag(struct request *rq, const char *tag) MUST_CHECK;

/* A body of known size that is pulled piece by piece: weights, exports. Sent with Accept-Ranges; a request's
 * single Range is answered 206 or 416 (If-Range respected). The source lives until free(). */
struct body_source {
    uint64_t size_bytes;
    const char *media_type;
    const char *etag;       /* without quotes; NULL: none */
    const char *sha256_hex; /* of the whole: Content-Digest of a 200, Repr-Digest of a 206; NULL: none */
    /* Up to n bytes from offset on, in the request's own thread. ERR_OK with *out_n = 0: nothing yet, ask
     * again after request_resume(). An error cuts the connection, so that a short body is never taken for the
     * whole. */
    enum err (*pull)(void *ctx, uint64_t offset, void *buf, size_t n, size_t *out_n);
    void (*free)(void *ctx); /* may be NULL; called exactly once, also when reply_source fails */
    void *ctx;
};
enum err reply_source(struct request *rq, const struct body_source *source) MUST_CHECK;

#endif
