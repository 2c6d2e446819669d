/* Max-pooling and the order of an image's values on OpenCL: image.cl. */
#include "common/compute/compute_image.h"
#include "common/compute/opencl/launch.h"

enum err opencl_pool(struct opencl *o, const struct compute_op *op)
{
    const struct compute_pool *g = op->pool;
    const bool is_forward = op->kind == COMPUTE_POOL_FORWARD;
    const size_t sizes[] = {
        op->rows,    compute_stride(g->channels), g->size, g->stride, g->height, g->width, g->out_height,
        g->out_width};
    struct launch l = launch_of(o, is_forward ? CL_KERNEL_pool_forward : CL_KERNEL_pool_backward);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        launch_uint(&l, sizes[i]);
    for (int i = 0; i < 3; i++) /* the bytes come last or in the middle */
        launch_slice(&l, op->arg[i], i == (is_forward ? 2 : 1) ? 1 : sizeof(float));
    return launch_matrix(&l, compute_stride(g->channels),
                         op->rows * (is_forward ? g->out_height * g->out_width : g->height * g->width));
}

enum err opencl_unpack(struct opencl *o, const struct compute_op *op)
{
    const struct compute_unpack *g = op->unpack;
    const size_t y_stride = compute_stride(g->pixels * g->pixel);
    struct launch l = launch_of(o, CL_KERNEL_unpack);
    launch_uint(&l, op->rows);
    launch_uint(&l, g->pixels);
    launch_uint(&l, g->channels);
    launch_uint(&l, g->pixel);
    launch_int(&l, g->is_planar);
    launch_uint(&l, compute_stride(g->pixels * g->channels));
    launch_uint(&l, y_stride);
    launch_reals(&l, op->arg, 2);
    return launch_matrix(&l, y_stride, op->rows);
}
