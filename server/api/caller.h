/* Who asks, and what of the objects that belong to workers he may touch. */
#ifndef FEDLANE_API_CALLER_H
#define FEDLANE_API_CALLER_H

#include "server/httpd/request.h"
#include "server/httpd/router.h"
#include "server/store/store.h"

struct api;

struct caller {
    const char *token_id;
    uint32_t role;                     /* one bit of enum token_role */
    const char *worker_id, *device_id; /* whose token it is, for ROLE_WORKER: one of them; else "" */
    const char *sha256;                /* of the secret that was shown */
    int64_t expires_at;                /* 0: never */
};

/* The authenticate hook: token to caller, role against the row, and for a worker the path's worker, device or
 * task against its own. */
enum err api_authenticate(void *ctx, struct request *rq, const struct route *route, struct fault *fault);
/* For who failed to show a good token or code, with `fault` set: `e`, or ERR_RATE_LIMITED where that address
 * did so too often of late. */
enum err api_auth_failed(struct api *api, const struct request *rq, enum err e,
                         struct fault *fault) MUST_CHECK;
/* Of an authenticated request; on a route that needs no token, nobody (role 0). Never NULL. */
const struct caller *api_caller(const struct request *rq);
/* Whether the token that was good when the request came is good still: it may have been revoked, have expired
 * or been given another secret since. Before every write, in its transaction, and in what goes on for long.
 * ERR_OK for nobody's requests, too. The row lies in `arena`. */
enum err caller_check(struct api *api, struct store_txn *txn, const struct caller *c, struct arena *arena,
                      struct fault *fault) MUST_CHECK;
/* How long the token lets its caller wait, in milliseconds: `wait_ms`, or until just after it expires. */
int64_t caller_wait_ms(struct api *api, const struct caller *c, int64_t wait_ms);
/* The topic that wakes whoever waits with this token when it ends (caller_check says how it did). */
uint64_t caller_topic(const struct caller *c);
static inline bool caller_is_worker(const struct caller *c)
{
    return c->role == ROLE_WORKER;
}

/* For a worker's or a device's token: ERR_FORBIDDEN when what the path names is another's, ERR_NOT_FOUND when
 * it is not there. Other roles need no such check: the route table has let them in. */
enum err caller_check_path(struct api *api, struct request *rq, const struct route *route,
                           struct fault *fault) MUST_CHECK;

#endif
