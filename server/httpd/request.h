/* One HTTP request, from its headers to its reply. Belongs to one thread (the loop that serves its
 * connection), which runs the hooks, the handler, wake functions and sinks. request_defer() lends it to
 * another thread until that one calls request_complete() or request_continue(). Freed with all it owns when
 * the exchange ends, however it ends. */
#ifndef FEDLANE_HTTPD_REQUEST_H
#define FEDLANE_HTTPD_REQUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/crypto/sha256.h"
#include "server/httpd/router.h"

/* ---- what was asked; all texts live as long as the request ---- */

const struct route *request_route(const struct request *rq);
const char *request_method(const struct request *rq); /* "GET"; "HEAD" for a HEAD request */
const char *request_path(const struct request *rq);   /* as sent, without the query */
/* A path parameter, percent-decoded: valid UTF-8 without NUL; may hold a '/' that was sent as %2F. Never NULL
 * for a name in the pattern (another name is a bug()). *name parameters come joined with '/', never with "."
 * or ".." or an encoded slash in them; "" when nothing remained. */
const char *request_param(const struct request *rq, const char *name);
/* A query parameter, decoded ('+' is a blank) and valid UTF-8; NULL when absent. A name twice was refused
 * before. */
const char *request_query(const struct request *rq, const char *name);
/* The same as a whole number within min..max; `otherwise` when absent. ERR_INVALID_FIELD names it. */
enum err request_query_int(const struct request *rq, const char *name, int64_t min, int64_t max,
                           int64_t otherwise, int64_t *out, struct fault *fault) MUST_CHECK;
/* ?wait= in seconds, whole or with a fraction, 0..route's max_wait_s, as milliseconds; 0 when absent. */
enum err request_wait_ms(const struct request *rq, int64_t *out_ms, struct fault *fault) MUST_CHECK;
/* The first header of this name (any case); NULL when absent. Bytes as sent. */
const char *request_header(const struct request *rq, const char *name);
/* True when Accept names this media type itself ("text/csv"), with a q that is not 0. */
bool request_accepts(const struct request *rq, const char *media_type);
/* The same of Accept-Encoding and a content coding ("gzip"). */
bool request_accepts_coding(const struct request *rq, const char *coding);
/* The media type of the body, lower case, without its parameters; "" when absent. */
const char *request_media_type(const struct request *rq);
#define REQUEST_LENGTH_UNKNOWN UINT64_MAX
uint64_t request_content_length(
    const struct request *rq); /* REQUEST_LENGTH_UNKNOWN when chunked; 0 without a body */
/* The client's X-Request-Id if it is 1 to 64 of [A-Za-z0-9._-], else 32 hex digits of our own. In every
 * reply. */
const char *request_id(const struct request *rq);
const char *request_remote(
    const struct request *rq); /* "127.0.0.1" or "::1", without the port; "" when unknown */
/* Asks the socket: the client has closed its end. One system call. */
bool request_client_gone(const struct request *rq);

/* ---- the body ---- */

/* The parsed JSON; borrowed; NULL when the route has no JSON body or an optional one was left out. */
const json_t *request_json(const struct request *rq);
/* Parses it on a route that parses_itself; ERR_MALFORMED_JSON says where. Again: nothing. */
enum err request_json_parse(struct request *rq, struct fault *fault) MUST_CHECK;
/* The JSON text as received; "" and 0 without one. */
const char *request_body(const struct request *rq, size_t *out_len);
/* SHA-256 of the received body in hex; also of an empty one. Of a stream: only in the handler and later. */
enum err request_body_sha256(struct request *rq, char out[SHA256_HEX_SIZE]) MUST_CHECK;
/* From a sink's abort: all of the body came, and it is not what Content-Digest promised. */
bool request_body_is_wrong(const struct request *rq);
uint64_t request_body_size(const struct request *rq); /* bytes received so far */
/* The sink that open() gave, and with it the duty to finish and release it. */
void *request_sink_take(struct request *rq);

/* ---- what belongs to the request ---- */

/* The request's memory, released with it; at most LIMIT_REQUEST_ARENA. */
struct arena *request_arena(struct request *rq);
enum request_slot {
    REQUEST_CALLER, /* who is asking: set by the authenticate hook */
    REQUEST_STATE,  /* a handler's own, between its steps */
    REQUEST_SLOTS
};
/* `release` (may be NULL) runs on `value` when the request is freed, or at once on the former value when it
 * is set anew. Slots are released in reverse order, before the arena. */
void request_set(struct request *rq, enum request_slot slot, void *value, void (*release)(void *value));
void *request_get(const struct request *rq, enum request_slot slot);

/* ---- answering later, from another thread ---- */

/* Called by the handler BEFORE it hands rq to another thread. Then the handler returns ERR_OK and touches rq
 * no more: the other thread owns it. Exactly one request_complete() or request_continue() must follow, even
 * at shutdown. A client that leaves meanwhile changes nothing: rq stays valid until then. */
void request_defer(struct request *rq);
/* Any thread: the reply was set by reply_*(); send it. rq may be freed at once. */
void request_complete(struct request *rq);
/* Any thread: run `step` in the request's own thread, as a handler that may reply, fail, defer again, park,
 * or (when a waiter is parked) return ERR_OK with nothing set to go on waiting. */
void request_continue(struct request *rq, route_handler *step);
/* Any thread: a sink that took fewer bytes has room again, or a body source has bytes again. Harmless when it
 * was not waiting. Only while rq is known to live: between open() and abort()/take, or until the source's
 * free(). */
void request_resume(struct request *rq);

#endif
