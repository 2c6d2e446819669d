#include "worker/token_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/str.h"
#include "common/json/alphabet.h"

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

enum err token_check(const struct arch *arch, const struct dataset *data, struct fault *fault)
{
    const size_t known = dataset_num_tokens(data);
    enum err err = check_names(arch, data, fault);
    if (err || arch->input_shape.kind != SHAPE_TOKENS)
        return err;
    if (known == 0)
        return check_numbers(arch, data, fault);
    if (known <= (uint64_t)arch->layers[0].vocabulary)
        return ERR_OK;
    return fault_set(fault, ERR_INVALID_FIELD, "model.layers[0].vocabulary",
                     "the model has %lld tokens, data set \"%.80s\" has %zu characters: raise it",
                     (long long)arch->layers[0].vocabulary, dataset_name(data), known);
}
