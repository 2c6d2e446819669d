#include <string.h>
#include "common/compute/compute.h"
#include "common/compute/compute_impl.h"

static const char *const kind_names[COMPUTE_KIND_COUNT] = {
    [COMPUTE_DENSE_FORWARD] = "dense_forward",
    [COMPUTE_DENSE_INPUT_GRADIENT] = "dense_input_gradient",
    [COMPUTE_DENSE_GRADIENT] = "dense_gradient",
    [COMPUTE_DENSE_UPDATE] = "dense_update",
    [COMPUTE_RELU_FORWARD] = "relu_forward",
    [COMPUTE_RELU_BACKWARD] = "relu_backward",
    [COMPUTE_TANH_FORWARD] = "tanh_forward",
    [COMPUTE_TANH_BACKWARD] = "tanh_backward",
    [COMPUTE_SOFTMAX_GRADIENT] = "softmax_gradient",
    [COMPUTE_SOFTMAX_LOSS] = "softmax_loss",
    [COMPUTE_SOFTMAX_STEP] = "softmax_step",
    [COMPUTE_UNPACK] = "unpack",
    [COMPUTE_CONV_FORWARD] = "conv_forward",
    [COMPUTE_CONV_INPUT_GRADIENT] = "conv_input_gradient",
    [COMPUTE_CONV_GRADIENT] = "conv_gradient",
    [COMPUTE_CONV_UPDATE] = "conv_update",
    [COMPUTE_POOL_FORWARD] = "pool_forward",
    [COMPUTE_POOL_BACKWARD] = "pool_backward",
    [COMPUTE_LSTM_FORWARD] = "lstm_forward",
    [COMPUTE_LSTM_BACKWARD] = "lstm_backward",
    [COMPUTE_SIGMOID_GRADIENT] = "sigmoid_gradient",
    [COMPUTE_SIGMOID_LOSS] = "sigmoid_loss",
    [COMPUTE_DROPOUT] = "dropout",
    [COMPUTE_LAST_STEP] = "last_step",
    [COMPUTE_GATHER] = "gather",
    [COMPUTE_SCATTER_ADD] = "scatter_add",
    [COMPUTE_PROX_STEP] = "prox_step",
    [COMPUTE_DESCENT] = "descent",
    [COMPUTE_PROX_GRADIENT] = "prox_gradient",
    [COMPUTE_DOT] = "dot",
    [COMPUTE_SQUARED_DISTANCE] = "squared_distance",
};

const char *compute_kind_name(enum compute_kind kind)
{
    return kind_names[kind];
}

#define IN(n)       COMPUTE_OPERAND(IN, n)
#define OUT(n)      COMPUTE_OPERAND(OUT, n)
#define IN_OUT(n)   COMPUTE_OPERAND(IN_OUT, n)
#define IN_INTS(n)  ((struct compute_operand){COMPUTE_IN, sizeof(int32_t) * (n)})
#define OUT_INTS(n) ((struct compute_operand){COMPUTE_OUT, sizeof(int32_t) * (n)})
#define OUT_DOUBLE  ((struct compute_operand){COMPUTE_OUT, sizeof(double)})

static int dense_operands(const struct compute_op *op, struct compute_operand *out)
{
    size_t inputs = compute_stride(op->inputs), b = compute_stride(op->outputs);
    size_t x = op->rows * inputs, z = op->rows * b, w = op->outputs * inputs;
    switch (op->kind) {
    case COMPUTE_DENSE_FORWARD:
        out[0] = IN(x), out[1] = IN(w), out[2] = IN(b), out[3] = OUT(z);
        return 4;
    case COMPUTE_DENSE_INPUT_GRADIENT:
        out[0] = IN(z), out[1] = IN(w), out[2] = OUT(x);
        return 3;
    case COMPUTE_DENSE_GRADIENT:
        out[0] = IN(x), out[1] = IN(z);
        out[2] = op->accumulate ? IN_OUT(w) : OUT(w);
        out[3] = op->accumulate ? IN_OUT(b) : OUT(b);
        return 4;
    default: /* COMPUTE_DENSE_UPDATE */
        out[0] = IN(x), out[1] = IN(z), out[2] = IN_OUT(w), out[3] = IN_OUT(b), out[4] = IN(w),
        out[5] = IN(b);
        return 6;
    }
}

int compute_operands(const struct compute_op *op, struct compute_operand out[COMPUTE_MAX_ARGS])
{
    size_t n = op->rows, z = op->rows * compute_stride(op->outputs);
    switch (op->kind) {
    case COMPUTE_DENSE_FORWARD:
    case COMPUTE_DENSE_INPUT_GRADIENT:
    case COMPUTE_DENSE_GRADIENT:
    case COMPUTE_DENSE_UPDATE:
        return dense_operands(op, out);
    case COMPUTE_RELU_FORWARD:
    case COMPUTE_TANH_FORWARD:
    case COMPUTE_DROPOUT:
        out[0] = IN(n), out[1] = OUT(n);
        return 2;
    case COMPUTE_RELU_BACKWARD:
    case COMPUTE_TANH_BACKWARD:
        out[0] = IN(n), out[1] = IN(n), out[2] = OUT(n);
        return 3;
    case COMPUTE_SOFTMAX_GRADIENT:
    case COMPUTE_SIGMOID_GRADIENT:
        out[0] = IN(z), out[1] = IN_INTS(n), out[2] = OUT(z), out[3] = OUT(n), out[4] = OUT(n);
        return 5;
    case COMPUTE_SOFTMAX_LOSS:
    case COMPUTE_SIGMOID_LOSS:
        out[0] = IN_OUT(z), out[1] = IN_INTS(n), out[2] = OUT(n), out[3] = OUT(n), out[4] = OUT_INTS(n);
        return 5;
    case COMPUTE_SOFTMAX_STEP: {
        size_t b = compute_stride(op->outputs), w = op->outputs * compute_stride(op->inputs);
        out[0] = IN(n * compute_stride(op->inputs)), out[1] = IN_INTS(n), out[2] = IN_OUT(w),
        out[3] = IN_OUT(b);
        out[4] = IN(w), out[5] = IN(b), out[6] = OUT(z), out[7] = OUT(n), out[8] = OUT(n);
        return 9;
    }
    case COMPUTE_UNPACK:
    case COMPUTE_CONV_FORWARD:
    case COMPUTE_CONV_INPUT_GRADIENT:
    case COMPUTE_CONV_GRADIENT:
    case COMPUTE_CONV_UPDATE:
    case COMPUTE_POOL_FORWARD:
    case COMPUTE_POOL_BACKWARD:
        return compute_image_operands(op, out);
    case COMPUTE_LSTM_FORWARD:
    case COMPUTE_LSTM_BACKWARD:
    case COMPUTE_LAST_STEP:
    case COMPUTE_GATHER:
    case COMPUTE_SCATTER_ADD:
        return compute_lstm_operands(op, out);
    case COMPUTE_PROX_GRADIENT:
        out[0] = IN_OUT(n), out[1] = IN(n), out[2] = IN(n);
        return 3;
    case COMPUTE_PROX_STEP:
        out[0] = IN(n), out[1] = IN_OUT(n), out[2] = IN(n);
        return 3;
    case COMPUTE_DESCENT:
        return compute_descent_operands(op, out);
    case COMPUTE_DOT:
    case COMPUTE_SQUARED_DISTANCE:
        out[0] = IN(n), out[1] = IN(n), out[2] = OUT_DOUBLE;
        return 3;
    case COMPUTE_KIND_COUNT:
        break;
    }
    bug("compute operation %d", (int)op->kind);
}

enum err compute_dense_forward(struct compute *c, size_t rows, size_t inputs, size_t outputs,
                               struct compute_slice x, struct compute_slice w, struct compute_slice b,
                               struct compute_slice z)
{
    const struct compute_op op = {.kind = COMPUTE_DENSE_FORWARD,
                                  .rows = rows,
                                  .inputs = inputs,
                                  .outputs = outputs,
                                  .arg = {x, w, b, z}};
    return compute_run(c, &op);
}

enum err compute_dense_input_gradient(struct compute *c, size_t rows, size_t inputs, size_t outputs,
                                      struct compute_slice dz, struct compute_slice w,
                                      struct compute_slice dx)
{
    const struct compute_op op = {.kind = COMPUTE_DENSE_INPUT_GRADIENT,
                                  .rows = rows,
                                  .inputs = inputs,
                                  .outputs = outputs,
                                  .arg = {dz, w, dx}};
    return compute_run(c, &op);
}

enum err compute_dense_gradient(struct compute *c, size_t rows, size_t inputs, size_t outputs,
                                bool accumulate, struct compute_slice x, struct compute_slice dz,
                                struct compute_slice dw, struct compute_slice db)
{
    const struct compute_op op = {.kind = COMPUTE_DENSE_GRADIENT,
                                  .rows = rows,
                                  .inputs = inputs,
                                  .outputs = outputs,
                                  .accumulate = accumulate,
                                  .arg = {x, dz, dw, db}};
    return compute_run(c, &op);
}

enum err compute_dense_update(struct compute *c, size_t rows, size_t inputs, size_t outputs,
                              real learning_rate, real mu, struct compute_slice x, struct compute_slice dz,
                              struct compute_slice w, struct compute_slice b, struct compute_slice w0,
                              struct compute_slice b0)
{
    const struct compute_op op = {.kind = COMPUTE_DENSE_UPDATE,
                                  .rows = rows,
                                  .inputs = inputs,
                                  .outputs = outputs,
                                  .learning_rate = learning_rate,
                                  .mu = mu,
                                  .arg = {x, dz, w, b, w0, b0}};
    return compute_run(c, &op);
}

enum err compute_relu_forward(struct compute *c, size_t n, struct compute_slice x, struct compute_slice y)
{
    const struct compute_op op = {.kind = COMPUTE_RELU_FORWARD, .rows = n, .arg = {x, y}};
    return compute_run(c, &op);
}

enum err compute_relu_backward(struct compute *c, size_t n, struct compute_slice y, struct compute_slice dy,
                               struct compute_slice dx)
{
    const struct compute_op op = {.kind = COMPUTE_RELU_BACKWARD, .rows = n, .arg = {y, dy, dx}};
    return compute_run(c, &op);
}

enum err compute_tanh_forward(struct compute *c, size_t n, struct compute_slice x, struct compute_slice y)
{
    const struct compute_op op = {.kind = COMPUTE_TANH_FORWARD, .rows = n, .arg = {x, y}};
    return compute_run(c, &op);
}

enum err compute_tanh_backward(struct compute *c, size_t n, struct compute_slice y, struct compute_slice dy,
                               struct compute_slice dx)
{
    const struct compute_op op = {.kind = COMPUTE_TANH_BACKWARD, .rows = n, .arg = {y, dy, dx}};
    return compute_run(c, &op);
}

enum err compute_softmax_gradient(struct compute *c, size_t rows, size_t outputs, real scale,
                                  struct compute_slice z, struct compute_slice labels,
                                  struct compute_slice dz, struct compute_slice sums,
                                  struct compute_slice targets)
{
    const struct compute_op op = {.kind = COMPUTE_SOFTMAX_GRADIENT,
                                  .rows = rows,
                                  .outputs = outputs,
                                  .scale = scale,
                                  .arg = {z, labels, dz, sums, targets}};
    return compute_run(c, &op);
}

enum err compute_softmax_loss(struct compute *c, size_t rows, size_t outputs, struct compute_slice z,
                              struct compute_slice labels, struct compute_slice sums,
                              struct compute_slice targets, struct compute_slice correct)
{
    const struct compute_op op = {.kind = COMPUTE_SOFTMAX_LOSS,
                                  .rows = rows,
                                  .outputs = outputs,
                                  .arg = {z, labels, sums, targets, correct}};
    return compute_run(c, &op);
}

enum err compute_softmax_step(struct compute *c, size_t rows, size_t inputs, size_t outputs, real scale,
                              real learning_rate, real mu, struct compute_slice x,
                              struct compute_slice labels, struct compute_slice w, struct compute_slice b,
                              struct compute_slice w0, struct compute_slice b0, struct compute_slice dz,
                              struct compute_slice sums, struct compute_slice targets)
{
    const struct compute_op op = {.kind = COMPUTE_SOFTMAX_STEP,
                                  .rows = rows,
                                  .inputs = inputs,
                                  .outputs = outputs,
                                  .scale = scale,
                                  .learning_rate = learning_rate,
                                  .mu = mu,
                                  .arg = {x, labels, w, b, w0, b0, dz, sums, targets}};
    return compute_run(c, &op);
}

enum err compute_sigmoid_gradient(struct compute *c, size_t rows, real scale, struct compute_slice z,
                                  struct compute_slice labels, struct compute_slice dz,
                                  struct compute_slice sums, struct compute_slice targets)
{
    const struct compute_op op = {.kind = COMPUTE_SIGMOID_GRADIENT,
                                  .rows = rows,
                                  .outputs = 1,
                                  .scale = scale,
                                  .arg = {z, labels, dz, sums, targets}};
    return compute_run(c, &op);
}

enum err compute_sigmoid_loss(struct compute *c, size_t rows, struct compute_slice z,
                              struct compute_slice labels, struct compute_slice sums,
                              struct compute_slice targets, struct compute_slice correct)
{
    const struct compute_op op = {
        .kind = COMPUTE_SIGMOID_LOSS, .rows = rows, .outputs = 1, .arg = {z, labels, sums, targets, correct}};
    return compute_run(c, &op);
}

enum err compute_dropout(struct compute *c, size_t n, real rate, uint64_t key, struct compute_slice x,
                         struct compute_slice y)
{
    const struct compute_op op = {
        .kind = COMPUTE_DROPOUT, .rows = n, .scale = rate, .key = key, .arg = {x, y}};
    return compute_run(c, &op);
}

enum err compute_prox_step(struct compute *c, size_t n, real learning_rate, real mu, struct compute_slice g,
                           struct compute_slice w, struct compute_slice w0)
{
    const struct compute_op op = {
        .kind = COMPUTE_PROX_STEP, .rows = n, .learning_rate = learning_rate, .mu = mu, .arg = {g, w, w0}};
    return compute_run(c, &op);
}

enum err compute_prox_gradient(struct compute *c, size_t n, real mu, struct compute_slice g,
                               struct compute_slice w, struct compute_slice w0)
{
    const struct compute_op op = {.kind = COMPUTE_PROX_GRADIENT, .rows = n, .mu = mu, .arg = {g, w, w0}};
    return compute_run(c, &op);
}

enum err compute_dot(struct compute *c, size_t n, struct compute_slice a, struct compute_slice b,
                     struct compute_slice out)
{
    const struct compute_op op = {.kind = COMPUTE_DOT, .rows = n, .arg = {a, b, out}};
    return compute_run(c, &op);
}

enum err compute_squared_distance(struct compute *c, size_t n, struct compute_slice a, struct compute_slice b,
                                  struct compute_slice out)
{
    const struct compute_op op = {.kind = COMPUTE_SQUARED_DISTANCE, .rows = n, .arg = {a, b, out}};
    return compute_run(c, &op);
}

struct compute_softmax_parts compute_softmax_parts(const struct compute_op *step)
{
    struct compute_softmax_parts p = {*step, *step, *step};
    const struct compute_slice *a = step->arg;
    const struct compute_slice forward[] = {a[0], a[2], a[3], a[6]},
                               gradient[] = {a[6], a[1], a[6], a[7], a[8]},
                               update[] = {a[0], a[6], a[2], a[3], a[4], a[5]};
    p.forward.kind = COMPUTE_DENSE_FORWARD;
    memcpy(p.forward.arg, forward, sizeof forward);
    p.gradient.kind = COMPUTE_SOFTMAX_GRADIENT;
    memcpy(p.gradient.arg, gradient, sizeof gradient);
    p.update.kind = COMPUTE_DENSE_UPDATE;
    memcpy(p.update.arg, update, sizeof update);
    return p;
}
