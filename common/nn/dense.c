#include "common/nn/layer.h"

static enum err dense_forward(const struct layer *l, const struct layer_pass *p, struct compute_slice params)
{
    return compute_dense_forward(p->compute, p->rows, l->num_inputs, l->num_outputs, p->in,
                                 compute_at(params, l->weight), compute_at(params, l->bias), p->out);
}

static enum err dense_backward(const struct layer *l, const struct layer_pass *p, struct compute_slice params)
{
    return compute_dense_input_gradient(p->compute, p->rows, l->num_inputs, l->num_outputs, p->d_out,
                                        compute_at(params, l->weight), p->d_in);
}

static enum err dense_gradient(const struct layer *l, const struct layer_pass *p,
                               struct compute_slice gradient, bool accumulate)
{
    return compute_dense_gradient(p->compute, p->rows, l->num_inputs, l->num_outputs, accumulate, p->in,
                                  p->d_out, compute_at(gradient, l->weight), compute_at(gradient, l->bias));
}

static enum err dense_update(const struct layer *l, const struct layer_pass *p, const struct sgd *sgd,
                             struct compute_slice params, struct compute_slice anchor)
{
    return compute_dense_update(p->compute, p->rows, l->num_inputs, l->num_outputs, sgd->learning_rate,
                                sgd->proximal_mu, p->in, p->d_out, compute_at(params, l->weight),
                                compute_at(params, l->bias), compute_at(anchor, l->weight),
                                compute_at(anchor, l->bias));
}

const struct layer_ops layer_dense = {
    .name = "dense",
    .forward = dense_forward,
    .backward = dense_backward,
    .gradient = dense_gradient,
    .update = dense_update,
};
