#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/print.h"
#include "cli/simulate/sweep.h"
#include "cli/table.h"
#include "common/base/str.h"
#include "common/json/json_num.h"

/* -- one run --------------------------------------------------------------------------------------------- */

void sweep_run_line(const struct sweep *s, const struct sweep_run *run, size_t number, char out[SWEEP_LINE])
{
    char all[24];
    int width = snprintf(all, sizeof all, "%zu", s->num_runs), len;
    double loss = json_number_at(run->final, "train_loss"),
           accuracy = json_number_at(run->final, "test_accuracy");
    len = snprintf(out, SWEEP_LINE, "%*zu/%s  %.300s", width, number, all, run->label);
    if (run->is_failed) {
        (void)snprintf(out + len, SWEEP_LINE - (size_t)len, "  failed: %s", run->reason);
    } else {
        if (!isnan(loss))
            len += snprintf(out + len, SWEEP_LINE - (size_t)len, "  train loss %.4g", loss);
        if (!isnan(accuracy))
            len += snprintf(out + len, SWEEP_LINE - (size_t)len, "  accuracy %.1f %%", 100 * accuracy);
        (void)snprintf(out + len, SWEEP_LINE - (size_t)len, "  %lld rounds",
                       (long long)json_count_at(run->final, "rounds"));
    }
    text_clean(out);
}

static int put(json_t *object, const char *name, json_t *value)
{
    return json_object_set_new(object, name, value);
}

static json_t *run_json(const struct sweep *s, const struct sweep_run *run)
{
    json_t *o = json_pack("{s:s, s:s, s:O, s:I, s:b, s:s}", "type", "run", "name", run->name, "overrides",
                          s->points[run->point].overrides, "seed", (json_int_t)run->seed, "resumed",
                          run->state == SWEEP_RESUMED, "outcome", run->is_failed ? "failed" : "completed");
    if (!o)
        return NULL;
    int failed = run->is_failed ? put(o, "reason", json_string(run->reason)) : 0;
    failed |= put(o, "failed_updates", json_integer(run->failed));
    if (run->final)
        failed |= json_object_update_missing(o, run->final);
    if (!failed)
        return o;
    json_decref(o);
    return NULL;
}

static enum err print_made(const struct sweep *s, json_t *object)
{
    enum err e = object ? print_json(s->cli, object) : ERR_NO_MEMORY;
    json_decref(object);
    return e;
}

enum err sweep_print_run_json(const struct sweep *s, const struct sweep_run *run)
{
    return print_made(s, run_json(s, run));
}

/* -- the means ------------------------------------------------------------------------------------------- */

static json_t *number_or_null(double value)
{
    return isnan(value) ? json_null() : json_num(value);
}

static size_t num_failed(const struct sweep *s, size_t point)
{
    size_t n = 0;
    for (size_t i = 0; i < s->num_seeds; i++)
        n += s->runs[point * s->num_seeds + i].is_failed;
    return n;
}

static json_t *mean_json(const struct sweep *s, size_t point)
{
    size_t failed = num_failed(s, point);
    json_t *seeds = json_array();
    json_t *o = json_pack("{s:s, s:s, s:O, s:o?, s:I, s:I}", "type", "mean", "name", s->points[point].label,
                          "overrides", s->points[point].overrides, "seeds", seeds, "runs",
                          (json_int_t)(s->num_seeds - failed), "failed", (json_int_t)failed);
    if (!o)
        return NULL;
    int bad = 0;
    for (size_t i = 0; i < s->num_seeds; i++)
        bad |= json_array_append_new(seeds, json_integer(s->seeds[i]));
    for (size_t i = 0; i < num_sweep_figures; i++) {
        struct sweep_stat stat = sweep_stat_of(s, point, sweep_figures[i].path);
        char name[64];
        (void)snprintf(name, sizeof name, "%s_mean", sweep_figures[i].name);
        bad |= put(o, name, number_or_null(sweep_stat_mean(&stat)));
        (void)snprintf(name, sizeof name, "%s_sd", sweep_figures[i].name);
        bad |= put(o, name, number_or_null(sweep_stat_sd(&stat)));
    }
    if (!bad)
        return o;
    json_decref(o);
    return NULL;
}

static enum err print_means_json(const struct sweep *s)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < s->num_points && !e; i++)
        e = print_made(s, mean_json(s, i));
    return e;
}

static enum err print_all_json(const struct sweep *s)
{
    json_t *runs = json_array(), *means = json_array(), *all = NULL;
    bool is_ok = runs && means;
    for (size_t i = 0; i < s->num_runs && is_ok; i++)
        is_ok = json_array_append_new(runs, run_json(s, &s->runs[i])) == 0;
    for (size_t i = 0; i < s->num_points && is_ok; i++)
        is_ok = json_array_append_new(means, mean_json(s, i)) == 0;
    if (is_ok)
        all = json_pack("{s:O, s:O}", "runs", runs, "means", means);
    json_decref(runs);
    json_decref(means);
    return print_made(s, all);
}

/* -- the table ------------------------------------------------------------------------------------------- */

static const struct table_column number_columns[] = {
    {"runs", "runs", CELL_COUNT, 0},
    {"failed", "failed", CELL_COUNT, 0},
    {"train loss", "train_loss_mean", CELL_NUMBER, 0},
    {"sd", "train_loss_sd", CELL_NUMBER, 0},
    {"accuracy", "test_accuracy_mean", CELL_PERCENT, 0},
    {"sd", "test_accuracy_sd", CELL_PERCENT, 0},
    {"rounds", "rounds_text", CELL_TEXT, 0},
    {"sd", "rounds_sd_text", CELL_TEXT, 0},
};
#define NUM_NUMBERS (sizeof number_columns / sizeof *number_columns)

static json_t *table_row(struct sweep *s, size_t point)
{
    json_t *row = mean_json(s, point);
    int bad = row ? 0 : -1;
    for (size_t i = 0; i < s->num_axes && !bad; i++) {
        const char *text =
            sweep_value_text(&s->arena, json_object_get(s->points[point].overrides, s->axes[i].path));
        const char *name = arena_printf(&s->arena, "axis%zu", i);
        bad = text && name ? put(row, name, json_string(text)) : -1;
    }
    double rounds = bad ? NAN : json_number_at(row, "rounds_mean"),
           rounds_sd = bad ? NAN : json_number_at(row, "rounds_sd");
    if (!bad && !isnan(rounds))
        bad = put(row, "rounds_text", json_sprintf("%.6g", rounds));
    if (!bad && !isnan(rounds_sd))
        bad = put(row, "rounds_sd_text", json_sprintf("%.4g", rounds_sd));
    if (!bad)
        return row;
    json_decref(row);
    return NULL;
}

static struct table_column *columns_of(struct sweep *s, size_t *out_count)
{
    struct table_column *columns = arena_calloc(&s->arena, s->num_axes + NUM_NUMBERS, sizeof *columns);
    size_t n = 0;
    for (size_t i = 0; i < s->num_axes && columns; i++) {
        const char *name = arena_printf(&s->arena, "axis%zu", i);
        if (!name)
            return NULL;
        columns[n++] = (struct table_column){s->axes[i].key, name, CELL_TEXT, 0};
    }
    bool has_failed = false;
    for (size_t i = 0; i < s->num_runs; i++)
        has_failed = has_failed || s->runs[i].is_failed;
    for (size_t i = 0; i < NUM_NUMBERS && columns; i++)
        if (has_failed || !str_eq(number_columns[i].title, "failed"))
            columns[n++] = number_columns[i];
    *out_count = n;
    return columns;
}

static void print_remarks(const struct sweep *s)
{
    for (size_t i = 0; i < s->num_runs; i++) {
        const struct sweep_run *run = &s->runs[i];
        if (run->is_failed)
            (void)printf("failed: %s: %s\n", run->label, run->reason);
        else if (run->failed > 0)
            (void)printf(
                "note: %s: %lld of %lld updates of devices failed, as they do when training diverges\n",
                run->label, (long long)run->failed, (long long)(run->failed + run->received));
    }
}

static enum err print_table(struct sweep *s)
{
    size_t num_columns = 0;
    struct table_column *columns = columns_of(s, &num_columns);
    json_t *rows = json_array();
    bool is_ok = columns && rows;
    for (size_t i = 0; i < s->num_points && is_ok; i++)
        is_ok = json_array_append_new(rows, table_row(s, i)) == 0;
    if (is_ok) {
        (void)printf("\nfinal figures: mean and standard deviation (sample, n - 1) over %zu seed%s\n",
                     s->num_seeds, s->num_seeds == 1 ? "" : "s");
        table_print(stdout, columns, num_columns, rows);
        print_remarks(s);
        if (s->cli->options.out_dir)
            (void)printf("%s: %zu runs, sweep.csv, mean.csv\n", s->cli->options.out_dir, s->num_runs);
    }
    json_decref(rows);
    return is_ok ? ERR_OK : ERR_NO_MEMORY;
}

enum err sweep_print_end(struct sweep *s)
{
    if (s->cli->format == FORMAT_JSONL)
        return print_means_json(s);
    return s->cli->format == FORMAT_JSON ? print_all_json(s) : print_table(s);
}
