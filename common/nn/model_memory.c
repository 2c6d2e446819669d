#include "common/nn/model_memory.h"

#include "common/nn/layer.h"

struct plan {
    size_t used;
    bool overflows;
};

static size_t take(struct plan *p, size_t count, size_t width, size_t element)
{
    size_t bytes, at = p->used;
    if (__builtin_mul_overflow(count, width, &bytes) || __builtin_mul_overflow(bytes, element, &bytes) ||
        bytes > SIZE_MAX / 2 - p->used) {
        p->overflows = true;
        return 0;
    }
    p->used += (bytes + 63) / 64 * 64;
    return at;
}

static size_t take_matrix(struct plan *p, size_t rows, size_t width)
{
    if (width > SIZE_MAX / 2) {
        p->overflows = true;
        return 0;
    }
    return take(p, rows, compute_stride(width), sizeof(real));
}

/* One block of parameters, as if it were the first. */
static void plan_block(struct plan *p, const struct tensor_table *tensors, struct model_tensor *out_tensors)
{
    for (size_t i = 0; i < tensors->count; i++) {
        const struct tensor_spec *spec = &tensors->items[i];
        size_t width = spec->num_dims > 0 ? (size_t)spec->shape[spec->num_dims - 1] : 1;
        size_t rows = width ? (size_t)spec->num_elements / width : 0, at = take_matrix(p, rows, width);
        if (out_tensors)
            out_tensors[i] = (struct model_tensor){rows, width, at, (size_t)spec->offset};
    }
}

static void plan_layers(struct plan *p, const struct arch *arch, size_t rows, struct model_memory *out,
                        size_t *out_activations)
{
    size_t previous = out->x, widest = 0;
    for (size_t i = 0; i < arch->num_layers; i++) {
        const struct arch_layer *l = &arch->layers[i];
        size_t width = (size_t)l->num_outputs;
        /* In place of the activations before, but never of the batch itself, which the next step may still
         * want. */
        if (!layer_ops_of(l->type)->is_in_place || i == 0)
            previous = take_matrix(p, rows, width);
        if (out_activations)
            out_activations[i] = previous;
        widest = width > widest ? width : widest;
    }
    for (int i = 0; i < 2; i++)
        out->deltas[i] = take_matrix(p, rows, widest);
}

enum err model_memory_plan(const struct arch *arch, size_t max_rows, struct model_memory *out,
                           size_t *out_activations, struct model_tensor *out_tensors, struct fault *fault)
{
    struct plan p = {0};
    *out = (struct model_memory){0};
    if (!arch->has_layers)
        return fault_set(
            fault, ERR_INVALID_FIELD, "model",
            "names only tensors; this trainer needs \"input\" and \"layers\" to know what to compute");
    plan_block(&p, &arch->tensors, out_tensors);
    out->block_bytes = p.used;
    for (int i = 1; i < MODEL_NUM_BLOCKS; i++)
        out->blocks[i] = take(&p, out->block_bytes, 1, 1);
    out->persistent_bytes = p.used;
    out->x = take_matrix(&p, max_rows, (size_t)arch->num_features);
    out->labels = take(&p, max_rows, 1, sizeof(int32_t));
    plan_layers(&p, arch, max_rows, out, out_activations);
    out->losses = take(&p, max_rows, 2, sizeof(real));
    out->correct = take(&p, max_rows, 1, sizeof(int32_t));
    out->step_losses = take(&p, max_rows, 2, sizeof(real));
    out->scalar = take(&p, 1, 1, sizeof(double));
    out->total_bytes = p.used;
    if (p.overflows)
        return fault_set(fault, ERR_NO_MEMORY, NULL, "batches of %zu need more memory than can be addressed",
                         max_rows);
    return ERR_OK;
}
