/* Shared by the files that read an architecture. */
#ifndef FEDLANE_MODEL_ARCH_IMPL_H
#define FEDLANE_MODEL_ARCH_IMPL_H

#include "common/base/arena.h"
#include "common/model/arch.h"

#define ARCH_MAX_UNITS 1e9 /* a first bound; the tensors' sizes are checked exactly */

/* Sets input_shape from `input` by what the first layer takes that minds its input's shape. */
enum err arch_read_input(struct arch *a, const json_t *layers, struct fault *fault) MUST_CHECK;
/* Reads layer `index`, whose input has the shape `in`, and adds its tensors. */
enum err arch_read_layer(struct arch *a, size_t index, const json_t *value, const struct example_shape *in,
                         struct arena *arena, struct fault *fault) MUST_CHECK;

/* The model's field `vocabulary`, against the layers that were read. */
enum err arch_read_vocabulary(struct arch *a, const json_t *value, struct fault *fault) MUST_CHECK;
/* How many characters such a field names; 0: it names them by their hash. */
enum err arch_count_vocabulary(const json_t *value, size_t *out, struct fault *fault) MUST_CHECK;

#endif
