/* A hash table from positive numbers to pointers. */
#ifndef FEDLANE_STORE_IDMAP_H
#define FEDLANE_STORE_IDMAP_H

#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"

struct idmap_slot {
    int64_t id; /* 0: empty */
    void *value;
};
struct idmap {
    struct idmap_slot *slots;
    size_t count, capacity; /* a power of two, or 0 */
};

#define IDMAP_INIT ((struct idmap){0})

void idmap_release(struct idmap *m); /* not the values */
/* Room for one more id, so that the next idmap_set of a new one cannot fail. */
enum err idmap_reserve(struct idmap *m) MUST_CHECK;
/* After idmap_reserve, unless the id is there already. */
void idmap_set(struct idmap *m, int64_t id, void *value);
void *idmap_get(const struct idmap *m, int64_t id); /* NULL when it is not there */
void *idmap_remove(struct idmap *m, int64_t id);    /* what was there, or NULL */

#endif
