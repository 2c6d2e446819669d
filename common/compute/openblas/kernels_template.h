/* The kernels themselves, for vectors of LANES floats; LANES divides the stride of every matrix, so that rows
 * are whole vectors. The including file defines LANES, KERNEL_TARGET, KERNELS, KERNELS_NAME, the types vf and
 * vi, LANE_NUMBERS (0, 1, 2, ...), the types vq and vpairs (four floats, two pairs of them), FMA, and:
 * - fill_part: lanes from n on become a number, 1 <= n <= LANES
 * - at_least(v, floor): the larger of both per lane; a NaN in v stays
 * - where_positive(v, w): w where v > 0, else 0
 * - square_root: of each lane, correctly rounded
 * - sum_lanes4, max_lanes4: the sum and the largest of the lanes of each of four vectors
 * - with HAS_PARTS, load_part and store_part
 * IS_BLAS_SLOWER: than dense_forward_many and dense_input_gradient_many. DOT_ROWS, OUTER_VECTORS, PANEL_ROWS,
 * MANY_ROWS and MANY_VECTORS say how large a tile of sums the registers hold. Each of those files includes
 * this one once. */

#ifndef FEDLANE_COMPUTE_OPENBLAS_KERNELS_TEMPLATE_H
#define FEDLANE_COMPUTE_OPENBLAS_KERNELS_TEMPLATE_H

#define INLINE KERNEL_TARGET static inline __attribute__((always_inline))

/* Where every access is checked, unrolled loops only take minutes to compile. */
#if defined(FEDLANE_SANITIZED)
#define UNROLL
#elif defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* f - 0 is f, so this is a broadcast and nothing else; 0 + f would be an addition. */
INLINE vf splat(float f)
{
    return f - (vf){0};
}

INLINE vf load(const float *p)
{
    vf v;
    memcpy(&v, p, sizeof v);
    return v;
}

INLINE void store(float *p, vf v)
{
    memcpy(p, &v, sizeof v);
}

#ifndef HAS_PARTS
/* The first n floats of fewer than LANES; zeros behind them. */
INLINE vf load_part(const float *p, size_t n)
{
    float part[LANES] = {0};
    memcpy(part, p, n * sizeof *p);
    return load(part);
}

INLINE void store_part(float *p, vf v, size_t n)
{
    float part[LANES];
    store(part, v);
    memcpy(p, part, n * sizeof *p);
}
#endif

#include "common/compute/openblas/template_exponential.h"
#include "common/compute/openblas/template_dot.h"
#include "common/compute/openblas/template_long.h"
#include "common/compute/openblas/template_outer.h"
#include "common/compute/openblas/template_relu.h"
#include "common/compute/openblas/template_softmax.h"
#include "common/compute/openblas/template_step.h"
#include "common/compute/openblas/template_many.h"
#include "common/compute/openblas/template_panel.h"
#include "common/compute/openblas/template_winograd.h"
#include "common/compute/openblas/template_conv.h"
#include "common/compute/openblas/template_lstm.h"
#include "common/compute/openblas/template_pointwise.h"
#include "common/compute/openblas/template_sequence.h"
#include "common/compute/openblas/template_descent.h"
#include "common/compute/openblas/template_norm.h"

const struct cpu_kernels KERNELS = {.name = KERNELS_NAME,
                                    .part = {[COMPUTE_DENSE_FORWARD] = dense_forward_any,
                                             [COMPUTE_DENSE_INPUT_GRADIENT] = dense_input_gradient,
                                             [COMPUTE_DENSE_GRADIENT] = dense_gradient,
                                             [COMPUTE_DENSE_UPDATE] = dense_update,
                                             [COMPUTE_CONV_FORWARD] = conv_forward,
                                             [COMPUTE_CONV_INPUT_GRADIENT] = conv_input_gradient,
                                             [COMPUTE_CONV_GRADIENT] = conv_gradient,
                                             [COMPUTE_CONV_UPDATE] = conv_update,
                                             [COMPUTE_LSTM_FORWARD] = lstm_forward,
                                             [COMPUTE_LSTM_BACKWARD] = lstm_backward},
                                    .run = {[COMPUTE_RELU_FORWARD] = relu_forward,
                                            [COMPUTE_RELU_BACKWARD] = relu_backward,
                                            [COMPUTE_TANH_FORWARD] = tanh_forward,
                                            [COMPUTE_TANH_BACKWARD] = tanh_backward,
                                            [COMPUTE_SOFTMAX_GRADIENT] = softmax_gradient,
                                            [COMPUTE_SOFTMAX_LOSS] = softmax_loss,
                                            [COMPUTE_SOFTMAX_STEP] = softmax_step,
                                            [COMPUTE_DROPOUT] = dropout,
                                            [COMPUTE_UNPACK] = unpack,
                                            [COMPUTE_LAST_STEP] = last_step,
                                            [COMPUTE_GATHER] = gather,
                                            [COMPUTE_SCATTER_ADD] = scatter_add,
                                            [COMPUTE_DESCENT] = descent,
                                            [COMPUTE_DOT] = dot},
                                    .prepare = {[COMPUTE_CONV_FORWARD] = conv_forward_prepare,
                                                [COMPUTE_LSTM_FORWARD] = lstm_forward_prepare,
                                                [COMPUTE_LSTM_BACKWARD] = lstm_backward_prepare},
                                    .is_blas_slower = IS_BLAS_SLOWER,
                                    .many = {[COMPUTE_DENSE_FORWARD] = dense_forward_many,
                                             [COMPUTE_DENSE_INPUT_GRADIENT] = dense_input_gradient_many,
                                             [COMPUTE_DENSE_GRADIENT] = dense_gradient_many,
                                             [COMPUTE_DENSE_UPDATE] = dense_update_many}};

#endif
