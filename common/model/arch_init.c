#include <math.h>
#include "common/base/rng.h"
#include "common/model/arch.h"

static void init_tensor(enum init_type init, const struct tensor_spec *spec, uint64_t key, float *out)
{
    double fan_out = (double)spec->shape[0];
    double fan_in = (double)spec->num_elements / fan_out;
    if (init == INIT_GLOROT_UNIFORM) {
        double s = sqrt(6.0 / (fan_in + fan_out));
        for (int64_t i = 0; i < spec->num_elements; i++)
            out[i] = (float)(s * (2.0 * rng_uniform(key, (uint64_t)i) - 1.0));
    } else {
        double deviation = sqrt(2.0 / fan_in);
        for (int64_t i = 0; i < spec->num_elements; i++)
            out[i] = (float)(deviation * rng_normal(key, (uint64_t)i));
    }
}

bool arch_begins_with_zeros(const struct arch *a, size_t tensor)
{
    const struct tensor_spec *spec = &a->tensors.items[tensor];
    return !dtype_is_float(spec->dtype) || spec->num_dims < 2 || a->init == INIT_ZEROS ||
           spec->num_elements == 0;
}

void arch_init_tensor(const struct arch *a, uint64_t seed, size_t tensor, float *out_values)
{
    const struct tensor_spec *spec = &a->tensors.items[tensor];
    for (int64_t i = 0; i < spec->num_elements; i++)
        out_values[i] = 0.0f;
    if (!arch_begins_with_zeros(a, tensor))
        init_tensor(a->init, spec, rng_key(seed, RNG_INIT_WEIGHTS, tensor, 0, 0), out_values);
}

enum err arch_init_params(const struct arch *a, uint64_t seed, float *out_params)
{
    for (size_t t = 0; t < a->tensors.count; t++)
        if (dtype_is_float(a->tensors.items[t].dtype))
            arch_init_tensor(a, seed, t, out_params + a->tensors.items[t].offset);
    return ERR_OK;
}
