/* The model that tasks start from, out of the run's own store. */
#include <stdlib.h>
#include "cli/simulate/sim_impl.h"

struct model_reading {
    struct sim *s;
    struct arena *arena;
    int64_t version;
    struct model_row model;
};

static enum err read_model(struct store_txn *txn, void *arg)
{
    struct model_reading *r = arg;
    record_init(RECORD_MODEL, &r->model);
    r->model.run_id = r->s->run_id;
    r->model.version = r->version;
    enum err e = store_get(txn, RECORD_MODEL, r->arena, &r->model);
    return !e && !r->s->arch ? core_run_arch(txn, r->s->run_id, r->arena, &r->s->arch) : e;
}

static enum err read_file(struct sim *s, int64_t version, struct buf *out)
{
    struct arena arena = ARENA_INIT(SIM_ARENA_MAX);
    struct model_reading r = {.s = s, .arena = &arena, .version = version};
    enum err e = s->store->ops->read(s->store, read_model, &r);
    size_t size = (size_t)r.model.size_bytes;
    if (!e)
        e = buf_reserve(out, size);
    if (!e)
        e = s->blobs->ops->read(s->blobs, r.model.blob_id, 0, out->data + out->len, size);
    if (!e)
        out->len += size;
    arena_release(&arena);
    return e;
}

static enum err alloc_params(struct sim *s)
{
    const struct tensor_table *t = &s->arch->tensors;
    if (!s->w_t)
        s->w_t = calloc(t->num_params > 0 ? (size_t)t->num_params : 1, sizeof *s->w_t);
    if (!s->carried)
        s->carried = calloc(t->carried_bytes > 0 ? (size_t)t->carried_bytes : 1, 1);
    return s->w_t && s->carried ? ERR_OK : ERR_NO_MEMORY;
}

enum err sim_load_model(struct sim *s, int64_t version, struct fault *fault)
{
    struct arena arena = ARENA_INIT(SIM_ARENA_MAX);
    struct buf file = BUF_INIT((size_t)LIMIT_MODEL_BYTES);
    enum err e = version == s->w_version ? ERR_OK : read_file(s, version, &file);
    if (!e && version != s->w_version) {
        e = alloc_params(s);
        if (!e)
            e = safetensors_decode(file.data, file.len, &s->arch->tensors, "", &arena, s->w_t, s->carried,
                                   NULL, fault);
        s->w_version = e ? -1 : version;
        s->w_bytes = (int64_t)file.len;
    }
    buf_release(&file);
    arena_release(&arena);
    return e;
}

enum err sim_model(struct sim *s, struct buf *out)
{
    struct arena arena = ARENA_INIT(SIM_ARENA_MAX);
    struct run_row run;
    enum err e = sim_run(s, &arena, &run);
    if (!e)
        e = read_file(s, run.model_version, out);
    arena_release(&arena);
    return e;
}
