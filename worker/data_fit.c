#include "worker/data_fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/str.h"
#include "common/json/alphabet.h"

/* -- shapes ---------------------------------------------------------------------------------------------- */

static const char *dims_text(const int64_t *dims, int n, char out[160])
{
    size_t len = 0;
    for (int i = 0; i < n && len < 140; i++)
        len += (size_t)snprintf(out + len, 160 - len, "%s%lld", i ? ", " : "[", (long long)dims[i]);
    (void)snprintf(out + len, 160 - len, "]");
    return out;
}

/* A list of features may be seen as any shape of so many; but one shape is not another. */
static enum err check_shape(const struct arch *arch, const struct dataset *data, struct fault *fault)
{
    char a[160], b[160];
    int64_t own[LIMIT_TENSOR_DIMS];
    const int n = dataset_input(data, own);
    bool is_same = (int64_t)dataset_num_features(data) == arch->num_features;
    if (n > 1 && n == arch->num_input_dims)
        is_same = memcmp(own, arch->input, (size_t)n * sizeof *own) == 0;
    if (is_same)
        return ERR_OK;
    return fault_set(fault, ERR_INVALID_FIELD, "model.input",
                     "the model takes %lld features, %s; an example of data set \"%.80s\" has %zu, %s%s",
                     (long long)arch->num_features, dims_text(arch->input, arch->num_input_dims, a),
                     dataset_name(data), dataset_num_features(data), dims_text(own, n, b),
                     n == 2 && arch->num_input_dims == 2 && own[0] == arch->input[0]
                         ? ": are data.vectors of another width than the model wants?"
                         : "");
}

static enum err check_classes(const struct arch *arch, const struct dataset *data, struct fault *fault)
{
    if (dataset_num_classes(data) <= arch->num_classes)
        return ERR_OK;
    return fault_set(fault, ERR_INVALID_FIELD, "model.layers",
                     "the model tells %lld classes apart, data set \"%.80s\" has %d: give the last layer a "
                     "unit for each, with softmax_cross_entropy",
                     (long long)arch->num_classes, dataset_name(data), dataset_num_classes(data));
}

/* -- names ----------------------------------------------------------------------------------------------- */

#define REMEDY                                                                                               \
    "; give the data the run's in data.vocabulary, or the run the data's in model.vocabulary: `fedlane "     \
    "data "                                                                                                  \
    "vocabulary` prints them, and \"data\" stands for them in fedlane simulate"

/* "b" (U+0062), or that there is none. */
static const char *character_at(const char *text, size_t len, char shown[ALPHABET_SHOWN])
{
    return len > 0 ? alphabet_shown(utf8_decode(text, len), shown) : "none";
}

/* Both are UTF-8, and differ. */
static enum err differ(const char *run, const struct dataset *data, struct fault *fault)
{
    const char *own = dataset_vocabulary(data);
    char a[ALPHABET_SHOWN], b[ALPHABET_SHOWN];
    for (size_t i = 0;; i++) {
        const size_t n = utf8_sequence(run, strlen(run)), m = utf8_sequence(own, strlen(own));
        if (n != m || memcmp(run, own, n) != 0)
            return fault_set(fault, ERR_INVALID_FIELD, "model.vocabulary",
                             "token %zu of the run is %s, of data set \"%.80s\" %s" REMEDY, i,
                             character_at(run, n, a), dataset_name(data), character_at(own, m, b));
        run += n;
        own += m;
    }
}

static enum err check_names(const struct arch *arch, const struct dataset *data, struct fault *fault)
{
    const char *own = dataset_vocabulary_sha256(data);
    if (!*arch->vocabulary_sha256 || !*own || str_eq(own, arch->vocabulary_sha256))
        return ERR_OK;
    if (arch->vocabulary && dataset_vocabulary(data))
        return differ(arch->vocabulary, data, fault);
    return fault_set(fault, ERR_INVALID_FIELD, "model.vocabulary",
                     "the run's has the SHA-256 %s, data set \"%.80s\" has %s with %s" REMEDY,
                     arch->vocabulary_sha256, dataset_name(data),
                     dataset_vocabulary(data) ? "characters" : "word vectors", own);
}

/* -- numbers --------------------------------------------------------------------------------------------- */

/* One example, gathered into x. */
static enum err check_example(const struct arch *arch, const struct dataset *data, const real *x,
                              const struct device_data *device, enum data_split split, size_t example,
                              struct fault *fault)
{
    const int64_t vocabulary = arch->layers[0].vocabulary;
    char place[DATASET_PLACE];
    for (size_t k = 0; k < (size_t)arch->num_features; k++) {
        double token = (double)x[k];
        if (!(token >= 0 && token < (double)vocabulary && token == floor(token)))
            return fault_set(
                fault, ERR_INVALID_FIELD, "model.layers[0].vocabulary",
                "%sposition %zu is %g, but the model's tokens are whole numbers from 0 to %lld: raise the "
                "embedding's vocabulary, or correct the data (device %lld%s%.60s of \"%.60s\", %s example "
                "%zu)",
                dataset_place(data, device, split, example, place), k, token, (long long)vocabulary - 1,
                (long long)device->ordinal, device->name[0] ? ", " : "", device->name, dataset_name(data),
                split == SPLIT_TRAIN ? "train" : "test", example);
    }
    return ERR_OK;
}

static enum err check_split(const struct arch *arch, const struct dataset *data,
                            const struct device_data *device, enum data_split split, real *x,
                            struct fault *fault)
{
    const size_t n = split == SPLIT_TRAIN ? device->num_train : device->num_test;
    enum err err = ERR_OK;
    for (size_t i = 0; !err && i < n; i++) {
        int32_t label;
        dataset_gather_apart(data, device, split, i, NULL, 1, x, (size_t)arch->num_features, &label);
        err = check_example(arch, data, x, device, split, i, fault);
    }
    return err;
}

static enum err check_numbers(const struct arch *arch, const struct dataset *data, struct fault *fault)
{
    real *x = calloc((size_t)arch->num_features, sizeof *x);
    enum err err = ERR_OK;
    if (!x)
        return fault_set(fault, ERR_NO_MEMORY, NULL, "out of memory for an example");
    for (size_t d = 0; !err && d < dataset_num_devices(data); d++) {
        const struct device_data *device = dataset_device(data, d);
        err = check_split(arch, data, device, SPLIT_TRAIN, x, fault);
        if (!err)
            err = check_split(arch, data, device, SPLIT_TEST, x, fault);
    }
    free(x);
    return err;
}

static enum err check_tokens(const struct arch *arch, const struct dataset *data, struct fault *fault)
{
    const size_t known = dataset_num_tokens(data);
    if (arch->input_shape.kind != SHAPE_TOKENS)
        return ERR_OK;
    if (known == 0)
        return check_numbers(arch, data, fault);
    if (known <= (uint64_t)arch->layers[0].vocabulary)
        return ERR_OK;
    return fault_set(fault, ERR_INVALID_FIELD, "model.layers[0].vocabulary",
                     "the model has %lld tokens, data set \"%.80s\" has %zu characters: raise it",
                     (long long)arch->layers[0].vocabulary, dataset_name(data), known);
}

enum err data_fit(const struct arch *arch, const struct dataset *data, struct fault *fault)
{
    enum err err = check_shape(arch, data, fault);
    if (!err)
        err = check_names(arch, data, fault); /* which says more than that there are too many classes */
    if (!err)
        err = check_classes(arch, data, fault);
    return err ? err : check_tokens(arch, data, fault);
}
