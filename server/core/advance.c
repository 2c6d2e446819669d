/* What is done in the background, by one thread. */
#include <string.h>
#include "server/core/retention.h"
#include "server/core/steps.h"

struct due_list {
    struct core *core;
    struct arena *arena;
    struct due_run *items;
    size_t count;
    int64_t next_ms;
};

static enum err due_of_round(struct due_list *list, struct store_txn *txn, const struct run_row *run,
                             struct due_run *out)
{
    struct fault fault;
    struct round_row round;
    struct work w = {.txn = txn, .arena = list->arena, .fault = &fault, .caller = ""};
    enum err e = round_load(&w, run->id, run->round, &round);
    if (e == ERR_NOT_FOUND)
        return ERR_OK; /* paused between two rounds */
    if (e)
        return e;
    out->round = round.n;
    if (round.status == ROUND_AGGREGATING)
        out->what = DUE_AGGREGATION;
    else if (round.status != ROUND_CLOSED && round.grace_until) {
        if (core_now(list->core) >= round.grace_until)
            out->what = DUE_CLOCK;
        else if (round.grace_until < list->next_ms)
            list->next_ms = round.grace_until;
    }
    return ERR_OK;
}

static enum err due_of_waiting(struct due_list *list, struct store_txn *txn, const struct run_row *run,
                               struct due_run *out)
{
    struct model_row model;
    record_init(RECORD_MODEL, &model);
    model.run_id = run->id;
    enum err e = store_get(txn, RECORD_MODEL, list->arena, &model);
    if (e && e != ERR_NOT_FOUND)
        return e;
    out->what = e ? DUE_MODEL : DUE_DEVICES;
    return ERR_OK;
}

static enum err due_read(struct store_txn *txn, void *arg)
{
    static const int64_t statuses[] = {RUN_WAITING_FOR_DEVICES, RUN_RUNNING, RUN_PAUSED};
    struct due_list *list = arg;
    list->count = 0;
    list->next_ms = INT64_MAX;
    list->items = NULL;
    for (size_t s = 0; s < sizeof statuses / sizeof *statuses; s++) {
        struct run_row *runs;
        size_t count;
        enum err e =
            store_find(txn, QUERY_RUNS_BY_STATUS, list->arena, 0, &runs, &count, store_int(statuses[s]));
        struct due_run *items = e ? NULL : arena_calloc(list->arena, list->count + count, sizeof *items);
        if (!items)
            return e ? e : ERR_NO_MEMORY;
        if (list->count > 0)
            memcpy(items, list->items, list->count * sizeof *items);
        list->items = items;
        for (size_t i = 0; i < count && !e; i++) {
            struct due_run due = {.what = DUE_NOTHING};
            (void)memccpy(due.id, runs[i].id, '\0', sizeof due.id - 1);
            e = runs[i].status == RUN_WAITING_FOR_DEVICES ? due_of_waiting(list, txn, &runs[i], &due)
                                                          : due_of_round(list, txn, &runs[i], &due);
            if (!e && due.what != DUE_NOTHING)
                list->items[list->count++] = due;
        }
        if (e)
            return e;
    }
    return ERR_OK;
}

/* One look at all runs. One that fails does not hold up the others; the first error is returned. */
static enum err advance_runs(struct core *c, bool *has_more, int64_t *out_next_ms)
{
    struct arena arena = ARENA_INIT(CORE_ARENA_MAX);
    struct due_list list = {.core = c, .arena = &arena, .next_ms = INT64_MAX};
    enum err first = c->store->ops->read(c->store, due_read, &list);
    for (size_t i = 0; i < list.count; i++) {
        bool more = false;
        enum err e = step_do(c, &list.items[i], &more);
        *has_more = *has_more || more;
        first = first ? first : e;
    }
    *out_next_ms = list.next_ms;
    arena_release(&arena);
    return first;
}

#define RETRY_MS 1000 /* after an error of the store or of memory */

enum err core_advance(struct core *c, int64_t *out_next_ms)
{
    int64_t presence_ms = INT64_MAX;
    bool has_more = true, has_garbage;
    enum err e = ERR_OK;
    *out_next_ms = INT64_MAX;
    while (has_more) {
        has_more = false;
        e = advance_runs(c, &has_more, out_next_ms);
    }
    /* A run that cannot go on keeps nobody else from being looked after. */
    enum err of_leftovers = leftovers_remove(c), of_garbage = garbage_advance(c, &has_garbage);
    enum err of_presence = presence_advance(c, &presence_ms);
    e = e ? e : of_leftovers ? of_leftovers : of_garbage ? of_garbage : of_presence;
    if (has_garbage)
        *out_next_ms = core_now(c);
    if (presence_ms < *out_next_ms)
        *out_next_ms = presence_ms;
    if (e && core_now(c) + RETRY_MS < *out_next_ms)
        *out_next_ms = core_now(c) + RETRY_MS;
    return e;
}
