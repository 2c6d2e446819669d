#include "server/core/work.h"

#include <stdlib.h>
#include <string.h>
#include "common/json/json_spec.h"

struct work work_begin(struct store_txn *txn, struct op_base *base)
{
    base->fault = FAULT_NONE;
    return (struct work){.core = base->core,
                         .txn = txn,
                         .arena = base->arena,
                         .fault = &base->fault,
                         .caller = base->caller ? base->caller : "",
                         .now_ms = core_now(base->core)};
}

enum err work_id(struct work *w, const char **out)
{
    char *id = arena_alloc(w->arena, ID_SIZE);
    if (!id)
        return ERR_NO_MEMORY;
    *out = id;
    return id_next(&w->core->ids, &w->core->entropy, w->now_ms, id);
}

enum err json_to_arena(struct arena *arena, json_t *value, const char **out)
{
    char *text = NULL;
    enum err e = value ? json_text(value, &text) : ERR_NO_MEMORY;
    json_decref(value);
    if (e)
        return e;
    *out = arena_strdup(arena, text);
    free(text);
    return *out ? ERR_OK : ERR_NO_MEMORY;
}

enum err json_from_row(const char *text, json_t **out)
{
    return json_text_parse(text, strlen(text), out, NULL) ? ERR_CORRUPT : ERR_OK;
}

static enum err loaded(struct work *w, enum err e, const char *what, const char *id)
{
    return e == ERR_NOT_FOUND ? fault_set(w->fault, e, NULL, "there is no %s \"%.64s\"", what, id) : e;
}

enum err run_load(struct work *w, const char *id, struct run_row *out)
{
    record_init(RECORD_RUN, out);
    out->id = id;
    return loaded(w, store_get(w->txn, RECORD_RUN, w->arena, out), "run", id);
}

enum err round_load(struct work *w, const char *run_id, int64_t n, struct round_row *out)
{
    record_init(RECORD_ROUND, out);
    out->run_id = run_id;
    out->n = n;
    enum err e = store_get(w->txn, RECORD_ROUND, w->arena, out);
    if (e == ERR_NOT_FOUND)
        return fault_set(w->fault, e, NULL, "run \"%.64s\" has no round %lld", run_id, (long long)n);
    return e;
}

enum err task_load(struct work *w, const char *id, struct task_row *out)
{
    record_init(RECORD_TASK, out);
    out->id = id;
    return loaded(w, store_get(w->txn, RECORD_TASK, w->arena, out), "task", id);
}

enum err device_load(struct work *w, const char *id, struct device_row *out)
{
    record_init(RECORD_DEVICE, out);
    out->id = id;
    return loaded(w, store_get(w->txn, RECORD_DEVICE, w->arena, out), "device", id);
}

enum err worker_load(struct work *w, const char *id, struct worker_row *out)
{
    record_init(RECORD_WORKER, out);
    out->id = id;
    return loaded(w, store_get(w->txn, RECORD_WORKER, w->arena, out), "worker", id);
}
