/* At the start: what is in the blob store and in no row is what a crash, a refused update or a failed commit
 * left. */
#include <stdlib.h>
#include <string.h>
#include "common/base/log.h"
#include "server/core/retention.h"

struct named {
    struct core *core;
    struct arena *arena;
    int64_t *ids; /* sorted once complete */
    size_t count, capacity;
};

static enum err named_add(struct named *n, int64_t id)
{
    if (!id)
        return ERR_OK;
    if (n->count == n->capacity) {
        size_t capacity = n->capacity ? 2 * n->capacity : 1024;
        int64_t *bigger = realloc(n->ids, capacity * sizeof *bigger);
        if (!bigger)
            return ERR_NO_MEMORY;
        n->ids = bigger;
        n->capacity = capacity;
    }
    n->ids[n->count++] = id;
    return ERR_OK;
}

static enum err named_updates(struct named *n, struct store_txn *txn, const char *run_id, int64_t round)
{
    struct arena arena = ARENA_INIT(CORE_ARENA_MAX);
    struct update_row *rows;
    size_t count;
    enum err e = store_find(txn, QUERY_UPDATES_BY_ROUND, &arena, 0, &rows, &count, store_text(run_id),
                            store_int(round), store_any);
    for (size_t i = 0; i < count && !e; i++)
        e = named_add(n, rows[i].blob_id);
    arena_release(&arena);
    return e;
}

static enum err named_run(struct named *n, struct store_txn *txn, const struct run_row *run)
{
    struct arena arena = ARENA_INIT(CORE_ARENA_MAX);
    struct model_row *models;
    struct plan *plan = NULL;
    size_t count;
    enum err e = store_find(txn, QUERY_MODELS, &arena, 0, &models, &count, store_text(run->id), store_any);
    for (size_t i = 0; i < count && !e; i++)
        e = named_add(n, models[i].blob_id);
    if (!e)
        e = plan_new(run, run->config, &plan);
    /* Only the open round has updates, unless the run keeps them. A finished run's last round may have been
     * abandoned. */
    bool keeps = plan && plan->spec.retention.keep_updates;
    int64_t first = keeps ? 0 : run->status == RUN_FINISHED ? run->round + 1 : run->round;
    for (int64_t t = first; t <= run->round && !e; t++)
        e = named_updates(n, txn, run->id, t);
    plan_free(plan);
    arena_release(&arena);
    return e;
}

/* Those of a round that is closed go once the server runs; of one that was taken, and whose round is done
 * with, only the receipt is left. */
static enum err named_uploads(struct named *n, struct store_txn *txn)
{
    struct upload_row *rows;
    size_t count;
    enum err e = store_find(txn, QUERY_UPLOADS, n->arena, 0, &rows, &count, store_any);
    for (size_t i = 0; i < count && !e; i++) {
        struct round_row round;
        if (!rows[i].blob_id && *rows[i].body_sha256)
            continue;
        record_init(RECORD_ROUND, &round);
        round.run_id = rows[i].run_id;
        round.n = rows[i].round;
        e = store_get(txn, RECORD_ROUND, n->arena, &round);
        if (!e && round.status == ROUND_CLOSED)
            leftover_add(n->core, round.run_id, round.n);
        if (!e)
            e = named_add(n, rows[i].blob_id);
    }
    return e;
}

static enum err read_named(struct store_txn *txn, void *arg)
{
    struct named *n = arg;
    struct run_row *runs;
    size_t count;
    n->count = 0;
    enum err e = store_find(txn, QUERY_RUNS, n->arena, 0, &runs, &count, store_any, store_any, store_any);
    for (size_t i = 0; i < count && !e; i++)
        e = named_run(n, txn, &runs[i]);
    return e ? e : named_uploads(n, txn);
}

static int compare_ids(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static bool is_named(void *ctx, int64_t id)
{
    const struct named *n = ctx;
    return n->count > 0 && bsearch(&id, n->ids, n->count, sizeof id, compare_ids);
}

enum err retention_collect(struct core *c)
{
    struct arena arena = ARENA_INIT(CORE_ARENA_MAX);
    struct named n = {.core = c, .arena = &arena};
    int64_t removed = 0;
    enum err e = c->store->ops->read(c->store, read_named, &n);
    if (!e && n.count > 0)
        qsort(n.ids, n.count, sizeof *n.ids, compare_ids);
    if (!e)
        e = c->blobs->ops->collect(c->blobs, is_named, &n, &removed);
    if (!e && removed > 0)
        log_info("core", "removed %lld files of weights that nothing names", (long long)removed);
    free(n.ids);
    arena_release(&arena);
    return e;
}
