/* What the LSTM's kernels lay out in scratch memory, by the operation's sizes. */
#ifndef FEDLANE_COMPUTE_OPENBLAS_LSTM_H
#define FEDLANE_COMPUTE_OPENBLAS_LSTM_H

#include "common/compute/compute_impl.h"
#include "common/compute/compute_lstm.h"

/* Lines of a panel, each of one term of the products; those that are no multiple of four end with unused
 * ones. */
static inline size_t lstm_panel_depth(const struct compute_op *op)
{
    const size_t units = op->lstm->units;
    return op->kind == COMPUTE_LSTM_FORWARD ? (units + 3) / 4 * 4 : 4 * units;
}

/* Floats of w_hh in panels of some columns, one behind the other; forward those of its transpose. */
static inline size_t lstm_panels(const struct compute_op *op)
{
    const size_t units = op->lstm->units;
    return lstm_panel_depth(op) * compute_stride(op->kind == COMPUTE_LSTM_FORWARD ? 4 * units : units);
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
