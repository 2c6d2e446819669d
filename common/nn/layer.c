#include "common/nn/layer.h"

const struct layer_ops *layer_ops_of(enum layer_type type)
{
    switch (type) {
    case LAYER_DENSE:
        return &layer_dense;
    case LAYER_RELU:
        return &layer_relu;
    case LAYER_TYPE_COUNT:
        break;
    }
    bug("layer type %d", (int)type);
}
