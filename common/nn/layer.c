#include "common/nn/layer.h"

const struct layer_ops *layer_ops_of(enum layer_type type)
{
    switch (type) {
    case LAYER_DENSE:
        return &layer_dense;
    case LAYER_CONV2D:
        return &layer_conv2d;
    case LAYER_MAX_POOL2D:
        return &layer_max_pool2d;
    case LAYER_FLATTEN:
        return NULL;
    case LAYER_RELU:
        return &layer_relu;
    case LAYER_TANH:
        return &layer_tanh;
    case LAYER_DROPOUT:
        return &layer_dropout;
    case LAYER_EMBEDDING:
        return &layer_embedding;
    case LAYER_LSTM:
        return &layer_lstm;
    case LAYER_TYPE_COUNT:
        break;
    }
    bug("layer type %d", (int)type);
}

struct layout layout_of(const struct example_shape *shape)
{
    const size_t a = (size_t)shape->dims[0], b = (size_t)shape->dims[1], c = (size_t)shape->dims[2];
    struct layout l = {.pixels = 1, .channels = a};
    if (shape->kind == SHAPE_IMAGE)
        l = (struct layout){.pixels = b * c, .channels = a, .is_planar = true};
    else if (shape->kind == SHAPE_SEQUENCE)
        l = (struct layout){.pixels = a, .channels = b};
    l.pixel = compute_stride(l.channels);
    return l;
}

size_t layer_build_elementwise(struct layer *l, const struct arch_layer *from, size_t left,
                               struct model_tensor *tensors)
{
    (void)from;
    (void)left;
    (void)tensors;
    l->out = l->in;
    return 1;
}

void model_tensor_matrix(struct model_tensor *t, size_t rows, size_t width)
{
    const struct model_tensor matrix = {
        .count = {rows, 1, 1, width}, .step = {width, width, width, 1}, .pixel = width, .flat = t->flat};
    *t = matrix;
}
