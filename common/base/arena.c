#include "common/base/arena.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BLOCK   ((size_t)2048) /* what a parked request needs: there are thousands */
#define LARGEST_BLOCK ((size_t)65536)
#define PRINTF_ONCE   256 /* bytes: shorter texts are formatted once only */

struct arena_block {
    struct arena_block *next;
    size_t used, size;
    _Alignas(max_align_t) unsigned char bytes[];
};

void arena_init(struct arena *a, size_t max)
{
    *a = ARENA_INIT(max);
}

void arena_release(struct arena *a)
{
    for (struct arena_block *b = a->head, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    *a = ARENA_INIT(a->max);
}

static struct arena_block *block_new(size_t size)
{
    struct arena_block *b = calloc(1, sizeof *b + size);
    if (b)
        b->size = size;
    return b;
}

void arena_clear(struct arena *a)
{
    struct arena_block *kept = a->head;
    if (!kept || kept->size > LARGEST_BLOCK) {
        arena_release(a);
        return;
    }
    a->head = kept->next;
    arena_release(a);
    kept->next = NULL;
    memset(kept->bytes, 0, kept->used);
    kept->used = 0;
    a->head = kept;
}

/* A block that has room for n bytes, at the head of the list or, if it serves n alone, behind it: then the
 * room that is left in the head is not lost. */
static struct arena_block *block_with_room(struct arena *a, size_t n)
{
    struct arena_block *head = a->head;
    if (head && head->size - head->used >= n)
        return head;
    size_t size = head ? 2 * head->size : FIRST_BLOCK;
    if (size > LARGEST_BLOCK || size < FIRST_BLOCK)
        size = LARGEST_BLOCK;
    bool is_alone = n > size / 4;
    struct arena_block *b = block_new(is_alone ? n : size);
    if (!b)
        return NULL;
    if (is_alone && head) {
        b->next = head->next;
        head->next = b;
    } else {
        b->next = head;
        a->head = b;
    }
    return b;
}

void *arena_alloc(struct arena *a, size_t n)
{
    const size_t align = _Alignof(max_align_t);
    if (n > SIZE_MAX / 2)
        return NULL;
    n = n ? (n + align - 1) / align * align : align;
    if (a->used > a->max || n > a->max - a->used)
        return NULL;
    struct arena_block *b = block_with_room(a, n);
    if (!b)
        return NULL;
    void *p = b->bytes + b->used;
    b->used += n;
    a->used += n;
    return p;
}

void *arena_calloc(struct arena *a, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        return NULL;
    return arena_alloc(a, count * size);
}

void *arena_memdup(struct arena *a, const void *p, size_t n)
{
    void *copy = arena_alloc(a, n);
    if (copy && n)
        memcpy(copy, p, n);
    return copy;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    if (!s || n == SIZE_MAX)
        return NULL;
    size_t len = strnlen(s, n);
    char *copy = arena_alloc(a, len + 1);
    if (copy)
        memcpy(copy, s, len);
    return copy;
}

char *arena_strdup(struct arena *a, const char *s)
{
    return s ? arena_strndup(a, s, strlen(s)) : NULL;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char most[PRINTF_ONCE];
    int n = vsnprintf(most, sizeof most, fmt, ap);
    va_end(ap);
    char *text = n < 0 ? NULL : arena_alloc(a, (size_t)n + 1);
    if (!text)
        return NULL;
    if ((size_t)n < sizeof most)
        return memcpy(text, most, (size_t)n + 1);
    va_start(ap, fmt);
    (void)vsnprintf(text, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return text;
}
