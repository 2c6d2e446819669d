#include "common/nn/layer.h"

static enum err relu_forward(const struct layer *l, const struct layer_pass *p, struct compute_slice params)
{
    (void)params;
    return compute_relu_forward(p->compute, p->rows * layout_floats(&l->out), p->in, p->out);
}

/* The output says which inputs were positive, so the input need not be kept. */
static enum err relu_backward(const struct layer *l, const struct layer_pass *p, struct compute_slice params)
{
    (void)params;
    return compute_relu_backward(p->compute, p->rows * layout_floats(&l->out), p->out, p->d_out, p->d_in);
}

const struct layer_ops layer_relu = {
    .name = "relu",
    .can_be_in_place = true,
    .build = layer_build_elementwise,
    .forward = relu_forward,
    .backward = relu_backward,
};
