/* The topics that a transaction's functions notified, until its commit delivers them. */
#ifndef FEDLANE_STORE_TOPICS_H
#define FEDLANE_STORE_TOPICS_H

#include "common/base/buf.h"
#include "server/store/store.h"

struct topics {
    struct buf text; /* each topic with its NUL */
};

void topics_init(struct topics *t);
void topics_release(struct topics *t);
enum err topics_add(struct topics *t, const char *topic) MUST_CHECK;
/* Where it ends now; topics_cut drops what was added after. */
size_t topics_mark(const struct topics *t);
void topics_cut(struct topics *t, size_t mark);
/* Calls the listener (may be NULL) once for each distinct topic, in the order of their first mention, and
 * empties t. When there is no memory to tell doubles, it calls it for each. */
void topics_deliver(struct topics *t, store_listener listener, void *ctx);

#endif
