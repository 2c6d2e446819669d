/* How unlike each other the devices are: stragglers by step budget, and what simulated time needs. */
#include <math.h>
#include "common/base/limits.h"
#include "common/json/json_num.h"
#include "common/json/json_spec.h"
#include "server/core/json_defaults.h"
#include "server/core/run_spec.h"

#define COUNT(a)  (sizeof(a) / sizeof *(a))
#define PREFIX    "systems."
#define SPEED_MIN 1e-9
#define SPEED_MAX 1e15
#define SIGMA_MAX 20

struct raw_systems {
    double straggler_fraction;
    bool has_stragglers;
    json_t *steps_per_s, *up_bytes_per_s, *down_bytes_per_s;
    const char *trace;
};

static const struct json_field fields[] = {
    {.name = "straggler_fraction",
     .kind = JSON_FIELD_DOUBLE,
     .offset = offsetof(struct raw_systems, straggler_fraction),
     .max = 1,
     .is_set_offset = (long)offsetof(struct raw_systems, has_stragglers)},
    JSON_FIELD(struct raw_systems, steps_per_s, JSON_FIELD_ANY),
    JSON_FIELD(struct raw_systems, up_bytes_per_s, JSON_FIELD_ANY),
    JSON_FIELD(struct raw_systems, down_bytes_per_s, JSON_FIELD_ANY),
    JSON_FIELD(struct raw_systems, trace, JSON_FIELD_TEXT, .min = 1, .max = LIMIT_TEXT, .allow_null = true),
};
static const struct json_field lognormal_fields[] = {
    JSON_FIELD(struct spread, median, JSON_FIELD_DOUBLE, .min = SPEED_MIN, .max = SPEED_MAX,
               .is_required = true),
    JSON_FIELD(struct spread, sigma, JSON_FIELD_DOUBLE, .max = SIGMA_MAX, .is_required = true),
};

static enum err spread_parse(json_t *value, const char *name, struct arena *arena, struct spread *out,
                             struct fault *fault)
{
    *out = (struct spread){.median = NAN};
    if (!value || json_is_null(value))
        return ERR_OK;
    json_t *lognormal = json_object_get(value, "lognormal");
    if (lognormal && json_object_size(value) == 1) {
        enum err e = json_spec_parse(lognormal, lognormal_fields, COUNT(lognormal_fields),
                                     JSON_REFUSE_UNKNOWN, "", arena, out, fault);
        return e && fault ? fault_within(fault, PREFIX "%s.lognormal", name) : e;
    }
    double speed = json_number_value(value);
    if (!json_is_number(value) || !(speed >= SPEED_MIN && speed <= SPEED_MAX)) {
        (void)fault_set(fault, ERR_INVALID_FIELD, name,
                        "must be a number above 0 (%g to %g), or {\"lognormal\": {\"median\": 50, "
                        "\"sigma\": 1}}",
                        SPEED_MIN, SPEED_MAX);
        return fault ? fault_within(fault, "systems") : ERR_INVALID_FIELD;
    }
    *out = (struct spread){.median = speed};
    return ERR_OK;
}

const char *systems_timed_field(const json_t *doc)
{
    static const char *const names[] = {"steps_per_s", "up_bytes_per_s", "down_bytes_per_s", "trace"};
    const json_t *systems = json_object_get(doc, "systems");
    for (size_t i = 0; i < COUNT(names); i++) {
        const json_t *value = json_object_get(systems, names[i]);
        if (value && !json_is_null(value))
            return names[i];
    }
    return NULL;
}

enum err systems_spec_parse(json_t *doc, struct arena *arena, struct systems_spec *out, struct fault *fault)
{
    json_t *section = json_object_get(doc, "systems");
    struct raw_systems raw = {.trace = ""};
    const struct spread none = {.median = NAN};
    *out = (struct systems_spec){
        .steps_per_s = none, .up_bytes_per_s = none, .down_bytes_per_s = none, .trace = ""};
    if (!section || json_is_null(section)) {
        (void)json_object_del(doc, "systems");
        return ERR_OK;
    }
    enum err e =
        json_spec_parse(section, fields, COUNT(fields), JSON_REFUSE_UNKNOWN, PREFIX, arena, &raw, fault);
    if (!e)
        e = spread_parse(raw.steps_per_s, "steps_per_s", arena, &out->steps_per_s, fault);
    if (!e)
        e = spread_parse(raw.up_bytes_per_s, "up_bytes_per_s", arena, &out->up_bytes_per_s, fault);
    if (!e)
        e = spread_parse(raw.down_bytes_per_s, "down_bytes_per_s", arena, &out->down_bytes_per_s, fault);
    out->trace = raw.trace;
    out->is_timed = systems_timed_field(doc) != NULL;
    /* With speeds the stragglers come from time, unless they are asked for as well. */
    out->has_stragglers = raw.has_stragglers || !out->is_timed;
    out->straggler_fraction = raw.straggler_fraction;
    if (!e && out->has_stragglers)
        e = json_fill_defaults(section, fields, 1, &raw);
    return e;
}
