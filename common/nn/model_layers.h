/* What an architecture's layers are in memory and in operations. One of them may do the work of several, and
 * one of the architecture may need several. */
#ifndef FEDLANE_NN_MODEL_LAYERS_H
#define FEDLANE_NN_MODEL_LAYERS_H

#include "common/nn/layer.h"

struct model_layers {
    struct layer *items; /* tensors[], own: set when the memory is planned */
    size_t count;
    size_t first_trained; /* index of the first with weights */
    struct model_tensor *tensors;
    size_t num_tensors;
};

/* ERR_INVALID_FIELD where the architecture only names tensors. */
enum err model_layers_init(struct model_layers *m, const struct arch *arch, struct fault *fault) MUST_CHECK;
void model_layers_release(struct model_layers *m);

#endif
