/* A convolution and, in one operation, a relu and a max-pooling that follow it. */
#include "common/nn/layer.h"

/* [filter, channel, y, x] outside; [filter][y] of [x][channel] inside. */
static void place_weights(struct model_tensor *w, const struct compute_conv *g)
{
    const size_t places = g->kernel_height * g->kernel_width;
    *w = (struct model_tensor){.count = {g->filters, g->kernel_height, g->kernel_width, g->channels},
                               .step = {g->channels * places, g->kernel_width, 1, places},
                               .pixel = g->pixel,
                               .flat = w->flat};
}

/* A relu commutes with max-pooling, so either may come first. Returns how many layers joined. */
static size_t join_followers(struct layer *l, const struct arch_layer *next, size_t left)
{
    size_t joined = 0;
    for (; joined < left; joined++) {
        if (next[joined].type == LAYER_RELU && !l->conv.has_relu)
            l->conv.has_relu = true;
        else if (next[joined].type == LAYER_MAX_POOL2D && l->conv.pool.size == 0 &&
                 next[joined].pool.stride == next[joined].pool.size)
            l->conv.pool = layer_pool_of(&next[joined]);
        else
            break;
        l->out = layout_of(&next[joined].out);
    }
    return joined;
}

static size_t conv2d_build(struct layer *l, const struct arch_layer *from, size_t left,
                           struct model_tensor *tensors)
{
    l->conv = (struct compute_conv){.channels = (size_t)from->in.dims[0],
                                    .height = (size_t)from->in.dims[1],
                                    .width = (size_t)from->in.dims[2],
                                    .pixel = l->in.pixel,
                                    .filters = (size_t)from->out.dims[0],
                                    .kernel_height = (size_t)from->conv.kernel_height,
                                    .kernel_width = (size_t)from->conv.kernel_width,
                                    .stride = (size_t)from->conv.stride,
                                    .pad_top = (size_t)from->conv.pad_top,
                                    .pad_left = (size_t)from->conv.pad_left,
                                    .out_height = (size_t)from->out.dims[1],
                                    .out_width = (size_t)from->out.dims[2]};
    l->out = layout_of(&from->out);
    place_weights(&tensors[from->weight_tensor], &l->conv);
    model_tensor_matrix(&tensors[from->bias_tensor], 1, l->conv.filters);
    return 1 + join_followers(l, from + 1, left - 1);
}

static size_t conv2d_own(const struct layer *l, size_t rows)
{
    return rows * compute_conv_largest(&l->conv);
}

static size_t conv2d_scratch(const struct layer *l, const struct compute *c, size_t rows)
{
    size_t most = 0;
    for (int kind = COMPUTE_CONV_FORWARD; kind <= COMPUTE_CONV_UPDATE; kind++) {
        const struct compute_op op = {.kind = (enum compute_kind)kind, .rows = rows, .conv = &l->conv};
        size_t bytes = compute_scratch_bytes(c, &op);
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* What forward left that says where a gradient goes. */
static struct compute_slice seen(const struct layer *l, const struct layer_pass *p)
{
    return l->conv.pool.size ? p->own : p->out;
}

static enum err conv2d_forward(const struct layer *l, const struct layer_pass *p, struct compute_slice params)
{
    return compute_conv_forward(p->compute, p->rows, &l->conv, p->in, compute_at(params, l->tensors[0]),
                                compute_at(params, l->tensors[1]), p->out, p->own, p->scratch);
}

static enum err conv2d_backward(const struct layer *l, const struct layer_pass *p,
                                struct compute_slice params)
{
    return compute_conv_input_gradient(p->compute, p->rows, &l->conv, p->d_out, seen(l, p),
                                       compute_at(params, l->tensors[0]), p->d_in, p->scratch);
}

static enum err conv2d_gradient(const struct layer *l, const struct layer_pass *p,
                                struct compute_slice gradient, bool accumulate)
{
    return compute_conv_gradient(p->compute, p->rows, &l->conv, accumulate, p->in, p->d_out, seen(l, p),
                                 compute_at(gradient, l->tensors[0]), compute_at(gradient, l->tensors[1]),
                                 p->scratch);
}

static enum err conv2d_update(const struct layer *l, const struct layer_pass *p, const struct sgd *sgd,
                              struct compute_slice params, struct compute_slice anchor)
{
    return compute_conv_update(p->compute, p->rows, &l->conv, sgd->learning_rate, sgd->proximal_mu, p->in,
                               p->d_out, seen(l, p), compute_at(params, l->tensors[0]),
                               compute_at(params, l->tensors[1]), compute_at(anchor, l->tensors[0]),
                               compute_at(anchor, l->tensors[1]), p->scratch);
}

const struct layer_ops layer_conv2d = {
    .name = "conv2d",
    .build = conv2d_build,
    .own_bytes = conv2d_own,
    .scratch_bytes = conv2d_scratch,
    .forward = conv2d_forward,
    .backward = conv2d_backward,
    .gradient = conv2d_gradient,
    .update = conv2d_update,
};
