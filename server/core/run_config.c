/* What of a run's spec may change while it goes on. */
#include <string.h>
#include "common/base/str.h"
#include "common/json/json_spec.h"
#include "server/core/run_spec.h"

static const char *const sections[] = {"training", "reporting", "evaluation"};
#define NUM_SECTIONS (sizeof sections / sizeof *sections)

json_t *run_config_of(const json_t *doc)
{
    json_t *config = json_pack("{s:{s:O}}", "strategy", "params",
                               json_object_get(json_object_get(doc, "strategy"), "params"));
    for (size_t i = 0; i < NUM_SECTIONS && config; i++)
        if (json_object_set(config, sections[i], json_object_get(doc, sections[i]))) {
            json_decref(config);
            config = NULL;
        }
    return config;
}

static enum err overlay(json_t *base, const json_t *patch, const char *path, struct fault *fault)
{
    if (!json_is_object(patch))
        return fault_set(fault, ERR_INVALID_FIELD, path, "must be an object");
    json_t *copy = json_clone(patch);
    enum err e = copy && !json_object_update(base, copy) ? ERR_OK : ERR_NO_MEMORY;
    json_decref(copy);
    return e;
}

static enum err apply_training(json_t *training, const json_t *patch)
{
    bool has_epochs = json_object_get(patch, "local_epochs") != NULL,
         has_steps = json_object_get(patch, "local_steps") != NULL;
    if (has_epochs != has_steps)
        (void)json_object_del(training, has_epochs ? "local_steps" : "local_epochs");
    training_forget(training, json_string_value(json_object_get(patch, "optimizer")));
    return ERR_OK;
}

static enum err apply_strategy(json_t *doc, const json_t *patch, struct fault *fault)
{
    if (!json_is_object(patch))
        return fault_set(fault, ERR_INVALID_FIELD, "strategy", "must be an object");
    const char *key;
    json_t *value, *iterated = (json_t *)(uintptr_t)patch;
    json_object_foreach(iterated, key, value)
    {
        if (strcmp(key, "params") != 0) {
            (void)fault_set(fault, ERR_UNKNOWN_FIELD, key,
                            "cannot change after the run was created; only strategy.params can");
            return fault_within(fault, "strategy");
        }
    }
    const json_t *params = json_object_get(patch, "params");
    return params ? overlay(json_object_get(json_object_get(doc, "strategy"), "params"), params,
                            "strategy.params", fault)
                  : ERR_OK;
}

enum err run_config_apply(json_t *doc, const json_t *patch, struct fault *fault)
{
    const char *key;
    json_t *value, *iterated = (json_t *)(uintptr_t)patch;
    if (!json_is_object(patch))
        return fault_set(fault, ERR_INVALID_FIELD, NULL,
                         "must be an object with training, strategy.params, reporting or evaluation");
    json_object_foreach(iterated, key, value)
    {
        enum err e = ERR_OK;
        bool is_known = strcmp(key, "strategy") == 0;
        if (is_known)
            e = apply_strategy(doc, value, fault);
        for (size_t i = 0; i < NUM_SECTIONS && !is_known; i++) {
            if (strcmp(key, sections[i]) != 0)
                continue;
            is_known = true;
            json_t *section = json_object_get(doc, key);
            e = i == 0 ? apply_training(section, value) : ERR_OK;
            if (!e)
                e = overlay(section, value, key, fault);
        }
        if (!is_known)
            return fault_set(fault, ERR_UNKNOWN_FIELD, key,
                             "cannot change after the run was created; training, strategy.params, reporting "
                             "and evaluation can");
        if (e)
            return e;
    }
    return ERR_OK;
}
