/* What computes on one OpenCL device for one thread. */
#ifndef FEDLANE_COMPUTE_OPENCL_OPENCL_H
#define FEDLANE_COMPUTE_OPENCL_OPENCL_H

#include "common/compute/compute_impl.h"
#include "common/compute/opencl/cl_device.h"

/* The kernels of kernels.cl; the last ones need numbers of double precision. */
#define CL_KERNELS(X)                                                                                        \
    X(product)                                                                                               \
    X(column_sums)                                                                                           \
    X(relu_forward)                                                                                          \
    X(relu_backward)                                                                                         \
    X(softmax_gradient)                                                                                      \
    X(softmax_loss)                                                                                          \
    X(prox_gradient)                                                                                         \
    X(reduce)

enum cl_kernel_name {
#define X(name) CL_KERNEL_##name,
    CL_KERNELS(X)
#undef X
        CL_KERNEL_COUNT
};

struct opencl {
    const struct cl_device *device;
    cl_command_queue queue;             /* in order */
    cl_kernel kernels[CL_KERNEL_COUNT]; /* this thread's own: their arguments are set one by one */
};

bool opencl_supports(void *state, const struct compute_op *op);
enum err opencl_run(void *state, const struct compute_op *op) MUST_CHECK;

#endif
