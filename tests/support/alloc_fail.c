#include "tests/support/alloc_fail.h"
#include <jansson.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t size);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t size);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);

static _Thread_local long left = -1;   /* allocations before the failure; -1: none is to fail */
static atomic_long left_anywhere = -1; /* the same of all threads; below -1 where several came at once */

static bool fails(void)
{
    bool is_next = atomic_load_explicit(&left_anywhere, memory_order_relaxed) >= 0 &&
                   atomic_fetch_sub_explicit(&left_anywhere, 1, memory_order_relaxed) == 0;
    return is_next || (left >= 0 && left-- == 0);
}

void alloc_fail_at(long n)
{
    left = n;
}

bool alloc_fail_end(void)
{
    bool has_failed = left < 0;
    left = -1;
    return has_failed;
}

void alloc_fail_anywhere(long n)
{
    atomic_store(&left_anywhere, n);
}

long alloc_fail_anywhere_left(void)
{
    long now = atomic_exchange(&left_anywhere, -1);
    return now < 0 ? -1 : now;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *p, size_t size)
{
    return fails() ? NULL : __real_realloc(p, size);
}

char *__wrap_strdup(const char *s)
{
    return fails() ? NULL : __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t n)
{
    return fails() ? NULL : __real_strndup(s, n);
}

void alloc_fail_jansson(void)
{
    json_set_alloc_funcs(__wrap_malloc, free);
}
