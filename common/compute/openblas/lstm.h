/* What the LSTM's kernels lay out in scratch memory, by the operation's sizes. */
#ifndef FEDLANE_COMPUTE_OPENBLAS_LSTM_H
#define FEDLANE_COMPUTE_OPENBLAS_LSTM_H

#include "common/compute/compute_impl.h"
#include "common/compute/compute_lstm.h"

/* Floats of w_hh in panels of 16 columns: forward its transpose [4 units / 16][units][16], backward [units /
 * 16][4 units][16]. */
static inline size_t lstm_panels(const struct compute_op *op)
{
    const size_t units = op->lstm->units;
    return op->kind == COMPUTE_LSTM_FORWARD ? compute_stride(4 * units) * units
                                            : 4 * units * compute_stride(units);
}

/* Backward, behind them: the gradient of h that a step hands to the one before, and that of the cell, [rows,
 * units] each. */
static inline size_t lstm_scratch_bytes(const struct compute_op *op)
{
    const size_t carried =
        op->kind == COMPUTE_LSTM_FORWARD ? 0 : 2 * op->rows * compute_stride(op->lstm->units);
    return (lstm_panels(op) + carried) * sizeof(float);
}

#endif
