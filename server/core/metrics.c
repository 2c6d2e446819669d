#include "server/core/metrics.h"

#include <math.h>
#include <string.h>
#include "common/json/json_num.h"

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
    if (r->eval_train_examples > 0)
        e = put_row(w, task, "train_loss", r->eval_train_loss, (double)r->eval_train_examples);
    if (!e && r->eval_test_examples > 0)
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
    const struct report_metric known[] = {
        {"train_loss_start", r->train_loss_start, n},
        {"train_loss_end", r->train_loss_end, n},
        {"grad_norm_start", r->grad_norm_start, 1},
        {"grad_norm_end", r->grad_norm_end, 1},
        {"gamma", r->gamma, 1},
        {"update_norm", r->update_norm, 1},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        enum err e =
            isnan(known[i].value) ? ERR_OK : put_row(w, task, known[i].name, known[i].value, known[i].weight);
        if (e)
            return e;
    }
    return ERR_OK;
}

enum err metrics_of_report(struct work *w, const struct task_row *task, const struct task_report *r,
                           bool is_counted)
{
    enum err e = put_evaluation(w, task, r);
    return !e && is_counted && task->type == TASK_TRAIN ? put_work(w, task, r) : e;
}

/* The mean of rows[*at..] that have one name; *at moves behind them. Aggregated rows (of a former try) do not
 * count. */
static struct metric_row mean_of_name(const struct metric_row *rows, size_t count, size_t *at)
{
    struct metric_row mean = rows[*at];
    double sum = 0, total = 0;
    for (; *at < count && strcmp(rows[*at].name, mean.name) == 0 && rows[*at].round == mean.round; ++*at) {
        if (rows[*at].ordinal < 0 || !(rows[*at].weight > 0))
            continue;
        sum += rows[*at].weight * rows[*at].value;
        total += rows[*at].weight;
    }
    mean.ordinal = -1;
    mean.value = total > 0 ? sum / total : NAN;
    mean.weight = total;
    return mean;
}

enum err metrics_mean(struct work *w, const char *run_id, int64_t round, const char *name, double *out)
{
    struct metric_row *rows;
    size_t count, at = 0;
    *out = NAN;
    enum err e = store_find(w->txn, QUERY_METRICS, w->arena, 0, &rows, &count, store_text(run_id),
                            store_text(name), store_any, store_int(round));
    if (!e && count > 0 && rows[0].round == round)
        *out = mean_of_name(rows, count, &at).value;
    return e;
}

enum err metrics_aggregate(struct work *w, const char *run_id, int64_t round, json_t **out,
                           double *out_mean_gamma)
{
    struct metric_row *rows;
    size_t count;
    *out_mean_gamma = NAN;
    *out = json_object();
    if (!*out)
        return ERR_NO_MEMORY;
    enum err e = store_find(w->txn, QUERY_METRICS, w->arena, 0, &rows, &count, store_text(run_id), store_any,
                            store_any, store_int(round));
    for (size_t at = 0; !e && at < count && rows[at].round == round;) {
        struct metric_row mean = mean_of_name(rows, count, &at);
        if (!(mean.weight > 0))
            continue;
        mean.at = w->now_ms;
        e = store_put(w->txn, RECORD_METRIC, &mean);
        if (!e && json_object_set_new(*out, mean.name, json_num(mean.value)))
            e = ERR_NO_MEMORY;
        if (strcmp(mean.name, "gamma") == 0)
            *out_mean_gamma = mean.value;
    }
    return e;
}
