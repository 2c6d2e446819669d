#include "common/nn/loss.h"

#include <math.h>

enum { ROWS_AT_ONCE = 256 };

enum err loss_gradient(struct compute *c, enum loss_type loss, size_t rows, size_t outputs, real scale,
                       struct compute_slice logits, struct compute_slice labels,
                       struct compute_slice d_logits, struct compute_slice rows_loss)
{
    struct compute_slice targets = compute_at(rows_loss, rows * sizeof(real));
    if (loss == LOSS_SIGMOID_CROSS_ENTROPY)
        return compute_sigmoid_gradient(c, rows, scale, logits, labels, d_logits, rows_loss, targets);
    return compute_softmax_gradient(c, rows, outputs, scale, logits, labels, d_logits, rows_loss, targets);
}

enum err loss_sum(struct compute *c, size_t rows, struct compute_slice rows_loss, double *out_sum)
{
    real sums[ROWS_AT_ONCE], targets[ROWS_AT_ONCE];
    double total = 0;
    for (size_t from = 0; from < rows; from += ROWS_AT_ONCE) {
        size_t some = rows - from < ROWS_AT_ONCE ? rows - from : ROWS_AT_ONCE;
        enum err err = compute_read(c, compute_at(rows_loss, from * sizeof(real)), sums, some * sizeof(real));
        if (!err)
            err = compute_read(c, compute_at(rows_loss, (rows + from) * sizeof(real)), targets,
                               some * sizeof(real));
        if (err)
            return err;
        for (size_t r = 0; r < some; r++)
            total += log((double)sums[r]) - (double)targets[r];
    }
    *out_sum = total;
    return ERR_OK;
}

enum err loss_evaluate(struct compute *c, enum loss_type loss, size_t rows, size_t outputs,
                       struct compute_slice logits, struct compute_slice labels,
                       struct compute_slice rows_loss, struct compute_slice correct, double *out_loss_sum,
                       int64_t *out_num_correct)
{
    int32_t is_correct[ROWS_AT_ONCE];
    int64_t total = 0;
    struct compute_slice targets = compute_at(rows_loss, rows * sizeof(real));
    enum err err = loss == LOSS_SIGMOID_CROSS_ENTROPY
                       ? compute_sigmoid_loss(c, rows, logits, labels, rows_loss, targets, correct)
                       : compute_softmax_loss(c, rows, outputs, logits, labels, rows_loss, targets, correct);
    if (!err)
        err = loss_sum(c, rows, rows_loss, out_loss_sum);
    for (size_t from = 0; !err && from < rows; from += ROWS_AT_ONCE) {
        size_t some = rows - from < ROWS_AT_ONCE ? rows - from : ROWS_AT_ONCE;
        err =
            compute_read(c, compute_at(correct, from * sizeof(int32_t)), is_correct, some * sizeof(int32_t));
        for (size_t r = 0; !err && r < some; r++)
            total += is_correct[r];
    }
    *out_num_correct = total;
    return err;
}
