#include "tests/support/elsewhere.h"

#include <stdlib.h>
#include <string.h>

static enum err elsewhere_open(const char *device, void **out_state, struct fault *fault)
{
    (void)device;
    (void)fault;
    *out_state = NULL;
    return ERR_OK;
}

static void elsewhere_close(void *state)
{
    (void)state;
}

static enum err elsewhere_alloc(void *state, struct compute_buffer *b)
{
    (void)state;
    b->memory = calloc(1, b->bytes);
    return b->memory ? ERR_OK : ERR_NO_MEMORY;
}

static void elsewhere_release(void *state, struct compute_buffer *b)
{
    (void)state;
    free(b->memory);
}

static enum err elsewhere_write(void *state, struct compute_buffer *b, size_t offset, const void *from,
                                size_t bytes)
{
    (void)state;
    memcpy((char *)b->memory + offset, from, bytes);
    return ERR_OK;
}

static enum err elsewhere_read(void *state, struct compute_buffer *b, size_t offset, void *to, size_t bytes)
{
    (void)state;
    memcpy(to, (char *)b->memory + offset, bytes);
    return ERR_OK;
}

static bool elsewhere_supports(void *state, const struct compute_op *op)
{
    (void)state;
    return op->kind == COMPUTE_DENSE_FORWARD;
}

static enum err elsewhere_run(void *state, const struct compute_op *op)
{
    struct compute_op reached = *op;
    struct compute_buffer buffers[COMPUTE_MAX_ARGS];
    (void)state;
    for (int i = 0; i < 4; i++) {
        buffers[i] = *op->arg[i].buffer;
        buffers[i].host = buffers[i].memory;
        reached.arg[i].buffer = &buffers[i];
    }
    compute_reference_run(&reached);
    return ERR_OK;
}

static enum err elsewhere_wait(void *state)
{
    (void)state;
    return ERR_OK;
}

const struct compute_backend elsewhere_backend = {
    .name = "elsewhere",
    .open = elsewhere_open,
    .close = elsewhere_close,
    .alloc = elsewhere_alloc,
    .release = elsewhere_release,
    .write = elsewhere_write,
    .read = elsewhere_read,
    .supports = elsewhere_supports,
    .run = elsewhere_run,
    .wait = elsewhere_wait,
};
