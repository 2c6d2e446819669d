#include "common/nn/model_layers.h"

#include <stdlib.h>

/* The data's own order is fine for a vector, and a first convolution reads it as it is. */
static bool wants_unpacking(const struct arch *arch)
{
    bool is_vector = arch->input_shape.kind == SHAPE_VECTOR || arch->input_shape.kind == SHAPE_TOKENS;
    return !is_vector && arch->layers[0].type != LAYER_CONV2D;
}

static void add(struct model_layers *m, struct layer l, const struct layer_ops *before)
{
    l.is_in_place = l.ops->can_be_in_place && before && !before->keeps_output;
    if (l.ops->gradient && m->first_trained == SIZE_MAX)
        m->first_trained = m->count;
    m->items[m->count++] = l;
}

static void build(struct model_layers *m, const struct arch *arch)
{
    struct layout layout = {.pixels = 1, .channels = (size_t)arch->num_features};
    const struct layer_ops *before = NULL;
    size_t used = 1;
    if (wants_unpacking(arch)) {
        struct layer l = {.ops = &layer_unpack, .in = layout, .out = layout_of(&arch->input_shape)};
        l.tensor = -1;
        add(m, l, before);
        before = l.ops;
        layout = l.out;
    }
    for (size_t i = 0; i < arch->num_layers; i += used) {
        const struct arch_layer *from = &arch->layers[i];
        struct layer l = {.ops = layer_ops_of(from->type), .in = layout, .tensor = from->weight_tensor};
        used = 1;
        if (!l.ops)
            continue;
        used = l.ops->build(&l, from, arch->num_layers - i, m->tensors);
        add(m, l, before);
        before = l.ops;
        layout = l.out;
    }
}

enum err model_layers_init(struct model_layers *m, const struct arch *arch, struct fault *fault)
{
    *m = (struct model_layers){.first_trained = SIZE_MAX, .num_tensors = arch->tensors.count};
    if (!arch->has_layers)
        return fault_set(
            fault, ERR_INVALID_FIELD, "model",
            "names only tensors; this trainer needs \"input\" and \"layers\" to know what to compute");
    m->items = calloc(arch->num_layers + 1, sizeof *m->items);
    m->tensors = calloc(arch->tensors.count + 1, sizeof *m->tensors);
    if (!m->items || !m->tensors) {
        model_layers_release(m);
        return fault_set(fault, ERR_NO_MEMORY, NULL, "out of memory for a model's layers");
    }
    for (size_t i = 0; i < m->num_tensors; i++)
        m->tensors[i].flat = (size_t)arch->tensors.items[i].offset;
    build(m, arch);
    return ERR_OK;
}

void model_layers_release(struct model_layers *m)
{
    free(m->items);
    free(m->tensors);
    *m = (struct model_layers){0};
}
