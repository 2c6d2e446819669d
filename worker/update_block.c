#include "worker/update_block.h"
#include <stdlib.h>
#include <string.h>

static size_t values_bytes(const struct tensor_table *tensors)
{
    return (size_t)tensors->num_params * sizeof(float);
}

enum err update_block_ready(struct update_block *b, const struct tensor_table *tensors)
{
    if (b->memory)
        return ERR_OK;
    b->room = (size_t)safetensors_header_limit(tensors) + 64;
    b->room -= b->room % 64; /* so that the values are aligned */
    b->memory = malloc(b->room + values_bytes(tensors));
    return b->memory ? ERR_OK : ERR_NO_MEMORY;
}

void update_block_release(struct update_block *b)
{
    free(b->memory);
    b->memory = NULL;
}

float *update_block_values(const struct update_block *b)
{
    return (float *)(void *)(b->memory + b->room);
}

enum err update_block_file(struct update_block *b, const struct tensor_table *tensors, const char *prefix,
                           const struct safetensors_pair *metadata, size_t num_metadata, char **out_file,
                           size_t *out_size)
{
    struct buf header = BUF_INIT(b->room);
    enum err e = safetensors_encode_header(tensors, prefix, metadata, num_metadata, &header);
    if (!e) {
        memmove(b->memory + header.len, update_block_values(b), values_bytes(tensors));
        memcpy(b->memory, header.data, header.len);
        *out_file = b->memory;
        *out_size = header.len + values_bytes(tensors);
        b->memory = NULL;
    }
    buf_release(&header);
    return e;
}
