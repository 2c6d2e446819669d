#include "common/json/json_memory.h"
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>

/* What the scanner's buffer may need: it begins with this and doubles, so all of its sizes are powers of two.
 */
#define BUFFER_LEAST ((size_t)16)

static _Thread_local struct {
    bool has_run_out;
    char *reserve;
    size_t size, used;
} memory;

static bool is_of_the_buffer(size_t n)
{
    return n >= BUFFER_LEAST && (n & (n - 1)) == 0;
}

static void *watched_malloc(size_t n)
{
    void *p = malloc(n);
    if (p)
        return p;
    memory.has_run_out = true;
    if (!is_of_the_buffer(n) || n > memory.size - memory.used)
        return NULL;
    p = memory.reserve + memory.used;
    memory.used += n;
    return p;
}

static void watched_free(void *p)
{
    if (memory.reserve && (uintptr_t)p >= (uintptr_t)memory.reserve &&
        (uintptr_t)p < (uintptr_t)memory.reserve + memory.size)
        return;
    free(p);
}

__attribute__((constructor)) static void watch_jansson(void)
{
    json_set_alloc_funcs(watched_malloc, watched_free);
}

bool json_memory_begin(size_t longest)
{
    /* All its sizes up to the one that holds the text and the two marks around it. */
    size_t size = longest ? 4 * (longest + 2 + BUFFER_LEAST) : 0;
    memory.has_run_out = false;
    memory.used = memory.size = 0;
    memory.reserve = size ? malloc(size) : NULL;
    if (size && !memory.reserve)
        return false;
    memory.size = size;
    return true;
}

bool json_memory_was_enough(void)
{
    return !memory.has_run_out;
}

void json_memory_end(void)
{
    free(memory.reserve);
    memory.reserve = NULL;
    memory.size = memory.used = 0;
}
