#include "common/nn/layer.h"

static enum err tanh_forward(const struct layer *l, const struct layer_pass *p, struct compute_slice params)
{
    (void)params;
    return compute_tanh_forward(p->compute, p->rows * layout_floats(&l->out), p->in, p->out);
}

/* From the output, so the input need not be kept. */
static enum err tanh_backward(const struct layer *l, const struct layer_pass *p, struct compute_slice params)
{
    (void)params;
    return compute_tanh_backward(p->compute, p->rows * layout_floats(&l->out), p->out, p->d_out, p->d_in);
}

const struct layer_ops layer_tanh = {
    .name = "tanh",
    .can_be_in_place = true,
    .keeps_output = true,
    .build = layer_build_elementwise,
    .forward = tanh_forward,
    .backward = tanh_backward,
};
