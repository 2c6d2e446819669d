#include "common/compute/reference/reference.h"

static void reference_softmax_step(const struct compute_op *op)
{
    const struct compute_softmax_parts parts = compute_softmax_parts(op);
    reference_dense_forward(&parts.forward);
    reference_softmax_gradient(&parts.gradient);
    reference_dense_update(&parts.update);
}

static void (*const operations[COMPUTE_KIND_COUNT])(const struct compute_op *op) = {
    [COMPUTE_DENSE_FORWARD] = reference_dense_forward,
    [COMPUTE_DENSE_INPUT_GRADIENT] = reference_dense_input_gradient,
    [COMPUTE_DENSE_GRADIENT] = reference_dense_gradient,
    [COMPUTE_DENSE_UPDATE] = reference_dense_update,
    [COMPUTE_RELU_FORWARD] = reference_relu_forward,
    [COMPUTE_RELU_BACKWARD] = reference_relu_backward,
    [COMPUTE_TANH_FORWARD] = reference_tanh_forward,
    [COMPUTE_TANH_BACKWARD] = reference_tanh_backward,
    [COMPUTE_SOFTMAX_GRADIENT] = reference_softmax_gradient,
    [COMPUTE_SOFTMAX_LOSS] = reference_softmax_loss,
    [COMPUTE_SOFTMAX_STEP] = reference_softmax_step,
    [COMPUTE_UNPACK] = reference_unpack,
    [COMPUTE_CONV_FORWARD] = reference_conv_forward,
    [COMPUTE_CONV_INPUT_GRADIENT] = reference_conv_input_gradient,
    [COMPUTE_CONV_GRADIENT] = reference_conv_gradient,
    [COMPUTE_CONV_UPDATE] = reference_conv_update,
    [COMPUTE_POOL_FORWARD] = reference_pool_forward,
    [COMPUTE_POOL_BACKWARD] = reference_pool_backward,
    [COMPUTE_LSTM_FORWARD] = reference_lstm_forward,
    [COMPUTE_LSTM_BACKWARD] = reference_lstm_backward,
    [COMPUTE_SIGMOID_GRADIENT] = reference_sigmoid_gradient,
    [COMPUTE_SIGMOID_LOSS] = reference_sigmoid_loss,
    [COMPUTE_DROPOUT] = reference_dropout,
    [COMPUTE_LAST_STEP] = reference_last_step,
    [COMPUTE_GATHER] = reference_gather,
    [COMPUTE_SCATTER_ADD] = reference_scatter_add,
    [COMPUTE_DESCENT] = reference_descent,
    [COMPUTE_PROX_STEP] = reference_prox_step,
    [COMPUTE_PROX_GRADIENT] = reference_prox_gradient,
    [COMPUTE_DOT] = reference_dot,
    [COMPUTE_SQUARED_DISTANCE] = reference_squared_distance,
};

void reference_pad(real *matrix, size_t rows, size_t width)
{
    size_t stride = compute_stride(width);
    for (size_t r = 0; r < rows; r++) {
        for (size_t j = width; j < stride; j++)
            matrix[r * stride + j] = 0;
    }
}

void compute_reference_run(const struct compute_op *op)
{
    operations[op->kind](op);
}

static enum err reference_open(const char *device, void **out_state, struct fault *fault)
{
    *out_state = NULL;
    return compute_refuse_device("reference", device, fault);
}

static void reference_close(void *state)
{
    (void)state;
}

static const char *reference_describe(void *state)
{
    (void)state;
    return "reference: plain C, sums in double";
}

static bool reference_supports(void *state, const struct compute_op *op)
{
    (void)state;
    (void)op;
    return true;
}

static enum err reference_run(void *state, const struct compute_op *op)
{
    (void)state;
    compute_reference_run(op);
    return ERR_OK;
}

const struct compute_backend compute_reference = {
    .name = "reference",
    .open = reference_open,
    .close = reference_close,
    .describe = reference_describe,
    .alloc = compute_host_alloc,
    .release = compute_host_release,
    .supports = reference_supports,
    .run = reference_run,
};
