/* Convolutions and poolings of many shapes on a backend, against the reference. */
#include "tests/compute/image_ops.h"

static struct compute_pool make_pool(size_t channels, size_t height, size_t width, size_t size, size_t stride)
{
    struct compute_pool p = {
        .channels = channels, .height = height, .width = width, .size = size, .stride = stride};
    p.out_height = height < size ? 0 : (height - size) / stride + 1;
    p.out_width = width < size ? 0 : (width - size) / stride + 1;
    return p;
}

struct form {
    size_t channels, height, width, filters, kernel_height, kernel_width, stride, pad;
    size_t pool;
};

static struct compute_conv make_conv(const struct form *f, bool is_padded, bool has_relu)
{
    struct compute_conv g = {.channels = f->channels,
                             .height = f->height,
                             .width = f->width,
                             .pixel = is_padded ? compute_stride(f->channels) : f->channels,
                             .filters = f->filters,
                             .kernel_height = f->kernel_height,
                             .kernel_width = f->kernel_width,
                             .stride = f->stride,
                             .pad_top = f->pad,
                             .pad_left = f->pad,
                             .has_relu = has_relu};
    g.out_height = (f->height + 2 * f->pad - f->kernel_height) / f->stride + 1;
    g.out_width = (f->width + 2 * f->pad - f->kernel_width) / f->stride + 1;
    if (f->pool)
        g.pool = make_pool(f->filters, g.out_height, g.out_width, f->pool, f->pool);
    return g;
}

static struct compute_op make_op(enum compute_kind kind, size_t rows)
{
    return (struct compute_op){.kind = kind, .rows = rows, .learning_rate = 0.125f, .mu = 0.5f};
}

static void ck_conv(struct compute *c, struct compute *reference, size_t rows, const struct compute_conv *g)
{
    for (int kind = COMPUTE_CONV_FORWARD; kind <= COMPUTE_CONV_UPDATE; kind++) {
        struct compute_op op = make_op((enum compute_kind)kind, rows);
        op.conv = g;
        ck_op(c, reference, op);
        op.accumulate = true;
        op.mu = 0;
        if (kind == COMPUTE_CONV_GRADIENT || kind == COMPUTE_CONV_UPDATE)
            ck_op(c, reference, op);
    }
}

void ck_image_ops(struct compute *c, struct compute *reference)
{
    static const struct form forms[] = {
        {1, 5, 5, 1, 1, 1, 1, 0, 0},    {1, 6, 7, 3, 3, 3, 1, 1, 2},     {3, 8, 8, 17, 5, 5, 1, 2, 2},
        {16, 6, 6, 16, 3, 3, 1, 1, 2},  {2, 9, 7, 5, 2, 3, 2, 0, 0},     {4, 7, 7, 6, 3, 3, 3, 2, 2},
        {5, 11, 10, 33, 4, 2, 1, 1, 3}, {32, 7, 7, 20, 5, 5, 1, 2, 2},   {7, 3, 3, 9, 3, 3, 1, 0, 0},
        {1, 14, 14, 32, 5, 5, 1, 2, 2}, {1, 1, 1, 2, 1, 1, 1, 0, 1},     {3, 5, 4, 2, 5, 4, 1, 0, 0},
        {2, 2, 2, 3, 3, 3, 1, 3, 0},    {20, 11, 13, 18, 5, 5, 1, 0, 2}, {40, 12, 9, 3, 5, 5, 1, 1, 2},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const bool is_large = forms[i].channels * forms[i].filters * forms[i].height > 300;
        for (size_t rows = is_large ? 2 : 0; rows < 4; rows += is_large ? 2 : 1) {
            const struct compute_conv g = make_conv(&forms[i], (rows + i) % 2 == 1, (rows / 2 + i) % 2 == 1);
            ck_conv(c, reference, rows, &g);
        }
    }
    static const size_t pools[][5] = {
        {1, 1, 1, 1, 1}, {3, 5, 6, 2, 2}, {16, 7, 7, 3, 2}, {20, 9, 4, 2, 3}, {2, 15, 16, 15, 1}};
    for (size_t i = 0; i < sizeof pools / sizeof *pools; i++) {
        const size_t *p = pools[i];
        const struct compute_pool pool = make_pool(p[0], p[1], p[2], p[3], p[4]);
        for (size_t rows = 0; rows <= 3; rows++) {
            struct compute_op op = make_op(COMPUTE_POOL_FORWARD, rows);
            op.pool = &pool;
            ck_op(c, reference, op);
            op.kind = COMPUTE_POOL_BACKWARD;
            ck_op(c, reference, op);
            for (int form = 0; form < 4; form++) {
                const struct compute_unpack unpack = {p[1] * p[2], p[0],
                                                      form % 2 ? compute_stride(p[0]) : p[0], form / 2 == 1};
                op = make_op(COMPUTE_UNPACK, rows);
                op.unpack = &unpack;
                ck_op(c, reference, op);
            }
        }
    }
}
