#include "common/nn/layer.h"

static size_t dropout_build(struct layer *l, const struct arch_layer *from, size_t left,
                            struct model_tensor *tensors)
{
    l->rate = (real)from->rate;
    return layer_build_elementwise(l, from, left, tensors);
}

/* Forward and backward are the same: the stream says again what was dropped. Outside of a step nothing is. */
static enum err drop(const struct layer *l, const struct layer_pass *p, struct compute_slice from,
                     struct compute_slice to)
{
    return compute_dropout(p->compute, p->rows * layout_floats(&l->out), p->is_training ? l->rate : 0,
                           p->stream, from, to);
}

static enum err dropout_forward(const struct layer *l, const struct layer_pass *p,
                                struct compute_slice params)
{
    (void)params;
    return drop(l, p, p->in, p->out);
}

static enum err dropout_backward(const struct layer *l, const struct layer_pass *p,
                                 struct compute_slice params)
{
    (void)params;
    return drop(l, p, p->d_out, p->d_in);
}

const struct layer_ops layer_dropout = {
    .name = "dropout",
    .can_be_in_place = true,
    .build = dropout_build,
    .forward = dropout_forward,
    .backward = dropout_backward,
};
