/* Operations on images: convolution and max-pooling.
 *
 * An image is [height][width][channels], its pixels `pixel` values apart: compute_stride(channels) of them,
 * where the channels are padded with zeros, or just the channels, which is what a first layer reads. The
 * images of a batch are rows of a matrix of height * width * pixel columns; an image of one pixel is thus a
 * row like any other.
 *
 * The weights of a convolution are [filters][kernel_height][run]: a run is what a kernel's row covers of an
 * image's row, [kernel_width][pixel], padded to compute_stride(kernel_width * pixel). Its bias is a matrix
 * [1, filters]. As everywhere, padding is 0 in what is read and in what is written. */
#ifndef FEDLANE_COMPUTE_COMPUTE_IMAGE_H
#define FEDLANE_COMPUTE_COMPUTE_IMAGE_H

#include "common/compute/compute.h"

/* Windows of size x size, every `stride` pixels from the top left; one that does not fit is left out:
 * out_height = (height - size) / stride + 1. size <= COMPUTE_MAX_POOL. Channels are padded, before and
 * after. */
struct compute_pool {
    size_t channels, height, width;
    size_t size, stride;
    size_t out_height, out_width;
};
enum { COMPUTE_MAX_POOL = 15 };
/* The first largest of a window is kept as one byte, its place ky * size + kx. */
enum { COMPUTE_CUT = 255 }; /* relu made it 0: no gradient goes anywhere */

/* A convolution [channels, height, width] -> [filters, out_height, out_width] with, in one operation, what
 * often follows it: z = pool(relu(conv(x) + b)). Pixels outside of the image are 0; pad_top, pad_left say how
 * many of them stand before it. */
struct compute_conv {
    size_t channels, height, width, pixel; /* of x */
    size_t filters, kernel_height, kernel_width, stride;
    size_t pad_top, pad_left;
    size_t out_height, out_width; /* of the convolution itself */
    bool has_relu;
    struct compute_pool pool; /* of [filters, out_height, out_width], its stride is its size; size 0: none */
};

/* Values, with padding: of an image of x, of one of z (and dz), of the weights of a filter, of a run of
 * these. */
size_t compute_conv_input(const struct compute_conv *g);
size_t compute_conv_output(const struct compute_conv *g);
size_t compute_conv_filter(const struct compute_conv *g);
size_t compute_conv_run(const struct compute_conv *g);
size_t compute_conv_largest(const struct compute_conv *g); /* bytes of an image's `largest` */

/* `largest`, one byte for each value of z, is written where there is a pool. A NaN is the largest of its
 * window. */
enum err compute_conv_forward(struct compute *c, size_t rows, const struct compute_conv *g,
                              struct compute_slice x, struct compute_slice w, struct compute_slice b,
                              struct compute_slice z, struct compute_slice largest,
                              struct compute_slice scratch) MUST_CHECK;
/* The gradients are all taken from dz, the gradient of what the forward operation put out, and `seen`, which
 * says where it came from: `largest` with a pool, z with only a relu, anything without either. */
/* dx, laid out as x */
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

/* From a matrix x [rows, pixels * channels], in the order in which data come, to pixels `pixel` values apart.
 * Data have all pixels of a channel and then the next channel (is_planar, images), or all channels of a pixel
 * and then the next pixel (sequences, whose steps are the pixels). */
struct compute_unpack {
    size_t pixels, channels, pixel;
    bool is_planar;
};
enum err compute_unpack(struct compute *c, size_t rows, const struct compute_unpack *g,
                        struct compute_slice x, struct compute_slice y) MUST_CHECK;

#endif
