#include "cli/simulate/sweep_plot.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/out_file.h"
#include "cli/plot/gnuplot.h"
#include "common/base/limits.h"
#include "common/base/str.h"

#define SCRIPT_MAX   (64 * MIB)
#define MAX_DRAWN    1000 /* rounds of a line: more cannot be told apart */
#define WIDTH        900
#define HEIGHT       520
#define KEY_LINE     20 /* pixels of a line in the key */
#define NARROW_LABEL 22 /* letters of a label that fits beside the plot */
#define FEW_ROUNDS   12
#define MANY_LINES   4
#define LOG_FROM     50 /* most / least from which a loss is drawn on a logarithmic axis */

static const struct {
    const char *column, *file, *title;
    double scale, top;
} kinds[] = {{"train_loss", "loss.svg", "train loss", 1, INFINITY},
             {"test_accuracy", "accuracy.svg", "test accuracy (%)", 100, 100}};
#define NUM_KINDS (sizeof kinds / sizeof *kinds)

/* Told apart by people who see colours differently, too (after Okabe and Ito). */
static const char *const colors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                     "#56b4e9", "#e69f00", "#000000", "#8a5cb8"};
#define NUM_COLORS (sizeof colors / sizeof *colors)

enum err sweep_plots_init(struct sweep_plots *p, const struct sweep *s)
{
    *p = (struct sweep_plots){.s = s};
    enum err e = ERR_OK;
    for (size_t k = 0; k < NUM_KINDS; k++) {
        p->plots[k] = (struct sweep_plot){.data = BUF_INIT(SCRIPT_MAX), .least = INFINITY, .most = -INFINITY};
        p->plots[k].points = calloc(s->num_points, sizeof *p->plots[k].points);
        e = p->plots[k].points ? e : ERR_NO_MEMORY;
    }
    return e;
}

void sweep_plots_release(struct sweep_plots *p)
{
    for (size_t k = 0; k < NUM_KINDS; k++) {
        buf_release(&p->plots[k].data);
        free(p->plots[k].points);
    }
}

/* -- lines ----------------------------------------------------------------------------------------------- */

static int column_of(const struct sweep_means *m, const char *name)
{
    for (size_t i = 0; i < m->num_columns; i++)
        if (str_eq(m->columns[i], name))
            return (int)i;
    return -1;
}

/* round, mean, mean - sd, mean + sd. */
static enum err add_data(struct sweep_plot *plot, size_t kind, const struct sweep_means *m, size_t column,
                         size_t *out_count)
{
    size_t stride = m->num_rows / MAX_DRAWN + 1;
    enum err e = ERR_OK;
    for (size_t i = 0; i < m->num_rows && !e; i++) {
        const struct sweep_stat *stat = &m->rows[i].stats[column];
        double scale = kinds[kind].scale, mean = scale * sweep_stat_mean(stat),
               sd = scale * sweep_stat_sd(stat);
        if (isnan(mean) || (i % stride != 0 && i + 1 < m->num_rows))
            continue;
        sd = isnan(sd) ? 0 : sd;
        plot->least = fmin(plot->least, mean);
        plot->most = fmax(plot->most, mean);
        plot->last_round = fmax(plot->last_round, strtod(m->rows[i].round, NULL));
        e = buf_printf(&plot->data, "%s %.9g %.9g %.9g\n", m->rows[i].round, mean, fmax(mean - sd, 0),
                       fmin(mean + sd, kinds[kind].top));
        ++*out_count;
    }
    return e;
}

static enum err add_line(struct sweep_plots *p, size_t kind, size_t point, const struct sweep_means *m)
{
    struct sweep_plot *plot = &p->plots[kind];
    int column = column_of(m, kinds[kind].column);
    size_t count = 0, before = plot->data.len;
    if (column < 0)
        return ERR_OK;
    enum err e = buf_printf(&plot->data, "$d%zu << EOD\n", plot->num_lines);
    if (!e)
        e = add_data(plot, kind, m, (size_t)column, &count);
    if (!e && count == 0) { /* gnuplot fails on an empty block */
        plot->data.len = before;
        return ERR_OK;
    }
    plot->points[plot->num_lines++] = point;
    return e ? e : buf_puts(&plot->data, "EOD\n");
}

enum err sweep_plots_add(struct sweep_plots *p, size_t point, const struct sweep_means *means)
{
    enum err e = ERR_OK;
    for (size_t k = 0; k < NUM_KINDS && !e && means->columns; k++)
        e = add_line(p, k, point, means);
    return e;
}

/* -- pictures -------------------------------------------------------------------------------------------- */

static enum err add_title(const struct sweep_plots *p, struct buf *script)
{
    char text[300];
    const char *name = json_string_value(json_object_get(p->s->runs[0].filled, "name"));
    if (p->s->num_seeds > 1)
        (void)snprintf(text, sizeof text, "%.200s: mean and 1 sd over %zu seeds", name ? name : "",
                       p->s->num_seeds);
    else
        (void)snprintf(text, sizeof text, "%.200s", name ? name : "");
    enum err e = buf_puts(script, "set title ");
    if (!e)
        e = gnuplot_quote(script, text);
    return e ? e : buf_puts(script, " noenhanced\n");
}

static const char *label_of(const struct sweep_plots *p, size_t point)
{
    return p->s->num_axes ? p->s->points[point].label : "mean of all seeds";
}

/* Beside the plot where the labels are short, else below it. */
static enum err add_key(const struct sweep_plots *p, size_t kind, struct buf *script)
{
    size_t widest = 0, lines = p->plots[kind].num_lines;
    for (size_t i = 0; i < lines; i++) {
        size_t n = strlen(label_of(p, p->plots[kind].points[i]));
        widest = n > widest ? n : widest;
    }
    bool is_beside = widest <= NARROW_LABEL && lines <= HEIGHT / KEY_LINE - 4;
    size_t height = HEIGHT + (is_beside ? 0 : lines * KEY_LINE);
    enum err e =
        buf_printf(script, "set terminal svg size %d,%zu dynamic background '#ffffff' font 'sans-serif,13'\n",
                   WIDTH, height);
    return e ? e
             : buf_puts(script, is_beside ? "set key outside right top Left reverse samplen 2\n"
                                          : "set key outside below left Left reverse samplen 2 maxcols 1\n");
}

/* Losses of a run that diverges would press all others flat. What goes below `floor` is drawn there: a
 * logarithm has no 0. */
static enum err add_axes(const struct sweep_plot *plot, size_t kind, struct buf *script)
{
    bool is_log = kind == 0 && plot->least > 0 && plot->most > LOG_FROM * plot->least;
    enum err e =
        buf_printf(script,
                   "set border 3 lc '#666666'\nset tics nomirror\nset grid lc '#dddddd'\n"
                   "set xlabel 'round'\nset ylabel '%s'\nset xrange [0:%g]\n%sfloor = %.9g\n",
                   kinds[kind].title, fmax(plot->last_round, 1),
                   plot->last_round < FEW_ROUNDS ? "set xtics 1\n" : "", is_log ? plot->least / 10 : 0);
    return e || !is_log ? e : buf_puts(script, "set logscale y\nset format y '%g'\n");
}

/* All bands lie under all lines. */
static enum err add_lines(const struct sweep_plots *p, size_t kind, struct buf *script)
{
    const struct sweep_plot *plot = &p->plots[kind];
    enum err e = buf_puts(script, "plot ");
    for (size_t i = 0; i < plot->num_lines && !e && p->s->num_seeds > 1; i++)
        e = buf_printf(
            script,
            "$d%zu using 1:(column(3) < floor ? floor : column(3)):4 with filledcurves fc rgb '%s' "
            "fs transparent solid %g noborder notitle, ",
            i, colors[i % NUM_COLORS], plot->num_lines > MANY_LINES ? 0.08 : 0.16);
    for (size_t i = 0; i < plot->num_lines && !e; i++) {
        e = buf_printf(script, "%s$d%zu using 1:2 with lines lw 2 dt %zu lc rgb '%s' title ", i ? ", " : "",
                       i, i / NUM_COLORS + 1, colors[i % NUM_COLORS]);
        if (!e)
            e = gnuplot_quote(script, label_of(p, plot->points[i]));
        if (!e)
            e = buf_puts(script, " noenhanced");
    }
    return e ? e : buf_puts(script, "\n");
}

static enum err make_script(const struct sweep_plots *p, size_t kind, struct buf *script)
{
    const struct sweep_plot *plot = &p->plots[kind];
    enum err e = add_key(p, kind, script);
    if (!e)
        e = add_title(p, script);
    if (!e)
        e = add_axes(plot, kind, script);
    if (!e)
        e = buf_append(script, plot->data.data, plot->data.len);
    return e ? e : add_lines(p, kind, script);
}

static enum err put_picture(const struct sweep_plots *p, size_t kind)
{
    struct cli *cli = p->s->cli;
    struct buf script = BUF_INIT(3 * SCRIPT_MAX);
    struct out_file file = OUT_FILE_INIT;
    const char *path = arena_printf(&cli->arena, "%s/%s", cli->options.out_dir, kinds[kind].file);
    enum err e = path ? make_script(p, kind, &script) : ERR_NO_MEMORY;
    if (!e)
        e = out_file_open(&file, path, &cli->fault);
    if (!e)
        e = gnuplot_run(&script, file.fd, &cli->fault);
    if (!e)
        e = out_file_commit(&file, &cli->fault);
    out_file_release(&file);
    buf_release(&script);
    return e;
}

enum err sweep_plots_put(struct sweep_plots *p)
{
    enum err e = ERR_OK;
    if (!gnuplot_is_there()) {
        (void)fputs("fedlane: no plots: gnuplot is not installed (" GNUPLOT_INSTALL "); the CSVs are there\n",
                    stderr);
        return ERR_OK;
    }
    for (size_t k = 0; k < NUM_KINDS && !e; k++)
        if (p->plots[k].num_lines > 0)
            e = put_picture(p, k);
    return e;
}
