/* sweep.csv: a row per run. mean.csv: per point and round, mean and standard deviation over the runs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "cli/csv.h"
#include "cli/out_file.h"
#include "cli/simulate/sim_record.h"
#include "cli/simulate/sweep.h"
#include "cli/simulate/sweep_plot.h"
#include "cli/table.h"
#include "common/base/limits.h"
#include "common/base/str.h"
#include "common/json/json_num.h"

#define TABLE_MAX   (256 * MIB)
#define POINT_ARENA ((size_t)8 << 30)

static enum err add_number(struct buf *csv, double value, bool is_last)
{
    json_t *number = isnan(value) ? NULL : json_num(value);
    enum err e = !number && !isnan(value) ? ERR_NO_MEMORY : csv_add(csv, number, is_last);
    json_decref(number);
    return e;
}

static enum err add_overrides(struct sweep *s, struct buf *csv, size_t point)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < s->num_axes && !e; i++) {
        const char *text =
            sweep_value_text(&s->arena, json_object_get(s->points[point].overrides, s->axes[i].path));
        e = text ? csv_add_text(csv, text, false) : ERR_NO_MEMORY;
    }
    return e;
}

static enum err add_paths(const struct sweep *s, struct buf *csv)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < s->num_axes && !e; i++)
        e = csv_add_text(csv, s->axes[i].path, false);
    return e;
}

/* -- sweep.csv ------------------------------------------------------------------------------------------- */

static enum err add_run(struct sweep *s, struct buf *csv, const struct sweep_run *run)
{
    enum err e = csv_add_text(csv, run->name, false);
    if (!e)
        e = add_overrides(s, csv, run->point);
    if (!e)
        e = buf_printf(csv, "%lld,%s,", (long long)run->seed, run->is_failed ? "failed" : "completed");
    for (size_t i = 0; i < num_sweep_figures && !e; i++)
        e = csv_add(csv, json_at(run->final, sweep_figures[i].path), false);
    if (!e)
        e = buf_printf(csv, "%lld,", (long long)run->failed);
    if (!e)
        e = csv_add(csv, json_at(run->final, "aggregate_sha256"), false);
    return e ? e : csv_add_text(csv, run->reason, true);
}

static enum err put_runs(struct sweep *s)
{
    struct buf csv = BUF_INIT(TABLE_MAX);
    enum err e = buf_puts(&csv, "name,");
    if (!e)
        e = add_paths(s, &csv);
    if (!e)
        e = buf_puts(&csv, "seed,outcome,");
    for (size_t i = 0; i < num_sweep_figures && !e; i++)
        e = csv_add_text(&csv, sweep_figures[i].name, false);
    if (!e)
        e = buf_puts(&csv, "failed_updates,aggregate_sha256,reason\n");
    for (size_t i = 0; i < s->num_runs && !e; i++)
        e = add_run(s, &csv, &s->runs[i]);
    if (!e)
        e = sim_put_file(s->cli->options.out_dir, "sweep.csv", csv.data, csv.len, &s->cli->fault);
    buf_release(&csv);
    return e;
}

/* -- one point's rounds ---------------------------------------------------------------------------------- */

/* Of the columns of metrics.csv, these are no numbers to average. */
static bool is_figure(const char *title)
{
    return !str_eq(title, "round") && !str_eq(title, "type") && !str_eq(title, "outcome") &&
           !str_eq(title, "aggregate_sha256");
}

static enum err start_means(struct sweep_means *m, const struct csv *csv, struct arena *arena)
{
    m->columns = arena_calloc(arena, csv->num_columns, sizeof *m->columns);
    m->rows = arena_calloc(arena, csv->num_rows, sizeof *m->rows);
    if (!m->columns || !m->rows)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < csv->num_columns; i++)
        if (is_figure(csv->titles[i]))
            m->columns[m->num_columns++] = csv->titles[i];
    m->num_rows = csv->num_rows;
    for (size_t i = 0; i < csv->num_rows; i++) {
        m->rows[i].round = csv_cell(csv, i, csv_column(csv, "round"));
        m->rows[i].type = csv_cell(csv, i, csv_column(csv, "type"));
        m->rows[i].stats = arena_calloc(arena, m->num_columns, sizeof *m->rows[i].stats);
        if (!m->rows[i].stats)
            return ERR_NO_MEMORY;
    }
    return ERR_OK;
}

static void add_values(struct sweep_means *m, const struct csv *csv)
{
    for (size_t i = 0; i < m->num_rows && i < csv->num_rows; i++) {
        m->rows[i].num_runs++;
        for (size_t c = 0; c < m->num_columns; c++) {
            int column = csv_column(csv, m->columns[c]);
            double value;
            if (column < 0 || !*csv_cell(csv, i, column))
                continue;
            /* What is not finite in one run has no mean. */
            bool is_finite = str_to_double(csv_cell(csv, i, column), &value) == ERR_OK;
            sweep_stat_add(&m->rows[i].stats[c], is_finite ? value : NAN);
        }
    }
}

/* Of the runs of a point that count; all of them have the same rounds. */
static enum err means_of(struct sweep *s, size_t point, struct arena *arena, struct sweep_means *m)
{
    enum err e = ERR_OK;
    *m = (struct sweep_means){0};
    for (size_t i = point * s->num_seeds; i < (point + 1) * s->num_seeds && !e; i++) {
        char *text = NULL;
        struct csv csv;
        if (s->runs[i].is_failed)
            continue;
        e = sweep_read_metrics(s, &s->runs[i], arena, &text, &s->cli->fault);
        if (!e)
            e = csv_parse(text, arena, &csv, &s->cli->fault);
        if (!e && (csv_column(&csv, "round") < 0 || csv_column(&csv, "type") < 0))
            e = fault_set(&s->cli->fault, ERR_BAD_FILE, NULL,
                          "%s/%s/metrics.csv: has no column round or type", s->cli->options.out_dir,
                          s->runs[i].name);
        if (!e && !m->columns)
            e = start_means(m, &csv, arena);
        if (!e)
            add_values(m, &csv);
    }
    return e;
}

/* -- mean.csv -------------------------------------------------------------------------------------------- */

static enum err add_titles(const struct sweep *s, const struct sweep_means *m, struct buf *csv)
{
    enum err e = add_paths(s, csv);
    if (!e)
        e = buf_puts(csv, "round,type,runs");
    for (size_t i = 0; i < m->num_columns && !e; i++)
        e = buf_printf(csv, ",%s_mean,%s_sd", m->columns[i], m->columns[i]);
    return e ? e : buf_puts(csv, "\n");
}

static enum err add_rows(struct sweep *s, size_t point, const struct sweep_means *m, struct buf *csv)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < m->num_rows && !e; i++) {
        const struct sweep_mean_row *row = &m->rows[i];
        e = add_overrides(s, csv, point);
        if (!e)
            e = buf_printf(csv, "%s,", row->round);
        if (!e)
            e = csv_add_text(csv, row->type, false);
        if (!e)
            e = buf_printf(csv, "%lld,", (long long)row->num_runs);
        for (size_t c = 0; c < m->num_columns && !e; c++) {
            e = add_number(csv, sweep_stat_mean(&row->stats[c]), false);
            if (!e)
                e = add_number(csv, sweep_stat_sd(&row->stats[c]), c + 1 == m->num_columns);
        }
    }
    return e;
}

static enum err put_point(struct sweep *s, size_t point, struct out_file *file, bool *has_titles,
                          struct sweep_plots *plots)
{
    struct arena arena = ARENA_INIT(POINT_ARENA);
    struct buf csv = BUF_INIT(TABLE_MAX);
    struct sweep_means m;
    enum err e = means_of(s, point, &arena, &m);
    if (!e && m.columns && !*has_titles) {
        e = add_titles(s, &m, &csv);
        *has_titles = true;
    }
    if (!e)
        e = add_rows(s, point, &m, &csv);
    if (!e && csv.len > 0)
        e = out_file_write(file, csv.data, csv.len, &s->cli->fault);
    if (!e)
        e = sweep_plots_add(plots, point, &m);
    buf_release(&csv);
    arena_release(&arena);
    return e;
}

static enum err put_means(struct sweep *s, struct sweep_plots *plots)
{
    struct out_file file = OUT_FILE_INIT;
    bool has_titles = false;
    const char *path = arena_printf(&s->arena, "%s/mean.csv", s->cli->options.out_dir);
    enum err e = path ? out_file_open(&file, path, &s->cli->fault) : ERR_NO_MEMORY;
    for (size_t i = 0; i < s->num_points && !e; i++)
        e = put_point(s, i, &file, &has_titles, plots);
    if (!e && !has_titles) { /* every run failed */
        struct buf csv = BUF_INIT(TABLE_MAX);
        e = add_titles(s, &(struct sweep_means){0}, &csv);
        if (!e)
            e = out_file_write(&file, csv.data, csv.len, &s->cli->fault);
        buf_release(&csv);
    }
    if (!e)
        e = out_file_commit(&file, &s->cli->fault);
    out_file_release(&file);
    return e;
}

enum err sweep_put_tables(struct sweep *s)
{
    struct sweep_plots plots;
    enum err e = sweep_plots_init(&plots, s);
    if (!e)
        e = put_runs(s);
    if (!e)
        e = put_means(s, &plots);
    if (!e)
        e = sweep_plots_put(&plots);
    sweep_plots_release(&plots);
    return e;
}
