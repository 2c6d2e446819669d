/* fedlane run compare: how runs ended, side by side, and in what they differ. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "cli/commands.h"
#include "cli/print.h"
#include "cli/rest.h"
#include "cli/run.h"
#include "common/json/json_spec.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct table_column columns[] = {
    {"run", "name", CELL_TEXT, 0},
    {"strategy", "strategy", CELL_TEXT, 0},
    {"stragglers", "straggler_fraction", CELL_PERCENT, 0},
    {"steps done of assigned", "steps", CELL_TEXT, 0},
    {"final train loss", "train_loss", CELL_NUMBER, 0},
    {"final test accuracy", "test_accuracy", CELL_PERCENT, 0},
};

static const char *const train_loss_path = "metrics.values.train_loss", *const accuracy_path =
                                                                            "metrics.values.test_accuracy";

/* "fedprox mu=1": mu is what people compare. */
static json_t *strategy_text(const json_t *run)
{
    json_t *mu = json_at(run, "config.strategy.params.proximal_mu");
    if (!mu)
        mu = json_at(run, "spec.strategy.params.proximal_mu");
    const char *name = json_text_at(run, "spec.strategy.name");
    if (json_is_object(mu))
        return json_sprintf("%s, dynamic mu", name);
    double value = json_is_number(mu) ? json_number_value(mu) : 0;
    return strcmp(name, "fedavg") == 0 ? json_string(name) : json_sprintf("%s, mu %.4g", name, value);
}

static json_t *copy_or_null(const json_t *object, const char *path)
{
    json_t *found = json_at(object, path);
    return found ? json_clone(found) : json_null();
}

/* The row of one run. */
static json_t *row_of(const json_t *run, const json_t *rounds)
{
    int64_t done = 0, assigned = 0;
    for (size_t i = 0; i < json_array_size(rounds); i++) {
        const json_t *round = json_array_get(rounds, i);
        done += json_count_at(round, "steps_done");
        assigned += json_count_at(round, "steps_assigned");
    }
    json_t *steps = assigned > 0 ? json_sprintf("%lld of %lld (%.1f %%)", (long long)done,
                                                (long long)assigned, 100.0 * (double)done / (double)assigned)
                                 : json_string("none");
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:o}", "id", copy_or_null(run, "id"),
                     "name", copy_or_null(run, "name"), "strategy", strategy_text(run), "straggler_fraction",
                     copy_or_null(run, "spec.systems.straggler_fraction"), "steps", steps, "steps_done",
                     (json_int_t)done, "steps_assigned", (json_int_t)assigned, "train_loss",
                     copy_or_null(run, train_loss_path), "test_accuracy", copy_or_null(run, accuracy_path),
                     "rounds", copy_or_null(run, "round"), "outcome", copy_or_null(run, "outcome|status"));
}

/* -- what differs ---------------------------------------------------------------------------------------- */

/* Every plain value of an object, under its path. Arrays count as one value. */
static int flatten(const json_t *value, const char *path, json_t *out)
{
    const char *key;
    json_t *inner;
    char full[256];
    if (!json_is_object(value))
        return json_object_set(out, path, (json_t *)(uintptr_t)value);
    json_object_foreach((json_t *)(uintptr_t)value, key, inner)
    {
        (void)snprintf(full, sizeof full, "%s%s%s", path, *path ? "." : "", key);
        if (flatten(inner, full, out) != 0)
            return -1;
    }
    return 0;
}

/* The spec with the config in force laid over it, flat. */
static json_t *parameters_of(const json_t *run)
{
    json_t *spec = json_clone(json_object_get(run, "spec")), *flat = json_object();
    bool ok = spec && flat && json_object_update_recursive(spec, json_object_get(run, "config")) == 0;
    (void)json_object_del(spec, "name");
    if (!ok || flatten(spec, "", flat) != 0) {
        json_decref(flat);
        flat = NULL;
    }
    json_decref(spec);
    return flat;
}

static bool differs(const json_t *all_parameters, const char *path)
{
    const json_t *first = json_object_get(json_array_get(all_parameters, 0), path);
    for (size_t i = 1; i < json_array_size(all_parameters); i++) {
        const json_t *other = json_object_get(json_array_get(all_parameters, i), path);
        if (!first != !other || (first && !json_equal(first, other)))
            return true;
    }
    return false;
}

/* {"parameter": path, "0": value of the first run, "1": ...} for each that is not the same in all. */
static json_t *differences_of(const json_t *runs)
{
    json_t *all = json_array(), *paths = json_object(), *out = json_array(), *value;
    const char *path;
    bool ok = all && paths && out;
    for (size_t i = 0; ok && i < json_array_size(runs); i++) {
        json_t *parameters = parameters_of(json_array_get(runs, i));
        ok = parameters && json_object_update(paths, parameters) == 0 &&
             json_array_append_new(all, parameters) == 0;
    }
    json_object_foreach(paths, path, value)
    {
        if (!ok || !differs(all, path))
            continue;
        json_t *row = json_pack("{s:s}", "parameter", path);
        for (size_t i = 0; row && i < json_array_size(all); i++) {
            char number[24];
            (void)snprintf(number, sizeof number, "%zu", i);
            json_t *own = json_object_get(json_array_get(all, i), path);
            ok = ok && json_object_set_new(row, number, own ? json_clone(own) : json_null()) == 0;
        }
        ok = json_array_append_new(out, row) == 0 && ok;
    }
    json_decref(all);
    json_decref(paths);
    if (!ok) {
        json_decref(out);
        out = NULL;
    }
    return out;
}

static void print_differences(const json_t *rows, const json_t *differences)
{
    struct table_column cells[1 + CLI_MAX_COMPARED] = {{"parameter", "parameter", CELL_TEXT, 0}};
    char numbers[CLI_MAX_COMPARED][24];
    size_t n = json_array_size(rows);
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(numbers[i], sizeof numbers[i], "%zu", i);
        cells[1 + i] =
            (struct table_column){json_text_at(json_array_get(rows, i), "name"), numbers[i], CELL_TEXT, 0};
    }
    (void)puts("");
    if (json_array_size(differences) == 0)
        (void)puts("no parameter differs");
    else
        table_print(stdout, cells, 1 + n, differences);
}

/* -- the command ----------------------------------------------------------------------------------------- */

/* Of two runs that both have an accuracy; NaN otherwise. */
static double gap_points(const json_t *rows)
{
    if (json_array_size(rows) != 2)
        return NAN;
    return 100 * (json_number_at(json_array_get(rows, 1), "test_accuracy") -
                  json_number_at(json_array_get(rows, 0), "test_accuracy"));
}

static void print_gap(const json_t *rows)
{
    double gap = gap_points(rows);
    if (isnan(gap))
        return;
    const char *first = json_text_at(json_array_get(rows, 0), "name"),
               *second = json_text_at(json_array_get(rows, 1), "name");
    (void)printf("\ngap: %s is %.1f points of test accuracy %s %s\n", gap < 0 ? first : second, fabs(gap),
                 fabs(gap) > 0 ? "above" : "from", gap < 0 ? second : first);
}

static enum err print_comparison(struct cli *cli, const json_t *rows, const json_t *differences)
{
    if (cli->format == FORMAT_TABLE) {
        table_print(stdout, columns, COUNT(columns), rows);
        print_gap(rows);
        print_differences(rows, differences);
        return ERR_OK;
    }
    double gap = gap_points(rows);
    json_t *all = json_pack("{s:O, s:O}", "runs", rows, "differences", differences);
    enum err e = all && (isnan(gap) || json_object_set_new(all, "gap_points", json_real(gap)) == 0)
                     ? print_json(cli, all)
                     : ERR_NO_MEMORY;
    json_decref(all);
    return e;
}

static enum err load(struct cli *cli, const char *ref, json_t *runs, json_t *rows)
{
    json_t *run = NULL, *rounds = NULL;
    enum err e = run_find(cli, ref, &run);
    if (!e)
        e = run_rounds(cli, run, 0, &rounds);
    if (!e && (json_array_append_new(rows, row_of(run, rounds)) != 0 || json_array_append(runs, run) != 0))
        e = ERR_NO_MEMORY;
    json_decref(rounds);
    json_decref(run);
    return e;
}

enum err cmd_run_compare(struct cli *cli)
{
    json_t *runs = json_array(), *rows = json_array(), *differences = NULL;
    enum err e = runs && rows ? ERR_OK : ERR_NO_MEMORY;
    for (size_t i = 0; i < cli->num_words && !e; i++)
        e = load(cli, cli->words[i], runs, rows);
    if (!e && !(differences = differences_of(runs)))
        e = ERR_NO_MEMORY;
    if (!e)
        e = print_comparison(cli, rows, differences);
    json_decref(differences);
    json_decref(rows);
    json_decref(runs);
    return cli_fail(cli, e, "run compare");
}
