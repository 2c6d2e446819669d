#include "server/core/retention.h"

#include <stdlib.h>
#include <string.h>
#include "common/base/log.h"

static enum err list_add(struct work *w, struct blob_list *list, int64_t id)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 32;
        int64_t *bigger = arena_calloc(w->arena, capacity, sizeof *bigger);
        if (!bigger)
            return ERR_NO_MEMORY;
        if (list->count > 0)
            memcpy(bigger, list->ids, list->count * sizeof *bigger);
        list->ids = bigger;
        list->capacity = capacity;
    }
    list->ids[list->count++] = id;
    return ERR_OK;
}

enum err retention_updates(struct work *w, const struct run_row *run, int64_t round,
                           struct blob_list *garbage)
{
    struct update_row *rows;
    size_t count;
    enum err e = store_find(w->txn, QUERY_UPDATES_BY_ROUND, w->arena, 0, &rows, &count, store_text(run->id),
                            store_int(round), store_any);
    for (size_t i = 0; i < count && !e; i++) {
        if (!rows[i].blob_id)
            continue;
        e = list_add(w, garbage, rows[i].blob_id);
        rows[i].blob_id = 0;
        if (!e)
            e = store_update(w->txn, RECORD_UPDATE, &rows[i]);
    }
    return e;
}

enum err retention_models(struct work *w, const struct plan *plan, const struct run_row *run, int64_t newest,
                          struct blob_list *garbage)
{
    int64_t keep = plan->spec.retention.keep_models;
    struct model_row old, next;
    if (keep == 0 || newest < keep)
        return ERR_OK;
    record_init(RECORD_MODEL, &old);
    old.run_id = run->id;
    old.version = newest - keep;
    record_init(RECORD_MODEL, &next);
    next.run_id = run->id;
    next.version = old.version + 1;
    enum err e = store_get(w->txn, RECORD_MODEL, w->arena, &old);
    if (!e)
        e = store_get(w->txn, RECORD_MODEL, w->arena, &next);
    if (e || !old.blob_id)
        return e == ERR_NOT_FOUND ? ERR_CORRUPT : e;
    /* A round that changed nothing shares its model's file with the version before. */
    if (old.blob_id != next.blob_id)
        e = list_add(w, garbage, old.blob_id);
    old.blob_id = 0;
    return e ? e : store_update(w->txn, RECORD_MODEL, &old);
}

void blobs_remove(struct core *c, const int64_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        enum err e = c->blobs->ops->remove(c->blobs, ids[i]);
        /* What stays is found by the next start. */
        if (e && e != ERR_NOT_FOUND)
            log_warning("core", "blob %lld could not be removed: %s", (long long)ids[i], err_name(e));
    }
}

void leftover_add(struct core *c, const char *run_id, int64_t round)
{
    struct leftover *l = calloc(1, sizeof *l);
    if (!l)
        return;
    (void)memccpy(l->run_id, run_id, '\0', sizeof l->run_id - 1);
    l->round = round;
    pthread_mutex_lock(&c->leftovers_lock);
    l->next = c->leftovers;
    c->leftovers = l;
    pthread_mutex_unlock(&c->leftovers_lock);
}

static struct leftover *leftover_take(struct core *c)
{
    pthread_mutex_lock(&c->leftovers_lock);
    struct leftover *l = c->leftovers;
    if (l)
        c->leftovers = l->next;
    pthread_mutex_unlock(&c->leftovers_lock);
    return l;
}

void leftovers_free(struct core *c)
{
    for (struct leftover *l; (l = leftover_take(c));)
        free(l);
}

struct leftover_op {
    struct op_base base;
    const struct leftover *what;
    struct blob_list garbage;
};

static enum err op_leftover(struct store_txn *txn, void *arg)
{
    struct leftover_op *a = arg;
    struct work w = work_begin(txn, &a->base);
    struct run_row run;
    struct round_row round;
    const struct plan *plan;
    a->garbage = (struct blob_list){0};
    enum err e = run_load(&w, a->what->run_id, &run);
    if (!e)
        e = round_load(&w, run.id, a->what->round, &round);
    /* The operation that left it may have failed at its commit: then the round is still open. */
    if (e || round.status != ROUND_CLOSED)
        return e == ERR_NOT_FOUND ? ERR_OK : e;
    e = plan_cache_get(&w.core->plans, &run, round.config, &plan);
    /* A spec that cannot be read does not say that they may go. */
    if (e || plan->spec.retention.keep_updates)
        return e == ERR_CORRUPT ? ERR_OK : e;
    return retention_updates(&w, &run, round.n, &a->garbage);
}

enum err leftovers_remove(struct core *c)
{
    enum err e = ERR_OK;
    for (struct leftover *l; !e && (l = leftover_take(c)); free(l)) {
        struct arena arena = ARENA_INIT(CORE_ARENA_MAX);
        struct leftover_op op = {.base = {.core = c, .arena = &arena}, .what = l};
        e = store_write_wait(c->store, op_leftover, &op);
        if (!e)
            blobs_remove(c, op.garbage.ids, op.garbage.count);
        else
            leftover_add(c, l->run_id, l->round);
        arena_release(&arena);
    }
    return e;
}
