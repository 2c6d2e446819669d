/* Convolutions on OpenCL: conv.cl. */
#include "common/compute/compute_image.h"
#include "common/compute/opencl/launch.h"

/* conv.cl's struct conv */
struct cl_conv {
    cl_uint rows, channels, height, width, pixel, input;
    cl_uint filters, filters_stride, kernel_height, kernel_width, run, filter;
    cl_uint stride;
    cl_int pad_top, pad_left;
    cl_uint out_height, out_width;
    cl_uint has_relu, pool;
    cl_uint z_height, z_width;
};

static struct cl_conv sizes_of(const struct compute_op *op)
{
    const struct compute_conv *g = op->conv;
    return (struct cl_conv){.rows = (cl_uint)op->rows,
                            .channels = (cl_uint)g->channels,
                            .height = (cl_uint)g->height,
                            .width = (cl_uint)g->width,
                            .pixel = (cl_uint)g->pixel,
                            .input = (cl_uint)compute_conv_input(g),
                            .filters = (cl_uint)g->filters,
                            .filters_stride = (cl_uint)compute_stride(g->filters),
                            .kernel_height = (cl_uint)g->kernel_height,
                            .kernel_width = (cl_uint)g->kernel_width,
                            .run = (cl_uint)compute_conv_run(g),
                            .filter = (cl_uint)compute_conv_filter(g),
                            .stride = (cl_uint)g->stride,
                            .pad_top = (cl_int)g->pad_top,
                            .pad_left = (cl_int)g->pad_left,
                            .out_height = (cl_uint)g->out_height,
                            .out_width = (cl_uint)g->out_width,
                            .has_relu = g->has_relu,
                            .pool = (cl_uint)g->pool.size,
                            .z_height = (cl_uint)(g->pool.size ? g->pool.out_height : g->out_height),
                            .z_width = (cl_uint)(g->pool.size ? g->pool.out_width : g->out_width)};
}

/* The gradient's sum over pixels is made of parts, so that there is work for many groups where filters are
 * few. Only the sizes say which: PART_PIXELS each, and more where that would be more than MOST_PARTS. */
enum { PART_PIXELS = 512, MOST_PARTS = 32 };

static size_t parts_at_most(const struct compute_op *op)
{
    const size_t parts =
        (op->rows * op->conv->out_height * op->conv->out_width + PART_PIXELS - 1) / PART_PIXELS;
    return parts < MOST_PARTS ? parts : MOST_PARTS;
}

size_t opencl_conv_scratch(const struct compute_op *op)
{
    if (op->kind != COMPUTE_CONV_GRADIENT && op->kind != COMPUTE_CONV_UPDATE)
        return 0;
    return parts_at_most(op) * op->conv->filters * (compute_conv_filter(op->conv) + CL_SIDE) * sizeof(float);
}

/* A slice that the operation's form may have left out; the kernel does not look at it then. */
static struct compute_slice or_else(bool is_used, struct compute_slice s, struct compute_slice otherwise)
{
    return is_used ? s : otherwise;
}

enum err opencl_conv_forward(struct opencl *o, const struct compute_op *op)
{
    const struct cl_conv g = sizes_of(op);
    struct launch l = launch_of(o, CL_KERNEL_conv_forward);
    launch_bytes(&l, sizeof g, &g);
    launch_reals(&l, op->arg, 4);
    launch_slice(&l, or_else(g.pool > 0, op->arg[4], op->arg[3]), 1);
    return launch_tiles(&l, g.filters_stride, op->rows * g.z_height * g.z_width, 1);
}

enum err opencl_conv_input_gradient(struct opencl *o, const struct compute_op *op)
{
    const struct cl_conv g = sizes_of(op);
    struct launch l = launch_of(o, CL_KERNEL_conv_input_gradient);
    launch_bytes(&l, sizeof g, &g);
    launch_reals(&l, &op->arg[0], 1);
    launch_slice(&l, or_else(g.pool > 0 || g.has_relu, op->arg[1], op->arg[0]), 1);
    launch_reals(&l, &op->arg[2], 2);
    return launch_tiles(&l, g.pixel, op->rows * g.height * g.width, 1);
}

static enum err finish(struct opencl *o, const struct compute_op *op, const struct cl_conv *g, size_t parts)
{
    const bool is_update = op->kind == COMPUTE_CONV_UPDATE;
    const enum cl_finish how = is_update ? CL_FINISH_STEP : op->accumulate ? CL_FINISH_ADD : CL_FINISH_STORE;
    struct launch l = launch_of(o, CL_KERNEL_conv_finish);
    launch_bytes(&l, sizeof *g, g);
    launch_uint(&l, parts);
    launch_reals(&l, &op->scratch, 1);
    launch_reals(&l, &op->arg[3], 2);
    launch_reals(&l, &op->arg[is_update ? 5 : 3], 2);
    launch_int(&l, (int)how);
    launch_float(&l, op->learning_rate);
    launch_float(&l, op->mu);
    return launch_many(&l, (size_t)g->filters * (g->filter + CL_SIDE));
}

enum err opencl_conv_gradient(struct opencl *o, const struct compute_op *op)
{
    const struct cl_conv g = sizes_of(op);
    const size_t pixels = op->rows * g.out_height * g.out_width, most = parts_at_most(op);
    if (pixels == 0)
        return finish(o, op, &g, 0);
    const size_t each = (pixels + most - 1) / most, parts = (pixels + each - 1) / each;
    struct launch l = launch_of(o, CL_KERNEL_conv_gradient);
    launch_bytes(&l, sizeof g, &g);
    launch_uint(&l, each);
    launch_reals(&l, &op->arg[0], 2);
    launch_slice(&l, or_else(g.pool > 0 || g.has_relu, op->arg[2], op->arg[1]), 1);
    launch_reals(&l, &op->scratch, 1);
    enum err err = launch_tiles(&l, g.filter + 1, g.filters, parts);
    return err ? err : finish(o, op, &g, parts);
}
