#include "common/nn/layer.h"

static size_t max_pool2d_build(struct layer *l, const struct arch_layer *from, size_t left,
                               struct model_tensor *tensors)
{
    (void)left;
    (void)tensors;
    l->pool = layer_pool_of(from);
    l->out = layout_of(&from->out);
    return 1;
}

static size_t max_pool2d_own(const struct layer *l, size_t rows)
{
    return rows * layout_floats(&l->out);
}

static enum err max_pool2d_forward(const struct layer *l, const struct layer_pass *p,
                                   struct compute_slice params)
{
    (void)params;
    return compute_pool_forward(p->compute, p->rows, &l->pool, p->in, p->out, p->own);
}

static enum err max_pool2d_backward(const struct layer *l, const struct layer_pass *p,
                                    struct compute_slice params)
{
    (void)params;
    return compute_pool_backward(p->compute, p->rows, &l->pool, p->d_out, p->own, p->d_in);
}

const struct layer_ops layer_max_pool2d = {
    .name = "max_pool2d",
    .build = max_pool2d_build,
    .own_bytes = max_pool2d_own,
    .forward = max_pool2d_forward,
    .backward = max_pool2d_backward,
};

struct compute_pool layer_pool_of(const struct arch_layer *from)
{
    return (struct compute_pool){.channels = (size_t)from->in.dims[0],
                                 .height = (size_t)from->in.dims[1],
                                 .width = (size_t)from->in.dims[2],
                                 .size = (size_t)from->pool.size,
                                 .stride = (size_t)from->pool.stride,
                                 .out_height = (size_t)from->out.dims[1],
                                 .out_width = (size_t)from->out.dims[2]};
}
