/* Operations on images: convolution and max-pooling.
 *
 * A batch of images is [rows][height][width][channels], the channels of a pixel padded with zeros to
 * compute_stride(channels); an image of one pixel is thus a row of a matrix. What a model is given may
 * instead be planar: [rows] of compute_stride(channels * height * width) values, of which the first are
 * [channels][height][width] without padding.
 *
 * A convolution's weights are a matrix of kernel_height * kernel_width * channels rows, [ky][kx][channel],
 * and a column for each filter, padded to compute_stride(filters); its bias is [1, filters]. As everywhere,
 * padding is 0 in what is read and in what is written. */
#ifndef FEDLANE_COMPUTE_COMPUTE_IMAGE_H
#define FEDLANE_COMPUTE_COMPUTE_IMAGE_H

#include "common/compute/compute.h"

/* Windows of size x size, every `stride` pixels from the top left; one that does not fit is left out:
 * out_height = (height - size) / stride + 1. size <= COMPUTE_MAX_POOL. */
struct compute_pool {
    size_t channels, height, width;
    size_t size, stride;
    size_t out_height, out_width;
};
enum { COMPUTE_MAX_POOL = 15 };
/* The first largest of a window is kept as one byte, ky * size + kx. */
enum { COMPUTE_CUT = 255 }; /* relu made it 0: no gradient goes anywhere */

/* A convolution [channels, height, width] -> [filters, out_height, out_width] with, in one operation, what
 * often follows it: z = pool(relu(conv(x) + b)). Pixels outside of the image are 0; pad_top, pad_left say how
 * many of them stand before it. */
struct compute_conv {
    size_t channels, height, width;
    bool is_planar; /* how x lies; never with an input gradient */
    size_t filters, kernel_height, kernel_width, stride;
    size_t pad_top, pad_left;
    size_t out_height, out_width; /* of the convolution itself */
    bool has_relu;
    struct compute_pool pool; /* of [filters, out_height, out_width]; size 0: none */
};

/* Reals, with padding: of an example of x, and of z (and dz); bytes of an example of `largest`. */
size_t compute_conv_input(const struct compute_conv *g);
size_t compute_conv_output(const struct compute_conv *g);
size_t compute_conv_largest(const struct compute_conv *g);
size_t compute_conv_weights(const struct compute_conv *g); /* rows of the weights' matrix */

/* `largest`, one byte for each value of z, is written where there is a pool. A NaN is the largest of its
 * window. */
enum err compute_conv_forward(struct compute *c, size_t rows, const struct compute_conv *g,
                              struct compute_slice x, struct compute_slice w, struct compute_slice b,
                              struct compute_slice z, struct compute_slice largest,
                              struct compute_slice scratch) MUST_CHECK;
/* The gradients are all taken from dz, the gradient of what the forward operation put out, and `seen`, which
 * says where it came from: `largest` with a pool, z with only a relu, anything without either. */
/* dx, of an x that is not planar */
enum err compute_conv_input_gradient(struct compute *c, size_t rows, const struct compute_conv *g,
                                     struct compute_slice dz, struct compute_slice seen,
                                     struct compute_slice w, struct compute_slice dx,
                                     struct compute_slice scratch) MUST_CHECK;
/* dw and db; added to what is there if `accumulate` */
enum err compute_conv_gradient(struct compute *c, size_t rows, const struct compute_conv *g, bool accumulate,
                               struct compute_slice x, struct compute_slice dz, struct compute_slice seen,
                               struct compute_slice dw, struct compute_slice db,
                               struct compute_slice scratch) MUST_CHECK;
/* The same gradient, summed from zero, and the proximal SGD step with it, as compute_dense_update. */
enum err compute_conv_update(struct compute *c, size_t rows, const struct compute_conv *g, real learning_rate,
                             real mu, struct compute_slice x, struct compute_slice dz,
                             struct compute_slice seen, struct compute_slice w, struct compute_slice b,
                             struct compute_slice w0, struct compute_slice b0,
                             struct compute_slice scratch) MUST_CHECK;

/* Max-pooling alone. `largest`: one byte for each value of y, padding included. */
enum err compute_pool_forward(struct compute *c, size_t rows, const struct compute_pool *g,
                              struct compute_slice x, struct compute_slice y,
                              struct compute_slice largest) MUST_CHECK;
enum err compute_pool_backward(struct compute *c, size_t rows, const struct compute_pool *g,
                               struct compute_slice dy, struct compute_slice largest,
                               struct compute_slice dx) MUST_CHECK;

/* From a matrix x [rows, pixels * channels], in the order that the data give, to [rows][pixels][channels]
 * with padding: x has all pixels of a channel and then the next channel (is_planar, images), or all channels
 * of a pixel and then the next pixel (sequences, whose steps are the pixels). */
enum err compute_unpack(struct compute *c, size_t rows, size_t pixels, size_t channels, bool is_planar,
                        struct compute_slice x, struct compute_slice y) MUST_CHECK;

#endif
