#include "cli/plot/script.h"
#include <string.h>
#include "cli/plot/gnuplot.h"
#include "common/base/str.h"

#define WIDTH        900
#define PANEL_HEIGHT 320
#define FEW_ROUNDS   10
#define LONG_NAME    20
#define KEY_LINE     20

/* What people call the usual metrics. Accuracy is shown in percent. */
static const struct {
    const char *metric, *label;
    double scale;
} labels[] = {
    {"train_loss", "train loss", 1},
    {"test_loss", "test loss", 1},
    {"test_accuracy", "test accuracy (%)", 100},
    {"test_accuracy_p10", "test accuracy, 10th percentile (%)", 100},
    {"test_accuracy_p50", "test accuracy, median (%)", 100},
    {"test_accuracy_p90", "test accuracy, 90th percentile (%)", 100},
    {"steps_done", "steps done in the round", 1},
    {"steps_assigned", "steps assigned in the round", 1},
    {"mean_gamma", "mean gamma", 1},
    {"dissimilarity_b", "dissimilarity B", 1},
    {"grad_variance_weighted", "gradient variance (weighted)", 1},
    {"grad_variance_uniform", "gradient variance (uniform)", 1},
    {"proximal_mu", "proximal mu", 1},
};

static const char *label_of(const char *metric, double *out_scale)
{
    *out_scale = 1;
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        if (str_eq(labels[i].metric, metric)) {
            *out_scale = labels[i].scale;
            return labels[i].label;
        }
    }
    return metric;
}

enum err picture_of(const char *path, enum picture *out, struct fault *fault)
{
    const char *dot = strrchr(path, '.');
    bool is_svg = str_eq(dot, ".svg"), is_png = str_eq(dot, ".png");
    *out = is_png ? PICTURE_PNG : PICTURE_SVG;
    if (is_svg || is_png)
        return ERR_OK;
    return fault_set(fault, ERR_USAGE, NULL, "%s: the name of a picture must end with .svg or .png", path);
}

static enum err add_data(const struct panel *panels, size_t num_panels, struct buf *out)
{
    enum err e = ERR_OK;
    for (size_t p = 0; p < num_panels && !e; p++) {
        double scale;
        (void)label_of(panels[p].metric, &scale);
        for (size_t c = 0; c < panels[p].num_curves && !e; c++) {
            const struct series *s = &panels[p].curves[c];
            e = buf_printf(out, "$d%zu_%zu << EOD\n", p, c);
            for (size_t i = 0; i < s->num_points && !e; i++)
                e = buf_printf(out, "%lld %.9g\n", (long long)s->points[i].round, scale * s->points[i].value);
            if (!e)
                e = buf_puts(out, "EOD\n");
        }
    }
    return e;
}

/* All panels over the same rounds, so that they can be read one below the other. */
static int64_t last_round(const struct panel *panels, size_t num_panels)
{
    int64_t last = 1;
    for (size_t p = 0; p < num_panels; p++) {
        for (size_t c = 0; c < panels[p].num_curves; c++) {
            const struct series *s = &panels[p].curves[c];
            if (s->num_points > 0 && s->points[s->num_points - 1].round > last)
                last = s->points[s->num_points - 1].round;
        }
    }
    return last;
}

/* Lines of the key where it stands below a panel: beside it long names would leave the curves little room. */
static size_t lines_below(const struct panel *panels, size_t num_panels)
{
    size_t most = 0;
    bool is_long = false;
    for (size_t p = 0; p < num_panels; p++) {
        most = panels[p].num_curves > most ? panels[p].num_curves : most;
        for (size_t c = 0; c < panels[p].num_curves; c++)
            is_long = is_long || strlen(panels[p].curves[c].name) > LONG_NAME;
    }
    return is_long ? most : 0;
}

static enum err add_panel(const struct panel *p, size_t number, struct buf *out)
{
    double scale;
    enum err e = buf_puts(out, "set ylabel ");
    if (!e)
        e = gnuplot_quote(out, label_of(p->metric, &scale));
    if (!e)
        e = buf_puts(out, " noenhanced\nplot ");
    bool is_first = true;
    for (size_t c = 0; c < p->num_curves && !e; c++) {
        if (p->curves[c].num_points == 0)
            continue; /* gnuplot fails on an empty block */
        e = buf_printf(out, "%s$d%zu_%zu using 1:2 with lines lw 2 lc %zu title ", is_first ? "" : ", ",
                       number, c, c + 1);
        is_first = false;
        if (!e)
            e = gnuplot_quote(out, p->curves[c].name);
        if (!e)
            e = buf_puts(out, " noenhanced");
    }
    if (!e && is_first)
        e = buf_puts(out, "0 lc rgb 'white' title 'no values'");
    return e ? e : buf_puts(out, "\n");
}

enum err plot_script(enum picture picture, const struct panel *panels, size_t num_panels, struct buf *out)
{
    const size_t below = lines_below(panels, num_panels), height = PANEL_HEIGHT + below * KEY_LINE;
    const int64_t last = last_round(panels, num_panels);
    enum err e =
        picture == PICTURE_SVG
            ? buf_printf(out,
                         "set terminal svg size %d,%zu dynamic background '#ffffff' font "
                         "'sans-serif,13'\n",
                         WIDTH, height * num_panels)
            : buf_printf(out, "set terminal pngcairo size %d,%zu background '#ffffff' font 'Sans,11'\n",
                         WIDTH, height * num_panels);
    if (!e)
        e = add_data(panels, num_panels, out);
    if (!e)
        e = buf_printf(out,
                       "set multiplot layout %zu,1\nset grid lc '#dddddd'\nset key outside %s\n"
                       "set xlabel 'round'\nset xrange [0:%lld]\n%sset lmargin 10\n",
                       num_panels, below > 0 ? "below left Left reverse maxcols 1" : "right top",
                       (long long)last, last < FEW_ROUNDS ? "set xtics 1\n" : "");
    for (size_t p = 0; p < num_panels && !e; p++)
        e = add_panel(&panels[p], p, out);
    return e ? e : buf_puts(out, "unset multiplot\n");
}
