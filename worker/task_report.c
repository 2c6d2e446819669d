#include <math.h>
#include <stdio.h>
#include <string.h>
#include "common/api/update_meta.h"
#include "common/json/json_num.h"
#include "worker/task_runner.h"

enum fact_kind { FACT_INT, FACT_NUM, FACT_TEXT };

/* One thing that a result says about itself. */
struct fact {
    const char *name;
    enum fact_kind kind;
    int64_t integer;
    double number;
    const char *text;
};

#define MAX_FACTS 32

struct facts {
    struct fact items[MAX_FACTS];
    size_t count;
};

/* Counts below 0 are unknown. */
static void add_int(struct facts *f, const char *name, int64_t value)
{
    if (value >= 0)
        f->items[f->count++] = (struct fact){.name = name, .kind = FACT_INT, .integer = value};
}

static void add_num(struct facts *f, const char *name, double value, bool is_known)
{
    if (is_known)
        f->items[f->count++] = (struct fact){.name = name, .kind = FACT_NUM, .number = value};
}

static void add_text(struct facts *f, const char *name, const char *value)
{
    if (value[0])
        f->items[f->count++] = (struct fact){.name = name, .kind = FACT_TEXT, .text = value};
}

/* Sorted by name. What was computed is known even where it is NaN: a model that diverged shows so. */
static void gather(const struct worker_task *task, const struct task_result *r, struct facts *f)
{
    const struct train_progress *p = &r->progress;
    bool is_train = task->type == WORK_TRAIN, did_steps = p->steps_done > 0 && p->samples_seen > 0;
    bool has_gamma = r->is_measured && task->wants_gamma;
    f->count = 0;
    add_int(f, "attempt", task->attempt);
    add_int(f, "batch_size", is_train ? task->batch_size : -1);
    add_num(f, "compute_ms", r->compute_ms, !isnan(r->compute_ms));
    add_text(f, "content", is_train ? UPDATE_CONTENT_WEIGHTS : "");
    add_num(f, "download_ms", r->download_ms, !isnan(r->download_ms));
    add_text(f, "encoding", is_train ? "none" : "");
    add_int(f, "eval_test_correct", r->eval.test.correct);
    add_int(f, "eval_test_examples", r->eval.test.examples);
    add_num(f, "eval_test_loss", r->eval.test.loss, r->eval.test.examples > 0);
    add_int(f, "eval_train_examples", r->eval.train.examples);
    add_num(f, "eval_train_loss", r->eval.train.loss, r->eval.train.examples > 0);
    add_num(f, "gamma", p->gamma, has_gamma);
    add_num(f, "grad_norm_end", p->grad_norm_end, has_gamma);
    add_num(f, "grad_norm_start", p->grad_norm_start, has_gamma);
    add_num(f, "learning_rate", task->learning_rate, is_train);
    add_int(f, "num_examples", r->num_examples);
    add_num(f, "proximal_mu", task->proximal_mu, is_train);
    add_int(f, "samples_seen", p->samples_seen);
    add_int(f, "seed", is_train ? task->seed : -1);
    add_int(f, "steps_assigned", p->steps_assigned);
    add_int(f, "steps_done", p->steps_done);
    add_text(f, "stop_reason", is_train ? work_stop_name(r->stop) : "");
    add_num(f, "train_loss_end", p->train_loss_end, did_steps);
    add_num(f, "train_loss_start", p->train_loss_start, did_steps);
    add_num(f, "update_norm", p->update_norm, r->is_measured);
}

static const char *fact_text(const struct fact *f, struct arena *arena)
{
    if (f->kind == FACT_INT)
        return arena_printf(arena, "%lld", (long long)f->integer);
    if (f->kind == FACT_TEXT)
        return arena_strdup(arena, f->text);
    if (isnan(f->number))
        return "NaN";
    if (isinf(f->number))
        return f->number > 0 ? "Infinity" : "-Infinity";
    return arena_printf(arena, "%.17g", f->number);
}

enum err task_result_metadata(const struct worker_task *task, const struct task_result *result,
                              struct arena *arena, struct safetensors_pair **out_pairs, size_t *out_count)
{
    struct facts f;
    gather(task, result, &f);
    struct safetensors_pair *pairs = arena_calloc(arena, f.count, sizeof *pairs);
    if (!pairs)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < f.count; i++) {
        pairs[i] = (struct safetensors_pair){.key = f.items[i].name, .value = fact_text(&f.items[i], arena)};
        if (!pairs[i].value)
            return ERR_NO_MEMORY;
    }
    *out_pairs = pairs;
    *out_count = f.count;
    return ERR_OK;
}

enum err task_result_file(const struct worker_task *task, struct task_result *result, char **out_file,
                          size_t *out_size)
{
    struct arena arena = ARENA_INIT(64 * KIB);
    struct safetensors_pair *pairs = NULL;
    size_t count = 0;
    if (!result->values)
        bug("a result without values has no file: %s", result->code);
    enum err e = task_result_metadata(task, result, &arena, &pairs, &count);
    if (!e)
        e = update_block_file(result->block, result->tensors, task->type == WORK_TRAIN ? "" : "grad.", pairs,
                              count, out_file, out_size);
    if (!e)
        result->values = NULL;
    arena_release(&arena);
    return e;
}

static json_t *fact_json(const struct fact *f)
{
    if (f->kind == FACT_INT)
        return json_num_int(f->integer);
    return f->kind == FACT_NUM ? json_num(f->number) : json_string(f->text);
}

enum err task_result_json(const struct worker_task *task, const struct task_result *result, json_t **out)
{
    struct facts f;
    gather(task, result, &f);
    json_t *json = json_object();
    int failed = json ? 0 : -1;
    if (result->code[0]) {
        failed |= json_object_set_new(json, "code", json_string(result->code));
        failed |= json_object_set_new(json, "detail", json_string(result->detail));
    }
    for (size_t i = 0; i < f.count; i++)
        failed |= json_object_set_new(json, f.items[i].name, fact_json(&f.items[i]));
    if (failed) {
        json_decref(json);
        return ERR_NO_MEMORY;
    }
    *out = json;
    return ERR_OK;
}
