/* Many requests at once over kept-alive connections, driven by one thread. All functions belong to that
 * thread, but for http_loop_wakeup. */
#ifndef FEDLANE_HTTP_LOOP_H
#define FEDLANE_HTTP_LOOP_H

#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"
#include "common/http/http.h"

struct http_loop;
struct http_call; /* one request on its way; gone when its callback returns */

/* The client outlives the loop. */
enum err http_loop_new(struct http_client *client, struct http_loop **out) MUST_CHECK;
/* Ends what still runs: each callback is called with ERR_CANCELLED; it must not start anything. */
void http_loop_free(struct http_loop *loop);

/* e, response and fault as http_request gives them; both are released when it returns (buf_take moves a body
 * out). Runs inside http_loop_run_once (or _free), exactly once per started request, and may start and cancel
 * others. */
typedef void http_done_fn(void *ctx, enum err e, struct http_response *response, const struct fault *fault);

/* Does not block. The request's texts are copied; its body stays the caller's and unchanged until `done`.
 * `out_call` may be NULL. On an error (ERR_NO_MEMORY, ERR_USAGE) `done` is never called. */
enum err http_loop_start(struct http_loop *loop, const struct http_request *request, http_done_fn *done,
                         void *ctx, struct http_call **out_call) MUST_CHECK;
/* `done` follows with ERR_CANCELLED in the next http_loop_run_once, even if the reply has come meanwhile. */
void http_loop_cancel(struct http_loop *loop, struct http_call *call);
size_t http_loop_num_calls(const struct http_loop *loop); /* started and not done */

/* Moves everything on; waits at most timeout_ms (-1: without end) for something to happen first. Returns
 * after any event, however small, so call it again. ERR_NO_MEMORY, ERR_NETWORK when polling itself failed. */
enum err http_loop_run_once(struct http_loop *loop, int64_t timeout_ms) MUST_CHECK;
/* From any thread or a signal handler: makes the http_loop_run_once that waits, or the next one, return at
 * once. */
void http_loop_wakeup(struct http_loop *loop);

#endif
