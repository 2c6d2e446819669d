/* Nobody can ask a simulation about a single device, so what the devices of closed rounds did is dropped: the
 * memory of a run does not grow with its rounds, and the store's tables stay small enough for the caches. */
#include "cli/simulate/sim_impl.h"

struct forgetting {
    struct sim *s;
    struct arena *arena;
    int64_t round;
    struct update_row *updates;
    size_t num_updates;
};

static enum err remove_rows(struct store_txn *txn, enum record_kind kind, const void *rows, size_t count)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < count && !e; i++)
        e = store_remove(txn, kind, (const char *)rows + i * record_types[kind].row_size);
    return e;
}

static enum err forget_tasks(struct forgetting *f, struct store_txn *txn)
{
    struct task_row *tasks;
    size_t count;
    enum err e = store_find(txn, QUERY_TASKS_BY_ROUND, f->arena, 0, &tasks, &count, store_text(f->s->run_id),
                            store_int(f->round), store_any, store_any);
    return e ? e : remove_rows(txn, RECORD_TASK, tasks, count);
}

static enum err forget_updates(struct forgetting *f, struct store_txn *txn)
{
    enum err e = store_find(txn, QUERY_UPDATES_BY_ROUND, f->arena, 0, &f->updates, &f->num_updates,
                            store_text(f->s->run_id), store_int(f->round), store_any);
    return e ? e : remove_rows(txn, RECORD_UPDATE, f->updates, f->num_updates);
}

/* Rounds are forgotten in their order, so the first rows are those of this one. */
static enum err forget_metrics(struct forgetting *f, struct store_txn *txn)
{
    struct metric_row *metrics;
    size_t count, of_round = 0;
    enum err e = store_find(txn, QUERY_METRICS, f->arena, 0, &metrics, &count, store_text(f->s->run_id),
                            store_any, store_any, store_int(0));
    while (!e && of_round < count && metrics[of_round].round == f->round)
        of_round++;
    return e ? e : remove_rows(txn, RECORD_METRIC, metrics, of_round);
}

static enum err forget_round(struct store_txn *txn, void *arg)
{
    struct forgetting *f = arg;
    f->num_updates = 0;
    enum err e = forget_tasks(f, txn);
    if (!e)
        e = forget_updates(f, txn);
    return e ? e : forget_metrics(f, txn);
}

enum err sim_forget(struct sim *s, int64_t round)
{
    struct arena arena = ARENA_INIT(SIM_ARENA_MAX);
    struct forgetting f = {.s = s, .arena = &arena, .round = round};
    enum err e = store_write_wait(s->store, forget_round, &f);
    for (size_t i = 0; i < f.num_updates && !e; i++) {
        if (f.updates[i].blob_id)
            e = s->blobs->ops->remove(s->blobs, f.updates[i].blob_id);
        if (e == ERR_NOT_FOUND) /* the run does not keep them: it went when the round closed */
            e = ERR_OK;
    }
    arena_release(&arena);
    return e;
}
