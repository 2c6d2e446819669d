/* The LSTM layer over all time steps. A batch of sequences is [rows][steps][width], each step's values padded
 * with zeros to compute_stride(width).
 *
 *   i, f, g, o = w_ih x_t + b_ih + w_hh h_(t-1) + b_hh      units rows each, in this order
 *   c_t = sigmoid(f) c_(t-1) + sigmoid(i) tanh(g)
 *   h_t = sigmoid(o) tanh(c_t)                              h_(-1) = c_(-1) = 0
 *
 * Matrices w_ih [4 * units, inputs], w_hh [4 * units, units]; b_ih, b_hh [1, 4 * units]. */
#ifndef FEDLANE_COMPUTE_COMPUTE_LSTM_H
#define FEDLANE_COMPUTE_COMPUTE_LSTM_H

#include "common/compute/compute.h"

struct compute_lstm {
    size_t steps, inputs, units;
    bool is_last_only; /* what follows takes the last step only */
    bool needs_dx;     /* somebody below learns */
};

/* Weights of one layer, or what belongs to each: gradients, anchor. */
struct compute_lstm_weights {
    struct compute_slice w_ih, w_hh, b_ih, b_hh;
};

/* What forward leaves for the backward operations, and backward for the gradient: its layout is a secret of
 * who ran forward, so a backend does all four operations for the same sizes or none of them. */
size_t compute_lstm_state_bytes(size_t rows, const struct compute_lstm *g);

/* h [rows][steps][units]; last, a matrix [rows, units], is h of the last step and only written with
 * is_last_only. */
enum err compute_lstm_forward(struct compute *c, size_t rows, const struct compute_lstm *g,
                              struct compute_slice x, const struct compute_lstm_weights *w,
                              struct compute_slice h, struct compute_slice state, struct compute_slice last,
                              struct compute_slice scratch) MUST_CHECK;
/* Through time, once for each forward: dh is as h, or with is_last_only as `last`; dx as x, written where
 * needs_dx. */
enum err compute_lstm_backward(struct compute *c, size_t rows, const struct compute_lstm *g,
                               struct compute_slice dh, struct compute_slice w_ih, struct compute_slice w_hh,
                               struct compute_slice state, struct compute_slice dx,
                               struct compute_slice scratch) MUST_CHECK;
/* After backward: the gradient of the weights; added to what is there if `accumulate`. */
enum err compute_lstm_gradient(struct compute *c, size_t rows, const struct compute_lstm *g, bool accumulate,
                               struct compute_slice x, struct compute_slice h, struct compute_slice state,
                               const struct compute_lstm_weights *gradient,
                               struct compute_slice scratch) MUST_CHECK;
/* The same gradient, summed from zero, and the proximal SGD step with it, as compute_dense_update. */
enum err compute_lstm_update(struct compute *c, size_t rows, const struct compute_lstm *g, real learning_rate,
                             real mu, struct compute_slice x, struct compute_slice h,
                             struct compute_slice state, const struct compute_lstm_weights *w,
                             const struct compute_lstm_weights *anchor,
                             struct compute_slice scratch) MUST_CHECK;

#endif
