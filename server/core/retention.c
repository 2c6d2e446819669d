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

struct leftover_read {
    struct core *core;
    struct arena *arena;
    const struct leftover *what;
    struct update_row *rows;
    size_t count;
    int64_t num_uploads;
};

static enum err read_leftover(struct store_txn *txn, void *arg)
{
    struct leftover_read *a = arg;
    struct fault fault = FAULT_NONE;
    struct work w = {.txn = txn, .arena = a->arena, .fault = &fault, .caller = ""};
    struct run_row run;
    struct round_row round;
    const struct plan *plan;
    a->count = 0;
    a->num_uploads = 0;
    enum err e = run_load(&w, a->what->run_id, &run);
    if (!e)
        e = round_load(&w, run.id, a->what->round, &round);
    /* The operation that left it may have failed at its commit: then the round is still open. */
    if (e || round.status != ROUND_CLOSED)
        return e == ERR_NOT_FOUND ? ERR_OK : e;
    e = store_count(txn, QUERY_UPLOADS_BY_ROUND, &a->num_uploads, store_text(run.id), store_int(round.n));
    if (e)
        return e;
    e = plan_cache_get(&a->core->background_plans, &run, round.config, &plan);
    /* A spec that cannot be read does not say that they may go. */
    if (e || plan->spec.retention.keep_updates)
        return e == ERR_CORRUPT ? ERR_OK : e;
    return store_find(txn, QUERY_UPDATES_BY_ROUND, a->arena, 0, &a->rows, &a->count, store_text(run.id),
                      store_int(round.n), store_any);
}

struct uploads_end {
    struct op_base base;
    const struct leftover *what;
    struct blob_list garbage; /* what came in pieces and was not taken */
};

/* The round takes no more answers. What was taken stays as a row, for who asks again for the receipt; its
 * bytes are the update's. */
static enum err op_uploads_end(struct store_txn *txn, void *arg)
{
    struct uploads_end *a = arg;
    struct work w = work_begin(txn, &a->base);
    struct upload_row *rows;
    size_t count;
    a->garbage = (struct blob_list){0};
    enum err e = store_find(txn, QUERY_UPLOADS_BY_ROUND, w.arena, 0, &rows, &count,
                            store_text(a->what->run_id), store_int(a->what->round));
    for (size_t i = 0; i < count && !e; i++) {
        bool was_taken = *rows[i].body_sha256;
        if (!rows[i].blob_id && was_taken)
            continue;
        if (rows[i].blob_id && !was_taken)
            e = list_add(&w, &a->garbage, rows[i].blob_id);
        rows[i].blob_id = 0;
        if (!e)
            e = was_taken ? store_update(txn, RECORD_UPLOAD, &rows[i])
                          : store_remove(txn, RECORD_UPLOAD, &rows[i]);
    }
    return e;
}

static enum err uploads_remove(struct core *c, const struct leftover_read *r)
{
    struct uploads_end op = {.base = {.core = c, .arena = r->arena}, .what = r->what};
    enum err e = r->num_uploads > 0 ? store_write_wait(c->store, op_uploads_end, &op) : ERR_OK;
    if (!e)
        blobs_remove(c, op.garbage.ids, op.garbage.count);
    return e;
}

static enum err op_nothing(struct store_txn *txn, void *arg)
{
    (void)txn;
    (void)arg;
    return ERR_OK;
}

/* The rows of updates stay as they are: to rewrite those of a large round would hold up the writer. */
enum err leftovers_remove(struct core *c)
{
    enum err e = ERR_OK;
    for (struct leftover *l; !e && (l = leftover_take(c)); free(l)) {
        struct arena arena = ARENA_INIT(CORE_ARENA_MAX);
        struct leftover_read a = {.core = c, .arena = &arena, .what = l};
        /* Who left it may not have committed yet: a read would still find the round open. */
        e = store_write_wait(c->store, op_nothing, NULL);
        if (!e)
            e = c->store->ops->read(c->store, read_leftover, &a);
        if (!e)
            e = uploads_remove(c, &a);
        for (size_t i = 0; i < a.count && !e; i++)
            if (a.rows[i].blob_id)
                blobs_remove(c, &a.rows[i].blob_id, 1);
        if (e)
            leftover_add(c, l->run_id, l->round);
        arena_release(&arena);
    }
    return e;
}

/* The writer has the blobs committed before its own commit, and each commit of theirs gives back a piece. So
 * whoever writes meanwhile waits for one piece, in its turn. */
enum err garbage_advance(struct core *c, bool *out_has_more)
{
    *out_has_more = false;
    if (!c->blobs->ops->has_garbage(c->blobs))
        return ERR_OK;
    enum err e = store_write_wait(c->store, op_nothing, NULL);
    *out_has_more = !e && c->blobs->ops->has_garbage(c->blobs);
    return e;
}
