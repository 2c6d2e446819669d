#include "common/compute/openblas/tiles.h"

#include "common/compute/compute_image.h"
#include "common/compute/compute_lstm.h"

/* A part takes 20 microseconds or more: several times what it costs to hand one over. In floating-point
 * operations, at some tens of them in a nanosecond; a byte from memory counts as as many as fit beside it. */
static const double part_work = 2e6, work_of_float = 32;

bool tiles_are_elements(const struct compute_op *op)
{
    switch (op->kind) {
    case COMPUTE_RELU_FORWARD:
    case COMPUTE_RELU_BACKWARD:
    case COMPUTE_TANH_FORWARD:
    case COMPUTE_TANH_BACKWARD:
    case COMPUTE_DESCENT:
        return true;
    default:
        return false;
    }
}

struct compute_op tiles_elements(const struct compute_op *op, const struct team_part *part)
{
    struct compute_operand operands[COMPUTE_MAX_ARGS];
    struct compute_op some = *op;
    some.rows = part->to - part->from;
    for (int i = compute_operands(op, operands); i-- > 0;) {
        if (operands[i].bytes == op->rows * sizeof(real)) /* a descent's norm is a number for all */
            some.arg[i] = compute_at(op->arg[i], part->from * sizeof(real));
    }
    return some;
}

/* Every part is worth a thread's while, and there are a few for each thread where a cut costs nothing, since
 * threads do not keep step. */
static struct tiles cut(size_t count, size_t unit, double work, size_t parts_a_seat)
{
    const size_t most = team_seats() * parts_a_seat;
    const double worth = work / part_work;
    if (team_seats() == 1 || count <= unit || worth < 2)
        return (struct tiles){count, unit, 1};
    return (struct tiles){count, unit, worth < (double)most ? (size_t)worth : most};
}

/* Units are what the kernels take at once, and where their vectors begin. */
static struct tiles tiles_of_dense(const struct compute_op *op)
{
    const size_t x_stride = compute_stride(op->inputs);
    const double weights = (double)op->outputs * (double)x_stride,
                 work = 2 * weights * (double)op->rows + weights * work_of_float;
    if (op->kind == COMPUTE_DENSE_GRADIENT || op->kind == COMPUTE_DENSE_UPDATE)
        return cut(op->outputs, tiles_are_many(op) ? 16 : 5, work, 2);
    if (tiles_are_rows(op))
        return cut(op->rows, 12, work, 3);
    if (op->kind == COMPUTE_DENSE_FORWARD)
        return cut(op->outputs, 32, work, 3);
    return cut(x_stride, 64, work, 3);
}

static struct tiles tiles_of_conv(const struct compute_op *op)
{
    const struct compute_conv *g = op->conv;
    const double work = 2 * (double)(g->out_height * g->out_width) * (double)g->filters *
                        (double)compute_conv_filter(g) * (double)op->rows;
    if (op->kind == COMPUTE_CONV_GRADIENT || op->kind == COMPUTE_CONV_UPDATE)
        return cut(g->filters, 16, work / 4, 1); /* each part takes up all images */
    return cut(op->rows, 1, work, 4);
}

/* Each part reads w_hh in every step. */
static struct tiles tiles_of_lstm(const struct compute_op *op)
{
    const double units = (double)op->lstm->units;
    return cut(op->rows, 1, 8 * units * (units + 16) * (double)op->lstm->steps * (double)op->rows, 1);
}

struct tiles tiles_of(const struct compute_op *op)
{
    switch (op->kind) {
    case COMPUTE_DENSE_FORWARD:
    case COMPUTE_DENSE_INPUT_GRADIENT:
    case COMPUTE_DENSE_GRADIENT:
    case COMPUTE_DENSE_UPDATE:
        return tiles_of_dense(op);
    case COMPUTE_CONV_FORWARD:
    case COMPUTE_CONV_INPUT_GRADIENT:
    case COMPUTE_CONV_GRADIENT:
    case COMPUTE_CONV_UPDATE:
        return tiles_of_conv(op);
    case COMPUTE_LSTM_FORWARD:
    case COMPUTE_LSTM_BACKWARD:
        return tiles_of_lstm(op);
    default:
        return cut(op->rows, 16, (double)op->rows * work_of_float, 2);
    }
}

struct team_part tiles_all(const struct compute_op *op)
{
    return (struct team_part){.to = tiles_of(op).count};
}

size_t tiles_seats(const struct compute_op *op)
{
    return tiles_of(op).parts > 1 ? team_seats() : 1;
}
