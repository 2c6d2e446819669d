/* Who was seen when. A heartbeat only touches memory; core_advance writes to the store what changed, now and
 * then. */
#ifndef FEDLANE_CORE_PRESENCE_H
#define FEDLANE_CORE_PRESENCE_H

#include <pthread.h>
#include "server/core/id_table.h"
#include "server/store/records.h"

struct core;
struct store_txn;

struct presence_table {
    pthread_mutex_t lock;
    struct id_table workers, devices; /* devices: those without a worker */
    int64_t heartbeat_ms;
    bool all_online;
    /* Of core_advance's thread: when to look again; how far the sweep is that goes on now, and when the next
     * change comes of what it saw. */
    int64_t next_ms;
    size_t sweep_at;
    int64_t sweep_next_ms;
};

enum err presence_init(struct presence_table *p, int64_t heartbeat_ms, bool all_online) MUST_CHECK;
void presence_release(struct presence_table *p);

/* Within core_advance: writes last_seen_at and tells of those that fell silent or came back. */
enum err presence_advance(struct core *c, int64_t *out_next_ms) MUST_CHECK;
/* Inside a read, at the start: takes up who was seen by a former process. */
enum err presence_recover(struct core *c, struct store_txn *txn) MUST_CHECK;

#endif
