#include "cli/simulate/sim_vocabulary.h"
#include <string.h>
#include "cli/simulate/sim.h"
#include "common/base/limits.h"
#include "common/base/str.h"
#include "common/model/arch.h"

/* Does a model of its own layers read tokens that it does not name? */
static bool is_nameless(const json_t *model)
{
    struct arch *arch = NULL;
    if (json_object_get(model, "vocabulary") || arch_parse(model, &arch, NULL) != ERR_OK)
        return false;
    bool is = arch->has_layers && arch->input_shape.kind == SHAPE_TOKENS && !*arch->vocabulary_sha256;
    arch_free(arch);
    return is;
}

/* A model's own is at most LIMIT_VOCABULARY_TEXT bytes; a longer one is named by its hash. */
static json_t *named(const struct dataset *data)
{
    const char *text = dataset_vocabulary(data);
    return text && strlen(text) <= LIMIT_VOCABULARY_TEXT
               ? json_string(text)
               : json_sprintf("sha256:%s", dataset_vocabulary_sha256(data));
}

enum err sim_settle_vocabulary(json_t *spec, struct dataset **out_data, struct fault *fault)
{
    json_t *model = json_object_get(spec, "model");
    bool is_asked = str_eq(json_string_value(json_object_get(model, "vocabulary")), "data");
    *out_data = NULL;
    if (!json_is_object(model) || (!is_asked && !is_nameless(model)))
        return ERR_OK;
    enum err e = sim_load_data(spec, out_data, fault);
    if (e)
        return e;
    if (*dataset_vocabulary_sha256(*out_data))
        return json_object_set_new(model, "vocabulary", named(*out_data)) ? ERR_NO_MEMORY : ERR_OK;
    return is_asked ? fault_set(fault, ERR_INVALID_FIELD, "model.vocabulary",
                                "the data have none: their features are plain numbers")
                    : ERR_OK;
}
