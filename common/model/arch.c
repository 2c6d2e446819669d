#include "common/model/arch.h"

#include <stdio.h>
#include <stdlib.h>
#include "common/json/json_spec.h"
#include "common/model/arch_impl.h"

static const char *const loss_names[] = {"softmax_cross_entropy", "sigmoid_cross_entropy", NULL};
static const char *const init_names[] = {"zeros", "glorot_uniform", "he_normal", NULL};

struct model_fields {
    json_t *input, *layers, *tensors, *vocabulary;
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
    JSON_FIELD(struct model_fields, vocabulary, JSON_FIELD_ANY),
};

static const struct json_field tensor_only_fields[] = {
    JSON_FIELD(struct model_fields, tensors, JSON_FIELD_ARRAY, .is_required = true, .min = 1,
               .max = LIMIT_TENSORS),
    JSON_FIELD(struct model_fields, init, JSON_FIELD_CHOICE, .choices = init_names),
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
            a->num_features > (int64_t)ARCH_MAX_UNITS)
            return fault_set(fault, ERR_INVALID_FIELD, "model.input", "an example has at most %.0f features",
                             ARCH_MAX_UNITS);
    }
    return ERR_OK;
}

/* The outputs of the last layer against the loss. */
static enum err check_end(struct arch *a, struct fault *fault)
{
    const struct arch_layer *last = &a->layers[a->num_layers - 1];
    if (a->tensors.num_params == 0)
        return fault_set(fault, ERR_INVALID_FIELD, "model.layers", "no layer has weights; add a dense layer");
    if (last->type != LAYER_DENSE)
        return fault_set(fault, ERR_INVALID_FIELD, "model.layers",
                         "the last layer must be dense: its outputs are the logits of %s",
                         loss_names[a->loss]);
    if (a->loss == LOSS_SIGMOID_CROSS_ENTROPY) {
        a->num_classes = 2;
        if (last->num_outputs != 1)
            return fault_set(fault, ERR_INVALID_FIELD, "model.layers",
                             "the last layer has %lld outputs; sigmoid_cross_entropy needs 1, which says "
                             "whether it is class 1",
                             (long long)last->num_outputs);
        return ERR_OK;
    }
    a->num_classes = last->num_outputs;
    if (a->num_classes < 2)
        return fault_set(fault, ERR_INVALID_FIELD, "model.layers",
                         "the last layer has 1 output; softmax_cross_entropy needs one for each class, at "
                         "least 2: sigmoid_cross_entropy takes 1");
    return ERR_OK;
}

static enum err parse_layers(struct arch *a, const json_t *layers, struct arena *arena, struct fault *fault)
{
    a->num_layers = json_array_size(layers);
    a->layers = calloc(a->num_layers, sizeof *a->layers);
    if (!a->layers)
        return fault_set(fault, ERR_NO_MEMORY, "model", "out of memory for the model's layers");
    enum err err = arch_read_input(a, layers, fault);
    const struct example_shape *shape = &a->input_shape;
    for (size_t i = 0; !err && i < a->num_layers; i++) {
        err = arch_read_layer(a, i, json_array_get(layers, i), shape, arena, fault);
        shape = &a->layers[i].out;
    }
    return err ? err : check_end(a, fault);
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
    err = parse_layers(a, fields.layers, arena, fault);
    return err || !fields.vocabulary ? err : arch_read_vocabulary(a, fields.vocabulary, fault);
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
    json_t *expanded = NULL;
    enum err err = arch_expand((json_t *)(uintptr_t)model, &expanded, fault);
    if (!err)
        err = json_object_get(expanded, "tensors") ? parse_tensors_only(a, expanded, &arena, fault)
                                                   : parse_layered(a, expanded, &arena, fault);
    json_decref(expanded);
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
    free(a->vocabulary);
    free(a->layers);
    free(a);
}
