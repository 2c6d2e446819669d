#include "server/core/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/json/json_num.h"
#include "server/core/events.h"

static enum err put_row(struct work *w, const struct task_row *task, const char *name, double value,
                        double weight)
{
    struct metric_row row;
    record_init(RECORD_METRIC, &row);
    row.run_id = task->run_id;
    row.round = task->round;
    row.name = name;
    row.ordinal = task->ordinal;
    row.value = value;
    row.weight = weight;
    row.at = w->now_ms;
    return store_put(w->txn, RECORD_METRIC, &row);
}

static enum err put_evaluation(struct work *w, const struct task_row *task, const struct task_report *r)
{
    enum err e = ERR_OK;
    if (r->eval_train_examples > 0 && task_report_has(r, &r->eval_train_loss))
        e = put_row(w, task, "train_loss", r->eval_train_loss, (double)r->eval_train_examples);
    if (!e && r->eval_test_examples > 0 && task_report_has(r, &r->eval_test_loss))
        e = put_row(w, task, "test_loss", r->eval_test_loss, (double)r->eval_test_examples);
    if (!e && r->eval_test_examples > 0 && r->eval_test_correct >= 0)
        e = put_row(w, task, "test_accuracy", (double)r->eval_test_correct / (double)r->eval_test_examples,
                    (double)r->eval_test_examples);
    for (size_t i = 0; i < r->num_metrics && !e; i++)
        e = put_row(w, task, r->metrics[i].name, r->metrics[i].value, r->metrics[i].weight);
    return e;
}

static enum err put_work(struct work *w, const struct task_row *task, const struct task_report *r)
{
    double n = (double)task->num_examples;
    const struct {
        const char *name;
        const double *value;
        double weight;
    } numbers[] = {
        {"train_loss_start", &r->train_loss_start, n},
        {"train_loss_end", &r->train_loss_end, n},
        {"grad_norm_start", &r->grad_norm_start, 1},
        {"grad_norm_end", &r->grad_norm_end, 1},
        {"gamma", &r->gamma, 1},
        {"update_norm", &r->update_norm, 1},
    };
    enum err e = ERR_OK;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && !e; i++)
        if (task_report_has(r, numbers[i].value))
            e = put_row(w, task, numbers[i].name, *numbers[i].value, numbers[i].weight);
    return e;
}

enum err metrics_of_report(struct work *w, const struct task_row *task, const struct task_report *r,
                           bool is_counted)
{
    enum err e = put_evaluation(w, task, r);
    return !e && is_counted && task->type == TASK_TRAIN ? put_work(w, task, r) : e;
}

struct share {
    double sum, weight;
    size_t count;
};

/* The mean of rows[*at..] that have one name; *at moves behind them. Aggregated rows (of a former try) do not
 * count, nor do values that are not finite (*out_left_out of *out_count), unless there is no other. */
static struct metric_row mean_of_name(const struct metric_row *rows, size_t count, size_t *at,
                                      size_t *out_left_out, size_t *out_count)
{
    struct metric_row mean = rows[*at];
    struct share finite = {0}, other = {0};
    for (; *at < count && strcmp(rows[*at].name, mean.name) == 0 && rows[*at].round == mean.round; ++*at) {
        if (rows[*at].ordinal < 0 || !(rows[*at].weight > 0))
            continue;
        struct share *share = isfinite(rows[*at].value) ? &finite : &other;
        share->sum += rows[*at].weight * rows[*at].value;
        share->weight += rows[*at].weight;
        share->count++;
    }
    const struct share *counted = finite.count > 0 ? &finite : &other;
    mean.ordinal = -1;
    mean.value = counted->count > 0 ? counted->sum / counted->weight : NAN;
    mean.weight = counted->weight;
    *out_left_out = finite.count > 0 ? other.count : 0;
    *out_count = finite.count + other.count;
    return mean;
}

enum err metrics_mean(struct work *w, const char *run_id, int64_t round, const char *name, double *out)
{
    struct metric_row *rows;
    size_t count, at = 0, left_out, of;
    *out = NAN;
    enum err e = store_find(w->txn, QUERY_METRICS, w->arena, 0, &rows, &count, store_text(run_id),
                            store_text(name), store_any, store_int(round));
    if (!e && count > 0 && rows[0].round == round)
        *out = mean_of_name(rows, count, &at, &left_out, &of).value;
    return e;
}

/* A row of the whole round, and its member of `out`. */
static enum err put_aggregated(struct work *w, struct metric_row *row, json_t *out)
{
    row->ordinal = -1;
    row->at = w->now_ms;
    enum err e = store_put(w->txn, RECORD_METRIC, row);
    return !e && json_object_set_new(out, row->name, json_num(row->value)) ? ERR_NO_MEMORY : e;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* How test accuracy spreads over the devices: a mean hides those that a model does not serve. */
static enum err put_percentiles(struct work *w, const struct metric_row *rows, size_t count, json_t *out)
{
    static const struct {
        const char *name;
        size_t percent;
    } wanted[] = {{"test_accuracy_p10", 10}, {"test_accuracy_p50", 50}, {"test_accuracy_p90", 90}};
    struct metric_row row = {0};
    size_t n = 0;
    double *values = arena_calloc(w->arena, count, sizeof *values);
    if (!values)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        bool is_one = rows[i].ordinal >= 0 && rows[i].weight > 0 && !isnan(rows[i].value);
        if (is_one && strcmp(rows[i].name, "test_accuracy") == 0) {
            row = rows[i];
            values[n++] = rows[i].value;
        }
    }
    qsort(values, n, sizeof *values, ascending);
    enum err e = ERR_OK;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted && n > 0 && !e; i++) {
        row.name = wanted[i].name;
        row.value = values[(wanted[i].percent * n + 99) / 100 - 1];
        row.weight = (double)n;
        e = put_aggregated(w, &row, out);
    }
    return e;
}

static enum err warn_of_left_out(struct work *w, struct run_row *run, const struct metric_row *mean,
                                 size_t left_out, size_t count)
{
    const char *text = arena_printf(
        w->arena, "round %lld: %zu of %zu devices report a %s that is not finite; the mean is of the others",
        (long long)mean->round, left_out, count, mean->name);
    return text ? event_warn(w, run, text) : ERR_NO_MEMORY;
}

enum err metrics_aggregate(struct work *w, struct run_row *run, int64_t round, json_t **out,
                           double *out_mean_gamma)
{
    struct metric_row *rows;
    size_t count, left_out, of;
    *out_mean_gamma = NAN;
    *out = json_object();
    if (!*out)
        return ERR_NO_MEMORY;
    enum err e = store_find(w->txn, QUERY_METRICS, w->arena, 0, &rows, &count, store_text(run->id), store_any,
                            store_any, store_int(round));
    size_t at = 0;
    while (!e && at < count && rows[at].round == round) {
        struct metric_row mean = mean_of_name(rows, count, &at, &left_out, &of);
        if (!(mean.weight > 0))
            continue;
        e = put_aggregated(w, &mean, *out);
        if (!e && left_out > 0)
            e = warn_of_left_out(w, run, &mean, left_out, of);
        if (strcmp(mean.name, "gamma") == 0)
            *out_mean_gamma = mean.value;
    }
    return e ? e : put_percentiles(w, rows, at, *out);
}
