#include "server/api/round_numbers.h"

#include <math.h>
#include <string.h>
#include "common/base/str.h"
#include "server/api/round_walk.h"

#define GAMMA 1 /* in numbers[] */

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

struct taking {
    const struct metric_filter *filter;
    size_t max;
    struct metric_points *out;
};

/* As points of a curve, so that long runs are drawn without what each device of each round did. */
static enum err take(void *ctx, const struct round_row *round, bool *out_stop)
{
    const struct taking *t = ctx;
    bool has;
    const struct metric_point point = {.name = t->filter->number,
                                       .round = round->n,
                                       .ordinal = -1,
                                       .value = number_of(round, t->filter->number, &has),
                                       .weight = NAN,
                                       .at = round->opened_at};
    if (!has)
        return ERR_OK;
    if (t->out->count < t->max)
        return metric_points_put(t->out, &point);
    t->out->has_more = *out_stop = true;
    return ERR_OK;
}

enum err round_numbers_read(struct store_txn *txn, const struct metric_filter *f, size_t max,
                            struct metric_points *out)
{
    struct taking t = {.filter = f, .max = max, .out = out};
    return round_walk(txn, f->run_id, f->since_round - (f->skip > 0 ? 0 : 1), take, &t);
}
