/* Different names, numbered as they come: devices, classes, columns. */
#ifndef FEDLANE_DATA_NAME_TABLE_H
#define FEDLANE_DATA_NAME_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"

struct name_table {
    size_t count;
    char **names;    /* [count], each with a NUL behind it */
    size_t room;     /* of names */
    uint32_t *slots; /* [num_slots]: 1 + number, 0 for none */
    size_t num_slots;
};

#define NAME_NONE SIZE_MAX
size_t name_find(const struct name_table *t, const char *name, size_t len); /* NAME_NONE: not there */
/* The number of the name, which is new exactly when it is count - 1 afterwards and count grew. ERR_NO_MEMORY.
 */
enum err name_put(struct name_table *t, const char *name, size_t len, size_t *out_number) MUST_CHECK;
char *name_copy(const struct name_table *t, size_t number); /* NULL: no memory. The caller frees it */
void name_table_release(struct name_table *t);              /* also of a zeroed one */

#endif
