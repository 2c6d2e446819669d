#include "common/nn/layer.h"

/* Behind an image or a sequence that was flattened, the columns stand as those lie, with their padding. */
static size_t dense_build(struct layer *l, const struct arch_layer *from, size_t left,
                          struct model_tensor *tensors)
{
    const size_t pixels = l->in.pixels, channels = l->in.channels, units = (size_t)from->num_outputs;
    struct model_tensor *w = &tensors[from->weight_tensor];
    (void)left;
    l->out = layout_of(&from->out);
    model_tensor_matrix(w, units, pixels * channels);
    w->count[2] = pixels;
    w->count[3] = channels;
    w->step[2] = l->in.is_planar ? 1 : channels;
    w->step[3] = l->in.is_planar ? pixels : 1;
    w->pixel = l->in.pixel;
    model_tensor_matrix(&tensors[from->bias_tensor], 1, units);
    return 1;
}

static enum err dense_forward(const struct layer *l, const struct layer_pass *p, struct compute_slice params)
{
    return compute_dense_forward(p->compute, p->rows, layout_width(&l->in), l->out.channels, p->in,
                                 compute_at(params, l->tensors[0]), compute_at(params, l->tensors[1]),
                                 p->out);
}

static enum err dense_backward(const struct layer *l, const struct layer_pass *p, struct compute_slice params)
{
    return compute_dense_input_gradient(p->compute, p->rows, layout_width(&l->in), l->out.channels, p->d_out,
                                        compute_at(params, l->tensors[0]), p->d_in);
}

static enum err dense_gradient(const struct layer *l, const struct layer_pass *p,
                               struct compute_slice gradient, bool accumulate)
{
    return compute_dense_gradient(p->compute, p->rows, layout_width(&l->in), l->out.channels, accumulate,
                                  p->in, p->d_out, compute_at(gradient, l->tensors[0]),
                                  compute_at(gradient, l->tensors[1]));
}

static enum err dense_update(const struct layer *l, const struct layer_pass *p, const struct sgd *sgd,
                             struct compute_slice params, struct compute_slice anchor)
{
    return compute_dense_update(p->compute, p->rows, layout_width(&l->in), l->out.channels,
                                sgd->learning_rate, sgd->proximal_mu, p->in, p->d_out,
                                compute_at(params, l->tensors[0]), compute_at(params, l->tensors[1]),
                                compute_at(anchor, l->tensors[0]), compute_at(anchor, l->tensors[1]));
}

const struct layer_ops layer_dense = {
    .name = "dense",
    .build = dense_build,
    .forward = dense_forward,
    .backward = dense_backward,
    .gradient = dense_gradient,
    .update = dense_update,
};
