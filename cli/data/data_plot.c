#include "cli/data/data_plot.h"
#include <stdio.h>
#include <stdlib.h>
#include "cli/plot/gnuplot.h"

#define WIDTH       900
#define HEIGHT      640
#define MAX_COLUMNS 1000 /* devices drawn */
/* Few devices of few classes are bars, the others a map. */
#define MAX_BARS        60
#define MAX_BAR_CLASSES 20
#define MAX_SIZE_BOXES  200
#define HEAVY_TAIL      20 /* largest over median: from here on, a logarithmic axis */

/* Ten hues and their light sisters. */
static const char *const colors[MAX_BAR_CLASSES] = {"#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2",
                                                    "#edc948", "#b07aa1", "#ff9da7", "#9c755f", "#8a8f98",
                                                    "#a9c4e0", "#f9cf9f", "#b2d6ac", "#f2b3b3", "#c5e2df",
                                                    "#f7e7a8", "#dcc5d5", "#ffd7dc", "#cfbcb0", "#d0d3d7"};

/* A device on the map, and what decides where it stands. */
struct column {
    size_t device;
    int main_class;
    int64_t examples, of_main_class;
};

struct drawing {
    const struct dataset *d;
    const struct data_stats *s;
    int64_t *counts;        /* [2 * classes], of the device at hand */
    struct column *columns; /* [num_devices] */
    int64_t most;           /* of one class on one device */
    struct buf *out;
};

static bool has_bars(const struct data_stats *s)
{
    return s->num_devices <= MAX_BARS && s->num_classes <= MAX_BAR_CLASSES;
}

/* The i-th of `drawn` evenly chosen ones among n. */
static size_t chosen(size_t i, size_t drawn, size_t n)
{
    return drawn == n ? i : (size_t)((double)i * (double)(n - 1) / (double)(drawn - 1));
}

static size_t num_drawn(const struct data_stats *s)
{
    return s->num_devices < MAX_COLUMNS ? s->num_devices : MAX_COLUMNS;
}

/* -- data ------------------------------------------------------------------------------------------------ */

/* Over bars, in the devices' own order; over a map, the largest first. */
static enum err add_sizes(struct drawing *g)
{
    const int64_t *sizes = has_bars(g->s) ? g->s->sizes : g->s->sorted;
    const size_t drawn = num_drawn(g->s);
    enum err e = buf_puts(g->out, "$sizes << EOD\n");
    for (size_t i = 0; i < drawn && !e; i++) {
        const size_t at = chosen(i, drawn, g->s->num_devices);
        e = buf_printf(g->out, "%zu %lld\n", at, (long long)sizes[at]);
    }
    return e ? e : buf_puts(g->out, "EOD\n");
}

static int in_order(const void *a, const void *b)
{
    const struct column *x = a, *y = b;
    if (x->main_class != y->main_class)
        return x->main_class < y->main_class ? -1 : 1;
    if (x->of_main_class != y->of_main_class)
        return x->of_main_class > y->of_main_class ? -1 : 1;
    return (x->device > y->device) - (x->device < y->device);
}

/* Devices with the same main class side by side, so that the map has a shape. Bars stay in the devices' own
 * order. */
static void order_columns(struct drawing *g)
{
    for (size_t k = 0; k < g->s->num_devices; k++) {
        struct column *column = &g->columns[k];
        *column = (struct column){.device = k, .examples = g->s->sizes[k]};
        data_counts(g->d, dataset_device(g->d, k), g->counts);
        for (int c = 0; c < g->s->num_classes; c++)
            if (g->counts[c] > column->of_main_class) {
                column->main_class = c;
                column->of_main_class = g->counts[c];
            }
        g->most = column->of_main_class > g->most ? column->of_main_class : g->most;
    }
    if (!has_bars(g->s))
        qsort(g->columns, g->s->num_devices, sizeof *g->columns, in_order);
}

/* Bars: a line per device, with the percentages of all classes. Map: a line per device and class, NaN for
 * none. */
static enum err add_counts(struct drawing *g)
{
    const size_t drawn = num_drawn(g->s);
    const bool is_map = !has_bars(g->s);
    enum err e = buf_puts(g->out, "$counts << EOD\n");
    for (size_t i = 0; i < drawn && !e; i++) {
        const size_t k = g->columns[chosen(i, drawn, g->s->num_devices)].device;
        data_counts(g->d, dataset_device(g->d, k), g->counts);
        if (!is_map)
            e = buf_printf(g->out, "%lld", (long long)dataset_device(g->d, k)->ordinal);
        for (int c = 0; c < g->s->num_classes && !e; c++) {
            const long long n = (long long)g->counts[c];
            if (!is_map)
                e = buf_printf(g->out, " %.6g", 100 * (double)n / (double)g->s->sizes[k]);
            else if (n == 0)
                e = buf_printf(g->out, "%zu %d NaN\n", i, c);
            else
                e = buf_printf(g->out, "%zu %d %lld\n", i, c, n);
        }
        if (!e)
            e = buf_puts(g->out, "\n");
    }
    return e ? e : buf_puts(g->out, "EOD\n");
}

/* -- panels ---------------------------------------------------------------------------------------------- */

static const char look[] = "set border 3 lc '#888888'\n"
                           "set tics nomirror out scale 0.5 textcolor '#444444'\n"
                           "set grid y lc '#e4e4e4' lt 1\n"
                           "set lmargin at screen 0.095\nset rmargin at screen 0.895\n";

static enum err add_title(struct drawing *g)
{
    const struct data_stats *s = g->s;
    char title[300];
    (void)snprintf(title, sizeof title,
                   "%.60s: %zu device%s, %lld examples; per device mean %.1f, sd %.1f, median %.10g",
                   dataset_name(g->d), s->num_devices, s->num_devices == 1 ? "" : "s",
                   (long long)(s->train + s->test), s->mean, s->sd, s->median);
    enum err e = buf_puts(g->out, "set title ");
    if (!e)
        e = gnuplot_quote(g->out, title);
    return e ? e : buf_puts(g->out, " noenhanced offset 0,-0.3\n");
}

static enum err add_sizes_panel(struct drawing *g)
{
    const struct data_stats *s = g->s;
    const bool is_log = s->min > 0 && (double)s->max > HEAVY_TAIL * s->median;
    enum err e = add_title(g);
    if (!e)
        e = buf_printf(
            g->out,
            "set tmargin at screen 0.93\nset bmargin at screen 0.58\n"
            "set ylabel 'examples' offset 1,0\nset key at screen 0.985, screen 0.93 right top samplen 1\n"
            "set style fill solid 1 noborder\nset boxwidth 0.8\n"
            "set xrange [-0.5:%zu.5]\nset yrange [%s:*]\n%s%s",
            s->num_devices - 1, is_log ? "0.8" : "0", is_log ? "set logscale y\n" : "",
            has_bars(s) ? "set xtics 1 format ''\n"
                        : "set xlabel 'devices, the largest first' offset 0,0.5\n");
    if (!e)
        e = buf_printf(
            g->out,
            "plot $sizes using 1:2 with %s lc '#4e79a7' notitle, %.10g lw 1.5 dt 2 lc '#e15759' title "
            "'mean'\n",
            s->num_devices <= MAX_SIZE_BOXES ? "boxes" : "filledcurves y1=0.01", s->mean);
    return e ? e : buf_puts(g->out, "unset logscale y\nunset title\n");
}

/* Under the bars of the sizes, device for device. */
static enum err add_bars_panel(struct drawing *g)
{
    enum err e = buf_printf(
        g->out,
        "set tmargin at screen 0.52\nset bmargin at screen 0.10\n"
        "set xlabel 'device'\nset ylabel 'classes (%%)'\nset yrange [0:100]\n"
        "set style data histogram\nset style histogram rowstacked\n"
        "set key at screen 0.985, screen 0.535 right top vertical maxrows 20 samplen 1 spacing 0.95\n"
        "set xtics autofreq format '%%g' rotate by %d font ',9'\nplot ",
        g->s->num_devices > 30 ? -90 : 0);
    for (int c = 0; c < g->s->num_classes && !e; c++)
        e = buf_printf(g->out, "%s$counts using %d%s lc '%s' title '%d'", c ? ", " : "", c + 2,
                       c ? "" : ":xtic(1)", colors[c], c);
    return e ? e : buf_puts(g->out, "\n");
}

static enum err add_map_panel(struct drawing *g)
{
    const struct data_stats *s = g->s;
    const size_t drawn = num_drawn(s);
    char of_all[64] = "";
    if (drawn < s->num_devices)
        (void)snprintf(of_all, sizeof of_all, " (%zu of %zu)", drawn, s->num_devices);
    enum err e =
        buf_printf(g->out,
                   "set tmargin at screen 0.46\nset bmargin at screen 0.10\nunset grid\nunset key\n"
                   "set xlabel 'devices%s, ordered by the class that they have most of'\nset ylabel 'class'\n"
                   "set xrange [-0.5:%zu.5]\nset yrange [%d.5:-0.5]\n"
                   "set palette defined (0 '#deebf7', 1 '#9ecae1', 2 '#4292c6', 3 '#08519c', 4 '#08204a')\n"
                   "set cblabel 'examples' offset -0.5,0\nset colorbox user origin screen 0.91,0.10 size "
                   "screen 0.018,0.36\n"
                   "%sset cbrange [1:%lld]\nset format x ''\n",
                   of_all, drawn - 1, s->num_classes - 1, g->most < HEAVY_TAIL ? "" : "set logscale cb\n",
                   (long long)(g->most > 2 ? g->most : 2));
    if (!e && s->num_classes <= 40)
        e = buf_printf(g->out, "set ytics 1%s\n", s->num_classes > 15 ? " font ',8'" : "");
    /* gnuplot knows no image of one column. */
    return e ? e
             : buf_puts(g->out,
                        drawn > 1
                            ? "plot $counts using 1:2:3 with image pixels notitle\n"
                            : "plot $counts using 1:2:(0.4):(0.5):3 with boxxyerror fc palette notitle\n");
}

static enum err add_all(struct drawing *g, enum picture picture)
{
    enum err e =
        buf_printf(g->out,
                   picture == PICTURE_SVG
                       ? "set terminal svg size %d,%d dynamic background '#ffffff' font 'sans-serif,13'\n"
                       : "set terminal pngcairo size %d,%d background '#ffffff' font 'Sans,11'\n",
                   WIDTH, HEIGHT);
    order_columns(g);
    if (!e)
        e = add_sizes(g);
    if (!e)
        e = add_counts(g);
    if (!e)
        e = buf_puts(g->out, look);
    if (!e)
        e = buf_puts(g->out, "set multiplot\n");
    if (!e)
        e = add_sizes_panel(g);
    if (!e)
        e = has_bars(g->s) ? add_bars_panel(g) : add_map_panel(g);
    return e ? e : buf_puts(g->out, "unset multiplot\n");
}

enum err data_plot_script(enum picture picture, const struct dataset *d, const struct data_stats *s,
                          struct buf *out)
{
    struct drawing g = {.d = d, .s = s, .out = out};
    g.counts = calloc(2 * (size_t)s->num_classes, sizeof *g.counts);
    g.columns = calloc(s->num_devices, sizeof *g.columns);
    enum err e = g.counts && g.columns ? add_all(&g, picture) : ERR_NO_MEMORY;
    free(g.counts);
    free(g.columns);
    return e;
}
