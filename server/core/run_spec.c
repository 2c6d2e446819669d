#include "server/core/run_spec.h"

#include <stdio.h>
#include <string.h>
#include "common/base/limits.h"
#include "common/base/str.h"
#include "common/json/json_spec.h"
#include "common/model/arch.h"
#include "server/core/json_defaults.h"

#define COUNT(a)                  (sizeof(a) / sizeof *(a))
#define DEFAULT_DEVICES_PER_ROUND 10

static const char *const too_few[] = {"extend", "skip", "fail", NULL};
static const char *const evaluate_on[] = {"selected", "all_devices", "none", NULL};
static const char *const keep_updates[] = {"round", "all", NULL};

struct raw_spec {
    const char *experiment, *name, *dataset;
    int64_t seed, num_rounds;
    bool autostart;
    json_t *model, *strategy, *training, *selection, *reporting, *evaluation, *systems, *retention, *data;
};
struct raw_strategy {
    const char *name;
    json_t *params;
};
struct raw_retention {
    const char *keep_models;
    int keep_updates;
};

static const struct json_field top_fields[] = {
    JSON_FIELD(struct raw_spec, experiment, JSON_FIELD_TEXT, .min = 1, .max = LIMIT_NAME),
    JSON_FIELD(struct raw_spec, name, JSON_FIELD_TEXT, .max = LIMIT_NAME),
    JSON_FIELD(struct raw_spec, dataset, JSON_FIELD_TEXT, .max = LIMIT_NAME, .allow_null = true),
    JSON_FIELD(struct raw_spec, seed, JSON_FIELD_INT, .min = 0, .max = 9007199254740992.0),
    JSON_FIELD(struct raw_spec, num_rounds, JSON_FIELD_INT, .min = 1, .max = LIMIT_ROUNDS,
               .is_required = true),
    JSON_FIELD(struct raw_spec, autostart, JSON_FIELD_BOOL),
    JSON_FIELD(struct raw_spec, model, JSON_FIELD_OBJECT, .is_required = true),
    JSON_FIELD(struct raw_spec, strategy, JSON_FIELD_OBJECT, .allow_null = true),
    JSON_FIELD(struct raw_spec, training, JSON_FIELD_OBJECT, .allow_null = true),
    JSON_FIELD(struct raw_spec, selection, JSON_FIELD_OBJECT, .allow_null = true),
    JSON_FIELD(struct raw_spec, reporting, JSON_FIELD_OBJECT, .allow_null = true),
    JSON_FIELD(struct raw_spec, evaluation, JSON_FIELD_OBJECT, .allow_null = true),
    JSON_FIELD(struct raw_spec, systems, JSON_FIELD_OBJECT, .allow_null = true),
    JSON_FIELD(struct raw_spec, retention, JSON_FIELD_OBJECT, .allow_null = true),
    JSON_FIELD(struct raw_spec, data, JSON_FIELD_OBJECT, .allow_null = true),
};
static const struct json_field strategy_fields[] = {
    JSON_FIELD(struct raw_strategy, name, JSON_FIELD_TEXT, .min = 1, .max = LIMIT_NAME),
    JSON_FIELD(struct raw_strategy, params, JSON_FIELD_OBJECT, .allow_null = true),
};
static const struct json_field selection_fields[] = {
    JSON_FIELD(struct selection_spec, devices_per_round, JSON_FIELD_INT, .min = 1,
               .max = LIMIT_DEVICES_PER_RUN),
    JSON_FIELD(struct selection_spec, population, JSON_FIELD_INT, .min = 1, .max = LIMIT_DEVICES_PER_RUN,
               .allow_null = true),
    JSON_FIELD(struct selection_spec, over_selection, JSON_FIELD_DOUBLE, .min = 1, .max = 100),
    JSON_FIELD(struct selection_spec, require_labels, JSON_FIELD_OBJECT, .allow_null = true),
};
static const struct json_field reporting_fields[] = {
    JSON_FIELD(struct reporting_spec, min_updates, JSON_FIELD_INT, .min = 1, .max = LIMIT_DEVICES_PER_RUN),
    JSON_FIELD(struct reporting_spec, deadline_s, JSON_FIELD_DOUBLE, .min = 0, .max = 31536000),
    JSON_FIELD(struct reporting_spec, grace_s, JSON_FIELD_DOUBLE, .min = 0, .max = 31536000),
    JSON_FIELD(struct reporting_spec, on_too_few, JSON_FIELD_CHOICE, .choices = too_few),
};
static const struct json_field evaluation_fields[] = {
    JSON_FIELD(struct evaluation_spec, every, JSON_FIELD_INT, .min = 1, .max = LIMIT_ROUNDS),
    JSON_FIELD(struct evaluation_spec, on, JSON_FIELD_CHOICE, .choices = evaluate_on),
    JSON_FIELD(struct evaluation_spec, gamma, JSON_FIELD_BOOL),
    JSON_FIELD(struct evaluation_spec, dissimilarity, JSON_FIELD_BOOL),
    JSON_FIELD(struct evaluation_spec, grad_variance, JSON_FIELD_BOOL),
};
static const struct json_field retention_fields[] = {
    JSON_FIELD(struct raw_retention, keep_models, JSON_FIELD_TEXT, .min = 1, .max = 40),
    JSON_FIELD(struct raw_retention, keep_updates, JSON_FIELD_CHOICE, .choices = keep_updates),
};

/* The object of a section; an empty one where it is left out, so that the faults of its required fields name
 * them. */
static enum err section_get(json_t *doc, const char *name, json_t **out)
{
    *out = json_object_get(doc, name);
    if (*out && !json_is_null(*out))
        return ERR_OK;
    *out = json_object();
    return json_object_set_new(doc, name, *out) ? ERR_NO_MEMORY : ERR_OK;
}

static enum err section_parse(json_t *doc, const char *name, const struct json_field *fields, size_t n,
                              struct arena *arena, void *out, struct fault *fault)
{
    json_t *section = NULL;
    char prefix[32];
    (void)snprintf(prefix, sizeof prefix, "%s.", name);
    enum err e = section_get(doc, name, &section);
    return e ? e : json_spec_parse(section, fields, n, JSON_REFUSE_UNKNOWN, prefix, arena, out, fault);
}

static enum err strategy_parse(json_t *doc, struct arena *arena, struct run_spec *out, struct fault *fault)
{
    struct raw_strategy raw = {.name = "fedprox"};
    enum err e = section_parse(doc, "strategy", strategy_fields, COUNT(strategy_fields), arena, &raw, fault);
    if (e)
        return e;
    out->strategy = strategy_find(raw.name);
    if (!out->strategy) {
        char known[200];
        strategy_names(known, sizeof known);
        return fault_set(fault, ERR_INVALID_FIELD, "strategy.name",
                         "there is no strategy \"%.60s\"; there are %s", raw.name, known);
    }
    json_t *strategy = json_object_get(doc, "strategy"), *params = NULL;
    e = json_fill_defaults(strategy, strategy_fields, COUNT(strategy_fields), &raw);
    if (!e)
        e = section_get(strategy, "params", &params);
    return e ? e : out->strategy->configure(params, arena, &out->params, fault);
}

static enum err training_parse(json_t *doc, struct arena *arena, struct run_spec *out, struct fault *fault)
{
    json_t *section = NULL;
    enum err e = section_get(doc, "training", &section);
    return e ? e : training_spec_parse(section, out->num_rounds, arena, &out->training, fault);
}

static enum err labels_check(const json_t *labels, struct fault *fault)
{
    const char *key;
    json_t *value;
    if (json_object_size(labels) > LIMIT_LABELS)
        return fault_set(fault, ERR_INVALID_FIELD, "selection.require_labels", "must have at most %d labels",
                         LIMIT_LABELS);
    json_t *iterated = (json_t *)(uintptr_t)labels;
    json_object_foreach(iterated, key, value) if (!json_is_string(value)) return fault_set(
        fault, ERR_INVALID_FIELD, "selection.require_labels", "label \"%.60s\" must be a string", key);
    return ERR_OK;
}

static enum err selection_parse(json_t *doc, struct arena *arena, struct selection_spec *out,
                                struct fault *fault)
{
    *out = (struct selection_spec){.devices_per_round = DEFAULT_DEVICES_PER_ROUND, .over_selection = 1};
    enum err e =
        section_parse(doc, "selection", selection_fields, COUNT(selection_fields), arena, out, fault);
    if (e)
        return e;
    json_t *section = json_object_get(doc, "selection");
    if (!json_object_get(section, "devices_per_round") && out->population > 0 &&
        out->population < out->devices_per_round)
        out->devices_per_round = out->population;
    if (out->population > 0 && out->devices_per_round > out->population)
        return fault_set(fault, ERR_INVALID_FIELD, "selection.devices_per_round",
                         "%lld devices cannot be selected from a population of %lld: lower it or raise "
                         "selection.population",
                         (long long)out->devices_per_round, (long long)out->population);
    e = labels_check(out->require_labels, fault);
    if (!e)
        e = json_fill_defaults(section, selection_fields, COUNT(selection_fields), out);
    if (!e && out->population == 0)
        (void)json_object_del(section, "population");
    return e;
}

static enum err reporting_parse(json_t *doc, struct arena *arena, const struct selection_spec *selection,
                                struct reporting_spec *out, struct fault *fault)
{
    *out = (struct reporting_spec){
        .min_updates = 1, .deadline_s = 600, .grace_s = 5, .on_too_few = TOO_FEW_EXTEND};
    enum err e =
        section_parse(doc, "reporting", reporting_fields, COUNT(reporting_fields), arena, out, fault);
    if (e)
        return e;
    if (out->min_updates > selection->devices_per_round)
        return fault_set(fault, ERR_INVALID_FIELD, "reporting.min_updates",
                         "%lld updates cannot come from %lld devices: at most selection.devices_per_round",
                         (long long)out->min_updates, (long long)selection->devices_per_round);
    return json_fill_defaults(json_object_get(doc, "reporting"), reporting_fields, COUNT(reporting_fields),
                              out);
}

static enum err evaluation_parse(json_t *doc, struct arena *arena, const struct run_spec *spec,
                                 struct evaluation_spec *out, struct fault *fault)
{
    bool needs_loss = spec->strategy->needs_loss(&spec->params);
    /* f(w_t) and f(w_t-1) compare only over the same devices. */
    *out = (struct evaluation_spec){.every = 1, .on = needs_loss ? EVALUATE_ALL_DEVICES : EVALUATE_SELECTED};
    enum err e =
        section_parse(doc, "evaluation", evaluation_fields, COUNT(evaluation_fields), arena, out, fault);
    if (e)
        return e;
    if (needs_loss && out->on == EVALUATE_NONE)
        return fault_set(
            fault, ERR_INVALID_FIELD, "evaluation.on",
            "a dynamic proximal_mu follows the train loss: use \"all_devices\", or a fixed proximal_mu");
    if (needs_loss && out->every != 1)
        return fault_set(fault, ERR_INVALID_FIELD, "evaluation.every",
                         "a dynamic proximal_mu follows the train loss of every round: must be 1");
    return json_fill_defaults(json_object_get(doc, "evaluation"), evaluation_fields, COUNT(evaluation_fields),
                              out);
}

static enum err retention_parse(json_t *doc, struct arena *arena, struct retention_spec *out,
                                struct fault *fault)
{
    struct raw_retention raw = {.keep_models = "last:5"};
    enum err e =
        section_parse(doc, "retention", retention_fields, COUNT(retention_fields), arena, &raw, fault);
    if (e)
        return e;
    *out = (struct retention_spec){.keep_updates = raw.keep_updates == 1};
    if (strcmp(raw.keep_models, "all") != 0 &&
        (!str_has_prefix(raw.keep_models, "last:") || str_to_i64(raw.keep_models + 5, &out->keep_models) ||
         out->keep_models < 1))
        return fault_set(fault, ERR_INVALID_FIELD, "retention.keep_models",
                         "must be \"all\" or \"last:N\" with N of at least 1, but is \"%.40s\"",
                         raw.keep_models);
    return json_fill_defaults(json_object_get(doc, "retention"), retention_fields, COUNT(retention_fields),
                              &raw);
}

/* A run asks for the data set that its `data` would make: its name, by default its source. */
static const char *dataset_of_data(const json_t *data)
{
    const char *name = json_string_value(json_object_get(data, "name"));
    if (!name)
        name = json_string_value(json_object_get(data, "source"));
    return name && strlen(name) <= LIMIT_NAME ? name : "";
}

/* What is stored has the layers themselves: a preset may mean others in a later version. */
static enum err model_expand(json_t *doc, struct run_spec *out, struct fault *fault)
{
    json_t *model = NULL;
    enum err e = arch_expand(json_object_get(doc, "model"), &model, fault);
    if (e)
        return e;
    out->model = model;
    return json_object_set_new(doc, "model", model) ? ERR_NO_MEMORY : ERR_OK;
}

enum err run_spec_parse(json_t *doc, struct arena *arena, struct run_spec *out, struct fault *fault)
{
    struct raw_spec raw = {.experiment = "Default", .name = "", .dataset = "", .autostart = true};
    *out = (struct run_spec){0};
    enum err e =
        json_spec_parse(doc, top_fields, COUNT(top_fields), JSON_REFUSE_UNKNOWN, "", arena, &raw, fault);
    if (e)
        return e;
    if (raw.data && !*raw.dataset)
        raw.dataset = dataset_of_data(raw.data);
    e = json_fill_defaults(doc, top_fields, COUNT(top_fields), &raw);
    out->experiment = raw.experiment;
    out->name = raw.name;
    out->dataset = arena_strdup(arena, raw.dataset);
    out->seed = raw.seed;
    out->num_rounds = raw.num_rounds;
    out->autostart = raw.autostart;
    if (!e)
        e = model_expand(doc, out, fault);
    if (!e)
        e = out->dataset ? strategy_parse(doc, arena, out, fault) : ERR_NO_MEMORY;
    if (!e)
        e = training_parse(doc, arena, out, fault);
    if (!e)
        e = selection_parse(doc, arena, &out->selection, fault);
    if (!e)
        e = reporting_parse(doc, arena, &out->selection, &out->reporting, fault);
    if (!e)
        e = evaluation_parse(doc, arena, out, &out->evaluation, fault);
    if (!e)
        e = systems_spec_parse(doc, arena, &out->systems, fault);
    return e ? e : retention_parse(doc, arena, &out->retention, fault);
}
