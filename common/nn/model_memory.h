/* Where each array of a model lies in its one buffer. Offsets are in bytes, multiples of 64. */
#ifndef FEDLANE_NN_MODEL_MEMORY_H
#define FEDLANE_NN_MODEL_MEMORY_H

#include "common/nn/model.h"

/* A parameter tensor as a matrix: its last dimension is the width. */
struct model_tensor {
    size_t rows, width;
    size_t at;   /* bytes from the start of a parameter block */
    size_t flat; /* where the model's own order, without padding, has it */
};

struct model_memory {
    size_t blocks[MODEL_NUM_BLOCKS];
    size_t block_bytes;      /* of one of them, padding included */
    size_t persistent_bytes; /* the blocks come first */
    size_t x, labels;        /* the batch */
    size_t deltas[2];        /* gradients of activations, used in turn */
    size_t losses, correct;  /* per row, of evaluations and full gradients */
    size_t step_losses;      /* per row, of the last step */
    size_t scalar;           /* one double */
    size_t total_bytes;
};

/* out_activations: for each layer the offset of its output; out_tensors: for each tensor where it lies. Both
 * may be NULL. Errors as model_plan. */
enum err model_memory_plan(const struct arch *arch, size_t max_rows, struct model_memory *out,
                           size_t *out_activations, struct model_tensor *out_tensors,
                           struct fault *fault) MUST_CHECK;

#endif
