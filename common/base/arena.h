/* Memory that is released all at once: a request's, an operation's. Not for several threads at a time. */
#ifndef FEDLANE_BASE_ARENA_H
#define FEDLANE_BASE_ARENA_H

#include <stddef.h>
#include <stdarg.h>
#include "common/base/err.h"

struct arena {
    struct arena_block *head;
    size_t used, max;
};

#define ARENA_INIT(maximum) ((struct arena){.max = (maximum)})

void arena_init(struct arena *a, size_t max);
void arena_release(struct arena *a);
/* As arena_release, but keeps a block of ordinary size for what comes next. */
void arena_clear(struct arena *a);
/* Zeroed, aligned for any type. NULL when out of memory or past max. n = 0 gives a valid pointer. */
void *arena_alloc(struct arena *a, size_t n);
void *arena_calloc(struct arena *a, size_t count, size_t size); /* NULL on overflow too */
char *arena_strdup(struct arena *a, const char *s);             /* NULL for NULL */
char *arena_strndup(struct arena *a, const char *s, size_t n);
void *arena_memdup(struct arena *a, const void *p, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
