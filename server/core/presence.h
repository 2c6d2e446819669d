/* Who was seen when. A heartbeat only touches memory; core_advance writes to the store what changed, now and
 * then. */
#ifndef FEDLANE_CORE_PRESENCE_H
#define FEDLANE_CORE_PRESENCE_H

#include <pthread.h>
#include "server/core/core.h"
#include "server/core/id_table.h"
#include "server/core/roster.h"

/* When each entry of a table was last seen, by its number: a list of devices looks at many at a time. */
struct seen_times {
    int64_t *ms;
    size_t capacity;
};

struct presence_table {
    pthread_mutex_t lock;
    struct id_table workers, devices; /* devices: those without a worker, and who reports for itself */
    struct seen_times worker_times, device_times;
    struct roster roster;
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

/* What a silence means. */
enum presence presence_of(const struct presence_table *p, int64_t silent_ms);
/* The last step of an operation that registers a device: what fails before it must leave nothing here. It, or
 * its worker, was just seen. ERR_NO_MEMORY. */
enum err presence_enlist(struct core *c, const struct device_row *device) MUST_CHECK;
/* Within an operation: it is getting these labels. */
enum err presence_relabelling(struct core *c, const struct device_row *device) MUST_CHECK;
/* Within an operation: it is being revoked. */
void presence_revoking(struct core *c, const char *device_id);
/* With the lock: someone was seen. False: out of memory, or no id. Moves entries. */
bool presence_seen(struct id_table *t, struct seen_times *times, const char *id, int64_t now_ms);
/* With the lock: this device has an entry of its own now. */
void presence_tie(struct presence_table *p, const char *device_id);
/* With the lock: adds a device to the roster and ties it to the entries that tell when it was seen. */
enum err presence_add(struct presence_table *p, const struct device_row *device) MUST_CHECK;

#endif
