/* A trainable model: an architecture's layers on a compute backend, with all memory it will ever use planned
 * before and taken at once. It knows batches, not data sets: the caller fills the batch and says how many
 * rows it has.
 *
 * Parameter blocks are in model order. WEIGHTS are trained, ANCHOR is w_t of the proximal term, GRADIENT
 * holds full gradients, OTHER holds weights that are only evaluated, so that looking at w_t never disturbs a
 * training that is under way. */
#ifndef FEDLANE_NN_MODEL_H
#define FEDLANE_NN_MODEL_H

#include "common/compute/compute.h"
#include "common/fl/optimizer.h"
#include "common/model/arch.h"
#include "common/nn/sgd.h"

struct model;

enum model_block { MODEL_WEIGHTS, MODEL_ANCHOR, MODEL_GRADIENT, MODEL_OTHER, MODEL_NUM_BLOCKS };

struct model_plan {
    size_t persistent_bytes; /* parameter blocks, and the states of the optimizer */
    size_t ephemeral_bytes;  /* batch, activations, their gradients, scratch, losses */
};

/* What model_new takes from the backend, exactly. max_rows: of the largest batch. ERR_INVALID_FIELD where the
 * architecture only names tensors, ERR_NO_MEMORY where the sum overflows. */
enum err model_plan(const struct arch *arch, const struct compute *compute, size_t max_rows,
                    enum optimizer_kind kind, struct model_plan *out, struct fault *fault) MUST_CHECK;
/* arch and compute outlive the model. kind: the optimizer for which there is room. One allocation on the
 * backend; nothing allocates later. */
enum err model_new(const struct arch *arch, struct compute *compute, size_t max_rows,
                   enum optimizer_kind kind, struct model **out, struct fault *fault) MUST_CHECK;
void model_free(struct model *m);

enum err model_write(struct model *m, enum model_block block, const real *params) MUST_CHECK;
enum err model_read(struct model *m, enum model_block block, real *out_params) MUST_CHECK;
/* Where to put a batch: x [rows, features], rows model_batch_stride floats apart, and labels [rows]; what
 * lies behind a row's features stays as it is. They may be staging memory: model_batch_ready hands `rows` of
 * them over to the backend. */
real *model_batch_x(struct model *m);
size_t model_batch_stride(const struct model *m);
int32_t *model_batch_labels(struct model *m);
enum err model_batch_ready(struct model *m, size_t rows) MUST_CHECK;

/* Before the first step of a job. Its steps are those of `optimizer`, which wants no more states than the
 * kind that the model was made for and starts without any; NULL: plain SGD, as in a model that never began.
 * What dropout drops at step s of layer l of the architecture is the stream rng_key(stream, s, l, 0, 0), a
 * value a time in the order in which the layer's batch lies. */
void model_begin(struct model *m, uint64_t stream, const struct optimizer *optimizer);
/* One step on WEIGHTS with the batch, towards ANCHOR. With anything but plain SGD, GRADIENT is overwritten.
 */
enum err model_step(struct model *m, size_t rows, const struct sgd *sgd) MUST_CHECK;
/* Mean loss of the last model_step's batch, before its update, without the proximal term. Not disturbed by
 * evaluations. */
enum err model_last_loss(struct model *m, double *out) MUST_CHECK;
/* Nothing is dropped in evaluations and full gradients. Sum of losses and number of correct predictions of
 * the batch under a block's weights. */
enum err model_evaluate(struct model *m, enum model_block block, size_t rows, double *out_loss_sum,
                        int64_t *out_num_correct) MUST_CHECK;
/* GRADIENT = (or += with accumulate) scale * sum over the batch of grad loss, at a block's weights. */
enum err model_gradient(struct model *m, enum model_block block, size_t rows, real scale,
                        bool accumulate) MUST_CHECK;
/* GRADIENT += mu (WEIGHTS - ANCHOR) */
enum err model_add_proximal(struct model *m, real mu) MUST_CHECK;
enum err model_gradient_norm(struct model *m, double *out) MUST_CHECK; /* ||GRADIENT||_2 */
enum err model_distance(struct model *m, double *out) MUST_CHECK;      /* ||WEIGHTS - ANCHOR||_2 */

#endif
