#include "server/api/sparkline.h"

#include "common/base/limits.h"
#include "common/json/json_num.h"
#include "server/api/run_json.h"

#define PROBES 16 /* how many evaluated rounds are tried for the first and for the newest value */

static const char *const names[] = {"train_loss", "test_accuracy"};

/* The rounds that were evaluated: the multiples of evaluation.every, and the newest one, which may be final.
 */
struct grid {
    int64_t every, newest;
    int64_t count;
};

static struct grid grid_of(const struct run_row *run, const json_t *json)
{
    const json_t *newest = json_object_get(json_object_get(json, "metrics"), "round");
    struct grid g = {.every = run_json_every(run), .newest = json_integer_value(newest)};
    if (newest)
        g.count = g.newest / g.every + 1 + (g.newest % g.every != 0);
    return g;
}

static int64_t round_at(const struct grid *g, int64_t i)
{
    return i * g->every < g->newest ? i * g->every : g->newest;
}

/* ERR_NOT_FOUND: that round has no such value. */
static enum err look_up(struct store_txn *txn, struct arena *arena, const struct run_row *run,
                        const char *name, int64_t round, double *out)
{
    struct metric_row row;
    record_init(RECORD_METRIC, &row);
    row.run_id = run->id;
    row.round = round;
    row.name = name;
    row.ordinal = -1;
    enum err e = store_get(txn, RECORD_METRIC, arena, &row);
    *out = row.value;
    return e;
}

/* Moves *at (a place in the grid) by `step` until there is a value, short of `end`. */
static enum err seek(struct store_txn *txn, struct arena *arena, const struct run_row *run, const char *name,
                     const struct grid *g, int64_t *at, int64_t end, int64_t step)
{
    double value;
    enum err e = ERR_NOT_FOUND;
    for (int i = 0; i < PROBES && *at != end && e == ERR_NOT_FOUND; i++) {
        e = look_up(txn, arena, run, name, round_at(g, *at), &value);
        if (e == ERR_NOT_FOUND)
            *at += step;
    }
    return e;
}

static enum err put_values(struct store_txn *txn, struct arena *arena, const struct run_row *run,
                           const char *name, const struct grid *g, int64_t max, json_t *values)
{
    int64_t first = 0, last = g->count - 1;
    enum err e = seek(txn, arena, run, name, g, &first, g->count, 1);
    if (e == ERR_OK)
        e = seek(txn, arena, run, name, g, &last, first, -1);
    if (e == ERR_NOT_FOUND)
        last = first;
    int64_t steps = last - first < max ? last - first : max - 1;
    for (int64_t i = 0; i <= steps && (e == ERR_OK || e == ERR_NOT_FOUND); i++) {
        double value;
        int64_t at = steps > 0 ? first + i * (last - first) / steps : first;
        e = look_up(txn, arena, run, name, round_at(g, at), &value);
        if (e == ERR_OK && json_array_append_new(values, json_num(value)) != 0)
            e = ERR_NO_MEMORY;
    }
    return e == ERR_NOT_FOUND ? ERR_OK : e;
}

enum err sparklines_put(struct store_txn *txn, const struct run_row *run, int64_t max, json_t *json)
{
    struct arena arena = ARENA_INIT(LIMIT_REQUEST_ARENA);
    const struct grid g = grid_of(run, json);
    json_t *lines = json_object();
    enum err e = json_object_set_new(json, "sparklines", lines) == 0 ? ERR_OK : ERR_NO_MEMORY;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && e == ERR_OK; i++) {
        json_t *values = json_array();
        e = json_object_set_new(lines, names[i], values) == 0 ? ERR_OK : ERR_NO_MEMORY;
        if (e == ERR_OK && g.count > 0)
            e = put_values(txn, &arena, run, names[i], &g, max, values);
        arena_clear(&arena);
    }
    arena_release(&arena);
    return e;
}
