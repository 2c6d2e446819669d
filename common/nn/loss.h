/* A model's loss over the outputs of its last layer. */
#ifndef FEDLANE_NN_LOSS_H
#define FEDLANE_NN_LOSS_H

#include "common/compute/compute.h"
#include "common/model/arch.h"

/* Of `outputs` logits a row: one with the sigmoid. `rows_loss` is scratch for two floats a row; a row's loss
 * is log(sum) - target (compute.h), taken only where somebody asks. */

/* d_logits = scale * grad of the sum of the rows' losses */
enum err loss_gradient(struct compute *c, enum loss_type loss, size_t rows, size_t outputs, real scale,
                       struct compute_slice logits, struct compute_slice labels,
                       struct compute_slice d_logits, struct compute_slice rows_loss) MUST_CHECK;
/* The loss summed in double in row order, and how many rows are predicted correctly. Destroys
 * the logits; correct is scratch for one int32 a row. */
enum err loss_evaluate(struct compute *c, enum loss_type loss, size_t rows, size_t outputs,
                       struct compute_slice logits, struct compute_slice labels,
                       struct compute_slice rows_loss, struct compute_slice correct, double *out_loss_sum,
                       int64_t *out_num_correct) MUST_CHECK;
/* The sum of what the last loss_gradient on these rows left in rows_loss. */
enum err loss_sum(struct compute *c, size_t rows, struct compute_slice rows_loss, double *out_sum) MUST_CHECK;

#endif
