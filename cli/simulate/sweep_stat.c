#include <math.h>
#include "cli/simulate/sweep.h"
#include "cli/table.h"

/* B. P. Welford's recurrence: one pass, and exact enough where the values lie close together. */
void sweep_stat_add(struct sweep_stat *stat, double value)
{
    double distance = value - stat->mean;
    stat->n++;
    stat->mean += distance / (double)stat->n;
    stat->m2 += distance * (value - stat->mean);
}

double sweep_stat_mean(const struct sweep_stat *stat)
{
    return stat->n > 0 ? stat->mean : NAN;
}

double sweep_stat_sd(const struct sweep_stat *stat)
{
    return stat->n > 1 ? sqrt(stat->m2 / (double)(stat->n - 1)) : NAN;
}

const struct sweep_figure sweep_figures[] = {
    {"train_loss", "train_loss"},
    {"test_loss", "metrics.test_loss"},
    {"test_accuracy", "test_accuracy"},
    {"test_accuracy_p10", "metrics.test_accuracy_p10"},
    {"test_accuracy_p50", "metrics.test_accuracy_p50"},
    {"test_accuracy_p90", "metrics.test_accuracy_p90"},
    {"rounds", "rounds"},
    {"time_s", "time_s"},
};
const size_t num_sweep_figures = sizeof sweep_figures / sizeof *sweep_figures;

struct sweep_stat sweep_stat_of(const struct sweep *s, size_t point, const char *path)
{
    struct sweep_stat stat = {0};
    for (size_t i = point * s->num_seeds; i < (point + 1) * s->num_seeds; i++) {
        double value = s->runs[i].is_failed ? NAN : json_number_at(s->runs[i].final, path);
        if (!isnan(value))
            sweep_stat_add(&stat, value);
    }
    return stat;
}
