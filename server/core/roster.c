#include "server/core/roster.h"

#include <stdlib.h>
#include <string.h>
#include "common/base/str.h"

#define FIRST_CAPACITY 64
#define MARKS_EACH     3 /* bits of a label's name, and of it with its value */

void roster_release(struct roster *r)
{
    free(r->entries);
    *r = (struct roster){0};
}

static uint64_t hash_on(uint64_t h, const char *text)
{
    for (const char *p = text; *p; p++)
        h = (h ^ (unsigned char)*p) * UINT64_C(1099511628211);
    return h;
}

uint64_t roster_hash(const char *text)
{
    return hash_on(UINT64_C(1469598103934665603), text);
}

void roster_mark(struct roster_marks *m, const char *name, const char *value)
{
    uint64_t h = roster_hash(name);
    if (value)
        h = hash_on(hash_on(h, "="), value);
    for (int i = 0; i < MARKS_EACH; i++, h >>= 64 / MARKS_EACH)
        m->bits[h >> 6 & 1] |= UINT64_C(1) << (h & 63);
}

void roster_mark_all(struct roster_marks *m, const struct roster_marks *more)
{
    m->bits[0] |= more->bits[0];
    m->bits[1] |= more->bits[1];
}

bool roster_has_marks(const struct roster_marks *m, const struct roster_marks *wanted)
{
    return (m->bits[0] & wanted->bits[0]) == wanted->bits[0] &&
           (m->bits[1] & wanted->bits[1]) == wanted->bits[1];
}

static int compare_ids(const void *a, const void *b)
{
    return memcmp(((const struct roster_entry *)a)->id, ((const struct roster_entry *)b)->id,
                  ROSTER_ID_BYTES);
}

/* How many of the sorted ones have an id up to this one, or below it. */
static size_t sorted_before(const struct roster *r, const uint8_t id[ROSTER_ID_BYTES], bool with_equal)
{
    size_t low = 0, high = r->num_sorted;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = memcmp(r->entries[middle].id, id, ROSTER_ID_BYTES);
        if (order < 0 || (order == 0 && with_equal))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A registration that failed may have been tried again with the same id. */
static void drop_doubles(struct roster *r, size_t from)
{
    size_t kept = from;
    for (size_t i = from; i < r->count; i++)
        if (kept == from || compare_ids(&r->entries[kept - 1], &r->entries[i]) != 0)
            r->entries[kept++] = r->entries[i];
    r->count = kept;
}

/* The new ones, and those of the others that belong among them: few, for ids grow with time. */
static void sort(struct roster *r)
{
    if (r->num_sorted == r->count)
        return;
    const struct roster_entry *least = &r->entries[r->num_sorted];
    for (size_t i = r->num_sorted + 1; i < r->count; i++)
        if (compare_ids(&r->entries[i], least) < 0)
            least = &r->entries[i];
    size_t from = sorted_before(r, least->id, false);
    qsort(r->entries + from, r->count - from, sizeof *r->entries, compare_ids);
    drop_doubles(r, from);
    r->num_sorted = r->count;
}

struct roster_entry *roster_add(struct roster *r, const struct device_row *device)
{
    if (r->count == r->capacity) {
        size_t capacity = r->capacity ? r->capacity + r->capacity / 2 : FIRST_CAPACITY;
        struct roster_entry *grown = realloc(r->entries, capacity * sizeof *grown);
        if (!grown)
            return NULL;
        r->entries = grown;
        r->capacity = capacity;
    }
    struct roster_entry *e = &r->entries[r->count];
    *e = (struct roster_entry){.dataset = roster_hash(device->dataset),
                               .worker = roster_hash(device->worker_id),
                               .ordinal = device->ordinal,
                               .last_seen_at = device->last_seen_at,
                               .own_slot = ROSTER_NO_SLOT,
                               .worker_slot = ROSTER_NO_SLOT,
                               .end = device->revoked_at ? ROSTER_REVOKED : ROSTER_ACTIVE};
    if (hex_decode(device->id, e->id, sizeof e->id) != ERR_OK)
        bug("a device has no id: %s", device->id);
    r->count++;
    return e;
}

struct roster_entry *roster_find(struct roster *r, const char *id)
{
    uint8_t bytes[ROSTER_ID_BYTES];
    if (hex_decode(id, bytes, sizeof bytes) != ERR_OK)
        return NULL;
    sort(r);
    size_t at = sorted_before(r, bytes, false);
    return at < r->count && memcmp(r->entries[at].id, bytes, sizeof bytes) == 0 ? &r->entries[at] : NULL;
}

size_t roster_behind(struct roster *r, const uint8_t id[ROSTER_ID_BYTES])
{
    sort(r);
    return sorted_before(r, id, true);
}
