/* What computes on one OpenCL device for one thread. */
#ifndef FEDLANE_COMPUTE_OPENCL_OPENCL_H
#define FEDLANE_COMPUTE_OPENCL_OPENCL_H

#include "common/compute/compute_impl.h"
#include "common/compute/opencl/cl_device.h"

/* Kernels and the files that they are in; the last one needs numbers of double precision. */
#define CL_KERNELS(X)                                                                                        \
    X(dense, product)                                                                                        \
    X(dense, column_sums)                                                                                    \
    X(descent, descent)                                                                                      \
    X(few, few_forward)                                                                                      \
    X(few, few_input_gradient)                                                                               \
    X(softmax, softmax_gradient)                                                                             \
    X(softmax, softmax_loss)                                                                                 \
    X(softmax, sigmoid_gradient)                                                                             \
    X(softmax, sigmoid_loss)                                                                                 \
    X(conv, conv_forward)                                                                                    \
    X(conv, conv_input_gradient)                                                                             \
    X(conv, conv_gradient)                                                                                   \
    X(conv, conv_finish)                                                                                     \
    X(image, pool_forward)                                                                                   \
    X(image, pool_backward)                                                                                  \
    X(image, unpack)                                                                                         \
    X(lstm, lstm_pack)                                                                                       \
    X(lstm, lstm_forward)                                                                                    \
    X(lstm, lstm_backward)                                                                                   \
    X(sequence, gather)                                                                                      \
    X(sequence, scatter_add)                                                                                 \
    X(sequence, last_step)                                                                                   \
    X(vector, relu_forward)                                                                                  \
    X(vector, relu_backward)                                                                                 \
    X(vector, tanh_forward)                                                                                  \
    X(vector, tanh_backward)                                                                                 \
    X(vector, dropout)                                                                                       \
    X(vector, prox_gradient)                                                                                 \
    X(vector, prox_step)                                                                                     \
    X(vector, reduce)

enum cl_kernel_name {
#define X(file, name) CL_KERNEL_##name,
    CL_KERNELS(X)
#undef X
        CL_KERNEL_COUNT
};

struct opencl {
    struct cl_session *session;
    const struct cl_device *device;
    const struct cl_library *cl;
    cl_command_queue queue;             /* in order */
    cl_kernel kernels[CL_KERNEL_COUNT]; /* this thread's own: their arguments are set one by one */
    char trouble[384];                  /* the last error, "" before it */
};

/* CL_SUCCESS is ERR_OK. Anything else is logged and kept as the device's trouble, and the session given up:
 * ERR_NO_MEMORY for the codes that mean it, else ERR_UNAVAILABLE. */
enum err opencl_check(struct opencl *o, cl_int code, const char *what) MUST_CHECK;

/* By subject; each takes the whole operation. */
enum err opencl_dense_forward(struct opencl *o, const struct compute_op *op) MUST_CHECK;
enum err opencl_dense_input_gradient(struct opencl *o, const struct compute_op *op) MUST_CHECK;
enum err opencl_dense_gradient(struct opencl *o, const struct compute_op *op) MUST_CHECK;
enum err opencl_dense_update(struct opencl *o, const struct compute_op *op) MUST_CHECK;
enum err opencl_conv_forward(struct opencl *o, const struct compute_op *op) MUST_CHECK;
enum err opencl_conv_input_gradient(struct opencl *o, const struct compute_op *op) MUST_CHECK;
enum err opencl_conv_gradient(struct opencl *o, const struct compute_op *op) MUST_CHECK;
enum err opencl_pool(struct opencl *o, const struct compute_op *op) MUST_CHECK;
enum err opencl_unpack(struct opencl *o, const struct compute_op *op) MUST_CHECK;
enum err opencl_lstm_forward(struct opencl *o, const struct compute_op *op) MUST_CHECK;
enum err opencl_lstm_backward(struct opencl *o, const struct compute_op *op) MUST_CHECK;
enum err opencl_last_step(struct opencl *o, const struct compute_op *op) MUST_CHECK;
enum err opencl_gather(struct opencl *o, const struct compute_op *op) MUST_CHECK;
enum err opencl_scatter_add(struct opencl *o, const struct compute_op *op) MUST_CHECK;

enum err opencl_descent(struct opencl *o, const struct compute_op *op) MUST_CHECK;

bool opencl_supports_descent(const struct opencl *o, const struct compute_op *op);
size_t opencl_conv_scratch(const struct compute_op *op);
size_t opencl_lstm_scratch(const struct compute_op *op);

bool opencl_supports(void *state, const struct compute_op *op);
size_t opencl_scratch(void *state, const struct compute_op *op);
enum err opencl_run(void *state, const struct compute_op *op) MUST_CHECK;

#endif
