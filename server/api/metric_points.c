#include "server/api/metric_points.h"
#include "server/api/round_numbers.h"

#include <stdlib.h>
#include <string.h>
#include "server/api/lttb.h"

#define ROWS_AT_ONCE 5000
#define MAX_NAMES    4096

/* The few names that metrics have, each once. */
struct names {
    const char *items[MAX_NAMES];
    size_t count;
};

static const char *intern(struct names *names, struct arena *arena, const char *name)
{
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(names->items[i], name) == 0)
            return names->items[i];
    }
    const char *copy = arena_strdup(arena, name);
    if (copy && names->count < MAX_NAMES)
        names->items[names->count++] = copy;
    return copy;
}

enum err metric_points_put(struct metric_points *p, const struct metric_point *point)
{
    if (p->count == p->capacity) {
        size_t capacity = p->capacity ? 2 * p->capacity : 256;
        struct metric_point *items = realloc(p->items, capacity * sizeof *items);
        if (!items)
            return ERR_NO_MEMORY;
        p->items = items;
        p->capacity = capacity;
    }
    p->items[p->count++] = *point;
    return ERR_OK;
}

/* Where the next piece begins: `skip` rows of `round` are done. */
struct place {
    int64_t round, skip;
};

static enum err take(struct reading *r, const struct metric_row *rows, size_t n, size_t max,
                     struct names *names, struct place *place, struct metric_points *out)
{
    for (size_t i = 0; i < n; i++) {
        const struct metric_row *m = &rows[i];
        if (out->count == max) {
            out->has_more = true;
            return ERR_OK;
        }
        const struct metric_point point = {.name = intern(names, r->arena, m->name),
                                           .round = m->round,
                                           .ordinal = m->ordinal,
                                           .value = m->value,
                                           .weight = m->weight,
                                           .at = m->at};
        enum err e = point.name ? metric_points_put(out, &point) : ERR_NO_MEMORY;
        if (e != ERR_OK)
            return e;
        if (m->round != place->round)
            *place = (struct place){.round = m->round};
        place->skip++;
    }
    return ERR_OK;
}

/* One curve is found by its keys: among those of a thousand devices it would be one row in a thousand. */
static enum err read_curve(struct reading *r, struct store_txn *txn, const struct metric_filter *f,
                           size_t max, struct names *names, struct metric_points *out)
{
    struct place place = {.round = f->since_round, .skip = f->skip};
    struct arena piece = ARENA_INIT(LIMIT_REQUEST_ARENA);
    enum err e = ERR_OK;
    for (int64_t n = f->since_round + (f->skip > 0); n <= f->last_round && e == ERR_OK && !out->has_more;
         n++) {
        struct metric_row row;
        record_init(RECORD_METRIC, &row);
        row.run_id = f->run_id;
        row.round = n;
        row.name = f->name;
        row.ordinal = f->ordinal.integer;
        e = store_get(txn, RECORD_METRIC, &piece, &row);
        if (e == ERR_OK)
            e = take(r, &row, 1, max, names, &place, out);
        else if (e == ERR_NOT_FOUND)
            e = ERR_OK;
        arena_clear(&piece);
    }
    arena_release(&piece);
    return e;
}

enum err metric_points_read(struct reading *r, struct store_txn *txn, const struct metric_filter *f,
                            size_t max, struct metric_points *out)
{
    if (f->number)
        return round_numbers_read(txn, f, max, out);
    struct names *names = arena_alloc(r->arena, sizeof *names);
    if (!names)
        return ERR_NO_MEMORY;
    if (f->name && f->ordinal.type == VALUE_INT)
        return read_curve(r, txn, f, max, names, out);
    struct place place = {.round = f->since_round, .skip = f->skip};
    enum err e = ERR_OK;
    bool is_end = false;
    while (e == ERR_OK && !is_end && !out->has_more) {
        struct arena piece = ARENA_INIT(LIMIT_REQUEST_ARENA);
        struct metric_row *rows;
        size_t n, skip = (size_t)place.skip;
        e = store_find(txn, QUERY_METRICS, &piece, (int64_t)skip + ROWS_AT_ONCE, &rows, &n,
                       store_text(f->run_id), store_text_or_any(f->name), f->ordinal, store_int(place.round));
        is_end = e == ERR_OK && n < skip + ROWS_AT_ONCE;
        if (e == ERR_OK && n > skip)
            e = take(r, rows + skip, n - skip, max, names, &place, out);
        arena_release(&piece);
    }
    return e;
}

static int by_series(const void *a, const void *b)
{
    const struct metric_point *x = a, *y = b;
    int names = x->name == y->name ? 0 : strcmp(x->name, y->name);
    if (names != 0)
        return names;
    if (x->ordinal != y->ordinal)
        return x->ordinal < y->ordinal ? -1 : 1;
    return (x->round > y->round) - (x->round < y->round);
}

/* One series of n points at `from`, thinned to `to`; returns how many are kept. */
static size_t thin_series(const struct metric_point *from, size_t n, size_t max, double *x, double *y,
                          size_t *keep, struct metric_point *to)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = (double)from[i].round;
        y[i] = from[i].value;
    }
    size_t kept = lttb_select(x, y, n, max, keep);
    /* keep[] ascends, so nothing is overwritten before it is read. */
    for (size_t i = 0; i < kept; i++)
        to[i] = from[keep[i]];
    return kept;
}

enum err metric_points_thin(struct metric_points *p, size_t max)
{
    if (p->count == 0)
        return ERR_OK;
    qsort(p->items, p->count, sizeof *p->items, by_series);
    double *xy = calloc(p->count, 2 * sizeof *xy);
    size_t *keep = calloc(p->count, sizeof *keep);
    size_t kept = 0;
    for (size_t i = 0, end; xy && keep && i < p->count; i = end) {
        for (end = i + 1; end < p->count; end++) {
            if (p->items[end].name != p->items[i].name || p->items[end].ordinal != p->items[i].ordinal)
                break;
        }
        kept += thin_series(p->items + i, end - i, max, xy, xy + p->count, keep, p->items + kept);
    }
    enum err e = xy && keep ? ERR_OK : ERR_NO_MEMORY;
    free(xy);
    free(keep);
    if (e == ERR_OK)
        p->count = kept;
    return e;
}

void metric_points_release(struct metric_points *p)
{
    free(p->items);
    *p = (struct metric_points){0};
}
