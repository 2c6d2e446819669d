#include "common/compute/compute_lstm.h"

#include "common/compute/compute_impl.h"

#define IN(n)     COMPUTE_OPERAND(IN, n)
#define OUT(n)    COMPUTE_OPERAND(OUT, n)
#define IN_OUT(n) COMPUTE_OPERAND(IN_OUT, n)

/* Four gates, the cell and its tanh, of each unit, step and row. */
size_t compute_lstm_state_bytes(size_t rows, const struct compute_lstm *g)
{
    return rows * g->steps * 6 * compute_stride(g->units) * sizeof(real);
}

int compute_lstm_operands(const struct compute_op *op, struct compute_operand out[COMPUTE_MAX_ARGS])
{
    const struct compute_lstm *g = op->lstm;
    const size_t inputs = compute_stride(g->inputs), units = compute_stride(g->units),
                 x = op->rows * g->steps * inputs, h = op->rows * g->steps * units,
                 w_ih = 4 * g->units * inputs, w_hh = 4 * g->units * units, b = compute_stride(4 * g->units);
    const struct compute_operand state = {COMPUTE_IN_OUT, compute_lstm_state_bytes(op->rows, g)};
    switch (op->kind) {
    case COMPUTE_LSTM_FORWARD:
        out[0] = IN(x), out[1] = IN(w_ih), out[2] = IN(w_hh), out[3] = IN(b), out[4] = IN(b), out[5] = OUT(h);
        out[6] = (struct compute_operand){COMPUTE_OUT, state.bytes};
        out[7] = OUT(g->is_last_only ? op->rows * units : 0);
        return 8;
    case COMPUTE_LSTM_BACKWARD:
        out[0] = IN(g->is_last_only ? op->rows * units : h), out[1] = IN(w_ih), out[2] = IN(w_hh),
        out[3] = state;
        out[4] = OUT(g->needs_dx ? x : 0);
        return 5;
    case COMPUTE_LSTM_GRADIENT:
        out[0] = IN(x), out[1] = IN(h), out[2] = (struct compute_operand){COMPUTE_IN, state.bytes};
        out[3] = IN_OUT(w_ih), out[4] = IN_OUT(w_hh), out[5] = IN_OUT(b), out[6] = IN_OUT(b);
        for (int i = 3; i < 7 && !op->accumulate; i++)
            out[i].mode = COMPUTE_OUT;
        return 7;
    default: /* COMPUTE_LSTM_UPDATE */
        out[0] = IN(x), out[1] = IN(h), out[2] = (struct compute_operand){COMPUTE_IN, state.bytes};
        out[3] = IN_OUT(w_ih), out[4] = IN_OUT(w_hh), out[5] = IN_OUT(b), out[6] = IN_OUT(b);
        out[7] = IN(w_ih), out[8] = IN(w_hh), out[9] = IN(b), out[10] = IN(b);
        return 11;
    }
}

enum err compute_lstm_forward(struct compute *c, size_t rows, const struct compute_lstm *g,
                              struct compute_slice x, const struct compute_lstm_weights *w,
                              struct compute_slice h, struct compute_slice state, struct compute_slice last,
                              struct compute_slice scratch)
{
    const struct compute_op op = {.kind = COMPUTE_LSTM_FORWARD,
                                  .rows = rows,
                                  .lstm = g,
                                  .arg = {x, w->w_ih, w->w_hh, w->b_ih, w->b_hh, h, state, last},
                                  .scratch = scratch};
    return compute_run(c, &op);
}

enum err compute_lstm_backward(struct compute *c, size_t rows, const struct compute_lstm *g,
                               struct compute_slice dh, struct compute_slice w_ih, struct compute_slice w_hh,
                               struct compute_slice state, struct compute_slice dx,
                               struct compute_slice scratch)
{
    const struct compute_op op = {.kind = COMPUTE_LSTM_BACKWARD,
                                  .rows = rows,
                                  .lstm = g,
                                  .arg = {dh, w_ih, w_hh, state, dx},
                                  .scratch = scratch};
    return compute_run(c, &op);
}

enum err compute_lstm_gradient(struct compute *c, size_t rows, const struct compute_lstm *g, bool accumulate,
                               struct compute_slice x, struct compute_slice h, struct compute_slice state,
                               const struct compute_lstm_weights *gradient, struct compute_slice scratch)
{
    const struct compute_op op = {
        .kind = COMPUTE_LSTM_GRADIENT,
        .rows = rows,
        .lstm = g,
        .accumulate = accumulate,
        .arg = {x, h, state, gradient->w_ih, gradient->w_hh, gradient->b_ih, gradient->b_hh},
        .scratch = scratch};
    return compute_run(c, &op);
}

enum err compute_lstm_update(struct compute *c, size_t rows, const struct compute_lstm *g, real learning_rate,
                             real mu, struct compute_slice x, struct compute_slice h,
                             struct compute_slice state, const struct compute_lstm_weights *w,
                             const struct compute_lstm_weights *anchor, struct compute_slice scratch)
{
    const struct compute_op op = {.kind = COMPUTE_LSTM_UPDATE,
                                  .rows = rows,
                                  .lstm = g,
                                  .learning_rate = learning_rate,
                                  .mu = mu,
                                  .arg = {x, h, state, w->w_ih, w->w_hh, w->b_ih, w->b_hh, anchor->w_ih,
                                          anchor->w_hh, anchor->b_ih, anchor->b_hh},
                                  .scratch = scratch};
    return compute_run(c, &op);
}
