#include "common/nn/model_memory.h"

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
static void plan_block(struct plan *p, struct model_layers *layers)
{
    for (size_t i = 0; i < layers->num_tensors; i++) {
        struct model_tensor *t = &layers->tensors[i];
        t->at = take_matrix(p, model_tensor_rows(t), model_tensor_width(t));
    }
    for (size_t i = 0; i < layers->count; i++) {
        struct layer *l = &layers->items[i];
        for (size_t k = 0; k < LAYER_MAX_TENSORS && l->tensor >= 0; k++) {
            size_t tensor = (size_t)l->tensor + k;
            l->tensors[k] = tensor < layers->num_tensors ? layers->tensors[tensor].at : 0;
        }
    }
}

/* What the layers put out, what they keep of it, and the gradients that run back through those that learn. */
static void plan_layers(struct plan *p, const struct compute *compute, size_t rows,
                        struct model_layers *layers, struct model_memory *out, size_t *out_activations)
{
    size_t widest = 0;
    for (size_t i = 0; i < layers->count; i++) {
        struct layer *l = &layers->items[i];
        size_t width = layout_floats(&l->out), scratch = 0;
        out_activations[i] = l->is_in_place ? out_activations[i - 1] : take(p, rows, width, sizeof(real));
        if (l->ops->own_bytes)
            l->own = take(p, l->ops->own_bytes(l, rows), 1, 1);
        if (l->ops->scratch_bytes)
            scratch = l->ops->scratch_bytes(l, compute, rows);
        out->scratch_bytes = scratch > out->scratch_bytes ? scratch : out->scratch_bytes;
        if (i >= layers->first_trained)
            widest = width > widest ? width : widest;
    }
    for (int i = 0; i < 2; i++)
        out->deltas[i] = take(p, rows, widest, sizeof(real));
    out->scratch = take(p, out->scratch_bytes, 1, 1);
}

enum err model_memory_plan(const struct arch *arch, const struct compute *compute, size_t max_rows,
                           size_t num_states, struct model_layers *layers, struct model_memory *out,
                           size_t *out_activations, struct fault *fault)
{
    struct plan p = {0};
    *out = (struct model_memory){0};
    plan_block(&p, layers);
    out->block_bytes = p.used;
    for (int i = 1; i < MODEL_NUM_BLOCKS; i++)
        out->blocks[i] = take(&p, out->block_bytes, 1, 1);
    for (size_t i = 0; i < num_states; i++)
        out->states[i] = take(&p, out->block_bytes, 1, 1);
    out->persistent_bytes = p.used;
    out->x = take_matrix(&p, max_rows, (size_t)arch->num_features);
    out->labels = take(&p, max_rows, 1, sizeof(int32_t));
    plan_layers(&p, compute, max_rows, layers, out, out_activations);
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
