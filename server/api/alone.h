/* Operations that nobody waits for: what a heartbeat or a download leaves behind. */
#ifndef FEDLANE_API_ALONE_H
#define FEDLANE_API_ALONE_H

#include "server/api/context.h"

/* An operation of op_size bytes that begins with struct op_base, with memory of its own (op_base.arena).
 * `caller` is copied. NULL: out of memory. */
void *alone_new(struct api *api, size_t op_size, const char *caller);
/* Queues it and frees it when it is done. A failure is logged and forgotten. */
void alone_start(struct api *api, store_fn fn, void *op);
void alone_drop(void *op); /* one that was not started */

#endif
