#include "server/core/id_table.h"

#include <stdlib.h>
#include <string.h>

static size_t slot_of(const struct id_table *t, const char *id)
{
    uint64_t h = UINT64_C(1469598103934665603);
    for (const char *p = id; *p; p++)
        h = (h ^ (unsigned char)*p) * UINT64_C(1099511628211);
    size_t i = (size_t)(h & (t->capacity - 1));
    while (t->slots[i].id[0] && strcmp(t->slots[i].id, id) != 0)
        i = (i + 1) & (t->capacity - 1);
    return i;
}

void id_table_release(struct id_table *t)
{
    free(t->slots);
    *t = (struct id_table){0};
}

struct id_entry *id_table_find(const struct id_table *t, const char *id)
{
    if (t->capacity == 0 || !*id)
        return NULL;
    struct id_entry *e = &t->slots[slot_of(t, id)];
    return e->id[0] ? e : NULL;
}

static bool grow(struct id_table *t)
{
    struct id_table bigger = {.capacity = t->capacity ? t->capacity * 2 : 64, .count = t->count};
    bigger.slots = calloc(bigger.capacity, sizeof *bigger.slots);
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < t->capacity; i++)
        if (t->slots[i].id[0])
            bigger.slots[slot_of(&bigger, t->slots[i].id)] = t->slots[i];
    free(t->slots);
    *t = bigger;
    return true;
}

struct id_entry *id_table_put(struct id_table *t, const char *id)
{
    size_t len = strlen(id);
    if (len == 0 || len >= ID_SIZE)
        return NULL;
    if ((t->count + 1) * 4 > t->capacity * 3 && !grow(t))
        return NULL;
    struct id_entry *e = &t->slots[slot_of(t, id)];
    if (!e->id[0]) {
        memcpy(e->id, id, len + 1);
        e->number = (uint32_t)t->count++;
    }
    return e;
}

void id_table_remove(struct id_table *t, const char *id)
{
    struct id_entry *e = id_table_find(t, id);
    if (!e)
        return;
    size_t hole = (size_t)(e - t->slots), mask = t->capacity - 1;
    *e = (struct id_entry){0};
    t->count--;
    /* What collided with it and lies behind must still be found: put it in again. */
    for (size_t i = (hole + 1) & mask; t->slots[i].id[0]; i = (i + 1) & mask) {
        struct id_entry moved = t->slots[i];
        t->slots[i] = (struct id_entry){0};
        t->slots[slot_of(t, moved.id)] = moved;
    }
}
