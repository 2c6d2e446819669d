#include "common/data/name_table.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash(const char *name, size_t len)
{
    uint64_t h = 0xcbf29ce484222325;
    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char)name[i]) * 0x100000001b3;
    return h ^ h >> 32;
}

/* Where the name is, or where it would go. */
static size_t slot_of(const struct name_table *t, const char *name, size_t len)
{
    size_t at = hash(name, len) & (t->num_slots - 1);
    for (; t->slots[at]; at = (at + 1) & (t->num_slots - 1)) {
        const char *other = t->names[t->slots[at] - 1];
        if (strncmp(other, name, len) == 0 && other[len] == '\0')
            break;
    }
    return at;
}

size_t name_find(const struct name_table *t, const char *name, size_t len)
{
    if (t->num_slots == 0 || memchr(name, '\0', len))
        return NAME_NONE;
    const size_t at = slot_of(t, name, len);
    return t->slots[at] ? t->slots[at] - 1 : NAME_NONE;
}

static enum err grow(struct name_table *t)
{
    const size_t room = t->room ? 2 * t->room : 16;
    char **names = realloc(t->names, room * sizeof *names);
    if (names)
        t->names = names;
    uint32_t *slots = calloc(2 * room, sizeof *slots);
    if (!names || !slots) {
        free(slots);
        return ERR_NO_MEMORY;
    }
    free(t->slots);
    t->slots = slots;
    t->room = room;
    t->num_slots = 2 * room;
    for (size_t i = 0; i < t->count; i++)
        slots[slot_of(t, names[i], strlen(names[i]))] = (uint32_t)i + 1;
    return ERR_OK;
}

enum err name_put(struct name_table *t, const char *name, size_t len, size_t *out_number)
{
    if (memchr(name, '\0', len))
        bug("a name with a zero byte");
    if (t->count == t->room && grow(t) != ERR_OK)
        return ERR_NO_MEMORY;
    const size_t at = slot_of(t, name, len);
    if (!t->slots[at]) {
        t->names[t->count] = strndup(name, len);
        if (!t->names[t->count])
            return ERR_NO_MEMORY;
        t->slots[at] = (uint32_t)++t->count;
    }
    *out_number = t->slots[at] - 1;
    return ERR_OK;
}

char *name_copy(const struct name_table *t, size_t number)
{
    if (number >= t->count)
        bug("name %zu of %zu", number, t->count);
    return strdup(t->names[number]);
}

void name_table_release(struct name_table *t)
{
    for (size_t i = 0; i < t->count; i++)
        free(t->names[i]);
    free(t->names);
    free(t->slots);
    *t = (struct name_table){0};
}
