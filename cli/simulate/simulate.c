/* fedlane simulate: a whole run in this process. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli/commands.h"
#include "cli/out_file.h"
#include "cli/round_view.h"
#include "cli/simulate/sim.h"
#include "cli/simulate/sim_report.h"
#include "cli/spec_file.h"
#include "common/base/limits.h"
#include "common/base/log.h"

#define CSV_MAX (256 * MIB)

struct simulation {
    struct cli *cli;
    struct sim *sim;
    json_t *rounds; /* only where they are printed at the end */
    json_t *final;  /* the round of that type; NULL until it is there */
    struct buf csv;
    int64_t last_round;
};

static enum err print_line(json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT);
    if (!text)
        return ERR_NO_MEMORY;
    (void)puts(text);
    /* Whoever reads along sees each round when it is done. */
    (void)fflush(stdout);
    free(text);
    return ERR_OK;
}

static enum err show_round(struct simulation *s, json_t *round)
{
    if (s->cli->format == FORMAT_TABLE) {
        if (s->last_round < 0)
            table_print_titles(stdout, round_columns, num_round_columns);
        table_print_row(stdout, round_columns, num_round_columns, round);
        (void)fflush(stdout);
    } else if (s->cli->format == FORMAT_JSON) {
        return json_array_append(s->rounds, round) ? ERR_NO_MEMORY : ERR_OK;
    } else if (!s->final) {
        return print_line(round); /* the final line says more, and comes last */
    }
    return ERR_OK;
}

static enum err take_round(struct simulation *s, const struct round_row *row)
{
    json_t *round = sim_round_json(row);
    if (!round)
        return ERR_NO_MEMORY;
    if (row->type == ROUND_FINAL)
        s->final = json_incref(round);
    enum err e = show_round(s, round);
    if (!e)
        e = sim_csv_row(&s->csv, round);
    s->last_round = row->n;
    json_decref(round);
    return e;
}

static enum err take_rounds(struct simulation *s)
{
    struct arena arena = ARENA_INIT((size_t)1 << 30);
    struct round_row *rows;
    size_t count = 0;
    enum err e = sim_rounds(s->sim, s->last_round, &arena, &rows, &count);
    for (size_t i = 0; i < count && !e; i++)
        e = take_round(s, &rows[i]);
    arena_release(&arena);
    return e;
}

static enum err go(struct simulation *s)
{
    bool is_finished = false;
    enum err e = sim_csv_titles(&s->csv);
    while (!e && !is_finished) {
        e = sim_step(s->sim, &is_finished, &s->cli->fault);
        if (!e)
            e = take_rounds(s);
    }
    return e;
}

/* -- files ----------------------------------------------------------------------------------------------- */

static enum err put_file(struct cli *cli, const char *name, const void *bytes, size_t n)
{
    const char *path = arena_printf(&cli->arena, "%s/%s", cli->options.out_dir, name);
    return path ? out_file_put(path, bytes, n, &cli->fault) : ERR_NO_MEMORY;
}

static enum err put_model(struct simulation *s)
{
    struct buf file = BUF_INIT((size_t)LIMIT_MODEL_BYTES);
    enum err e = sim_model(s->sim, &file);
    if (!e)
        e = put_file(s->cli, "model.safetensors", file.data, file.len);
    buf_release(&file);
    return e;
}

static enum err put_run(struct simulation *s, const struct run_row *run, const json_t *final)
{
    json_t *json = sim_run_json(run, final);
    char *text = json ? json_dumps(json, JSON_INDENT(2) | JSON_SORT_KEYS) : NULL;
    enum err e = text ? put_file(s->cli, "run.json", text, strlen(text)) : ERR_NO_MEMORY;
    free(text);
    json_decref(json);
    return e;
}

/* With the folders above it. What fails is seen by whoever looks at the folder next. */
static void make_folders(char *path)
{
    for (char *c = path + 1; *c; c++) {
        if (*c != '/')
            continue;
        *c = '\0';
        (void)mkdir(path, 0777);
        *c = '/';
    }
}

/* Before the work, so that it is not for nothing. */
static enum err make_out_dir(struct cli *cli)
{
    const char *dir = cli->options.out_dir;
    struct stat st;
    if (!dir)
        return ERR_OK;
    char *copy = arena_strdup(&cli->arena, dir);
    if (!copy || !*copy)
        return copy ? fault_set(&cli->fault, ERR_USAGE, "out", "--out wants the name of a folder")
                    : ERR_NO_MEMORY;
    make_folders(copy);
    if (mkdir(dir, 0777) != 0 && errno != EEXIST)
        return fault_set(&cli->fault, ERR_BAD_FILE, NULL, "--out %s: cannot be made: %s", dir,
                         strerror(errno));
    if (stat(dir, &st) != 0 || !S_ISDIR(st.st_mode))
        return fault_set(&cli->fault, ERR_BAD_FILE, NULL, "--out %s: is no directory", dir);
    if (access(dir, W_OK) != 0)
        return fault_set(&cli->fault, ERR_BAD_FILE, NULL, "--out %s: cannot be written: %s", dir,
                         strerror(errno));
    return ERR_OK;
}

/* -- the end --------------------------------------------------------------------------------------------- */

static enum err print_end(struct simulation *s, const struct run_row *run, json_t *final)
{
    if (s->cli->format == FORMAT_JSONL)
        return print_line(final);
    if (s->cli->format == FORMAT_TABLE) {
        (void)printf("%s: %s\n", run->name, run->status_reason);
        return ERR_OK;
    }
    json_t *both = json_pack("{s:O, s:O}", "rounds", s->rounds, "final", final);
    int failed = both ? json_dumpf(both, stdout, JSON_INDENT(2)) : -1;
    (void)puts("");
    json_decref(both);
    return failed ? ERR_NO_MEMORY : ERR_OK;
}

static enum err finish(struct simulation *s)
{
    struct cli *cli = s->cli;
    struct run_row run;
    enum err e = sim_run(s->sim, &cli->arena, &run);
    json_t *final = e ? NULL : sim_final_json(&run, s->final);
    if (!e && !final)
        e = ERR_NO_MEMORY;
    if (!e && cli->options.out_dir)
        e = put_file(cli, "metrics.csv", s->csv.data, s->csv.len);
    if (!e && cli->options.out_dir)
        e = put_model(s);
    if (!e && cli->options.out_dir)
        e = put_run(s, &run, final);
    if (!e)
        e = print_end(s, &run, final);
    if (!e && run.outcome != RUN_COMPLETED)
        cli->status = STATUS_FAILED;
    json_decref(final);
    return e;
}

static int default_threads(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > 64 ? 64 : (int)n;
}

enum err cmd_simulate(struct cli *cli)
{
    struct simulation s = {.cli = cli, .csv = BUF_INIT(CSV_MAX), .last_round = -1};
    json_t *spec = NULL;
    int threads = cli->options.threads ? (int)cli->options.threads : default_threads();
    log_init(LOG_WARNING, LOG_TEXT);
    s.rounds = json_array();
    enum err e = s.rounds ? make_out_dir(cli) : ERR_NO_MEMORY;
    if (!e)
        e = spec_file_load(cli->words[0], &cli->options.set, &spec, &cli->fault);
    if (!e)
        e = sim_new(spec, threads, &s.sim, &cli->fault);
    if (!e)
        e = go(&s);
    if (!e)
        e = finish(&s);
    sim_free(s.sim);
    buf_release(&s.csv);
    json_decref(s.final);
    json_decref(s.rounds);
    json_decref(spec);
    return cli_fail(cli, e, "simulate");
}
