#include "cli/simulate/sim_report.h"
#include <math.h>
#include <string.h>
#include "cli/csv.h"
#include "cli/table.h"
#include "common/json/json_num.h"
#include "common/json/json_spec.h"
#include "server/core/names.h"

/* Takes the reference; a member that could not be made makes the object NULL. */
static void put(json_t **object, const char *name, json_t *value)
{
    if (*object && json_object_set_new(*object, name, value) != 0) {
        json_decref(*object);
        *object = NULL;
    }
}

static void put_number(json_t **object, const char *name, double value)
{
    if (!isnan(value))
        put(object, name, json_num(value));
}

/* One that is always there: null where it is not known. */
static void put_metric(json_t **object, const json_t *metrics, const char *name)
{
    json_t *value = json_object_get(metrics, name);
    put(object, name, value ? json_incref(value) : json_null());
}

static json_t *seconds(int64_t from_ms, int64_t to_ms)
{
    return json_num((double)(to_ms - from_ms) / 1000);
}

json_t *sim_round_json(const struct round_row *r, int64_t start_ms)
{
    json_t *metrics = json_loads(r->metrics, 0, NULL);
    json_t *o = json_pack("{s:I, s:s, s:s}", "round", (json_int_t)r->n, "type", round_type_name(r->type),
                          "outcome", round_outcome_name(r->outcome));
    if (*r->reason)
        put(&o, "reason", json_string(r->reason));
    if (start_ms >= 0) {
        put(&o, "time_s", seconds(start_ms, r->closed_at));
        put(&o, "duration_s", seconds(r->opened_at, r->closed_at));
    }
    put_metric(&o, metrics, "train_loss");
    put_metric(&o, metrics, "test_accuracy");
    put_number(&o, "proximal_mu", r->proximal_mu);
    const struct {
        const char *name;
        int64_t value;
    } counts[] = {
        {"selected", r->selected},
        {"received", r->received},
        {"partial", r->partial},
        {"dropped", r->dropped},
        {"failed", r->failed},
        {"late", r->late},
        {"steps_assigned", r->steps_assigned},
        {"steps_done", r->steps_done},
        {"evaluators", r->evaluators},
        {"evaluated", r->evaluated},
        {"model_version", r->model_version_out},
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        put(&o, counts[i].name, json_integer(counts[i].value));
    put_number(&o, "mean_gamma", r->mean_gamma);
    put_number(&o, "dissimilarity_b", r->dissimilarity_b);
    put_number(&o, "grad_variance_weighted", r->grad_variance_weighted);
    put_number(&o, "grad_variance_uniform", r->grad_variance_uniform);
    put(&o, "aggregate_sha256", json_string(r->aggregate_sha256));
    put(&o, "metrics", metrics ? metrics : json_object());
    return o;
}

void sim_targets_init(struct sim_targets *t, int64_t start_ms)
{
    *t = (struct sim_targets){.start_ms = start_ms};
    for (size_t i = 0; i < SIM_NUM_TARGETS; i++)
        t->rounds[i] = -1;
}

void sim_targets_add(struct sim_targets *t, const struct round_row *round, const json_t *json)
{
    double accuracy;
    const json_t *value = json_object_get(json, "test_accuracy");
    if (!json_is_number(value) || json_num_read(value, &accuracy) != ERR_OK)
        return;
    for (size_t i = 0; i < SIM_NUM_TARGETS; i++) {
        /* As 0.3 is written, not 3 * 0.1. */
        bool is_reached = accuracy >= (double)(i + 1) / 10;
        if (!is_reached || t->rounds[i] >= 0)
            continue;
        t->rounds[i] = round->n;
        t->at_ms[i] = round->opened_at;
    }
}

/* {"0.1": ..., ...}; null where it was not reached. */
static json_t *targets_json(const struct sim_targets *t, bool in_seconds)
{
    json_t *o = json_object();
    for (size_t i = 0; i < SIM_NUM_TARGETS; i++) {
        const char name[] = {'0', '.', (char)('1' + i), '\0'};
        json_t *value = t->rounds[i] < 0 ? json_null()
                        : in_seconds     ? seconds(t->start_ms, t->at_ms[i])
                                         : json_integer(t->rounds[i]);
        put(&o, name, value);
    }
    return o;
}

json_t *sim_final_json(const struct run_row *run, const json_t *last, const struct sim_targets *targets)
{
    json_t *o = last ? json_clone(last) : json_pack("{s:s}", "type", "final");
    if (!last) {
        put_metric(&o, NULL, "train_loss");
        put_metric(&o, NULL, "test_accuracy");
        put(&o, "aggregate_sha256", json_null());
    }
    put(&o, "outcome", json_string(run_outcome_name(run->outcome)));
    put(&o, "status_reason", json_string(run->status_reason));
    put(&o, "rounds", json_integer(run->round));
    put(&o, "rounds_to_accuracy", targets_json(targets, false));
    if (targets->start_ms >= 0) {
        put(&o, "time_s", seconds(targets->start_ms, run->finished_at));
        put(&o, "time_to_accuracy", targets_json(targets, true));
    }
    put(&o, "deterministic", json_boolean(run->is_deterministic));
    if (!run->is_deterministic)
        put(&o, "nondeterminism", json_string(run->nondeterminism));
    return o;
}

json_t *sim_run_json(const struct run_row *run, const json_t *final)
{
    json_t *o = json_pack("{s:s, s:s, s:I, s:I, s:s, s:s, s:b}", "name", run->name, "dataset", run->dataset,
                          "seed", (json_int_t)run->seed, "num_rounds", (json_int_t)run->num_rounds, "outcome",
                          run_outcome_name(run->outcome), "status_reason", run->status_reason,
                          "deterministic", (int)run->is_deterministic);
    put(&o, "spec", json_loads(run->spec, 0, NULL));
    put(&o, "final", json_clone(final));
    return o;
}

/* -- CSV ------------------------------------------------------------------------------------------------- */

static const char *const csv_columns[] = {
    "round",
    "type",
    "outcome",
    "time_s",
    "duration_s",
    "metrics.train_loss",
    "metrics.test_loss",
    "metrics.test_accuracy",
    "metrics.test_accuracy_p10",
    "metrics.test_accuracy_p50",
    "metrics.test_accuracy_p90",
    "proximal_mu",
    "selected",
    "received",
    "partial",
    "dropped",
    "failed",
    "late",
    "steps_done",
    "steps_assigned",
    "mean_gamma",
    "dissimilarity_b",
    "grad_variance_weighted",
    "grad_variance_uniform",
    "aggregate_sha256",
};
#define NUM_CSV_COLUMNS (sizeof csv_columns / sizeof *csv_columns)

static const char *short_name(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot ? dot + 1 : path;
}

enum err sim_csv_titles(struct buf *csv)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < NUM_CSV_COLUMNS && !e; i++)
        e = csv_add_text(csv, short_name(csv_columns[i]), i + 1 == NUM_CSV_COLUMNS);
    return e;
}

enum err sim_csv_row(struct buf *csv, const json_t *round)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < NUM_CSV_COLUMNS && !e; i++)
        e = csv_add(csv, json_at(round, csv_columns[i]), i + 1 == NUM_CSV_COLUMNS);
    return e;
}
