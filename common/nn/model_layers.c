#include "common/nn/model_layers.h"

#include <stdlib.h>

/* What the first layer reads. A convolution takes pixels without padding, as data come if they have one
 * channel. */
static struct layout input_layout(const struct arch *arch)
{
    struct layout l = layout_of(&arch->input_shape);
    if (l.pixels == 1 || arch->layers[0].type == LAYER_CONV2D)
        l.pixel = l.channels;
    return l;
}

static void add(struct model_layers *m, struct layer l, const struct layer_ops *before)
{
    l.is_in_place = l.ops->can_be_in_place && before && !before->keeps_output;
    if (l.ops->gradient && m->first_trained == SIZE_MAX)
        m->first_trained = m->count;
    m->items[m->count++] = l;
}

/* How many layers in memory the architecture's layer begins. */
static size_t num_parts(const struct arch_layer *from)
{
    if (!layer_ops_of(from->type))
        return 0;
    return from->type == LAYER_LSTM ? (size_t)from->lstm.layers : 1;
}

static size_t count_parts(const struct arch *arch)
{
    size_t count = 1; /* for what unpacks the input */
    for (size_t i = 0; i < arch->num_layers; i++)
        count += num_parts(&arch->layers[i]);
    return count;
}

static void build(struct model_layers *m, const struct arch *arch)
{
    struct layout layout = input_layout(arch);
    const struct layer_ops *before = NULL;
    size_t used = 1;
    if (layout_width(&layout) != (size_t)arch->num_features || (layout.is_planar && layout.channels > 1)) {
        add(m, layer_unpack_to((size_t)arch->num_features, layout), NULL);
        before = &layer_unpack;
    }
    for (size_t i = 0; i < arch->num_layers; i += used) {
        const struct arch_layer *from = &arch->layers[i];
        const size_t parts = num_parts(from);
        used = 1;
        for (size_t part = 0; part < parts; part++) {
            struct layer l = {.ops = layer_ops_of(from->type),
                              .in = layout,
                              .tensor = from->weight_tensor,
                              .place = i,
                              .part = part};
            used = l.ops->build(&l, from, arch->num_layers - i, m->tensors);
            add(m, l, before);
            before = l.ops;
            layout = l.out;
        }
    }
}

enum err model_layers_init(struct model_layers *m, const struct arch *arch, struct fault *fault)
{
    *m = (struct model_layers){.first_trained = SIZE_MAX, .num_tensors = arch->tensors.count};
    if (!arch->has_layers)
        return fault_set(
            fault, ERR_INVALID_FIELD, "model",
            "names only tensors; this trainer needs \"input\" and \"layers\" to know what to compute");
    m->items = calloc(count_parts(arch), sizeof *m->items);
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
