/* The rules of a federated run: who is selected, how much work each device gets, what an update may contain,
 * when a round closes, what the next model is. No HTTP, no SQL, no clock and no randomness of its own: store,
 * blobs, clock and entropy are arguments, so `fedlane simulate` and the tests run the very rules that the
 * server runs.
 *
 * Everything that changes state is an operation (server/core/ops.h) that runs inside a store write. What
 * takes time (aggregating, reading weights) and what happens by the clock (deadlines, devices that fall
 * silent) is done by core_advance, on one thread. */
#ifndef FEDLANE_CORE_CORE_H
#define FEDLANE_CORE_CORE_H

#include <jansson.h>
#include "common/base/clock.h"
#include "common/base/ids.h"
#include "server/store/blobs.h"
#include "server/store/store.h"

struct core;

struct core_config {
    struct store *store;
    struct blobs *blobs;
    struct clock clock;
    struct entropy entropy;
    int64_t heartbeat_ms;  /* how often workers are told to report; silent for 3 of them: suspect, for 12:
                              offline */
    bool without_presence; /* simulate: devices do not report, all count as online */
    bool is_simulated; /* the clock is turned by a simulation: run specs may speak of simulated time. Nobody
                          asks about single devices: runs have no events, tasks no reports */
};

/* Before the store's first write: the core has the blobs committed before each commit of the store. */
enum err core_new(const struct core_config *config, struct core **out) MUST_CHECK;
void core_free(struct core *c);

/* Once, before anything else: takes up what a former process left (open rounds, aggregations, blobs that no
 * row names). */
enum err core_recover(struct core *c, struct fault *fault) MUST_CHECK;

/* Does all work that is due: aggregates complete rounds, closes rounds by the clock, starts runs whose
 * devices are there, writes presence. *out_next_ms: when there will be work by the clock alone (INT64_MAX:
 * never). Called by one thread only. The caller calls again when the store notifies "advance", or at that
 * time. */
enum err core_advance(struct core *c, int64_t *out_next_ms) MUST_CHECK;

/* Presence: in memory, so heartbeats never wait for a commit. Thread-safe. worker_id or device_id may be "".
 */
void core_seen(struct core *c, const char *worker_id, const char *device_id);
enum presence { PRESENCE_ONLINE, PRESENCE_SUSPECT, PRESENCE_OFFLINE, PRESENCE_REVOKED };
enum presence core_device_presence(struct core *c, const struct device_row *device);
enum presence core_worker_presence(struct core *c, const struct worker_row *worker);
int64_t core_device_last_seen(struct core *c, const struct device_row *device);
int64_t core_worker_last_seen(struct core *c, const struct worker_row *worker);
/* Devices by status, data set, worker and label, from memory and in ascending order of their ids: which rows
 * are worth reading. One that was committed and passes is always among them; some may not pass, or not be
 * there at all (their registration failed), so look at the row. Thread-safe. */
struct core_device_filter {
    bool has_status;
    enum presence status;
    const char *dataset, *worker_id; /* NULL: any */
    const char *label, *label_value; /* NULL: any; value NULL: the label may have any value */
};
struct core_device {
    char id[ID_SIZE];
    int64_t ordinal;
};
/* The next `max` behind the id `after` ("": from the start); fewer only at the end. */
size_t core_devices(struct core *c, const struct core_device_filter *f, const char *after, size_t max,
                    struct core_device *out);
/* Whether this one is worth reading. */
bool core_device_may_pass(struct core *c, const struct core_device_filter *f, const char *device_id);
/* What a committed row says: not asked about again where others are looked for. */
void core_device_is_revoked(struct core *c, const char *device_id);
/* A task's progress as last reported (memory only). */
struct progress {
    int64_t steps_done;
    double train_loss; /* where it has_loss; NaN is one, too */
    bool has_loss;
};
void core_progress_set(struct core *c, const char *task_id, const struct progress *progress);
/* False when nothing was reported; *out stays. */
bool core_progress_get(struct core *c, const char *task_id, struct progress *out);

/* What a device should do about a task it reports (heartbeat): go on, send what it has, or drop it. */
enum directive { DIRECTIVE_NONE, DIRECTIVE_RETURN_PARTIAL, DIRECTIVE_CANCEL };
/* Inside a read. A task that does not exist, is not this device's or worker's, or is no longer open: cancel.
 */
enum directive core_task_directive(struct core *c, struct store_txn *txn, const char *task_id,
                                   const char *worker_id, const char *device_id);

/* The strategies and the schema of their parameters, as GET /api/v1/strategies shows them: {"items":
 * [{"name", "description", "params": {JSON Schema}}]}. New reference. */
json_t *core_strategies_json(void);

#endif
