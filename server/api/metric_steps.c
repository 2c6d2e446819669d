/* The steps that lie before a round: what curves of runs with different work per round are compared by. */
#include <stdlib.h>
#include "server/api/metric_points.h"

#define ROUNDS_AT_ONCE 500

/* done[n]: the steps of round n, 0 where there is none. */
static enum err read_steps(struct store_txn *txn, const char *run_id, int64_t last, int64_t *done)
{
    struct arena arena = ARENA_INIT(LIMIT_REQUEST_ARENA);
    enum err e = ERR_OK;
    bool is_end = false;
    for (int64_t seen = -1; e == ERR_OK && !is_end && seen < last;) {
        struct round_row *rows;
        size_t n;
        e = store_find(txn, QUERY_ROUNDS, &arena, ROUNDS_AT_ONCE, &rows, &n, store_text(run_id),
                       store_int(seen));
        for (size_t i = 0; e == ERR_OK && i < n && rows[i].n <= last; i++)
            done[rows[i].n] = rows[i].steps_done;
        is_end = e == ERR_OK && n < ROUNDS_AT_ONCE;
        if (e == ERR_OK && n > 0)
            seen = rows[n - 1].n;
        arena_clear(&arena);
    }
    arena_release(&arena);
    return e;
}

enum err metric_points_steps(struct store_txn *txn, const char *run_id, struct metric_points *p)
{
    int64_t last = 0;
    for (size_t i = 0; i < p->count; i++)
        if (p->items[i].round > last)
            last = p->items[i].round;
    int64_t *done = calloc((size_t)last + 1, sizeof *done);
    if (!done)
        return ERR_NO_MEMORY;
    enum err e = read_steps(txn, run_id, last, done);
    int64_t total = 0;
    for (int64_t n = 0; e == ERR_OK && n <= last; n++) {
        int64_t of_round = done[n];
        done[n] = total;
        total += of_round;
    }
    for (size_t i = 0; e == ERR_OK && i < p->count; i++)
        p->items[i].total_steps = done[p->items[i].round];
    free(done);
    return e;
}
