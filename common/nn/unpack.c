#include "common/nn/layer.h"

static enum err unpack_forward(const struct layer *l, const struct layer_pass *p, struct compute_slice params)
{
    (void)params;
    return compute_unpack(p->compute, p->rows, &l->unpack, p->in, p->out);
}

/* Never called: nothing below it has weights. */
static enum err unpack_backward(const struct layer *l, const struct layer_pass *p,
                                struct compute_slice params)
{
    (void)l;
    (void)p;
    (void)params;
    bug("a gradient of the data");
}

const struct layer_ops layer_unpack = {
    .name = "unpack",
    .forward = unpack_forward,
    .backward = unpack_backward,
};

struct layer layer_unpack_to(size_t num_features, struct layout out)
{
    return (struct layer){.ops = &layer_unpack,
                          .in = {.pixels = 1, .channels = num_features, .pixel = num_features},
                          .out = out,
                          .tensor = -1,
                          .unpack = {out.pixels, out.channels, out.pixel, out.is_planar}};
}
