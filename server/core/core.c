#include "server/core/core_impl.h"

#include <stdlib.h>
#include "common/base/log.h"
#include "server/core/experiment.h"
#include "server/core/retention.h"

/* Weights are there before the rows that name them: their commit begins with the batch of operations, and is
 * waited for before that of the rows. */
static void begin_blobs(void *ctx)
{
    struct core *c = ctx;
    c->blobs_begun = c->blobs->ops->commit_begin(c->blobs);
}

static enum err commit_blobs(void *ctx)
{
    struct core *c = ctx;
    return c->blobs->ops->commit_end(c->blobs, c->blobs_begun);
}

enum err core_new(const struct core_config *config, struct core **out)
{
    struct core *c = calloc(1, sizeof *c);
    if (!c)
        return ERR_NO_MEMORY;
    c->store = config->store;
    c->blobs = config->blobs;
    c->clock = config->clock;
    c->entropy = config->entropy;
    c->background_arena = ARENA_INIT(CORE_ARENA_MAX);
    c->is_simulated = config->is_simulated;
    if (pthread_mutex_init(&c->leftovers_lock, NULL))
        goto no_lock;
    if (progress_init(&c->progress))
        goto no_progress;
    if (presence_init(&c->presence, config->heartbeat_ms, config->without_presence))
        goto no_presence;
    c->store->ops->before_commit(c->store, begin_blobs, commit_blobs, c);
    *out = c;
    return ERR_OK;
no_presence:
    progress_release(&c->progress);
no_progress:
    (void)pthread_mutex_destroy(&c->leftovers_lock);
no_lock:
    free(c);
    return ERR_NO_MEMORY;
}

void core_free(struct core *c)
{
    if (!c)
        return;
    plan_cache_release(&c->plans);
    plan_cache_release(&c->background_plans);
    arena_release(&c->background_arena);
    leftovers_free(c);
    presence_release(&c->presence);
    progress_release(&c->progress);
    (void)pthread_mutex_destroy(&c->leftovers_lock);
    free(c);
}

/* Experiment "0", as MLflow's clients expect it. */
static enum err op_defaults(struct store_txn *txn, void *arg)
{
    struct op_base *base = arg;
    struct work w = work_begin(txn, base);
    struct experiment_row row;
    record_init(RECORD_EXPERIMENT, &row);
    row.id = "0";
    enum err e = store_get(txn, RECORD_EXPERIMENT, w.arena, &row);
    if (e != ERR_NOT_FOUND)
        return e;
    row.name = EXPERIMENT_DEFAULT_NAME;
    row.created_at = row.updated_at = w.now_ms;
    return store_insert(txn, RECORD_EXPERIMENT, &row);
}

static enum err read_presence(struct store_txn *txn, void *arg)
{
    return presence_recover(arg, txn);
}

enum err core_recover(struct core *c, struct fault *fault)
{
    struct arena arena = ARENA_INIT(CORE_ARENA_MAX);
    struct op_base base = {.core = c, .arena = &arena};
    const char *step = "the default experiment";
    enum err e = store_write_wait(c->store, op_defaults, &base);
    if (!e) {
        step = "the devices' last reports";
        e = c->presence.all_online ? ERR_OK : c->store->ops->read(c->store, read_presence, c);
    }
    if (!e) {
        step = "weights that nothing names";
        e = retention_collect(c);
    }
    arena_release(&arena);
    if (e)
        return fault_set(fault, e, NULL, "the store cannot be taken up (%s): %s", step, err_name(e));
    return ERR_OK;
}
