#include "worker/worker_task.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/ids.h"
#include "common/base/limits.h"
#include "common/base/str.h"
#include "common/json/json_spec.h"

static const char *const type_names[] = {[WORK_TRAIN] = "train", [WORK_EVALUATE] = "evaluate", NULL};

/* The nested parts of a task's JSON before they are taken apart. */
struct parts {
    int type;
    json_t *model, *config, *budget, *want;
};

#define TASK_INT(member, least, most, ...)                                                                   \
    JSON_FIELD(struct worker_task, member, JSON_FIELD_INT, .min = (double)(least), .max = (double)(most),    \
               __VA_ARGS__)
#define TASK_TEXT(member, least, most, ...)                                                                  \
    JSON_FIELD(struct worker_task, member, JSON_FIELD_TEXT, .min = (least), .max = (most), __VA_ARGS__)
#define REQUIRED .is_required = true
#define NULLABLE .allow_null = true

static const struct json_field task_fields[] = {
    TASK_TEXT(task_id, 32, 32, REQUIRED),
    TASK_TEXT(run_id, 32, 32, REQUIRED),
    TASK_TEXT(device_id, 32, 32, NULLABLE),
    TASK_INT(round, 0, LIMIT_ROUNDS, REQUIRED),
    TASK_INT(attempt, 0, INT64_MAX, REQUIRED),
    TASK_INT(model_version, 0, LIMIT_ROUNDS, REQUIRED),
    TASK_TEXT(weights_url, 1, LIMIT_URL, REQUIRED),
    TASK_TEXT(weights_sha256, 64, 64, REQUIRED),
    TASK_TEXT(dataset, 0, LIMIT_NAME, NULLABLE),
    JSON_FIELD(struct worker_task, time_left_ms, JSON_FIELD_INT, NULLABLE),
};

static const struct json_field part_fields[] = {
    JSON_FIELD(struct parts, type, JSON_FIELD_CHOICE, .choices = type_names, REQUIRED),
    JSON_FIELD(struct parts, model, JSON_FIELD_OBJECT, REQUIRED),
    JSON_FIELD(struct parts, config, JSON_FIELD_OBJECT, REQUIRED),
    JSON_FIELD(struct parts, budget, JSON_FIELD_OBJECT, NULLABLE),
    JSON_FIELD(struct parts, want, JSON_FIELD_ARRAY, NULLABLE),
};

static const struct json_field config_fields[] = {
    TASK_INT(ordinal, 0, LIMIT_ORDINAL, REQUIRED),
    JSON_FIELD(struct worker_task, seed, JSON_FIELD_INT, REQUIRED),
    TASK_INT(local_epochs, 0, LIMIT_EPOCHS, NULLABLE),
    TASK_INT(local_steps, 0, LIMIT_STEPS, NULLABLE),
    TASK_INT(batch_size, 1, LIMIT_BATCH, REQUIRED),
    JSON_FIELD(struct worker_task, learning_rate, JSON_FIELD_DOUBLE, NULLABLE),
    JSON_FIELD(struct worker_task, proximal_mu, JSON_FIELD_DOUBLE, NULLABLE),
    JSON_FIELD(struct worker_task, accept_partial, JSON_FIELD_BOOL, NULLABLE),
    TASK_TEXT(optimizer, 1, LIMIT_NAME, NULLABLE),
};

/* Where the server says nothing, an optimizer's own defaults stand. */
#define SETTING(member) JSON_FIELD(struct optimizer, member, JSON_FIELD_DOUBLE, NULLABLE)
static const struct json_field optimizer_fields[] = {
    SETTING(momentum), SETTING(beta1),        SETTING(beta2),
    SETTING(epsilon),  SETTING(weight_decay), SETTING(clip_norm),
};

static const struct json_field budget_fields[] = {
    TASK_INT(max_steps, 0, LIMIT_STEPS, NULLABLE),
    JSON_FIELD(struct worker_task, max_seconds, JSON_FIELD_DOUBLE, NULLABLE),
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

void worker_task_init(struct worker_task *t)
{
    const struct optimizer momentum = optimizer_of(OPTIMIZER_MOMENTUM), adam = optimizer_of(OPTIMIZER_ADAM);
    *t = (struct worker_task){.task_id = "",
                              .run_id = "",
                              .device_id = "",
                              .weights_url = "",
                              .weights_sha256 = "",
                              .model = "",
                              .dataset = "",
                              .optimizer = "sgd",
                              .settings = {.momentum = momentum.momentum,
                                           .beta1 = adam.beta1,
                                           .beta2 = adam.beta2,
                                           .epsilon = adam.epsilon},
                              .batch_size = 1,
                              .max_steps = -1,
                              .max_seconds = NAN,
                              .accept_partial = true,
                              .time_left_ms = -1};
}

static enum err take_wants(const json_t *want, struct worker_task *out, struct fault *fault)
{
    for (size_t i = 0; i < json_array_size(want); i++) {
        const char *name = json_string_value(json_array_get(want, i));
        if (str_eq(name, "evaluation"))
            out->wants_evaluation = true;
        else if (str_eq(name, "gamma"))
            out->wants_gamma = true;
        else if (str_eq(name, "gradient"))
            out->wants_gradient = true;
        else
            return fault_set(fault, ERR_INVALID_FIELD, "want",
                             "asks for something this worker does not know (\"%.60s\"); update the worker",
                             name ? name : "no text");
    }
    return ERR_OK;
}

/* Compact text in the arena: what trainers are found by. */
static enum err take_model(const json_t *model, struct arena *arena, const char **out, struct fault *fault)
{
    char *text = NULL;
    enum err e = json_text(model, &text);
    if (!e) {
        *out = arena_strdup(arena, text);
        e = *out ? ERR_OK : ERR_NO_MEMORY;
    }
    free(text);
    return e ? fault_set(fault, e, "model", "not enough memory for the model's description") : ERR_OK;
}

static enum err check(const struct worker_task *t, struct fault *fault)
{
    if (!id_is_valid(t->task_id))
        return fault_set(fault, ERR_INVALID_FIELD, "task_id", "must be 32 lower-case hex digits");
    if (!id_is_valid(t->run_id))
        return fault_set(fault, ERR_INVALID_FIELD, "run_id", "must be 32 lower-case hex digits");
    if (t->weights_url[0] != '/' || t->weights_url[1] == '/')
        return fault_set(fault, ERR_INVALID_FIELD, "weights_url", "must be a path that begins with one '/'");
    if (t->type == WORK_TRAIN && t->local_epochs == 0 && t->local_steps == 0)
        return fault_set(fault, ERR_MISSING_FIELD, "config.local_epochs",
                         "neither local_epochs nor local_steps is set");
    return ERR_OK;
}

enum err worker_task_parse(const json_t *json, struct arena *arena, struct worker_task *out,
                           struct fault *fault)
{
    struct parts parts = {0};
    worker_task_init(out);
    enum err e =
        json_spec_parse(json, task_fields, COUNT(task_fields), JSON_IGNORE_UNKNOWN, "", arena, out, fault);
    if (!e)
        e = json_spec_parse(json, part_fields, COUNT(part_fields), JSON_IGNORE_UNKNOWN, "", arena, &parts,
                            fault);
    if (!e)
        e = json_spec_parse(parts.config, config_fields, COUNT(config_fields), JSON_IGNORE_UNKNOWN, "config.",
                            arena, out, fault);
    if (!e)
        e = json_spec_parse(parts.config, optimizer_fields, COUNT(optimizer_fields), JSON_IGNORE_UNKNOWN,
                            "config.", arena, &out->settings, fault);
    if (!e && parts.budget)
        e = json_spec_parse(parts.budget, budget_fields, COUNT(budget_fields), JSON_IGNORE_UNKNOWN, "budget.",
                            arena, out, fault);
    out->type = parts.type == WORK_TRAIN ? WORK_TRAIN : WORK_EVALUATE;
    if (!e)
        e = take_wants(parts.want, out, fault);
    if (!e)
        e = take_model(parts.model, arena, &out->model, fault);
    return e ? e : check(out, fault);
}
