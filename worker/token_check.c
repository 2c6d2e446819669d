#include "worker/token_check.h"

#include <math.h>
#include <stdlib.h>

/* One example, gathered into x. */
static enum err check_example(const struct arch *arch, const struct dataset *data, const real *x,
                              const struct device_data *device, size_t example, struct fault *fault)
{
    const int64_t vocabulary = arch->layers[0].vocabulary;
    const bool is_train = example < device->num_train;
    for (size_t k = 0; k < (size_t)arch->num_features; k++) {
        double token = (double)x[k];
        if (!(token >= 0 && token < (double)vocabulary && token == floor(token)))
            return fault_set(
                fault, ERR_INVALID_FIELD, "model.layers[0].vocabulary",
                "device %lld of data set \"%.80s\" has %g at position %zu of %s example %zu, but the "
                "model's tokens are whole numbers from 0 to %lld",
                (long long)device->ordinal, dataset_name(data), token, k, is_train ? "train" : "test",
                is_train ? example : example - device->num_train, (long long)vocabulary - 1);
    }
    return ERR_OK;
}

static enum err check_device(const struct arch *arch, const struct dataset *data,
                             const struct device_data *device, real *x, struct fault *fault)
{
    enum err err = ERR_OK;
    for (size_t i = 0; !err && i < device->num_train + device->num_test; i++) {
        int32_t label;
        bool is_train = i < device->num_train;
        dataset_gather_apart(data, device, is_train ? SPLIT_TRAIN : SPLIT_TEST,
                             is_train ? i : i - device->num_train, NULL, 1, x, (size_t)arch->num_features,
                             &label);
        err = check_example(arch, data, x, device, i, fault);
    }
    return err;
}

enum err token_check(const struct arch *arch, const struct dataset *data, struct fault *fault)
{
    if (arch->input_shape.kind != SHAPE_TOKENS)
        return ERR_OK;
    real *x = calloc((size_t)arch->num_features, sizeof *x);
    enum err err = x ? ERR_OK : fault_set(fault, ERR_NO_MEMORY, NULL, "out of memory for an example");
    for (size_t d = 0; !err && d < dataset_num_devices(data); d++)
        err = check_device(arch, data, dataset_device(data, d), x, fault);
    free(x);
    return err;
}
