#include "tests/fuzz/data.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/arena.h"
#include "common/base/str.h"
#include "common/data/dataset.h"
#include "common/data/source.h"
#include "common/json/json_spec.h"

static void prove_split(const struct dataset *d, const struct device_data *device, enum data_split split)
{
    size_t n = split == SPLIT_TRAIN ? device->num_train : device->num_test;
    size_t features = dataset_num_features(d), some = n < 64 ? n : 64;
    int classes = dataset_num_classes(d);
    int64_t *counts = calloc((size_t)classes, sizeof *counts), total = 0;
    real *x = malloc((some * features + 1) * sizeof *x);
    int32_t *y = malloc((some + 1) * sizeof *y);
    PROVE(counts && x && y);
    dataset_label_counts(d, device, split, counts);
    for (int c = 0; c < classes; c++)
        total += counts[c];
    PROVE(total == (int64_t)n);
    dataset_gather(d, device, split, n - some, NULL, some, x, y);
    for (size_t i = 0; i < some; i++)
        PROVE(y[i] >= 0 && y[i] < classes && counts[y[i]] > 0);
    const size_t tokens = dataset_num_tokens(d);
    for (size_t i = 0; i < some * features; i++)
        PROVE(isfinite(x[i]) && (tokens == 0 || (x[i] >= 0 && x[i] < (real)tokens && x[i] == floorf(x[i]))));
    free(counts);
    free(x);
    free(y);
}

/* Each character once, and those that were read as text are the tokens and the classes. */
static void prove_vocabulary(const struct dataset *d)
{
    const char *text = dataset_vocabulary(d);
    size_t len = text ? strlen(text) : 0, characters = 0;
    PROVE((text || dataset_num_tokens(d) == 0) && (!text || *dataset_vocabulary_sha256(d)));
    for (size_t i = 0, n; i < len; i += n) {
        n = utf8_sequence(text + i, len - i);
        PROVE(n > 0 && memmem(text + i + n, len - i - n, text + i, n) == NULL);
        characters++;
    }
    PROVE(dataset_num_tokens(d) == 0 ||
          (characters == dataset_num_tokens(d) && characters == (size_t)dataset_num_classes(d)));
}

static void prove_promises(const struct dataset *d)
{
    int64_t shape[LIMIT_TENSOR_DIMS], last = -1, product = 1;
    int dims = dataset_input(d, shape);
    for (int i = 0; i < dims; i++)
        product *= shape[i];
    PROVE(dims >= 1 && (size_t)product == dataset_num_features(d) && product >= 1);
    PROVE(dataset_num_classes(d) >= 1 && dataset_num_devices(d) >= 1);
    prove_vocabulary(d);
    for (size_t i = 0; i < dataset_num_devices(d); i++) {
        const struct device_data *device = dataset_device(d, i);
        PROVE(device->ordinal > last && device->num_train >= 1);
        PROVE(dataset_find(d, device->ordinal) == device);
        PROVE(device->name[0] == '\0' || source_name_is_good(device->name, strlen(device->name)));
        last = device->ordinal;
        if (i < 32) {
            prove_split(d, device, SPLIT_TRAIN);
            prove_split(d, device, SPLIT_TEST);
        }
    }
}

bool fuzz_dataset(const json_t *spec)
{
    struct dataset *d = NULL;
    struct fault fault = FAULT_NONE;
    enum err e = dataset_load(spec, 7, &d, &fault);
    fuzz_prove_told(e, &fault);
    PROVE(!e || err_http_status(e) == 400 || e == ERR_BAD_FILE || e == ERR_NO_MEMORY);
    if (!e)
        prove_promises(d);
    dataset_free(d);
    return !e;
}

bool fuzz_dataset_text(const char *text)
{
    json_t *spec = json_loads(text, 0, NULL);
    PROVE(spec != NULL);
    bool is_loaded = fuzz_dataset(spec);
    json_decref(spec);
    return is_loaded;
}
