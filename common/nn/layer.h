/* A layer of a model: a table of functions over compute buffers. A new kind of layer is a file with such a
 * table, and a row in layer_ops_of(). */
#ifndef FEDLANE_NN_LAYER_H
#define FEDLANE_NN_LAYER_H

#include "common/compute/compute.h"
#include "common/model/arch.h"
#include "common/nn/sgd.h"

struct layer_ops;

struct layer {
    const struct layer_ops *ops;
    size_t num_inputs, num_outputs; /* features per example */
    size_t weight, bias; /* bytes from the start of a parameter block; unused where the layer has none */
};

/* What a layer sees of one batch. Slices of parameter blocks are their starts. */
struct layer_pass {
    struct compute *compute;
    size_t rows;
    struct compute_slice in, out;     /* activations [rows, num_inputs], [rows, num_outputs] */
    struct compute_slice d_in, d_out; /* the loss's gradient with respect to them */
};

struct layer_ops {
    const char *name;
    bool is_in_place; /* out is in and d_in is d_out: the layer changes values where they stand */
    enum err (*forward)(const struct layer *l, const struct layer_pass *p,
                        struct compute_slice params) MUST_CHECK;
    /* d_in from d_out. Not called for a model's first layer with weights, nor below it: nobody needs it
     * there. */
    enum err (*backward)(const struct layer *l, const struct layer_pass *p,
                         struct compute_slice params) MUST_CHECK;
    /* The gradient of the layer's own parameters, written to (or added to) a block like params. NULL where it
     * has none. */
    enum err (*gradient)(const struct layer *l, const struct layer_pass *p, struct compute_slice gradient,
                         bool accumulate) MUST_CHECK;
    /* The same gradient and the optimizer's step with it, in one pass, after `backward`. NULL where
     * `gradient` is. */
    enum err (*update)(const struct layer *l, const struct layer_pass *p, const struct sgd *sgd,
                       struct compute_slice params, struct compute_slice anchor) MUST_CHECK;
};

extern const struct layer_ops layer_dense, layer_relu;

const struct layer_ops *layer_ops_of(enum layer_type type);

#endif
