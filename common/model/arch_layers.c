#include <stdio.h>
#include <string.h>
#include "common/json/json_spec.h"
#include "common/model/arch_impl.h"

#define MAX_WINDOW      1024     /* of a kernel, a stride, a padding: more is a mistake */
#define MAX_VOCABULARY  16777216 /* tokens are kept as floats, exact up to here */
#define MAX_LSTM_LAYERS 64
#define MAX_POOLING     15 /* what was the largest of a window is kept as one byte */

/* A layer while it is read. */
struct reading {
    struct arch *arch;
    size_t index;
    struct arch_layer *layer;
    struct fault *fault;
    char path[96];
};

struct layer_fields {
    int type;
    int64_t units, filters, stride, size, layers, vocabulary, dim;
    int output;
    double rate;
    json_t *kernel, *padding;
};

static const char *const layer_names[] = {"dense", "conv2d",  "max_pool2d", "flatten", "relu",
                                          "tanh",  "dropout", "embedding",  "lstm",    NULL};
static const char *const output_names[] = {"last", "all", NULL};

#define TYPE_FIELD                                                                                           \
    JSON_FIELD(struct layer_fields, type, JSON_FIELD_CHOICE, .is_required = true, .choices = layer_names)
#define COUNT_FIELD(field, most, ...)                                                                        \
    JSON_FIELD(struct layer_fields, field, JSON_FIELD_INT, .min = 1, .max = (most), __VA_ARGS__)

static const struct json_field plain_fields[] = {TYPE_FIELD};
static const struct json_field dense_fields[] = {
    TYPE_FIELD,
    COUNT_FIELD(units, ARCH_MAX_UNITS, .is_required = true),
};
static const struct json_field conv2d_fields[] = {
    TYPE_FIELD,
    COUNT_FIELD(filters, ARCH_MAX_UNITS, .is_required = true),
    JSON_FIELD(struct layer_fields, kernel, JSON_FIELD_ANY, .is_required = true),
    COUNT_FIELD(stride, MAX_WINDOW),
    JSON_FIELD(struct layer_fields, padding, JSON_FIELD_ANY),
};
static const struct json_field max_pool2d_fields[] = {
    TYPE_FIELD,
    COUNT_FIELD(size, MAX_POOLING, .is_required = true),
    COUNT_FIELD(stride, MAX_WINDOW),
};

static const struct json_field dropout_fields[] = {
    TYPE_FIELD,
    JSON_FIELD(struct layer_fields, rate, JSON_FIELD_DOUBLE, .is_required = true, .min = 0, .max = 0.99),
};
static const struct json_field embedding_fields[] = {
    TYPE_FIELD,
    COUNT_FIELD(vocabulary, MAX_VOCABULARY, .is_required = true),
    COUNT_FIELD(dim, ARCH_MAX_UNITS, .is_required = true),
};
static const struct json_field lstm_fields[] = {
    TYPE_FIELD,
    COUNT_FIELD(units, ARCH_MAX_UNITS / 4, .is_required = true),
    COUNT_FIELD(layers, MAX_LSTM_LAYERS),
    JSON_FIELD(struct layer_fields, output, JSON_FIELD_CHOICE, .choices = output_names),
};

const char *layer_type_name(enum layer_type t)
{
    return layer_names[t];
}

/* The path of one of the layer's fields, or of the layer as a whole where `field` is NULL. */
static const char *path_of(struct reading *r, const char *field)
{
    (void)snprintf(r->path, sizeof r->path, "model.layers[%zu]%s%s", r->index, field ? "." : "",
                   field ? field : "");
    return r->path;
}

#define refuse(r, field, ...) fault_set((r)->fault, ERR_INVALID_FIELD, path_of(r, field), __VA_ARGS__)

static enum err refuse_shape(struct reading *r, const char *wanted, const char *advice)
{
    char given[SHAPE_TEXT_SIZE];
    return refuse(r, NULL, "%s takes %s, but %s is %s%s", layer_type_name(r->layer->type), wanted,
                  r->index == 0 ? "the model's input" : "what the layer before puts out",
                  shape_text(&r->layer->in, given), advice);
}

/* `field` is what the fault of a tensor that cannot be names. */
static enum err add_tensor(struct reading *r, const char *suffix, const int64_t *shape, int num_dims,
                           const char *field)
{
    char name[64];
    (void)snprintf(name, sizeof name, "%zu.%s", r->index, suffix);
    enum err err = tensor_table_add(&r->arch->tensors, name, DTYPE_F32, shape, num_dims, r->fault);
    if (err && r->fault)
        (void)snprintf(r->fault->field, sizeof r->fault->field, "model.layers[%zu].%s", r->index, field);
    return err;
}

static enum err add_weight_and_bias(struct reading *r, const int64_t *shape, int num_dims, const char *field)
{
    r->layer->weight_tensor = (int)r->arch->tensors.count;
    r->layer->bias_tensor = r->layer->weight_tensor + 1;
    enum err err = add_tensor(r, "weight", shape, num_dims, field);
    return err ? err : add_tensor(r, "bias", shape, 1, field);
}

static enum err read_dense(struct reading *r, const struct layer_fields *fields)
{
    struct arch_layer *l = r->layer;
    if (l->in.kind == SHAPE_SEQUENCE)
        return refuse_shape(
            r, "a vector", ": put {\"type\": \"flatten\"} between, or let an lstm put out its \"last\" step");
    if (l->in.kind != SHAPE_VECTOR)
        return refuse_shape(r, "a vector", ": put {\"type\": \"flatten\"} between");
    l->out = shape_of(SHAPE_VECTOR, fields->units, 1, 1);
    const int64_t shape[2] = {fields->units, l->num_inputs};
    return add_weight_and_bias(r, shape, 2, "units");
}

/* 5, or [5, 3]: height and width. */
static enum err read_kernel(struct reading *r, const json_t *value, int64_t out[2])
{
    for (size_t i = 0; i < 2; i++) {
        const json_t *side = json_is_array(value) ? json_array_get(value, i) : value;
        out[i] = json_integer_value(side);
        if (!json_is_integer(side) || out[i] < 1 || out[i] > MAX_WINDOW ||
            (json_is_array(value) && json_array_size(value) != 2))
            return refuse(r, "kernel", "must be a number from 1 to %d, or [height, width] of such",
                          MAX_WINDOW);
    }
    return ERR_OK;
}

/* The zeros around one side of the image, before and after. */
static enum err read_padding(struct reading *r, const struct layer_fields *fields, int64_t kernel,
                             int64_t *out_before, int64_t *out_both)
{
    const json_t *value = fields->padding;
    const char *text = json_string_value(value);
    if (text && strcmp(text, "same") == 0) {
        if (fields->stride != 1)
            return refuse(r, "padding", "\"same\" keeps an image's size and so wants stride 1, not %lld",
                          (long long)fields->stride);
        *out_both = kernel - 1;
        *out_before = *out_both / 2;
        return ERR_OK;
    }
    *out_before = json_integer_value(value);
    if ((value && !json_is_integer(value)) || *out_before < 0 || *out_before > MAX_WINDOW)
        return refuse(r, "padding", "must be a number from 0 to %d, or \"same\"", MAX_WINDOW);
    *out_both = 2 * *out_before;
    return ERR_OK;
}

static enum err read_conv2d(struct reading *r, const struct layer_fields *fields)
{
    struct arch_layer *l = r->layer;
    int64_t kernel[2] = {0}, before[2] = {0}, both[2] = {0}, size[2] = {0};
    if (l->in.kind != SHAPE_IMAGE)
        return refuse_shape(r, "an image", "");
    enum err err = read_kernel(r, fields->kernel, kernel);
    for (int i = 0; !err && i < 2; i++) {
        err = read_padding(r, fields, kernel[i], &before[i], &both[i]);
        if (!err && l->in.dims[1 + i] + both[i] < kernel[i])
            err = refuse(r, "kernel",
                         "%lld x %lld is larger than the image of %lld x %lld with its padding: take a "
                         "smaller one, or more padding",
                         (long long)kernel[0], (long long)kernel[1], (long long)l->in.dims[1],
                         (long long)l->in.dims[2]);
        if (!err)
            size[i] = (l->in.dims[1 + i] + both[i] - kernel[i]) / fields->stride + 1;
    }
    if (err)
        return err;
    l->conv = (struct arch_conv){kernel[0], kernel[1], fields->stride, before[0], before[1]};
    l->out = shape_of(SHAPE_IMAGE, fields->filters, size[0], size[1]);
    const int64_t shape[4] = {fields->filters, l->in.dims[0], kernel[0], kernel[1]};
    return add_weight_and_bias(r, shape, 4, "filters");
}

static enum err read_max_pool2d(struct reading *r, const struct layer_fields *fields)
{
    struct arch_layer *l = r->layer;
    if (l->in.kind != SHAPE_IMAGE)
        return refuse_shape(r, "an image", "");
    if (fields->size > l->in.dims[1] || fields->size > l->in.dims[2])
        return refuse(r, "size",
                      "windows of %lld x %lld are larger than the image of %lld x %lld: take smaller ones, "
                      "or one pooling less",
                      (long long)fields->size, (long long)fields->size, (long long)l->in.dims[1],
                      (long long)l->in.dims[2]);
    l->pool = (struct arch_pool){fields->size, fields->stride ? fields->stride : fields->size};
    l->out = shape_of(SHAPE_IMAGE, l->in.dims[0], (l->in.dims[1] - fields->size) / l->pool.stride + 1,
                      (l->in.dims[2] - fields->size) / l->pool.stride + 1);
    return ERR_OK;
}

static enum err read_flatten(struct reading *r, const struct layer_fields *fields)
{
    (void)fields;
    r->layer->out = shape_of(SHAPE_VECTOR, r->layer->num_inputs, 1, 1);
    return ERR_OK;
}

static enum err read_same_shape(struct reading *r, const struct layer_fields *fields)
{
    (void)fields;
    r->layer->out = r->layer->in;
    return ERR_OK;
}

static enum err read_dropout(struct reading *r, const struct layer_fields *fields)
{
    r->layer->rate = fields->rate;
    return read_same_shape(r, fields);
}

static enum err read_embedding(struct reading *r, const struct layer_fields *fields)
{
    struct arch_layer *l = r->layer;
    if (r->index > 0)
        return refuse(r, NULL, "an embedding reads the data's tokens: it must be the first layer");
    l->vocabulary = fields->vocabulary;
    l->out = shape_of(SHAPE_SEQUENCE, l->in.dims[0], fields->dim, 1);
    l->weight_tensor = (int)r->arch->tensors.count;
    const int64_t shape[2] = {fields->vocabulary, fields->dim};
    return add_tensor(r, "weight", shape, 2, "dim");
}

static enum err add_lstm_tensors(struct reading *r, int64_t layer, int64_t inputs, int64_t units)
{
    static const char *const names[] = {"weight_ih", "weight_hh", "bias_ih", "bias_hh"};
    const int64_t shapes[4][2] = {{4 * units, inputs}, {4 * units, units}, {4 * units, 1}, {4 * units, 1}};
    enum err err = ERR_OK;
    for (int i = 0; !err && i < 4; i++) {
        char suffix[32];
        (void)snprintf(suffix, sizeof suffix, "%s_l%lld", names[i], (long long)layer);
        err = add_tensor(r, suffix, shapes[i], i < 2 ? 2 : 1, "units");
    }
    return err;
}

static enum err read_lstm(struct reading *r, const struct layer_fields *fields)
{
    struct arch_layer *l = r->layer;
    if (l->in.kind != SHAPE_SEQUENCE)
        return refuse_shape(r, "a sequence",
                            ": it stands behind an embedding, another lstm that puts out "
                            "\"all\" steps, or first");
    l->lstm = (struct arch_lstm){fields->units, fields->layers, fields->output == 0};
    l->weight_tensor = (int)r->arch->tensors.count;
    l->bias_tensor = l->weight_tensor + 2;
    l->out = l->lstm.is_last_only ? shape_of(SHAPE_VECTOR, fields->units, 1, 1)
                                  : shape_of(SHAPE_SEQUENCE, l->in.dims[0], fields->units, 1);
    enum err err = ERR_OK;
    for (int64_t i = 0; !err && i < fields->layers; i++)
        err = add_lstm_tensors(r, i, i == 0 ? l->in.dims[1] : fields->units, fields->units);
    return err;
}

#define FIELDS(table) (table), sizeof(table) / sizeof *(table)

/* Takes whatever shape there is. */
#define TAKES_ANY (-1)

static const struct layer_kind {
    const struct json_field *fields;
    size_t num_fields;
    int takes; /* an enum shape_kind: what the model's input is if this layer is the first to mind */
    enum err (*read)(struct reading *r, const struct layer_fields *fields);
} kinds[LAYER_TYPE_COUNT] = {
    [LAYER_DENSE] = {FIELDS(dense_fields), SHAPE_VECTOR, read_dense},
    [LAYER_CONV2D] = {FIELDS(conv2d_fields), SHAPE_IMAGE, read_conv2d},
    [LAYER_MAX_POOL2D] = {FIELDS(max_pool2d_fields), SHAPE_IMAGE, read_max_pool2d},
    [LAYER_FLATTEN] = {FIELDS(plain_fields), SHAPE_VECTOR, read_flatten},
    [LAYER_RELU] = {FIELDS(plain_fields), TAKES_ANY, read_same_shape},
    [LAYER_TANH] = {FIELDS(plain_fields), TAKES_ANY, read_same_shape},
    [LAYER_DROPOUT] = {FIELDS(dropout_fields), TAKES_ANY, read_dropout},
    [LAYER_EMBEDDING] = {FIELDS(embedding_fields), SHAPE_TOKENS, read_embedding},
    [LAYER_LSTM] = {FIELDS(lstm_fields), SHAPE_SEQUENCE, read_lstm},
};

enum err arch_read_layer(struct arch *a, size_t index, const json_t *value, const struct example_shape *in,
                         struct arena *arena, struct fault *fault)
{
    struct layer_fields fields = {.layers = 1};
    struct reading r = {.arch = a, .index = index, .layer = &a->layers[index], .fault = fault};
    char prefix[64];
    (void)snprintf(prefix, sizeof prefix, "model.layers[%zu].", index);
    enum err err =
        json_spec_parse(value, FIELDS(plain_fields), JSON_IGNORE_UNKNOWN, prefix, arena, &fields, fault);
    if (err)
        return err;
    const struct layer_kind *kind = &kinds[fields.type];
    if (fields.type == LAYER_CONV2D)
        fields.stride = 1;
    *r.layer = (struct arch_layer){.type = (enum layer_type)fields.type,
                                   .in = *in,
                                   .num_inputs = shape_elements(in),
                                   .weight_tensor = -1,
                                   .bias_tensor = -1};
    err = json_spec_parse(value, kind->fields, kind->num_fields, JSON_REFUSE_UNKNOWN, prefix, arena, &fields,
                          fault);
    if (!err)
        err = kind->read(&r, &fields);
    if (err)
        return err;
    r.layer->num_outputs = shape_elements(&r.layer->out);
    if (r.layer->num_outputs > (int64_t)ARCH_MAX_UNITS)
        return refuse(&r, NULL, "puts out %lld numbers for each example; at most %.0f are possible",
                      (long long)r.layer->num_outputs, ARCH_MAX_UNITS);
    return ERR_OK;
}

/* The first layer that does not take any shape; SIZE_MAX where there is none. */
static size_t first_that_minds(const json_t *layers, int *out_takes)
{
    *out_takes = SHAPE_VECTOR;
    for (size_t i = 0; i < json_array_size(layers); i++) {
        const char *type = json_string_value(json_object_get(json_array_get(layers, i), "type"));
        for (int k = 0; type && k < LAYER_TYPE_COUNT; k++) {
            if (strcmp(type, layer_names[k]) == 0 && kinds[k].takes != TAKES_ANY) {
                *out_takes = kinds[k].takes;
                return i;
            }
        }
    }
    return SIZE_MAX;
}

enum err arch_read_input(struct arch *a, const json_t *layers, struct fault *fault)
{
    int takes;
    size_t by = first_that_minds(layers, &takes);
    const int64_t *in = a->input;
    if (takes == SHAPE_VECTOR)
        a->input_shape = shape_of(SHAPE_VECTOR, a->num_features, 1, 1);
    else if (takes == SHAPE_IMAGE && a->num_input_dims == 3)
        a->input_shape = shape_of(SHAPE_IMAGE, in[0], in[1], in[2]);
    else if (takes == SHAPE_IMAGE && a->num_input_dims == 2)
        a->input_shape = shape_of(SHAPE_IMAGE, 1, in[0], in[1]);
    else if (takes == SHAPE_SEQUENCE && a->num_input_dims == 2)
        a->input_shape = shape_of(SHAPE_SEQUENCE, in[0], in[1], 1);
    else if (takes == SHAPE_TOKENS && a->num_input_dims == 1)
        a->input_shape = shape_of(SHAPE_TOKENS, in[0], 1, 1);
    else
        return fault_set(fault, ERR_INVALID_FIELD, "model.input", "model.layers[%zu] takes %s", by,
                         takes == SHAPE_IMAGE
                             ? "images: give the input as [channels, height, width], or [height, width]"
                         : takes == SHAPE_SEQUENCE ? "sequences: give the input as [steps, features]"
                                                   : "tokens: give the input as [steps]");
    return ERR_OK;
}
