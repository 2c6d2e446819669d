/* The cores that computing may take in this process, shared by threads that have work of their own (a device
 * that trains) and helpers, which take parts of others' large operations while cores are free. At no time
 * are more threads busy than there are cores: helpers that are one too many leave after the part that they
 * are at, and who starts waits for that.
 *
 * Before team_start, and with one core, nobody helps and all of it costs nothing. */
#ifndef FEDLANE_COMPUTE_TEAM_H
#define FEDLANE_COMPUTE_TEAM_H

#include <stddef.h>
#include "common/base/err.h"

enum { TEAM_MAX_SEATS = 32 }; /* threads that may work at one operation; each wants scratch memory */

/* Once, before the first model is opened, since scratch memory is planned by the seats. ERR_UNAVAILABLE:
 * threads could not be started. */
enum err team_start(size_t cores, struct fault *fault) MUST_CHECK;
void team_stop(void); /* nobody computes any more; legal without a start */

/* Around work of one's own; may wait until a helper has ended its part. A thread that waits for others leaves
 * for as long. */
void team_enter(void);
void team_leave(void);

/* How many parts of an operation may run at once, 1 or more; the same from start to stop. */
size_t team_seats(void);

/* Part [from, to) of an operation. Parts of an operation that run at once have different seats, below
 * team_seats(). */
struct team_part {
    size_t from, to, seat;
};
typedef void team_work(const void *ctx, const struct team_part *part);

/* Does [0, count) in about `parts` parts, which begin at multiples of `unit`, the caller's thread and those
 * that help; in one part where no core is free. Results must not depend on how it is cut. Returns when all is
 * done. */
void team_run(size_t count, size_t unit, size_t parts, team_work *work, const void *ctx);

#endif
