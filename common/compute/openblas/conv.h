/* What the convolution's kernels share: how they cut the work, and all of it that needs no vectors.
 *
 * One image at a time is copied into scratch memory with its border of zeros, so that the window under an
 * output pixel is kernel_height runs of kernel_width * pixel values that lie together, and no kernel knows
 * of borders, strides or channels. Forward, 16 filters meet a few pixels in registers. Backward goes over the
 * non-zero gradients only: after relu and a 2 x 2 pool at least three of four are zero, and with a list of
 * the others the sums stay in registers all the same. */
#ifndef FEDLANE_COMPUTE_OPENBLAS_CONV_H
#define FEDLANE_COMPUTE_OPENBLAS_CONV_H

#include "common/compute/compute_image.h"
#include "common/compute/compute_impl.h"

enum { CONV_BLOCK = 16 }; /* filters side by side */

/* Some of the terms: gradient * (what lies `at` floats from a place). */
struct conv_list {
    uint32_t first, count;
};

/* Forward by Winograd's algorithm: template_winograd.h. `tiles` of them are transformed at a time. */
struct conv_winograd {
    size_t tiles; /* 0: not by it */
    float *weights, *values, *products;
};

struct conv_work {
    const struct compute_conv *g;
    size_t run, run_stride;  /* floats of a window in a line; the same with padding */
    size_t line, lines;      /* of the image with its border, in floats and lines */
    size_t filters, outputs; /* filters with padding; pixels of z */
    size_t filter_stride;    /* floats of a filter's weights */
    float *image;            /* [lines][line], and some floats more that may be read */
    float
        *weights; /* forward: [filters / 16][kernel_height][run][16]; else the gradient, as the weights lie */
    float *bias;  /* [filters]: its gradient */
    float *z;     /* forward, with a pool: [out_height * out_width][16] */
    struct conv_winograd winograd;
    uint32_t *at; /* backward: the terms of one image */
    float *gradients;
    struct conv_list *lists; /* by pixel, or by filter */
};

/* Whether 32 bits hold the sizes. */
bool conv_supports(const struct compute_op *op);
size_t conv_scratch_bytes(const struct compute_op *op);
/* Parts that run at once have the packed weights, or the gradient, in common, and all else of their own. */
void conv_work_init(const struct compute_op *op, size_t seat, struct conv_work *out);

void conv_take_image(const struct conv_work *w, const float *x);
void conv_give_image(const struct conv_work *w, float *dx);
/* Weights into blocks of filters. */
void conv_pack(const struct conv_work *w, const float *weights);

static inline size_t conv_pixel(const struct conv_work *w, size_t y, size_t x)
{
    return y * w->g->stride * w->line + x * w->g->stride * w->g->pixel;
}

/* Offsets of the places in a pool's window (one place where there is none), `stride` apart from pixel to
 * pixel and `line` from line to line; that of none is 0. */
void conv_list_places(const struct conv_work *w, size_t stride, size_t line, uint32_t out[COMPUTE_CUT + 1]);
/* The terms of one image's gradient by filter, of those from `from` to `to`; `at` is the pixel in the image.
 */
void conv_terms_by_filter(const struct conv_work *w, size_t from, size_t to, const float *dz,
                          const void *seen);

#endif
