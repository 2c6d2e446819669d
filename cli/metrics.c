/* fedlane metrics get, plot. */
#include <stdio.h>
#include <string.h>
#include "cli/commands.h"
#include "cli/out_file.h"
#include "cli/plot/gnuplot.h"
#include "cli/plot/script.h"
#include "cli/print.h"
#include "cli/rest.h"
#include "cli/run.h"
#include "common/api/api.h"
#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/base/str.h"
#include "common/http/url.h"

#define COUNT(a)    (sizeof(a) / sizeof *(a))
#define CSV_MAX     (256 * MIB)
#define SCRIPT_MAX  (256 * MIB)
#define MAX_METRICS 16

/* -- get ------------------------------------------------------------------------------------------------- */

static const struct table_column columns[] = {
    {"round", "round", CELL_COUNT, 0},    {"metric", "name", CELL_TEXT, 0},
    {"device", "ordinal", CELL_COUNT, 0}, {"value", "value", CELL_NUMBER, 0},
    {"weight", "weight", CELL_TEXT, 0},
};

static enum err add_filters(const struct cli_options *o, const char *metric, struct buf *path)
{
    enum err e = metric ? url_add_query(path, "name", metric) : ERR_OK;
    if (!e && o->device)
        e = url_add_query(path, "device", o->device);
    if (!e && o->since_round >= 0)
        e = url_add_query_int(path, "since_round", o->since_round);
    return e;
}

static enum err get_csv(struct cli *cli, const char *path)
{
    struct http_response response = HTTP_RESPONSE_INIT;
    const struct http_header accept = {"Accept", MEDIA_CSV};
    const struct http_request request = {
        .path = path, .headers = &accept, .num_headers = 1, .timeout_ms = REST_TIMEOUT_MS, .max_tries = 3};
    enum err e = rest_request(cli, &request, &response);
    if (!e && response.body.len > 0)
        (void)fwrite(response.body.data, 1, response.body.len, stdout);
    http_response_release(&response);
    return e;
}

static enum err get_items(struct cli *cli, const char *path, json_t *all)
{
    json_t *items = NULL;
    enum err e = rest_list(cli, path, cli->options.limit, &items);
    if (!e && json_array_extend(all, items) != 0)
        e = ERR_NO_MEMORY;
    json_decref(items);
    return e;
}

/* The server takes one name a call; `metric` NULL is all of them. */
static enum err get_metric(struct cli *cli, const char *run_id, const char *metric, json_t *all)
{
    struct buf path;
    enum err e = rest_path(&path, "runs", run_id, "metrics");
    if (!e)
        e = add_filters(&cli->options, metric, &path);
    if (!e)
        e = cli->format == FORMAT_CSV ? get_csv(cli, path.data) : get_items(cli, path.data, all);
    buf_release(&path);
    return e;
}

enum err cmd_metrics_get(struct cli *cli)
{
    const struct option_list *names = &cli->options.metric;
    const char *run_id;
    json_t *all = json_array();
    if (cli->format == FORMAT_CSV && names->count > 1) {
        json_decref(all);
        return fault_set(&cli->fault, ERR_USAGE, NULL, "--format csv takes one --metric, or none for all");
    }
    enum err e = all ? rest_resolve(cli, "runs", cli->words[0], &run_id) : ERR_NO_MEMORY;
    if (!e && names->count == 0)
        e = get_metric(cli, run_id, NULL, all);
    for (size_t i = 0; i < names->count && !e; i++)
        e = get_metric(cli, run_id, names->items[i], all);
    if (!e && cli->format != FORMAT_CSV)
        e = print_items(cli, columns, COUNT(columns), all);
    json_decref(all);
    return cli_fail(cli, e, "metrics get");
}

/* -- plot ------------------------------------------------------------------------------------------------ */

struct plot {
    struct cli *cli;
    const char *metrics[MAX_METRICS];
    size_t num_metrics;
    struct series *curves[MAX_METRICS]; /* per metric, a curve for each run and file */
    size_t num_curves, max_curves;
};

static enum err choose_metrics(struct plot *p)
{
    static const char *const usual[] = {"train_loss", "test_accuracy", "steps_done"};
    const struct option_list *asked = &p->cli->options.metric;
    const char *const *names = asked->count ? asked->items : usual;
    p->num_metrics = asked->count ? asked->count : COUNT(usual);
    if (p->num_metrics > MAX_METRICS)
        return fault_set(&p->cli->fault, ERR_USAGE, NULL, "at most %d metrics fit into one plot",
                         MAX_METRICS);
    for (size_t i = 0; i < p->num_metrics; i++) {
        p->metrics[i] = names[i];
        p->curves[i] = arena_calloc(&p->cli->arena, p->max_curves, sizeof *p->curves[i]);
        if (!p->curves[i])
            return ERR_NO_MEMORY;
    }
    return ERR_OK;
}

static enum err add_run(struct plot *p, const char *ref)
{
    json_t *run = NULL, *rounds = NULL;
    enum err e = run_find(p->cli, ref, &run);
    if (!e)
        e = run_rounds(p->cli, run, 0, &rounds);
    char *name = e ? NULL : arena_strdup(&p->cli->arena, json_text_at(run, "name"));
    if (!e && !name)
        e = ERR_NO_MEMORY;
    for (size_t i = 0; i < p->num_metrics && !e; i++)
        e = series_of_rounds(rounds, name, p->metrics[i], &p->cli->arena, &p->curves[i][p->num_curves]);
    p->num_curves += !e;
    json_decref(rounds);
    json_decref(run);
    return e;
}

/* The curve is called like the file, or like its folder where that says more: "out-fedprox" for
 * out-fedprox/metrics.csv. */
static const char *name_of_file(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    if (!slash || slash == path || !str_eq(base, "metrics.csv"))
        return base;
    const char *from = slash;
    while (from > path && from[-1] != '/')
        from--;
    return arena_strndup(arena, from, (size_t)(slash - from));
}

static enum err add_file(struct plot *p, const char *path)
{
    struct cli *cli = p->cli;
    struct buf text = BUF_INIT(CSV_MAX);
    struct csv csv;
    struct fault inner = FAULT_NONE;
    const char *name = name_of_file(&cli->arena, path);
    enum err e = name ? file_read(path, &text, &cli->fault) : ERR_NO_MEMORY;
    if (e == ERR_NOT_FOUND || e == ERR_IO)
        e = cli->fault.err = ERR_BAD_FILE;
    if (!e && text.len == 0)
        e = fault_set(&cli->fault, ERR_BAD_FILE, NULL, "%s: is empty", path);
    if (!e)
        e = csv_parse(text.data, &cli->arena, &csv, &inner);
    for (size_t i = 0; i < p->num_metrics && !e; i++)
        e = series_of_csv(&csv, name, p->metrics[i], &cli->arena, &p->curves[i][p->num_curves], &inner);
    if (e && inner.err)
        e = fault_set(&cli->fault, e, NULL, "%s: %s", path, inner.detail);
    p->num_curves += !e;
    buf_release(&text);
    return e;
}

/* A metric asked for by name that no run has is a mistake in the name, or was never measured. */
static enum err check_values(const struct plot *p)
{
    if (!p->cli->options.metric.count)
        return ERR_OK;
    for (size_t i = 0; i < p->num_metrics; i++) {
        const struct series *curves = p->curves[i];
        size_t points = 0;
        for (size_t k = 0; curves && k < p->num_curves; k++)
            points += curves[k].num_points;
        if (points == 0)
            return fault_set(
                &p->cli->fault, ERR_USAGE, NULL,
                "none of these runs has a value of \"%.100s\": fedlane metrics get RUN shows what "
                "there is",
                p->metrics[i]);
    }
    return ERR_OK;
}

static enum err draw(const struct plot *p, enum picture picture)
{
    struct cli *cli = p->cli;
    struct panel panels[MAX_METRICS];
    struct buf script = BUF_INIT(SCRIPT_MAX);
    struct out_file file = OUT_FILE_INIT;
    for (size_t i = 0; i < p->num_metrics; i++)
        panels[i] = (struct panel){p->metrics[i], p->curves[i], p->num_curves};
    enum err e = plot_script(picture, panels, p->num_metrics, &script);
    if (!e)
        e = out_file_open(&file, cli->options.output, &cli->fault);
    if (!e)
        e = gnuplot_run(&script, file.fd, &cli->fault);
    if (!e)
        e = out_file_commit(&file, &cli->fault);
    if (!e && cli->format == FORMAT_TABLE)
        (void)printf("%s\n", cli->options.output);
    out_file_release(&file);
    buf_release(&script);
    return e;
}

enum err cmd_metrics_plot(struct cli *cli)
{
    const struct option_list *files = &cli->options.from_csv;
    struct plot p = {.cli = cli, .max_curves = cli->num_words + files->count};
    enum picture picture;
    if (!cli->options.output)
        return fault_set(&cli->fault, ERR_USAGE, NULL, "-o FILE is missing: plot.svg or plot.png");
    if (p.max_curves == 0)
        return fault_set(&cli->fault, ERR_USAGE, NULL, "what to plot: name runs, or files with --from-csv");
    enum err e = picture_of(cli->options.output, &picture, &cli->fault);
    if (!e)
        e = choose_metrics(&p);
    for (size_t i = 0; i < cli->num_words && !e; i++)
        e = add_run(&p, cli->words[i]);
    for (size_t i = 0; i < files->count && !e; i++)
        e = add_file(&p, files->items[i]);
    if (!e)
        e = check_values(&p);
    if (!e)
        e = draw(&p, picture);
    return cli_fail(cli, e, "metrics plot");
}
