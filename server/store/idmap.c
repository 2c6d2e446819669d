#include "server/store/idmap.h"
#include <stdlib.h>

#define FIRST_CAPACITY 64

void idmap_release(struct idmap *m)
{
    free(m->slots);
    *m = IDMAP_INIT;
}

static size_t home(const struct idmap *m, int64_t id)
{
    return (size_t)(((uint64_t)id * 0x9e3779b97f4a7c15U) >> 20) & (m->capacity - 1);
}

/* The slot that holds the id, or the empty one where it would go. */
static struct idmap_slot *slot_of(const struct idmap *m, int64_t id)
{
    size_t i = home(m, id);
    while (m->slots[i].id && m->slots[i].id != id)
        i = (i + 1) & (m->capacity - 1);
    return &m->slots[i];
}

enum err idmap_reserve(struct idmap *m)
{
    if (2 * (m->count + 1) <= m->capacity)
        return ERR_OK;
    struct idmap grown = {.capacity = m->capacity ? 2 * m->capacity : FIRST_CAPACITY, .count = m->count};
    grown.slots = calloc(grown.capacity, sizeof *grown.slots);
    if (!grown.slots)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < m->capacity; i++)
        if (m->slots[i].id)
            *slot_of(&grown, m->slots[i].id) = m->slots[i];
    free(m->slots);
    *m = grown;
    return ERR_OK;
}

void idmap_set(struct idmap *m, int64_t id, void *value)
{
    if (id <= 0 || !m->capacity)
        bug("idmap_set without room, or of number %lld", (long long)id);
    struct idmap_slot *slot = slot_of(m, id);
    if (!slot->id && 2 * (m->count + 1) > m->capacity)
        bug("idmap_set without room for number %lld", (long long)id);
    if (!slot->id)
        m->count++;
    *slot = (struct idmap_slot){id, value};
}

void *idmap_get(const struct idmap *m, int64_t id)
{
    return m->capacity && id > 0 ? slot_of(m, id)->value : NULL;
}

/* Closes the gap: each slot behind it that probed past it moves up. */
void *idmap_remove(struct idmap *m, int64_t id)
{
    struct idmap_slot *slot = m->capacity && id > 0 ? slot_of(m, id) : NULL;
    if (!slot || !slot->id)
        return NULL;
    void *value = slot->value;
    size_t mask = m->capacity - 1, gap = (size_t)(slot - m->slots);
    for (size_t i = (gap + 1) & mask; m->slots[i].id; i = (i + 1) & mask) {
        if (((i - home(m, m->slots[i].id)) & mask) < ((i - gap) & mask))
            continue;
        m->slots[gap] = m->slots[i];
        gap = i;
    }
    m->slots[gap] = (struct idmap_slot){0};
    m->count--;
    return value;
}
