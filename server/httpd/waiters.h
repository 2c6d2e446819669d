/* Long-polls: requests that wait for something to happen, without a thread each. A request subscribes to
 * topics before its state is read, so no wake-up is lost; a notify from any thread makes it look again; a
 * deadline ends the wait. */
#ifndef FEDLANE_HTTPD_WAITERS_H
#define FEDLANE_HTTPD_WAITERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"
#include "server/httpd/request.h"

struct waiters; /* the hub: who waits for which topic; thread-safe */

/* Made before the server and given to it; freed after httpd_stop(). Past max_waiters, parking fails. */
enum err waiters_new(size_t max_waiters, struct waiters **out) MUST_CHECK;
void waiters_free(struct waiters *hub);

/* A topic is a 64-bit hash of its kind and name, e.g. ("worker", id). name may be NULL. A collision costs a
 * needless look, never a lost one. */
uint64_t topic_of(const char *kind, const char *name);

/* Any thread: everybody who waits for the topic looks again, soon, in its own thread. Several notifies may be
 * answered by one look, which begins after the last of them. */
void waiters_notify(struct waiters *hub, uint64_t topic);
size_t waiters_count(const struct waiters *hub); /* parked long-polls and event streams now */

/* Looks whether the wait is over. Sets a reply: it is sent. Sets nothing: the wait goes on; when timed_out,
 * 204 is sent. May request_defer() (a claim is a write) and answer, or go on waiting, in a request_continue()
 * step; a notify that comes meanwhile makes it look again afterwards. Not called when the client has gone.
 * Errors as in a handler. */
typedef enum err wake_fn(void *ctx, struct request *rq, bool timed_out, struct fault *fault);

/* From a handler (or a step), which then returns ERR_OK: subscribes now; httpd calls `wake` at once after the
 * handler, after each notify, and for the last time with timed_out after wait_ms (0: the first look is the
 * last one) or when the server shuts down. Topics are copied. ERR_TOO_MANY_WAITERS (503 with Retry-After)
 * past the hub's limit. */
enum err waiter_park(struct request *rq, const uint64_t *topics, size_t num_topics, int64_t wait_ms,
                     wake_fn *wake, struct fault *fault) MUST_CHECK;

#endif
