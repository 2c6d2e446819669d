/* How much the devices' gradients at w differ [arXiv 1812.06127, definition 3 and figure 2], from full local
 * gradients g_k = grad F_k(w) and p_k = n_k / n, with g = sum_k p_k g_k: B = sqrt(sum_k p_k ||g_k||^2 /
 * ||g||^2)     variance = E_k ||g_k - g||^2, E_k by p_k and uniform over devices. One pass over the gradients
 * in double; a large model goes range by range, as in average.h: begin, add for each device in ascending
 * ordinal, end, for each range, with the same devices in each; then finish. */
#ifndef FEDLANE_FL_DISSIMILARITY_H
#define FEDLANE_FL_DISSIMILARITY_H

#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"
#include "common/base/real.h"

struct dissimilarity {
    double *weighted, *uniform; /* sums of n_k g_k and of g_k over the range; owned */
    size_t capacity, num_elements;
    double num_examples; /* added since begin */
    size_t num_devices;
    int64_t last_ordinal;
    /* sums over the ranges so far */
    double sum_square_weighted, sum_square_uniform; /* of n_k ||g_k||^2, of ||g_k||^2 */
    double square_of_mean;                          /* ||g||^2 */
    double cross;                                   /* (uniform mean of g_k) . g */
};

struct dissimilarity_result {
    double grad_norm; /* ||g|| */
    double b;         /* 1 where all gradients are 0; infinite where only their mean is */
    double grad_variance_weighted, grad_variance_uniform;
};

enum err dissimilarity_init(struct dissimilarity *d, size_t capacity) MUST_CHECK; /* ERR_NO_MEMORY */
void dissimilarity_release(struct dissimilarity *d);
void dissimilarity_begin(struct dissimilarity *d,
                         size_t num_elements); /* a range, at most `capacity` elements */
/* The range of one device's gradient; ordinals ascend; num_examples > 0. */
void dissimilarity_add(struct dissimilarity *d, int64_t ordinal, int64_t num_examples, const real *gradient);
void dissimilarity_end(struct dissimilarity *d);
/* ERR_INVALID_UPDATE when no gradient was added. */
enum err dissimilarity_finish(const struct dissimilarity *d, struct dissimilarity_result *out) MUST_CHECK;

#endif
