#include "common/compute/compute_image.h"

#include "common/compute/compute_impl.h"

#define IN(n)     COMPUTE_OPERAND(IN, n)
#define OUT(n)    COMPUTE_OPERAND(OUT, n)
#define IN_OUT(n) COMPUTE_OPERAND(IN_OUT, n)
#define NOTHING   COMPUTE_OPERAND(IN, 0)

size_t compute_conv_input(const struct compute_conv *g)
{
    return compute_stride(g->height * g->width * g->pixel);
}

size_t compute_conv_output(const struct compute_conv *g)
{
    size_t pixels = g->pool.size ? g->pool.out_height * g->pool.out_width : g->out_height * g->out_width;
    return pixels * compute_stride(g->filters);
}

size_t compute_conv_run(const struct compute_conv *g)
{
    return compute_stride(g->kernel_width * g->pixel);
}

size_t compute_conv_filter(const struct compute_conv *g)
{
    return g->kernel_height * compute_conv_run(g);
}

size_t compute_conv_largest(const struct compute_conv *g)
{
    return g->pool.size ? compute_conv_output(g) : 0;
}

static int conv_operands(const struct compute_op *op, struct compute_operand *out)
{
    const struct compute_conv *g = op->conv;
    const size_t x = op->rows * compute_conv_input(g), z = op->rows * compute_conv_output(g),
                 largest = op->rows * compute_conv_largest(g), b = compute_stride(g->filters),
                 w = g->filters * compute_conv_filter(g);
    const struct compute_operand seen = g->pool.size  ? (struct compute_operand){COMPUTE_IN, largest}
                                        : g->has_relu ? IN(z)
                                                      : NOTHING;
    switch (op->kind) {
    case COMPUTE_CONV_FORWARD:
        out[0] = IN(x), out[1] = IN(w), out[2] = IN(b), out[3] = OUT(z);
        out[4] = (struct compute_operand){COMPUTE_OUT, largest};
        return 5;
    case COMPUTE_CONV_INPUT_GRADIENT:
        out[0] = IN(z), out[1] = seen, out[2] = IN(w), out[3] = OUT(x);
        return 4;
    case COMPUTE_CONV_GRADIENT:
        out[0] = IN(x), out[1] = IN(z), out[2] = seen;
        out[3] = op->accumulate ? IN_OUT(w) : OUT(w);
        out[4] = op->accumulate ? IN_OUT(b) : OUT(b);
        return 5;
    default: /* COMPUTE_CONV_UPDATE */
        out[0] = IN(x), out[1] = IN(z), out[2] = seen;
        out[3] = IN_OUT(w), out[4] = IN_OUT(b), out[5] = IN(w), out[6] = IN(b);
        return 7;
    }
}

int compute_image_operands(const struct compute_op *op, struct compute_operand out[COMPUTE_MAX_ARGS])
{
    if (op->kind == COMPUTE_UNPACK) {
        const struct compute_unpack *g = op->unpack;
        out[0] = IN(op->rows * compute_stride(g->pixels * g->channels));
        out[1] = OUT(op->rows * compute_stride(g->pixels * g->pixel));
        return 2;
    }
    if (op->kind != COMPUTE_POOL_FORWARD && op->kind != COMPUTE_POOL_BACKWARD)
        return conv_operands(op, out);
    const struct compute_pool *g = op->pool;
    size_t stride = compute_stride(g->channels), x = op->rows * g->height * g->width * stride,
           y = op->rows * g->out_height * g->out_width * stride;
    if (op->kind == COMPUTE_POOL_FORWARD)
        out[0] = IN(x), out[1] = OUT(y), out[2] = (struct compute_operand){COMPUTE_OUT, y};
    else
        out[0] = IN(y), out[1] = (struct compute_operand){COMPUTE_IN, y}, out[2] = OUT(x);
    return 3;
}

enum err compute_conv_forward(struct compute *c, size_t rows, const struct compute_conv *g,
                              struct compute_slice x, struct compute_slice w, struct compute_slice b,
                              struct compute_slice z, struct compute_slice largest,
                              struct compute_slice scratch)
{
    const struct compute_op op = {.kind = COMPUTE_CONV_FORWARD,
                                  .rows = rows,
                                  .conv = g,
                                  .arg = {x, w, b, z, largest},
                                  .scratch = scratch};
    return compute_run(c, &op);
}

enum err compute_conv_input_gradient(struct compute *c, size_t rows, const struct compute_conv *g,
                                     struct compute_slice dz, struct compute_slice seen,
                                     struct compute_slice w, struct compute_slice dx,
                                     struct compute_slice scratch)
{
    const struct compute_op op = {.kind = COMPUTE_CONV_INPUT_GRADIENT,
                                  .rows = rows,
                                  .conv = g,
                                  .arg = {dz, seen, w, dx},
                                  .scratch = scratch};
    return compute_run(c, &op);
}

enum err compute_conv_gradient(struct compute *c, size_t rows, const struct compute_conv *g, bool accumulate,
                               struct compute_slice x, struct compute_slice dz, struct compute_slice seen,
                               struct compute_slice dw, struct compute_slice db, struct compute_slice scratch)
{
    const struct compute_op op = {.kind = COMPUTE_CONV_GRADIENT,
                                  .rows = rows,
                                  .conv = g,
                                  .accumulate = accumulate,
                                  .arg = {x, dz, seen, dw, db},
                                  .scratch = scratch};
    return compute_run(c, &op);
}

enum err compute_conv_update(struct compute *c, size_t rows, const struct compute_conv *g, real learning_rate,
                             real mu, struct compute_slice x, struct compute_slice dz,
                             struct compute_slice seen, struct compute_slice w, struct compute_slice b,
                             struct compute_slice w0, struct compute_slice b0, struct compute_slice scratch)
{
    const struct compute_op op = {.kind = COMPUTE_CONV_UPDATE,
                                  .rows = rows,
                                  .conv = g,
                                  .learning_rate = learning_rate,
                                  .mu = mu,
                                  .arg = {x, dz, seen, w, b, w0, b0},
                                  .scratch = scratch};
    return compute_run(c, &op);
}

enum err compute_pool_forward(struct compute *c, size_t rows, const struct compute_pool *g,
                              struct compute_slice x, struct compute_slice y, struct compute_slice largest)
{
    const struct compute_op op = {
        .kind = COMPUTE_POOL_FORWARD, .rows = rows, .pool = g, .arg = {x, y, largest}};
    return compute_run(c, &op);
}

enum err compute_pool_backward(struct compute *c, size_t rows, const struct compute_pool *g,
                               struct compute_slice dy, struct compute_slice largest, struct compute_slice dx)
{
    const struct compute_op op = {
        .kind = COMPUTE_POOL_BACKWARD, .rows = rows, .pool = g, .arg = {dy, largest, dx}};
    return compute_run(c, &op);
}

enum err compute_unpack(struct compute *c, size_t rows, const struct compute_unpack *g,
                        struct compute_slice x, struct compute_slice y)
{
    const struct compute_op op = {.kind = COMPUTE_UNPACK, .rows = rows, .unpack = g, .arg = {x, y}};
    return compute_run(c, &op);
}
