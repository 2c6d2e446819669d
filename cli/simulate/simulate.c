/* fedlane simulate: a whole run in this process. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "cli/commands.h"
#include "cli/print.h"
#include "cli/round_view.h"
#include "cli/simulate/sim_record.h"
#include "cli/simulate/sim_vocabulary.h"
#include "cli/simulate/sweep.h"
#include "cli/spec_file.h"
#include "cli/table.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "common/compute/compute.h"
#include "common/compute/team.h"

struct simulation {
    struct cli *cli;
    struct sim *sim;
    struct sim_record record;
    json_t *rounds; /* only where they are printed at the end */
    bool has_titles;
};

static enum err show_round(void *ctx, json_t *round)
{
    struct simulation *s = ctx;
    size_t num_columns = sim_start_ms(s->sim) < 0 ? num_round_columns : num_timed_round_columns;
    if (s->cli->format == FORMAT_TABLE) {
        if (!s->has_titles)
            table_print_titles(stdout, round_columns, num_columns);
        s->has_titles = true;
        table_print_row(stdout, round_columns, num_columns, round);
        (void)fflush(stdout);
    } else if (s->cli->format == FORMAT_JSON) {
        return json_array_append(s->rounds, round) ? ERR_NO_MEMORY : ERR_OK;
    } else if (!s->record.last) {
        return print_json(s->cli, round); /* the final line says more, and comes last */
    }
    return ERR_OK;
}

static enum err go(struct simulation *s)
{
    bool is_finished = false;
    enum err e = sim_record_init(&s->record, s->sim);
    while (!e && !is_finished)
        e = sim_record_step(&s->record, show_round, s, &is_finished, &s->cli->fault);
    return e;
}

/* "977.1 simulated seconds; accuracy 70 % after 86.8, 80 % after 126.1" */
static void print_targets(const json_t *final)
{
    const json_t *targets = json_object_get(final, "time_to_accuracy");
    const char *name, *before = "; accuracy";
    json_t *value, *all = (json_t *)(uintptr_t)targets;
    (void)printf("%.1f simulated seconds", json_number_at(final, "time_s"));
    json_object_foreach(all, name, value)
    {
        if (!(json_number_value(value) > 0)) /* never, or from the start */
            continue;
        (void)printf("%s %c0 %% after %.1f", before, name[2], json_number_value(value));
        before = ",";
    }
    (void)puts("");
}

static enum err print_end(struct simulation *s, const struct run_row *run, json_t *final)
{
    if (s->cli->format == FORMAT_JSONL)
        return print_json(s->cli, final);
    if (s->cli->format == FORMAT_TABLE) {
        (void)printf("%s: %s\n", run->name, run->status_reason);
        if (sim_start_ms(s->sim) >= 0)
            print_targets(final);
        return ERR_OK;
    }
    json_t *both = json_pack("{s:O, s:O}", "rounds", s->rounds, "final", final);
    enum err e = both ? print_json(s->cli, both) : ERR_NO_MEMORY;
    json_decref(both);
    return e;
}

/* As a sweep judges its runs. */
static enum err judge(struct simulation *s, json_t *final)
{
    struct sweep_run run = {.final = final};
    enum err e = sweep_judge(&run, s->record.csv.data); /* written: its text may be used up */
    if (e || !run.is_failed)
        return e;
    s->cli->status = STATUS_FAILED;
    if (str_eq(json_text_at(final, "outcome"), "completed"))
        (void)fprintf(stderr, "fedlane: %s\n", run.reason);
    return ERR_OK;
}

static enum err finish(struct simulation *s)
{
    struct cli *cli = s->cli;
    struct run_row run;
    json_t *final = NULL;
    enum err e = sim_record_end(&s->record, &cli->arena, &run, &final);
    if (!e && cli->options.out_dir)
        e = sim_record_put(&s->record, cli->options.out_dir, &run, final, &cli->fault);
    if (!e)
        e = print_end(s, &run, final);
    if (!e)
        e = judge(s, final);
    json_decref(final);
    return e;
}

static int default_threads(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > 64 ? 64 : (int)n;
}

/* data: NULL where they are still to be loaded. */
static enum err simulate_one(struct cli *cli, const json_t *spec, const struct dataset *data, int threads)
{
    struct simulation s = {.cli = cli};
    s.rounds = json_array();
    enum err e = s.rounds ? sim_new(spec, data, threads, &s.sim, &cli->fault) : ERR_NO_MEMORY;
    if (!e)
        e = go(&s);
    if (!e)
        e = finish(&s);
    sim_record_release(&s.record);
    sim_free(s.sim);
    json_decref(s.rounds);
    return e;
}

static enum err check_out(struct cli *cli)
{
    const char *dir = cli->options.out_dir;
    char *sweep;
    if (asprintf(&sweep, "%s/sweep.json", dir) < 0)
        return ERR_NO_MEMORY;
    enum err e = sim_check_folder(dir, &cli->fault);
    if (!e && access(sweep, F_OK) == 0)
        e = fault_set(&cli->fault, ERR_BAD_FILE, NULL,
                      "--out %s: holds a sweep (sweep.json); give another folder", dir);
    free(sweep);
    return e;
}

enum err cmd_simulate(struct cli *cli)
{
    json_t *spec = NULL;
    struct dataset *data = NULL;
    int threads = cli->options.threads ? (int)cli->options.threads : default_threads();
    log_init(LOG_WARNING, LOG_TEXT);
    enum err e = cli->options.device ? compute_choose(cli->options.device, &cli->fault) : ERR_OK;
    if (!e)
        e = team_start((size_t)threads, &cli->fault);
    if (!e)
        e = spec_file_load(cli->words[0], &cli->options.set, &spec, &cli->fault);
    if (!e)
        e = sim_settle_vocabulary(spec, &data, &cli->fault);
    if (!e && (cli->options.seeds || cli->options.sweep.count > 0)) {
        dataset_free(data); /* each run loads what it needs */
        data = NULL;
        e = sweep_simulate(cli, spec, threads);
    } else if (!e) {
        /* Before the work, so that it is not for nothing. */
        if (cli->options.out_dir)
            e = check_out(cli);
        if (!e)
            e = simulate_one(cli, spec, data, threads);
    }
    dataset_free(data);
    team_stop();
    json_decref(spec);
    return cli_fail(cli, e, "simulate");
}
