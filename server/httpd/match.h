/* From a method and the segments of a path to the row of the route table. */
#ifndef FEDLANE_HTTPD_MATCH_H
#define FEDLANE_HTTPD_MATCH_H

#include "common/base/arena.h"
#include "common/base/limits.h"
#include "server/httpd/router.h"

struct router;

/* Checks the rows (patterns well formed, no two alike, ids unique, handler there, sink with BODY_STREAM) and
 * prepares them. The rows stay the caller's and must outlive the router. ERR_USAGE names the row. */
enum err router_new(const struct route *routes, size_t num_routes, struct router **out,
                    struct fault *fault) MUST_CHECK;
void router_free(struct router *r);

struct path_param {
    const char *name, *value;
};

struct route_match {
    const struct route *route; /* NULL: no row for this method */
    uint32_t allowed; /* bit (1 << enum http_method) for each method that the path has; 0: no such path */
    struct path_param params[LIMIT_PATH_PARAMS];
    size_t num_params;
};

/* `segments` are percent-decoded; parameters point at them or into the arena. ERR_INVALID_FIELD: a segment
 * that a "*name" must not hold ("..", an encoded slash). ERR_NO_MEMORY. No match is ERR_OK with route NULL.
 */
enum err router_match(const struct router *r, enum http_method method, const char *const *segments,
                      size_t num_segments, struct arena *arena, struct route_match *out,
                      struct fault *fault) MUST_CHECK;

#endif
