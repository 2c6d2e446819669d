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
            previous = take(p, rows, width, sizeof(float));
        if (out_activations)
            out_activations[i] = previous;
        widest = width > widest ? width : widest;
    }
    for (int i = 0; i < 2; i++)
        out->deltas[i] = take(p, rows, widest, sizeof(float));
}

enum err model_memory_plan(const struct arch *arch, size_t max_rows, struct model_memory *out,
                           size_t *out_activations, struct fault *fault)
{
    struct plan p = {0};
    *out = (struct model_memory){0};
    if (!arch->has_layers)
        return fault_set(
            fault, ERR_INVALID_FIELD, "model",
            "names only tensors; this trainer needs \"input\" and \"layers\" to know what to compute");
    for (int i = 0; i < MODEL_NUM_BLOCKS; i++)
        out->blocks[i] = take(&p, (size_t)arch->tensors.num_params, 1, sizeof(float));
    out->persistent_bytes = p.used;
    out->x = take(&p, max_rows, (size_t)arch->num_features, sizeof(float));
    out->labels = take(&p, max_rows, 1, sizeof(int32_t));
    plan_layers(&p, arch, max_rows, out, out_activations);
    out->losses = take(&p, max_rows, 2, sizeof(float));
    out->correct = take(&p, max_rows, 1, sizeof(int32_t));
    out->step_losses = take(&p, max_rows, 2, sizeof(float));
    out->scalar = take(&p, 1, 1, sizeof(double));
    out->total_bytes = p.used;
    if (p.overflows)
        return fault_set(fault, ERR_NO_MEMORY, NULL, "batches of %zu need more memory than can be addressed",
                         max_rows);
    return ERR_OK;
}
