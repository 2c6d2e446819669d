/* Who asks, and what of the objects that belong to workers he may touch. */
#ifndef FEDLANE_API_CALLER_H
#define FEDLANE_API_CALLER_H

#include "server/httpd/request.h"
#include "server/httpd/router.h"
#include "server/store/store.h"

struct caller {
    const char *token_id;
    uint32_t role;                     /* one bit of enum token_role */
    const char *worker_id, *device_id; /* whose token it is, for ROLE_WORKER: one of them; else "" */
};

/* The authenticate hook: token to caller, role against the row. */
enum err api_authenticate(void *ctx, struct request *rq, const struct route *route, struct fault *fault);
/* Of an authenticated request; on a route that needs no token, nobody (role 0). Never NULL. */
const struct caller *api_caller(const struct request *rq);
/* What an operation is told about who acts for a device: worker and device of a worker's token; "" for
 * others. */
static inline bool caller_is_worker(const struct caller *c)
{
    return c->role == ROLE_WORKER;
}

/* ERR_FORBIDDEN when a worker's or device's token is used on what is not its own. Every other role passes:
 * the route table has let it in. */
enum err caller_check_worker(const struct caller *c, const char *worker_id, struct fault *fault) MUST_CHECK;
enum err caller_check_device(const struct caller *c, const struct device_row *device,
                             struct fault *fault) MUST_CHECK;
enum err caller_check_task(const struct caller *c, const struct task_row *task,
                           struct fault *fault) MUST_CHECK;

#endif
