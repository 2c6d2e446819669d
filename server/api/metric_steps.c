/* The steps that lie before a round: what curves of runs with different work per round are compared by. */
#include <stdlib.h>
#include "server/api/metric_points.h"
#include "server/api/round_walk.h"

struct steps {
    int64_t last, *done; /* done[n]: the steps of round n, 0 where there is none */
};

static enum err take(void *ctx, const struct round_row *round, bool *out_stop)
{
    struct steps *s = ctx;
    *out_stop = round->n >= s->last;
    if (round->n <= s->last)
        s->done[round->n] = round->steps_done;
    return ERR_OK;
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
    struct steps steps = {.last = last, .done = done};
    enum err e = round_walk(txn, run_id, -1, take, &steps);
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
