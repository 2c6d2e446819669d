/* Every device that was ever registered, in memory, by what never changes of it and by the labels that it
 * ever had: where a list of devices is filtered, this tells which rows are worth reading. Ascending ids; an
 * id begins with the time it was made at, so new ones stand at the end. Not locked: presence.c holds its lock
 * around all this. */
#ifndef FEDLANE_CORE_ROSTER_H
#define FEDLANE_CORE_ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"
#include "server/store/records.h"

#define ROSTER_ID_BYTES 16
#define ROSTER_NO_SLOT  UINT32_MAX

/* Revoked devices stay revoked. The operation that revokes one says so before its commit, which may fail: who
 * finds it in a committed row makes it certain. */
enum roster_end { ROSTER_ACTIVE, ROSTER_PERHAPS_REVOKED, ROSTER_REVOKED };

/* A set of labels that only grows: what is not in it, is not; what is in it may be something else. Made for a
 * handful of labels; of a device with dozens it tells little. */
struct roster_marks {
    uint64_t bits[2];
};
/* Adds a name, or with a value that is not NULL the name with this value. */
void roster_mark(struct roster_marks *m, const char *name, const char *value);
void roster_mark_all(struct roster_marks *m, const struct roster_marks *more);
bool roster_has_marks(const struct roster_marks *m, const struct roster_marks *wanted);

struct roster_entry {
    uint8_t id[ROSTER_ID_BYTES];
    struct roster_marks labels;
    uint64_t dataset, worker;       /* roster_hash of the text: two may have the same */
    int64_t ordinal, last_seen_at;  /* as its row said when it was added */
    uint32_t own_slot, worker_slot; /* in presence's lists of who was seen when */
    enum roster_end end;
};
struct roster {
    struct roster_entry *entries;
    size_t count, capacity;
    size_t num_sorted; /* those behind are new */
};

void roster_release(struct roster *r);
uint64_t roster_hash(const char *text);
/* A device, with no slots and labels yet. NULL: out of memory. Valid until the next call. */
struct roster_entry *roster_add(struct roster *r, const struct device_row *device);
/* NULL: there is none. */
struct roster_entry *roster_find(struct roster *r, const char *id);
/* The place of the first one behind `id`, which need not be there. */
size_t roster_behind(struct roster *r, const uint8_t id[ROSTER_ID_BYTES]);

#endif
