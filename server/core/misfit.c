#include "server/core/misfit.h"

#include <string.h>

#define VOCABULARY "vocabulary_sha256"

struct wanted_data wanted_data(const struct arch *arch)
{
    return (struct wanted_data){.arch = arch,
                                .vocabulary_sha256 = arch->vocabulary_sha256,
                                .vocabulary_of = *arch->vocabulary_sha256 ? "the run's model" : ""};
}

enum err device_vocabulary(struct work *w, const struct device_row *d, const char **out)
{
    json_t *told = NULL;
    *out = "";
    if (!strstr(d->capabilities, "\"" VOCABULARY "\"")) /* most tell nothing, and a run may have a million */
        return ERR_OK;
    enum err e = json_from_row(d->capabilities, &told);
    const char *text = json_string_value(json_object_get(told, VOCABULARY));
    if (!e && text)
        *out = arena_strdup(w->arena, text);
    json_decref(told);
    return e || *out ? e : ERR_NO_MEMORY;
}

enum err wanted_from(struct work *w, const struct device_row *d, struct wanted_data *wanted)
{
    if (*wanted->vocabulary_sha256)
        return ERR_OK;
    enum err e = device_vocabulary(w, d, &wanted->vocabulary_sha256);
    if (e || !*wanted->vocabulary_sha256)
        return e;
    wanted->vocabulary_of =
        arena_printf(w->arena, "device \"%.60s\" (ordinal %lld)", d->name, (long long)d->ordinal);
    return wanted->vocabulary_of ? ERR_OK : ERR_NO_MEMORY;
}

enum err device_other_vocabulary(struct work *w, const struct device_row *d, const struct wanted_data *wanted,
                                 const char **out)
{
    const char *own;
    *out = "";
    enum err e = device_vocabulary(w, d, &own);
    if (e || !*own || !*wanted->vocabulary_sha256 || strcmp(own, wanted->vocabulary_sha256) == 0)
        return e;
    *out =
        arena_printf(w->arena,
                     "device \"%.60s\" (ordinal %lld) has another vocabulary (SHA-256 %.12s...) than %s "
                     "(%.12s...): a token would stand for something else there. Give both the same: "
                     "`fedlane data vocabulary` prints that of data, for data.vocabulary or model.vocabulary",
                     d->name, (long long)d->ordinal, own, wanted->vocabulary_of, wanted->vocabulary_sha256);
    return *out ? ERR_OK : ERR_NO_MEMORY;
}

/* A list of features may be seen as any shape of so many; but one shape is not another. */
static bool is_same_shape(const json_t *input, const struct arch *arch, int64_t *out_features)
{
    const size_t n = json_array_size(input);
    bool is_same = true;
    *out_features = 1;
    for (size_t i = 0; i < n; i++) {
        const int64_t dim = json_integer_value(json_array_get(input, i));
        if (__builtin_mul_overflow(*out_features, dim, out_features))
            *out_features = INT64_MAX;
        is_same = is_same && (n == 1 || n != (size_t)arch->num_input_dims || dim == arch->input[i]);
    }
    return n == 0 || (is_same && *out_features == arch->num_features);
}

static enum err other_shape(struct work *w, const struct device_row *d, const struct arch *arch,
                            const char **out)
{
    json_t *input = NULL;
    int64_t features;
    *out = "";
    enum err e = json_from_row(d->input, &input);
    if (e)
        return e;
    if (!is_same_shape(input, arch, &features))
        *out = arena_printf(
            w->arena,
            "device \"%.60s\" (ordinal %lld) has examples of %lld features, %.100s; the model's "
            "input takes %lld: correct model.input or the dataset's name",
            d->name, (long long)d->ordinal, (long long)features, d->input, (long long)arch->num_features);
    else if (d->classes > arch->num_classes)
        *out = arena_printf(
            w->arena,
            "device \"%.60s\" (ordinal %lld) has %lld classes, the model tells %lld apart: give its last "
            "layer a unit for each",
            d->name, (long long)d->ordinal, (long long)d->classes, (long long)arch->num_classes);
    json_decref(input);
    return *out ? ERR_OK : ERR_NO_MEMORY;
}

enum err device_misfit(struct work *w, const struct device_row *d, const struct wanted_data *wanted,
                       const char **out)
{
    *out = "";
    enum err e = wanted->arch->has_layers ? other_shape(w, d, wanted->arch, out) : ERR_OK;
    return e || **out ? e : device_other_vocabulary(w, d, wanted, out);
}
