#include <math.h>
#include <string.h>
#include "common/base/rng.h"
#include "common/compute/compute_descent.h"
#include "common/compute/openblas/conv.h"
#include "common/compute/openblas/kernels.h"
#include "common/compute/openblas/lstm.h"
#include "common/compute/openblas/tiles.h"

/* Four lanes are what every x86-64 and every 64-bit Arm has; elsewhere the compiler makes do. */
#define LANES          4
#define DOT_ROWS       5
#define OUTER_VECTORS  2
#define PANEL_ROWS     3
#define MANY_ROWS      6
#define MANY_VECTORS   2
#define IS_BLAS_SLOWER false
#define KERNEL_TARGET
#define KERNELS      cpu_kernels_baseline
#define KERNELS_NAME "baseline"

typedef float vf __attribute__((vector_size(4 * LANES)));
typedef int32_t vi __attribute__((vector_size(4 * LANES)));
typedef vf vq;
typedef double vpairs __attribute__((vector_size(16)));

#define LANE_NUMBERS                                                                                         \
    {                                                                                                        \
        0, 1, 2, 3                                                                                           \
    }
#define FMA(a, b, c) ((a) * (b) + (c))

static inline vf select_lanes(vi mask, vf yes, vf no)
{
    return (vf)((mask & (vi)yes) | (~mask & (vi)no));
}

static inline vf fill_part(vf v, size_t n, float f)
{
    const vi lanes = LANE_NUMBERS;
    return select_lanes(lanes < (int32_t)n, v, (vf){f, f, f, f});
}

static inline vf at_least(vf v, vf floor)
{
    return select_lanes(v < floor, floor, v);
}

static inline vf square_root(vf v)
{
    vf root;
    for (int i = 0; i < LANES; i++)
        root[i] = sqrtf(v[i]);
    return root;
}

static inline vf where_positive(vf v, vf w)
{
    return (vf)((v > (vf){0}) & (vi)w);
}

/* The first two lanes of a and of b, taking turns; the last two. */
static inline vf low_pairs(vf a, vf b)
{
    return __builtin_shufflevector(a, b, 0, 4, 1, 5);
}

static inline vf high_pairs(vf a, vf b)
{
    return __builtin_shufflevector(a, b, 2, 6, 3, 7);
}

static inline vq sum_lanes4(vf a, vf b, vf c, vf d)
{
    vf ab = low_pairs(a, b) + high_pairs(a, b), cd = low_pairs(c, d) + high_pairs(c, d);
    return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
}

static inline vq max_lanes4(vf a, vf b, vf c, vf d)
{
    vf ab = at_least(low_pairs(a, b), high_pairs(a, b)), cd = at_least(low_pairs(c, d), high_pairs(c, d));
    return at_least(__builtin_shufflevector(ab, cd, 0, 1, 4, 5), __builtin_shufflevector(ab, cd, 2, 3, 6, 7));
}

#include "common/compute/openblas/kernels_template.h"
