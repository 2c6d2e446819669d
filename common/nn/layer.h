/* A layer of a model: a table of functions over compute buffers. A new kind of layer is a file with such a
 * table, and a row in layer_ops_of(). */
#ifndef FEDLANE_NN_LAYER_H
#define FEDLANE_NN_LAYER_H

#include "common/compute/compute_image.h"
#include "common/compute/compute_lstm.h"
#include "common/model/arch.h"
#include "common/nn/sgd.h"

struct layer_ops;

/* How an example lies in memory between layers: a row of a matrix, in which pixels stand `pixel` values
 * apart, each with its channels. Those are padded (pixel = compute_stride(channels)) but for what a first
 * layer reads. A vector is one pixel; a step of a sequence is a pixel, too. */
struct layout {
    size_t pixels, channels, pixel;
    bool is_planar; /* the model's own order has all pixels of a channel, then the next channel (images) */
};

static inline size_t layout_width(const struct layout *l)
{
    return l->pixels == 1 ? l->channels : l->pixels * l->pixel;
}

static inline size_t layout_floats(const struct layout *l)
{
    return compute_stride(layout_width(l));
}

/* Where a parameter tensor lies: count[0] * count[1] rows of a matrix, in each count[2] groups, `pixel`
 * values apart, of count[3] values. Value (i, j, k, n) is the model's own number flat + i step[0] + j step[1]
 * + k step[2] + n step[3]. */
struct model_tensor {
    size_t count[4], step[4], pixel;
    size_t at; /* bytes from the start of a parameter block */
    size_t flat;
};

static inline size_t model_tensor_rows(const struct model_tensor *t)
{
    return t->count[0] * t->count[1];
}

static inline size_t model_tensor_width(const struct model_tensor *t)
{
    return t->count[2] == 1 ? t->count[3] : t->count[2] * t->pixel;
}

enum { LAYER_MAX_TENSORS = 4 };

struct layer {
    const struct layer_ops *ops;
    struct layout in, out;
    bool is_in_place;                  /* out is in, d_in is d_out */
    int tensor;                        /* index of its first; -1: it has none */
    size_t place;                      /* of the architecture's layer, whose random stream it has */
    size_t part;                       /* of an lstm of several layers */
    size_t tensors[LAYER_MAX_TENSORS]; /* bytes from the start of a parameter block */
    size_t own;                        /* where the buffer has what own_bytes asked for */
    union {
        struct compute_conv conv;
        struct compute_pool pool;
        struct compute_unpack unpack;
        struct compute_lstm lstm;
        struct compute_table table;
        real rate;
    };
};

/* What a layer sees of one batch. Slices of parameter blocks are their starts. */
struct layer_pass {
    struct compute *compute;
    size_t rows;
    struct compute_slice in, out;      /* activations, [rows] of layer's in and out */
    struct compute_slice d_in, d_out;  /* the loss's gradient with respect to them */
    struct compute_slice own, scratch; /* own stays from forward to the gradients */
    bool wants_d_in;                   /* a layer below learns */
    bool is_training;                  /* a step: then there is dropout, by the stream */
    uint64_t stream;                   /* of this step and layer */
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
     * there. But with `runs_back` it is called there, too, with wants_d_in false. */
    bool runs_back;
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

extern const struct layer_ops layer_dense, layer_relu, layer_tanh, layer_conv2d, layer_max_pool2d,
    layer_dropout, layer_embedding, layer_lstm;
/* From the order in which the data give an image or a sequence to a layout with padding; before the first
 * layer, where that does not read the data's order itself. */
extern const struct layer_ops layer_unpack;

/* NULL for a layer that does nothing to memory. */
const struct layer_ops *layer_ops_of(enum layer_type type);
struct layout layout_of(const struct example_shape *shape);
struct layer layer_unpack_to(size_t num_features, struct layout out); /* puts out that */

struct compute_pool layer_pool_of(const struct arch_layer *from); /* of a max_pool2d */

/* `build` of a layer without weights that keeps the layout. */
size_t layer_build_elementwise(struct layer *l, const struct arch_layer *from, size_t left,
                               struct model_tensor *tensors);
/* A matrix as the model's own order has it; a bias is one row. */
void model_tensor_matrix(struct model_tensor *t, size_t rows, size_t width);

#endif
