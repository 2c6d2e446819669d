#include <string.h>
#include "server/core/device.h"

static const struct json_field device_fields[] = {
    JSON_FIELD(struct device_spec, name, JSON_FIELD_TEXT, .max = LIMIT_NAME),
    JSON_FIELD(struct device_spec, ordinal, JSON_FIELD_INT, .min = 0, .max = (double)LIMIT_ORDINAL,
               .allow_null = true),
    JSON_FIELD(struct device_spec, dataset, JSON_FIELD_TEXT, .min = 1, .max = LIMIT_NAME,
               .is_required = true),
    JSON_FIELD(struct device_spec, num_examples, JSON_FIELD_INT, .min = 0, .max = (double)LIMIT_EXAMPLES,
               .is_required = true),
    JSON_FIELD(struct device_spec, num_test_examples, JSON_FIELD_INT, .min = 0,
               .max = (double)LIMIT_EXAMPLES),
    JSON_FIELD(struct device_spec, input, JSON_FIELD_ARRAY, .max = LIMIT_TENSOR_DIMS, .allow_null = true),
    JSON_FIELD(struct device_spec, classes, JSON_FIELD_INT, .min = 0, .max = 1e9, .allow_null = true),
    JSON_FIELD(struct device_spec, labels, JSON_FIELD_OBJECT, .allow_null = true),
    JSON_FIELD(struct device_spec, capabilities, JSON_FIELD_OBJECT, .allow_null = true),
    /* Belongs to the registration of a single device; whoever made the token row has read it. */
    JSON_FIELD(struct device_spec, token_sha256, JSON_FIELD_TEXT, .max = LIMIT_NAME, .allow_null = true),
};

static enum err input_check(struct work *w, const json_t *input, const char *prefix)
{
    for (size_t i = 0; i < json_array_size(input); i++) {
        const json_t *dim = json_array_get(input, i);
        int64_t n = json_integer_value(dim);
        if (!json_is_integer(dim) || n < 1 || n > INT32_MAX) {
            (void)fault_set(w->fault, ERR_INVALID_FIELD, NULL,
                            "must be an array of positive integers, the shape of one example");
            return fault_within(w->fault, "%sinput", prefix);
        }
    }
    return ERR_OK;
}

enum err device_spec_parse(struct work *w, const json_t *body, const char *prefix, struct device_spec *out)
{
    *out = (struct device_spec){.name = "", .dataset = "", .token_sha256 = "", .ordinal = -1};
    enum err e = json_spec_parse(body, device_fields, sizeof device_fields / sizeof *device_fields,
                                 JSON_REFUSE_UNKNOWN, prefix, w->arena, out, w->fault);
    return e ? e : input_check(w, out->input, prefix);
}

enum err capabilities_read(struct work *w, json_t *capabilities, const char **out_text)
{
    *out_text = "{}";
    enum err e = capabilities ? json_to_arena(w->arena, json_incref(capabilities), out_text) : ERR_OK;
    if (!e && (json_object_size(capabilities) > LIMIT_LABELS || strlen(*out_text) > LIMIT_CAPABILITIES))
        return fault_set(w->fault, ERR_INVALID_FIELD, "capabilities",
                         "must have at most %d entries and %zu bytes", LIMIT_LABELS, LIMIT_CAPABILITIES);
    return e;
}

enum err labels_read(struct work *w, const json_t *labels, const char *field, const char **out_text)
{
    const char *key;
    json_t *value, *iterated = (json_t *)(uintptr_t)labels;
    *out_text = "{}";
    if (!labels)
        return ERR_OK;
    if (json_object_size(labels) > LIMIT_LABELS)
        return fault_set(w->fault, ERR_INVALID_FIELD, field, "must have at most %d labels", LIMIT_LABELS);
    json_object_foreach(
        iterated, key,
        value) if (!*key || strlen(key) > LIMIT_NAME || !json_is_string(value) ||
                   json_string_length(value) >
                       LIMIT_NAME) return fault_set(w->fault, ERR_INVALID_FIELD, field,
                                                    "label \"%.60s\" must be a string of at most %d bytes",
                                                    key, LIMIT_NAME);
    return json_to_arena(w->arena, json_incref(iterated), out_text);
}
