/* Where each array of a model lies in its one buffer. Offsets are in bytes, multiples of 64. */
#ifndef FEDLANE_NN_MODEL_MEMORY_H
#define FEDLANE_NN_MODEL_MEMORY_H

#include "common/compute/compute_descent.h"
#include "common/nn/model.h"
#include "common/nn/model_layers.h"

struct model_memory {
    size_t blocks[MODEL_NUM_BLOCKS];
    size_t states[COMPUTE_MAX_STATES]; /* of the optimizer, like blocks; 0 where it has none */
    size_t block_bytes;                /* of one of them, padding included */
    size_t persistent_bytes;           /* the blocks come first */
    size_t x, labels;                  /* the batch */
    size_t deltas[2];                  /* gradients of activations, used in turn */
    size_t scratch;                    /* of one operation at a time */
    size_t scratch_bytes;
    size_t losses, correct; /* per row, of evaluations and full gradients */
    size_t step_losses;     /* per row, of the last step */
    size_t scalar;          /* one double */
    size_t total_bytes;
};

/* Sets where the layers' tensors and what they keep lie, too; out_activations: for each layer the offset of
 * its output. ERR_NO_MEMORY where the sum overflows. */
enum err model_memory_plan(const struct arch *arch, const struct compute *compute, size_t max_rows,
                           size_t num_states, struct model_layers *layers, struct model_memory *out,
                           size_t *out_activations, struct fault *fault) MUST_CHECK;

#endif
