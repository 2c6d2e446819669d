/* Counting requests: by route and status, with a histogram of durations. Written by all threads without
 * locks. */
#ifndef FEDLANE_API_OBSERVE_H
#define FEDLANE_API_OBSERVE_H

#include "common/base/buf.h"
#include "server/httpd/router.h"

struct observations;

/* For these routes, which outlive it; one further line counts requests that no route matched. */
enum err observations_new(const struct route *routes, size_t num_routes,
                          struct observations **out) MUST_CHECK;
void observations_free(struct observations *o);
/* status 0: the client left before the reply. */
void observations_add(struct observations *o, const struct route *route, int status, int64_t duration_ns,
                      uint64_t bytes_in, uint64_t bytes_out);
/* Appends them in Prometheus' text format. */
enum err observations_write(const struct observations *o, struct buf *out) MUST_CHECK;

#endif
