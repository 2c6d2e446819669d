/* A layer of a model: a table of functions over compute buffers. A new kind of layer is a file with such a
 * table, and a row in layer_ops_of(). */
#ifndef FEDLANE_NN_LAYER_H
#define FEDLANE_NN_LAYER_H

#include "common/compute/compute_image.h"
#include "common/compute/compute_lstm.h"
#include "common/model/arch.h"
#include "common/nn/sgd.h"

struct layer_ops;

/* How an example lies in memory between layers: the channels of a pixel, padded to compute_stride, then the
 * next pixel. A vector is one pixel; a step of a sequence is a pixel, too. */
struct layout {
    size_t pixels, channels;
    bool is_planar; /* the model's own order has all pixels of a channel, then the next channel (images) */
};

static inline size_t layout_floats(const struct layout *l)
{
    return l->pixels * compute_stride(l->channels);
}

/* Where a parameter tensor lies: blocks of rows of `count[2]` values, each row padded to compute_stride;
 * value (i, j, k) is the model's own number flat + i step[0] + j step[1] + k step[2]. */
struct model_tensor {
    size_t count[3], step[3];
    size_t at; /* bytes from the start of a parameter block */
    size_t flat;
};

enum { LAYER_MAX_TENSORS = 4 };

struct layer {
    const struct layer_ops *ops;
    struct layout in, out;
    bool is_in_place;                  /* out is in, d_in is d_out */
    int tensor;                        /* index of its first; -1: it has none */
    size_t tensors[LAYER_MAX_TENSORS]; /* bytes from the start of a parameter block */
    size_t own;                        /* where the buffer has what own_bytes asked for */
    union {
        struct compute_conv conv;
        struct compute_pool pool;
    };
};

/* What a layer sees of one batch. Slices of parameter blocks are their starts. */
struct layer_pass {
    struct compute *compute;
    size_t rows;
    struct compute_slice in, out;      /* activations, [rows] of layer's in and out */
    struct compute_slice d_in, d_out;  /* the loss's gradient with respect to them */
    struct compute_slice own, scratch; /* own stays from forward to the gradients */
};

struct layer_ops {
    const char *name;
    bool can_be_in_place; /* forward and backward may change values where they stand */
    bool keeps_output; /* `out` must be after forward as the layer left it: nothing behind it is in place */
    /* Fills in `l`, whose in is set, from `from`, and says how its tensors lie (count, step). Returns how
     * many layers of the architecture, of the `left` from `from` on, it does the work of. */
    size_t (*build)(struct layer *l, const struct arch_layer *from, size_t left,
                    struct model_tensor *tensors);
    size_t (*own_bytes)(const struct layer *l, size_t rows); /* NULL: none */
    /* The most that an operation of it wants; NULL: none ever. */
    size_t (*scratch_bytes)(const struct layer *l, const struct compute *c, size_t rows);
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

extern const struct layer_ops layer_dense, layer_relu, layer_tanh, layer_conv2d, layer_max_pool2d;
/* From the order in which the data give an image or a sequence to a layout with padding; before the first
 * layer, where that does not read the data's order itself. */
extern const struct layer_ops layer_unpack;

/* NULL for a layer that does nothing to memory. */
const struct layer_ops *layer_ops_of(enum layer_type type);
struct layout layout_of(const struct example_shape *shape);

struct compute_pool layer_pool_of(const struct arch_layer *from); /* of a max_pool2d */

/* `build` of a layer without weights that keeps the layout. */
size_t layer_build_elementwise(struct layer *l, const struct arch_layer *from, size_t left,
                               struct model_tensor *tensors);
/* A bias, [1, count], and a matrix [rows, width] as the model's own order has it. */
void model_tensor_bias(struct model_tensor *t, size_t count);
void model_tensor_matrix(struct model_tensor *t, size_t rows, size_t width);

#endif
