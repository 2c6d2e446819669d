#include "cli/simulate/sweep_plot.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
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
    for (size_t k = 0; k < NUM_KINDS; k++)
        p->plots[k] = (struct sweep_plot){.data = BUF_INIT(SCRIPT_MAX),
                                          .lines = BUF_INIT(SCRIPT_MAX),
                                          .least = INFINITY,
                                          .most = -INFINITY,
                                          .least_positive = INFINITY};
    return ERR_OK;
}

void sweep_plots_release(struct sweep_plots *p)
{
    for (size_t k = 0; k < NUM_KINDS; k++) {
        buf_release(&p->plots[k].data);
        buf_release(&p->plots[k].lines);
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

static void see(struct sweep_plot *plot, double value)
{
    plot->least = fmin(plot->least, value);
    plot->most = fmax(plot->most, value);
    if (value > 0)
        plot->least_positive = fmin(plot->least_positive, value);
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
        see(plot, mean);
        e = buf_printf(&plot->data, "%s %.9g %.9g %.9g\n", m->rows[i].round, mean, fmax(mean - sd, 0),
                       fmin(mean + sd, kinds[kind].top));
        ++*out_count;
    }
    return e;
}

static const char *label_of(const struct sweep_plots *p, size_t point)
{
    return p->s->num_axes ? p->s->points[point].label : "mean of all seeds";
}

static enum err add_line(struct sweep_plots *p, size_t kind, size_t point, const struct sweep_means *m)
{
    struct sweep_plot *plot = &p->plots[kind];
    int column = column_of(m, kinds[kind].column);
    size_t count = 0, number = plot->num_lines;
    if (column < 0)
        return ERR_OK;
    size_t before = plot->data.len;
    enum err e = buf_printf(&plot->data, "$d%zu << EOD\n", number);
    if (!e)
        e = add_data(plot, kind, m, (size_t)column, &count);
    if (!e && count == 0) { /* gnuplot fails on an empty block */
        plot->data.len = before;
        return ERR_OK;
    }
    if (!e)
        e = buf_puts(&plot->data, "EOD\n");
    const char *color = colors[number % NUM_COLORS];
    if (!e && p->s->num_seeds > 1)
        e = buf_printf(
            &plot->lines,
            "%s$d%zu using 1:3:4 with filledcurves fc rgb '%s' fs transparent solid 0.15 noborder notitle",
            number ? ", " : "", number, color);
    if (!e)
        e = buf_printf(&plot->lines, "%s$d%zu using 1:2 with lines lw 2 dt %zu lc rgb '%s' title ",
                       number || p->s->num_seeds > 1 ? ", " : "", number, number / NUM_COLORS + 1, color);
    if (!e)
        e = gnuplot_quote(&plot->lines, label_of(p, point));
    plot->num_lines++;
    return e ? e : buf_puts(&plot->lines, " noenhanced");
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

/* Beside the plot where the labels are short, else below it. */
static enum err add_key(const struct sweep_plots *p, size_t kind, struct buf *script)
{
    size_t widest = 0, lines = p->plots[kind].num_lines;
    for (size_t i = 0; i < p->s->num_points; i++) {
        size_t n = strlen(label_of(p, i));
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

static enum err make_script(const struct sweep_plots *p, size_t kind, struct buf *script)
{
    const struct sweep_plot *plot = &p->plots[kind];
    enum err e = add_key(p, kind, script);
    if (!e)
        e = add_title(p, script);
    if (!e)
        e = buf_printf(script,
                       "set border 3 lc '#666666'\nset tics nomirror\nset grid lc '#dddddd'\n"
                       "set xlabel 'round'\nset ylabel '%s'\nset xrange [0:*]\n",
                       kinds[kind].title);
    if (!e && kind == 0 && plot->least_positive > 0 && plot->least > 0 && plot->most > LOG_FROM * plot->least)
        e = buf_puts(script, "set logscale y\nset format y '%g'\n");
    if (!e)
        e = buf_append(script, plot->data.data, plot->data.len);
    if (!e)
        e = buf_puts(script, "plot ");
    if (!e)
        e = buf_append(script, plot->lines.data, plot->lines.len);
    return e ? e : buf_puts(script, "\n");
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
