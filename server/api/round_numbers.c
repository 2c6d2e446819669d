#include "server/api/round_numbers.h"

#include <math.h>
#include <string.h>
#include "common/base/str.h"

#define ROUNDS_AT_ONCE 500
#define GAMMA          1 /* in numbers[] */

static const char *const numbers[] = {
    "proximal_mu",           "mean_gamma",  "dissimilarity_b", "grad_variance_weighted",
    "grad_variance_uniform", "duration_ms", "bytes_in",        "bytes_out",
};

bool round_gamma_is_nan(const struct round_row *round)
{
    return isnan(round->mean_gamma) && strstr(round->metrics, "\"gamma\":\"NaN\"");
}

const char *round_number_find(const char *name)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (str_eq(name, numbers[i]))
            return numbers[i];
    }
    return NULL;
}

/* In the order of numbers[]. */
static double number_of(const struct round_row *round, const char *name, bool *out_has)
{
    const double values[] = {
        round->proximal_mu,           round->mean_gamma,
        round->dissimilarity_b,       round->grad_variance_weighted,
        round->grad_variance_uniform, (double)(round->closed_at - round->opened_at),
        (double)round->bytes_in,      (double)round->bytes_out,
    };
    size_t i = 0;
    while (!str_eq(name, numbers[i]))
        i++;
    *out_has = round->closed_at && (!isnan(values[i]) || (i == GAMMA && round_gamma_is_nan(round)));
    return values[i];
}

/* As points of a curve, so that long runs are drawn without what each device of each round did. */
static enum err take(const struct round_row *rows, size_t n, const struct metric_filter *f, size_t max,
                     struct metric_points *out)
{
    enum err e = ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < n && !out->has_more; i++) {
        bool has;
        const struct metric_point point = {.name = f->number,
                                           .round = rows[i].n,
                                           .ordinal = -1,
                                           .value = number_of(&rows[i], f->number, &has),
                                           .weight = NAN,
                                           .at = rows[i].opened_at};
        if (!has)
            continue;
        if (out->count == max)
            out->has_more = true;
        else
            e = metric_points_put(out, &point);
    }
    return e;
}

enum err round_numbers_read(struct store_txn *txn, const struct metric_filter *f, size_t max,
                            struct metric_points *out)
{
    struct arena arena = ARENA_INIT(LIMIT_REQUEST_ARENA);
    enum err e = ERR_OK;
    bool is_end = false;
    int64_t seen = f->since_round - (f->skip > 0 ? 0 : 1);
    while (e == ERR_OK && !is_end && !out->has_more) {
        struct round_row *rows;
        size_t n;
        e = store_find(txn, QUERY_ROUNDS, &arena, ROUNDS_AT_ONCE, &rows, &n, store_text(f->run_id),
                       store_int(seen));
        if (e == ERR_OK)
            e = take(rows, n, f, max, out);
        is_end = e == ERR_OK && n < ROUNDS_AT_ONCE;
        if (e == ERR_OK && n > 0)
            seen = rows[n - 1].n;
        arena_clear(&arena);
    }
    arena_release(&arena);
    return e;
}
