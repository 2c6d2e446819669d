#include "server/api/alone.h"

#include <stddef.h>
#include <stdlib.h>
#include "common/base/log.h"

struct alone {
    struct arena arena;
    max_align_t op[];
};

static struct alone *alone_of(void *op)
{
    return (struct alone *)((char *)op - offsetof(struct alone, op));
}

static void alone_free(struct alone *a)
{
    arena_release(&a->arena);
    free(a);
}

void *alone_new(struct api *api, size_t op_size, const char *caller)
{
    struct alone *a = calloc(1, sizeof *a + op_size);
    if (!a)
        return NULL;
    arena_init(&a->arena, MIB);
    struct op_base *op = (struct op_base *)a->op;
    *op = (struct op_base){.core = api->core, .arena = &a->arena, .caller = arena_strdup(&a->arena, caller)};
    if (op->caller)
        return op;
    alone_free(a);
    return NULL;
}

void alone_drop(void *op)
{
    alone_free(alone_of(op));
}

static void alone_done(void *ctx, enum err result)
{
    struct alone *a = ctx;
    if (result != ERR_OK && result != ERR_NOT_FOUND)
        log_warning("api", "a note could not be written: %s", err_name(result));
    alone_free(a);
}

void alone_start(struct api *api, store_fn fn, void *op)
{
    struct alone *a = alone_of(op);
    enum err e = api->store->ops->write(api->store, fn, op, alone_done, a);
    if (e != ERR_OK)
        alone_done(a, e);
}
