/* A trained vector for each token. The first layer, so it has no input gradient. */
#include "common/nn/layer.h"

static size_t embedding_build(struct layer *l, const struct arch_layer *from, size_t left,
                              struct model_tensor *tensors)
{
    (void)left;
    l->out = layout_of(&from->out);
    l->table = (struct compute_table){l->out.pixels, (size_t)from->vocabulary, l->out.channels};
    model_tensor_matrix(&tensors[from->weight_tensor], l->table.vocabulary, l->table.width);
    return 1;
}

/* The gradient of the table on its way into a step. */
static size_t embedding_own(const struct layer *l, size_t rows)
{
    (void)rows;
    return compute_matrix_bytes(l->table.vocabulary, l->table.width);
}

static enum err embedding_forward(const struct layer *l, const struct layer_pass *p,
                                  struct compute_slice params)
{
    return compute_gather(p->compute, p->rows, &l->table, p->in, compute_at(params, l->tensors[0]), p->out);
}

static enum err embedding_backward(const struct layer *l, const struct layer_pass *p,
                                   struct compute_slice params)
{
    (void)l;
    (void)p;
    (void)params;
    bug("a gradient of tokens");
}

static enum err embedding_gradient(const struct layer *l, const struct layer_pass *p,
                                   struct compute_slice gradient, bool accumulate)
{
    return compute_scatter_add(p->compute, p->rows, &l->table, accumulate, p->in, p->d_out,
                               compute_at(gradient, l->tensors[0]));
}

static enum err embedding_update(const struct layer *l, const struct layer_pass *p, const struct sgd *sgd,
                                 struct compute_slice params, struct compute_slice anchor)
{
    enum err err = compute_scatter_add(p->compute, p->rows, &l->table, false, p->in, p->d_out, p->own);
    return err ? err
               : compute_prox_step(p->compute, embedding_own(l, 0) / sizeof(real), sgd->learning_rate,
                                   sgd->proximal_mu, p->own, compute_at(params, l->tensors[0]),
                                   compute_at(anchor, l->tensors[0]));
}

const struct layer_ops layer_embedding = {
    .name = "embedding",
    .build = embedding_build,
    .own_bytes = embedding_own,
    .forward = embedding_forward,
    .backward = embedding_backward,
    .gradient = embedding_gradient,
    .update = embedding_update,
};
