/* fedlane run submit, list, show, start, stop, pause, resume. */
#include "cli/run.h"
#include <stdio.h>
#include "cli/commands.h"
#include "cli/print.h"
#include "cli/rest.h"
#include "cli/round_view.h"
#include "cli/spec_file.h"
#include "common/base/str.h"
#include "common/http/url.h"

#define ROUNDS_SHOWN 10
#define COUNT(a)     (sizeof(a) / sizeof *(a))

static const struct table_column list_columns[] = {
    {"id", "id", CELL_TEXT, 0},
    {"name", "name", CELL_TEXT, 0},
    {"status", "outcome|status", CELL_TEXT, 0},
    {"round", "round", CELL_COUNT, 0},
    {"of", "num_rounds", CELL_COUNT, 0},
    {"train loss", "metrics.values.train_loss", CELL_NUMBER, 0},
    {"accuracy", "metrics.values.test_accuracy", CELL_PERCENT, 0},
    {"created", "created_at", CELL_TIME, 0},
    {"what it says", "status_reason", CELL_TEXT, 0},
};

static const struct table_column show_columns[] = {
    {"id", "id", CELL_TEXT, 0},
    {"name", "name", CELL_TEXT, 0},
    {"experiment", "spec.experiment", CELL_TEXT, 0},
    {"dataset", "dataset", CELL_TEXT, 0},
    {"seed", "seed", CELL_COUNT, 0},
    {"status", "status", CELL_TEXT, 0},
    {"outcome", "outcome", CELL_TEXT, 0},
    {"what it says", "status_reason", CELL_TEXT, 0},
    {"round", "round", CELL_COUNT, 0},
    {"rounds", "num_rounds", CELL_COUNT, 0},
    {"devices", "population", CELL_COUNT, 0},
    {"strategy", "config.strategy", CELL_TEXT, 0},
    {"training", "config.training", CELL_TEXT, 0},
    {"stragglers", "spec.systems.straggler_fraction", CELL_PERCENT, 0},
    {"model version", "model_version", CELL_COUNT, 0},
    {"train loss", "metrics.values.train_loss", CELL_NUMBER, 0},
    {"test accuracy", "metrics.values.test_accuracy", CELL_PERCENT, 0},
    {"same bits again", "deterministic", CELL_YES_NO, 0},
    {"because", "nondeterminism", CELL_TEXT, 0},
    {"created", "created_at", CELL_TIME, 0},
    {"started", "started_at", CELL_TIME, 0},
    {"finished", "finished_at", CELL_TIME, 0},
};

enum err run_get(struct cli *cli, const char *id, json_t **out)
{
    struct buf path;
    enum err e = rest_path(&path, "runs", id);
    if (!e)
        e = rest_get(cli, path.data, out);
    buf_release(&path);
    return e;
}

enum err run_find(struct cli *cli, const char *ref, json_t **out)
{
    const char *id;
    enum err e = rest_resolve(cli, "runs", ref, &id);
    return e ? e : run_get(cli, id, out);
}

enum err run_rounds(struct cli *cli, const json_t *run, int64_t limit, json_t **out)
{
    struct buf path;
    enum err e = rest_path(&path, "runs", json_text_at(run, "id"), "rounds");
    int64_t after = json_count_at(run, "round") - limit;
    /* The cursor is the number of the last round seen. */
    if (!e && limit > 0 && after >= 0)
        e = url_add_query_int(&path, "cursor", after);
    if (!e)
        e = rest_list(cli, path.data, limit, out);
    buf_release(&path);
    return e;
}

/* -- submit ---------------------------------------------------------------------------------------------- */

enum err cmd_run_submit(struct cli *cli)
{
    json_t *spec = NULL, *run = NULL;
    struct buf path;
    enum err e = spec_file_load(cli->words[0], &cli->options.set, &spec, &cli->fault);
    if (e)
        return e;
    e = rest_path(&path, "runs");
    if (!e)
        e = rest_post(cli, path.data, spec, cli->options.idempotency_key, &run);
    if (!e && cli->format != FORMAT_TABLE)
        e = print_json(cli, run);
    else if (!e)
        (void)printf("run %s \"%s\": %s\n", json_text_at(run, "id"), json_text_at(run, "name"),
                     json_text_at(run, "status_reason"));
    (void)fflush(stdout);
    if (!e && cli->options.watch) {
        const char *id = json_text_at(run, "id");
        e = run_watch(cli, &id, 1);
    }
    buf_release(&path);
    json_decref(run);
    json_decref(spec);
    return cli_fail(cli, e, "run submit");
}

/* -- list, show ------------------------------------------------------------------------------------------ */

enum err cmd_run_list(struct cli *cli)
{
    struct buf path;
    json_t *items = NULL;
    enum err e = rest_path(&path, "runs");
    if (!e && cli->options.experiment)
        e = url_add_query(&path, "experiment", cli->options.experiment);
    if (!e && cli->options.status)
        e = url_add_query(&path, "status", cli->options.status);
    if (!e)
        e = rest_list(cli, path.data, cli->options.limit, &items);
    if (!e)
        e = print_items(cli, list_columns, COUNT(list_columns), items);
    json_decref(items);
    buf_release(&path);
    return cli_fail(cli, e, "run list");
}

enum err cmd_run_show(struct cli *cli)
{
    json_t *run = NULL, *rounds = NULL;
    enum err e = run_find(cli, cli->words[0], &run);
    if (!e)
        e = print_object(cli, show_columns, COUNT(show_columns), run);
    if (!e && cli->format == FORMAT_TABLE) {
        e = run_rounds(cli, run, ROUNDS_SHOWN, &rounds);
        if (!e && json_array_size(rounds) > 0) {
            (void)puts("");
            table_print(stdout, round_columns, num_round_columns, rounds);
        }
    }
    json_decref(rounds);
    json_decref(run);
    return cli_fail(cli, e, "run show");
}

/* -- start, stop, pause, resume -------------------------------------------------------------------------- */

static enum err act(struct cli *cli, const char *ref, const char *action)
{
    struct buf path = BUF_INIT(0);
    const char *id;
    json_t *run = NULL;
    enum err e = rest_resolve(cli, "runs", ref, &id);
    if (!e)
        e = rest_path(&path, "runs", id, action);
    if (!e)
        e = rest_post(cli, path.data, NULL, NULL, &run);
    if (!e && cli->format != FORMAT_TABLE)
        e = print_json(cli, run);
    else if (!e)
        (void)printf("run %s \"%s\": %s (%s)\n", id, json_text_at(run, "name"),
                     json_text_at(run, "outcome|status"), json_text_at(run, "status_reason"));
    json_decref(run);
    buf_release(&path);
    return e;
}

static enum err act_on_all(struct cli *cli, const char *action)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < cli->num_words && !e; i++)
        e = act(cli, cli->words[i], action);
    return cli_fail(cli, e, action);
}

enum err cmd_run_start(struct cli *cli)
{
    return act_on_all(cli, "start");
}

enum err cmd_run_stop(struct cli *cli)
{
    return act_on_all(cli, "stop");
}

enum err cmd_run_pause(struct cli *cli)
{
    return act_on_all(cli, "pause");
}

enum err cmd_run_resume(struct cli *cli)
{
    return act_on_all(cli, "resume");
}

enum err cmd_run_watch(struct cli *cli)
{
    const char *ids[CLI_MAX_WORDS];
    enum err e = ERR_OK;
    for (size_t i = 0; i < cli->num_words && !e; i++)
        e = rest_resolve(cli, "runs", cli->words[i], &ids[i]);
    if (!e)
        e = run_watch(cli, ids, cli->num_words);
    return cli_fail(cli, e, "run watch");
}
