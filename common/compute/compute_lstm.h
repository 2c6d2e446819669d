/* Sequences: tables of tokens, and the LSTM.
 *
 * What makes a layer an LSTM, over all time steps; its products over all steps at once are dense operations.
 * Sequences are matrices of rows * steps rows, the steps of an example one after the other.
 *
 *   z_t = w_ih x_t + b_ih  (dense_forward)  + w_hh h_(t-1) + b_hh    of gates i, f, g, o: units values each
 *   c_t = sigmoid(f) c_(t-1) + sigmoid(i) tanh(g)
 *   h_t = sigmoid(o) tanh(c_t)                                       h_(-1) = c_(-1) = 0 */
#ifndef FEDLANE_COMPUTE_COMPUTE_LSTM_H
#define FEDLANE_COMPUTE_COMPUTE_LSTM_H

#include "common/compute/compute.h"

struct compute_lstm {
    size_t steps, units;
    bool is_last_only; /* nothing but the last step's h goes on */
};

/* w_hh [4 * units, units], b_hh [1, 4 * units]; z [rows * steps, 4 * units]: before, what comes from x;
 * after, the gates themselves. c, h [rows * steps, units]; h_before is h of the step before, 0 at the first.
 */
enum err compute_lstm_forward(struct compute *c, size_t rows, const struct compute_lstm *g,
                              struct compute_slice w_hh, struct compute_slice b_hh, struct compute_slice z,
                              struct compute_slice cells, struct compute_slice h,
                              struct compute_slice h_before, struct compute_slice scratch) MUST_CHECK;
/* Back through time, once for each forward. dh is as h, or with is_last_only [rows, units] of the last step.
 * z: before, the gates; after, their gradients, from which dense operations take those of x and of w_ih, b_ih
 * (with x) and w_hh, b_hh (with h_before). The cells are destroyed. */
enum err compute_lstm_backward(struct compute *c, size_t rows, const struct compute_lstm *g,
                               struct compute_slice dh, struct compute_slice w_hh, struct compute_slice z,
                               struct compute_slice cells, struct compute_slice scratch) MUST_CHECK;

/* last [rows, units]: h of each example's last step. Nothing but steps and units of g matters. */
enum err compute_last_step(struct compute *c, size_t rows, const struct compute_lstm *g,
                           struct compute_slice h, struct compute_slice last) MUST_CHECK;

/* A row for each token of a vocabulary. Tokens are a matrix [rows, steps] of whole numbers kept as reals,
 * from 0 to vocabulary - 1: the caller has checked them. */
struct compute_table {
    size_t steps, vocabulary, width;
};
/* y [rows * steps, width]: the table's row of each token; table [vocabulary, width] */
enum err compute_gather(struct compute *c, size_t rows, const struct compute_table *g,
                        struct compute_slice tokens, struct compute_slice table,
                        struct compute_slice y) MUST_CHECK;
/* d_table = for each token the sum of its rows of dy; added to what is there if `accumulate` */
enum err compute_scatter_add(struct compute *c, size_t rows, const struct compute_table *g, bool accumulate,
                             struct compute_slice tokens, struct compute_slice dy,
                             struct compute_slice d_table) MUST_CHECK;

#endif
