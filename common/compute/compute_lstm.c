#include "common/compute/compute_lstm.h"

#include "common/compute/compute_impl.h"

static int table_operands(const struct compute_op *op, struct compute_operand *out)
{
    const struct compute_table *g = op->table;
    const size_t stride = compute_stride(g->width), y = op->rows * g->steps * stride,
                 table = g->vocabulary * stride;
    out[0] = COMPUTE_OPERAND(IN, op->rows * compute_stride(g->steps));
    if (op->kind == COMPUTE_GATHER)
        out[1] = COMPUTE_OPERAND(IN, table), out[2] = COMPUTE_OPERAND(OUT, y);
    else
        out[1] = COMPUTE_OPERAND(IN, y),
        out[2] = op->accumulate ? COMPUTE_OPERAND(IN_OUT, table) : COMPUTE_OPERAND(OUT, table);
    return 3;
}

int compute_lstm_operands(const struct compute_op *op, struct compute_operand out[COMPUTE_MAX_ARGS])
{
    if (op->kind == COMPUTE_GATHER || op->kind == COMPUTE_SCATTER_ADD)
        return table_operands(op, out);
    const struct compute_lstm *g = op->lstm;
    const size_t steps = op->rows * g->steps, stride = compute_stride(g->units),
                 gates = compute_stride(4 * g->units);
    const struct compute_operand w_hh = COMPUTE_OPERAND(IN, 4 * g->units * stride),
                                 z = COMPUTE_OPERAND(IN_OUT, steps * gates);
    if (op->kind == COMPUTE_LAST_STEP) {
        out[0] = COMPUTE_OPERAND(IN, steps * stride), out[1] = COMPUTE_OPERAND(OUT, op->rows * stride);
        return 2;
    }
    if (op->kind == COMPUTE_LSTM_FORWARD) {
        out[0] = w_hh, out[1] = COMPUTE_OPERAND(IN, gates), out[2] = z;
        for (int i = 3; i < 6; i++)
            out[i] = COMPUTE_OPERAND(OUT, steps * stride);
        return 6;
    }
    out[0] = COMPUTE_OPERAND(IN, (g->is_last_only ? op->rows : steps) * stride);
    out[1] = w_hh, out[2] = z, out[3] = COMPUTE_OPERAND(IN_OUT, steps * stride);
    return 4;
}

enum err compute_lstm_forward(struct compute *c, size_t rows, const struct compute_lstm *g,
                              struct compute_slice w_hh, struct compute_slice b_hh, struct compute_slice z,
                              struct compute_slice cells, struct compute_slice h,
                              struct compute_slice h_before, struct compute_slice scratch)
{
    const struct compute_op op = {.kind = COMPUTE_LSTM_FORWARD,
                                  .rows = rows,
                                  .lstm = g,
                                  .arg = {w_hh, b_hh, z, cells, h, h_before},
                                  .scratch = scratch};
    return compute_run(c, &op);
}

enum err compute_lstm_backward(struct compute *c, size_t rows, const struct compute_lstm *g,
                               struct compute_slice dh, struct compute_slice w_hh, struct compute_slice z,
                               struct compute_slice cells, struct compute_slice scratch)
{
    const struct compute_op op = {.kind = COMPUTE_LSTM_BACKWARD,
                                  .rows = rows,
                                  .lstm = g,
                                  .arg = {dh, w_hh, z, cells},
                                  .scratch = scratch};
    return compute_run(c, &op);
}

enum err compute_last_step(struct compute *c, size_t rows, const struct compute_lstm *g,
                           struct compute_slice h, struct compute_slice last)
{
    const struct compute_op op = {.kind = COMPUTE_LAST_STEP, .rows = rows, .lstm = g, .arg = {h, last}};
    return compute_run(c, &op);
}

enum err compute_gather(struct compute *c, size_t rows, const struct compute_table *g,
                        struct compute_slice tokens, struct compute_slice table, struct compute_slice y)
{
    const struct compute_op op = {
        .kind = COMPUTE_GATHER, .rows = rows, .table = g, .arg = {tokens, table, y}};
    return compute_run(c, &op);
}

enum err compute_scatter_add(struct compute *c, size_t rows, const struct compute_table *g, bool accumulate,
                             struct compute_slice tokens, struct compute_slice dy,
                             struct compute_slice d_table)
{
    const struct compute_op op = {.kind = COMPUTE_SCATTER_ADD,
                                  .rows = rows,
                                  .accumulate = accumulate,
                                  .table = g,
                                  .arg = {tokens, dy, d_table}};
    return compute_run(c, &op);
}
