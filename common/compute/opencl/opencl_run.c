/* From an operation to the kernels that do it. */
#include <math.h>
#include "common/compute/compute_image.h"
#include "common/compute/compute_lstm.h"
#include "common/compute/opencl/launch.h"

enum { PARTS = 256 }; /* as vector.cl has it */

static enum err run_vector(struct opencl *o, const struct compute_op *op, enum cl_kernel_name kernel,
                           int num_args)
{
    struct launch l = launch_of(o, kernel);
    launch_ulong(&l, op->rows);
    if (op->kind == COMPUTE_PROX_STEP)
        launch_float(&l, op->learning_rate);
    if (op->kind == COMPUTE_PROX_STEP || op->kind == COMPUTE_PROX_GRADIENT)
        launch_float(&l, op->mu);
    launch_reals(&l, op->arg, num_args);
    return launch_many(&l, op->rows);
}

static enum err run_dropout(struct opencl *o, const struct compute_op *op)
{
    struct launch l = launch_of(o, CL_KERNEL_dropout);
    launch_ulong(&l, op->rows);
    launch_ulong(&l, op->key);
    launch_ulong(&l, (uint64_t)ceil((double)op->scale * 0x1p53));
    launch_float(&l, op->scale);
    launch_reals(&l, op->arg, 2);
    return launch_many(&l, op->rows);
}

static enum err run_loss(struct opencl *o, const struct compute_op *op, enum cl_kernel_name kernel)
{
    struct launch l = launch_of(o, kernel);
    launch_uint(&l, op->rows);
    launch_uint(&l, op->outputs);
    launch_uint(&l, compute_stride(op->outputs));
    if (op->kind != COMPUTE_SOFTMAX_LOSS && op->kind != COMPUTE_SIGMOID_LOSS)
        launch_float(&l, op->scale);
    launch_reals(&l, op->arg, 5);
    return launch_many(&l, op->rows);
}

static enum err run_reduce(struct opencl *o, const struct compute_op *op)
{
    struct launch l = launch_of(o, CL_KERNEL_reduce);
    const size_t all = PARTS;
    launch_ulong(&l, op->rows);
    launch_int(&l, op->kind == COMPUTE_SQUARED_DISTANCE);
    launch_reals(&l, op->arg, 2);
    launch_slice(&l, op->arg[2], sizeof(double));
    return launch_groups(&l, 1, &all, &all);
}

static enum err run_softmax_step(struct opencl *o, const struct compute_op *op)
{
    const struct compute_softmax_parts parts = compute_softmax_parts(op);
    enum err err = opencl_dense_forward(o, &parts.forward);
    if (!err)
        err = run_loss(o, &parts.gradient, CL_KERNEL_softmax_gradient);
    return err ? err : opencl_dense_update(o, &parts.update);
}

/* Operations on vectors. */
static enum err run_simple(struct opencl *o, const struct compute_op *op)
{
    switch (op->kind) {
    case COMPUTE_RELU_FORWARD:
        return run_vector(o, op, CL_KERNEL_relu_forward, 2);
    case COMPUTE_RELU_BACKWARD:
        return run_vector(o, op, CL_KERNEL_relu_backward, 3);
    case COMPUTE_TANH_FORWARD:
        return run_vector(o, op, CL_KERNEL_tanh_forward, 2);
    case COMPUTE_TANH_BACKWARD:
        return run_vector(o, op, CL_KERNEL_tanh_backward, 3);
    case COMPUTE_PROX_GRADIENT:
        return run_vector(o, op, CL_KERNEL_prox_gradient, 3);
    case COMPUTE_PROX_STEP:
        return run_vector(o, op, CL_KERNEL_prox_step, 3);
    case COMPUTE_DROPOUT:
        return run_dropout(o, op);
    case COMPUTE_SOFTMAX_GRADIENT:
        return run_loss(o, op, CL_KERNEL_softmax_gradient);
    case COMPUTE_SOFTMAX_LOSS:
        return run_loss(o, op, CL_KERNEL_softmax_loss);
    case COMPUTE_SIGMOID_GRADIENT:
        return run_loss(o, op, CL_KERNEL_sigmoid_gradient);
    case COMPUTE_SIGMOID_LOSS:
        return run_loss(o, op, CL_KERNEL_sigmoid_loss);
    case COMPUTE_DOT:
    case COMPUTE_SQUARED_DISTANCE:
        return run_reduce(o, op);
    default:
        bug("opencl does not do %s", compute_kind_name(op->kind));
    }
}

enum err opencl_run(void *state, const struct compute_op *op)
{
    static enum err (*const layers[COMPUTE_KIND_COUNT])(struct opencl * o, const struct compute_op *op) = {
        [COMPUTE_DENSE_FORWARD] = opencl_dense_forward,
        [COMPUTE_DENSE_INPUT_GRADIENT] = opencl_dense_input_gradient,
        [COMPUTE_DENSE_GRADIENT] = opencl_dense_gradient,
        [COMPUTE_DENSE_UPDATE] = opencl_dense_update,
        [COMPUTE_SOFTMAX_STEP] = run_softmax_step,
        [COMPUTE_CONV_FORWARD] = opencl_conv_forward,
        [COMPUTE_CONV_INPUT_GRADIENT] = opencl_conv_input_gradient,
        [COMPUTE_CONV_GRADIENT] = opencl_conv_gradient,
        [COMPUTE_CONV_UPDATE] = opencl_conv_gradient,
        [COMPUTE_POOL_FORWARD] = opencl_pool,
        [COMPUTE_POOL_BACKWARD] = opencl_pool,
        [COMPUTE_UNPACK] = opencl_unpack,
        [COMPUTE_LSTM_FORWARD] = opencl_lstm_forward,
        [COMPUTE_LSTM_BACKWARD] = opencl_lstm_backward,
        [COMPUTE_LAST_STEP] = opencl_last_step,
        [COMPUTE_GATHER] = opencl_gather,
        [COMPUTE_SCATTER_ADD] = opencl_scatter_add,
        [COMPUTE_DESCENT] = opencl_descent,
    };
    return layers[op->kind] ? layers[op->kind](state, op) : run_simple(state, op);
}

size_t opencl_scratch(void *state, const struct compute_op *op)
{
    (void)state;
    switch (op->kind) {
    case COMPUTE_CONV_GRADIENT:
    case COMPUTE_CONV_UPDATE:
        return opencl_conv_scratch(op);
    case COMPUTE_LSTM_FORWARD:
        return opencl_lstm_scratch(op);
    default:
        return 0;
    }
}

/* Whether all operands together could be indexed by 31 bits. Kernels take sizes, and places within a row or
 * an image, as 32 bits, and places of rows as 64: so this asks for a little more than they need. */
static bool has_usual_sizes(const struct compute_op *op)
{
    struct compute_operand operands[COMPUTE_MAX_ARGS];
    const size_t most = (size_t)1 << 31;
    const int count = compute_operands(op, operands);
    for (int i = 0; i < count; i++) {
        if (operands[i].bytes / sizeof(float) >= most)
            return false;
    }
    const bool is_conv = op->kind >= COMPUTE_CONV_FORWARD && op->kind <= COMPUTE_CONV_UPDATE;
    return !is_conv ||
           op->rows * op->conv->out_height * op->conv->out_width < most; /* a pool may hide them */
}

bool opencl_supports(void *state, const struct compute_op *op)
{
    const struct opencl *o = state;
    switch (op->kind) {
    case COMPUTE_DOT:
    case COMPUTE_SQUARED_DISTANCE:
        return o->device->has_double;
    case COMPUTE_DESCENT:
        return opencl_supports_descent(o, op) && has_usual_sizes(op);
    case COMPUTE_KIND_COUNT:
        return false;
    default:
        return has_usual_sizes(op);
    }
}
