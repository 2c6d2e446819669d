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

#endif
