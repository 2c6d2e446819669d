#include <stdatomic.h>
#include "common/compute/compute_impl.h"

static atomic_size_t limit, in_use;

void compute_limit_memory(size_t bytes)
{
    atomic_store(&limit, bytes);
}

size_t compute_memory_limit(void)
{
    return atomic_load(&limit);
}

size_t compute_memory_left(void)
{
    size_t most = atomic_load(&limit), used = atomic_load(&in_use);
    if (most == 0)
        return SIZE_MAX;
    return used < most ? most - used : 0;
}

bool compute_memory_take(size_t bytes)
{
    size_t most = atomic_load(&limit), before = atomic_fetch_add(&in_use, bytes);
    if (most == 0 || (before <= most && bytes <= most - before))
        return true;
    compute_memory_give(bytes);
    return false;
}

void compute_memory_give(size_t bytes)
{
    (void)atomic_fetch_sub(&in_use, bytes);
}
