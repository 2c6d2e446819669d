#include "server/api/run_json.h"

#include <stdlib.h>
#include <string.h>
#include "common/base/str.h"
#include "common/json/json_peek.h"
#include "server/api/fields.h"
#include "server/core/names.h"

static bool is_evaluated(const struct round_row *round)
{
    return strstr(round->metrics, "\"train_loss\"") || strstr(round->metrics, "\"test_");
}

/* The open round has none until its evaluation is in, so one before may be the newest that has: of those next
 * to it, or of those that `every` says. Rounds between two evaluations have other figures only. */
static enum err newest_metrics(struct store_txn *txn, struct arena *arena, const struct run_row *run,
                               int64_t every, struct round_row *out)
{
    int64_t evaluated = run->round / every * every;
    const int64_t tried[] = {run->round, run->round - 1, run->round - 2, evaluated, evaluated - every};
    struct round_row row, other;
    record_init(RECORD_ROUND, out);
    record_init(RECORD_ROUND, &other);
    for (size_t i = 0; i < sizeof tried / sizeof tried[0]; i++) {
        if (tried[i] < 0 || (i >= 3 && tried[i] >= tried[2]))
            continue;
        record_init(RECORD_ROUND, &row);
        row.run_id = run->id;
        row.n = tried[i];
        enum err e = store_get(txn, RECORD_ROUND, arena, &row);
        if (e != ERR_OK && e != ERR_NOT_FOUND)
            return e;
        if (e == ERR_OK && is_evaluated(&row)) {
            *out = row;
            return ERR_OK;
        }
        if (e == ERR_OK && !other.metrics[0] && !str_eq(row.metrics, "{}"))
            other = row;
    }
    *out = other;
    return ERR_OK;
}

int64_t run_json_every(const struct run_row *run)
{
    const char *evaluation = json_peek(run->config, "evaluation");
    const char *text = evaluation ? json_peek(evaluation, "every") : NULL;
    int64_t every = text ? strtoll(text, NULL, 10) : 1;
    return every < 1 ? 1 : every;
}

static json_t *metrics_json(struct arena *arena, const struct round_row *round)
{
    if (!round->metrics[0])
        return json_null();
    struct obj o = obj_new();
    obj_int(&o, "round", round->n);
    obj_raw(&o, arena, "values", round->metrics);
    return obj_end(&o);
}

static void put_progress(struct obj *o, const struct run_row *run)
{
    obj_text(o, "status", run_status_name(run->status));
    obj_text_or_null(o, "outcome", run_outcome_name(run->outcome));
    obj_text(o, "status_reason", run->status_reason);
    obj_int(o, "round", run->round);
    obj_int(o, "num_rounds", run->num_rounds);
    obj_int(o, "model_version", run->model_version);
    obj_int(o, "population", run->population);
    obj_bool(o, "deterministic", run->is_deterministic != 0);
    obj_text_or_null(o, "nondeterminism", run->nondeterminism);
}

json_t *run_json(struct store_txn *txn, struct arena *arena, const struct run_row *run)
{
    struct round_row newest;
    struct obj o = obj_new();
    bool is_read = newest_metrics(txn, arena, run, run_json_every(run), &newest) == ERR_OK;
    obj_text(&o, "id", run->id);
    obj_text(&o, "experiment_id", run->experiment_id);
    obj_text(&o, "name", run->name);
    obj_text(&o, "dataset", run->dataset);
    obj_int(&o, "seed", run->seed);
    put_progress(&o, run);
    obj_take(&o, "metrics", is_read ? metrics_json(arena, &newest) : NULL);
    obj_raw(&o, arena, "spec", run->spec);
    obj_raw(&o, arena, "config", run->config);
    obj_int(&o, "last_event", run->last_event);
    obj_text_or_null(&o, "created_by", run->created_by);
    obj_time(&o, "created_at", run->created_at);
    obj_time(&o, "started_at", run->started_at);
    obj_time(&o, "finished_at", run->finished_at);
    return obj_end(&o);
}

enum err run_of_path(struct reading *r, struct store_txn *txn, struct run_row *out)
{
    record_init(RECORD_RUN, out);
    enum err e = api_path_id(r->rq, "run", &out->id, r->fault);
    return e == ERR_OK ? api_get(txn, RECORD_RUN, r->arena, out, "run", out->id, r->fault) : e;
}
