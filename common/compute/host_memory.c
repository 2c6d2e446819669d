#include <stdlib.h>
#include <string.h>
#include "common/compute/compute_impl.h"

enum err compute_host_alloc(void *state, struct compute_buffer *b)
{
    (void)state;
    if (b->bytes > SIZE_MAX - 64)
        return ERR_NO_MEMORY;
    size_t rounded = (b->bytes + 63) / 64 * 64;
    b->host = aligned_alloc(64, rounded);
    if (!b->host)
        return ERR_NO_MEMORY;
    memset(b->host, 0, rounded);
    b->memory = b->host;
    return ERR_OK;
}

void compute_host_release(void *state, struct compute_buffer *b)
{
    (void)state;
    free(b->host);
    b->host = NULL;
    b->memory = NULL;
}
