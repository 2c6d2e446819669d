#include "common/model/arch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/rng.h"
#include "common/json/json_spec.h"

static const char *const layer_names[] = {"dense", "relu", NULL};
static const char *const loss_names[] = {"softmax_cross_entropy", NULL};
static const char *const init_names[] = {"zeros", "glorot_uniform", "he_normal", NULL};

#define MAX_UNITS 1e9 /* a first bound; the tensors' sizes are checked exactly */

struct model_fields {
    json_t *input, *layers, *tensors;
    int loss, init;
    bool has_init;
};

static const struct json_field layered_fields[] = {
    JSON_FIELD(struct model_fields, input, JSON_FIELD_ARRAY, .is_required = true, .min = 1,
               .max = LIMIT_TENSOR_DIMS),
    JSON_FIELD(struct model_fields, layers, JSON_FIELD_ARRAY, .is_required = true, .min = 1,
               .max = LIMIT_LAYERS),
    JSON_FIELD(struct model_fields, loss, JSON_FIELD_CHOICE, .choices = loss_names),
    JSON_FIELD(struct model_fields, init, JSON_FIELD_CHOICE, .choices = init_names),
};

static const struct json_field tensor_only_fields[] = {
    JSON_FIELD(struct model_fields, tensors, JSON_FIELD_ARRAY, .is_required = true, .min = 1,
               .max = LIMIT_TENSORS),
    JSON_FIELD(struct model_fields, init, JSON_FIELD_CHOICE, .choices = init_names),
};

struct layer_fields {
    int type;
    int64_t units;
};

static const struct json_field layer_type_fields[] = {
    JSON_FIELD(struct layer_fields, type, JSON_FIELD_CHOICE, .is_required = true, .choices = layer_names),
};

static const struct json_field dense_fields[] = {
    JSON_FIELD(struct layer_fields, type, JSON_FIELD_CHOICE, .is_required = true, .choices = layer_names),
    JSON_FIELD(struct layer_fields, units, JSON_FIELD_INT, .is_required = true, .min = 1, .max = MAX_UNITS),
};

struct tensor_fields {
    const char *name, *dtype;
    json_t *shape;
};

static const struct json_field tensor_fields[] = {
    JSON_FIELD(struct tensor_fields, name, JSON_FIELD_TEXT, .is_required = true, .min = 1,
               .max = LIMIT_TENSOR_NAME),
    JSON_FIELD(struct tensor_fields, shape, JSON_FIELD_ARRAY, .is_required = true, .max = LIMIT_TENSOR_DIMS),
    JSON_FIELD(struct tensor_fields, dtype, JSON_FIELD_TEXT, .min = 1, .max = 8),
};

#define COUNT(a) (sizeof(a) / sizeof *(a))

const char *layer_type_name(enum layer_type t)
{
    return layer_names[t];
}

static enum err parse_dims(const json_t *list, int64_t least, const char *field, int64_t *out, int *out_num,
                           struct fault *fault)
{
    *out_num = (int)json_array_size(list);
    for (int i = 0; i < *out_num; i++) {
        const json_t *dim = json_array_get(list, (size_t)i);
        if (!json_is_integer(dim) || json_integer_value(dim) < least)
            return fault_set(fault, ERR_INVALID_FIELD, field, "dimension %d must be an integer, %lld or more",
                             i, (long long)least);
        out[i] = json_integer_value(dim);
    }
    return ERR_OK;
}

static enum err parse_input(struct arch *a, const json_t *input, struct fault *fault)
{
    enum err err = parse_dims(input, 1, "model.input", a->input, &a->num_input_dims, fault);
    if (err)
        return err;
    a->num_features = 1;
    for (int i = 0; i < a->num_input_dims; i++) {
        if (__builtin_mul_overflow(a->num_features, a->input[i], &a->num_features) ||
            a->num_features > (int64_t)MAX_UNITS)
            return fault_set(fault, ERR_INVALID_FIELD, "model.input", "an example has at most %.0f features",
                             MAX_UNITS);
    }
    return ERR_OK;
}

static enum err add_dense(struct arch *a, size_t index, struct arch_layer *layer, struct fault *fault)
{
    char name[32];
    int64_t shape[2] = {layer->num_outputs, layer->num_inputs};
    (void)snprintf(name, sizeof name, "%zu.weight", index);
    layer->weight_tensor = (int)a->tensors.count;
    enum err err = tensor_table_add(&a->tensors, name, DTYPE_F32, shape, 2, fault);
    if (!err) {
        (void)snprintf(name, sizeof name, "%zu.bias", index);
        layer->bias_tensor = (int)a->tensors.count;
        err = tensor_table_add(&a->tensors, name, DTYPE_F32, shape, 1, fault);
    }
    if (err && fault)
        (void)snprintf(fault->field, sizeof fault->field, "model.layers[%zu].units", index);
    return err;
}

static enum err parse_layer(struct arch *a, size_t index, const json_t *value, int64_t num_inputs,
                            struct arena *arena, struct fault *fault)
{
    struct layer_fields fields = {0};
    struct arch_layer *layer = &a->layers[index];
    char prefix[64];
    (void)snprintf(prefix, sizeof prefix, "model.layers[%zu].", index);
    enum err err = json_spec_parse(value, layer_type_fields, COUNT(layer_type_fields), JSON_IGNORE_UNKNOWN,
                                   prefix, arena, &fields, fault);
    if (err)
        return err;
    *layer = (struct arch_layer){.type = (enum layer_type)fields.type,
                                 .num_inputs = num_inputs,
                                 .num_outputs = num_inputs,
                                 .weight_tensor = -1,
                                 .bias_tensor = -1};
    if (layer->type == LAYER_RELU)
        return json_spec_parse(value, layer_type_fields, COUNT(layer_type_fields), JSON_REFUSE_UNKNOWN,
                               prefix, arena, &fields, fault);
    err = json_spec_parse(value, dense_fields, COUNT(dense_fields), JSON_REFUSE_UNKNOWN, prefix, arena,
                          &fields, fault);
    if (err)
        return err;
    layer->num_outputs = fields.units;
    return add_dense(a, index, layer, fault);
}

static enum err parse_layered(struct arch *a, const json_t *model, struct arena *arena, struct fault *fault)
{
    struct model_fields fields = {.init = INIT_GLOROT_UNIFORM};
    enum err err = json_spec_parse(model, layered_fields, COUNT(layered_fields), JSON_REFUSE_UNKNOWN,
                                   "model.", arena, &fields, fault);
    if (!err)
        err = parse_input(a, fields.input, fault);
    if (err)
        return err;
    a->has_layers = true;
    a->init = (enum init_type)fields.init;
    a->loss = (enum loss_type)fields.loss;
    a->num_layers = json_array_size(fields.layers);
    a->layers = calloc(a->num_layers, sizeof *a->layers);
    if (!a->layers)
        return fault_set(fault, ERR_NO_MEMORY, "model", "out of memory for the model's layers");
    int64_t width = a->num_features;
    for (size_t i = 0; i < a->num_layers; i++) {
        err = parse_layer(a, i, json_array_get(fields.layers, i), width, arena, fault);
        if (err)
            return err;
        width = a->layers[i].num_outputs;
    }
    a->num_classes = width;
    if (a->tensors.num_params == 0)
        return fault_set(fault, ERR_INVALID_FIELD, "model.layers", "no layer has weights; add a dense layer");
    if (a->layers[a->num_layers - 1].type != LAYER_DENSE)
        return fault_set(fault, ERR_INVALID_FIELD, "model.layers",
                         "the last layer must be dense: its outputs are the logits of softmax_cross_entropy");
    if (a->num_classes < 2)
        return fault_set(
            fault, ERR_INVALID_FIELD, "model.layers",
            "the last layer has 1 output; softmax_cross_entropy needs one for each class, at least 2");
    return ERR_OK;
}

static enum err parse_tensor(struct arch *a, const json_t *value, const char *prefix, struct arena *arena,
                             struct fault *fault)
{
    struct tensor_fields fields = {.dtype = "F32"};
    struct fault own = FAULT_NONE;
    enum dtype dtype;
    int64_t shape[LIMIT_TENSOR_DIMS] = {0};
    int num_dims = 0;
    enum err err = json_spec_parse(value, tensor_fields, COUNT(tensor_fields), JSON_REFUSE_UNKNOWN, "", arena,
                                   &fields, &own);
    if (!err)
        err = parse_dims(fields.shape, 0, "shape", shape, &num_dims, &own);
    if (!err && dtype_parse(fields.dtype, &dtype))
        err = fault_set(&own, ERR_INVALID_FIELD, "dtype",
                        "unknown dtype \"%s\"; use F32, or an integer type as I64", fields.dtype);
    if (!err)
        err = tensor_table_add(&a->tensors, fields.name, dtype, shape, num_dims, &own);
    if (!err)
        return ERR_OK;
    (void)fault_within(&own, "%s", prefix);
    if (fault)
        *fault = own;
    return err;
}

static enum err parse_tensors_only(struct arch *a, const json_t *model, struct arena *arena,
                                   struct fault *fault)
{
    struct model_fields fields = {.init = INIT_ZEROS};
    enum err err = json_spec_parse(model, tensor_only_fields, COUNT(tensor_only_fields), JSON_REFUSE_UNKNOWN,
                                   "model.", arena, &fields, fault);
    a->init = (enum init_type)fields.init;
    for (size_t i = 0; !err && i < json_array_size(fields.tensors); i++) {
        char prefix[64];
        (void)snprintf(prefix, sizeof prefix, "model.tensors[%zu]", i);
        err = parse_tensor(a, json_array_get(fields.tensors, i), prefix, arena, fault);
    }
    if (!err && a->tensors.num_params == 0)
        err = fault_set(fault, ERR_INVALID_FIELD, "model.tensors",
                        "no tensor is F32 with at least one element");
    return err;
}

enum err arch_parse(const json_t *model, struct arch **out, struct fault *fault)
{
    struct arena arena = ARENA_INIT(LIMIT_JSON_FILE);
    struct arch *a = calloc(1, sizeof *a);
    if (!a)
        return fault_set(fault, ERR_NO_MEMORY, "model", "out of memory for the model's description");
    tensor_table_init(&a->tensors);
    enum err err = json_object_get(model, "tensors") ? parse_tensors_only(a, model, &arena, fault)
                                                     : parse_layered(a, model, &arena, fault);
    arena_release(&arena);
    if (err) {
        arch_free(a);
        return err;
    }
    *out = a;
    return ERR_OK;
}

void arch_free(struct arch *a)
{
    if (!a)
        return;
    tensor_table_release(&a->tensors);
    free(a->layers);
    free(a);
}

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
