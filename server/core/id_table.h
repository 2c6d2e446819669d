/* Small values by id, in memory, from any thread: who was seen when, how far a task is. */
#ifndef FEDLANE_CORE_ID_TABLE_H
#define FEDLANE_CORE_ID_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"
#include "common/base/ids.h"

struct id_entry {
    char id[ID_SIZE]; /* "" where the slot is free */
    uint32_t number;  /* 0, 1, ... in the order they were put, where none is ever removed */
    int64_t at_ms;
    int64_t count;
    double value;
    int state;
    bool is_dirty;
};

struct id_table {
    struct id_entry *slots; /* open addressing; capacity is 0 or a power of two */
    size_t capacity, count;
};

void id_table_release(struct id_table *t);
struct id_entry *id_table_find(const struct id_table *t, const char *id); /* NULL if none */
/* The entry of `id`, new (all zero but id and number) where there was none; NULL when out of memory or `id`
 * is no id. Moves entries. */
struct id_entry *id_table_put(struct id_table *t, const char *id);
void id_table_remove(struct id_table *t, const char *id); /* moves entries */

#endif
