#include <math.h>
#include <string.h>
#include "common/compute/openblas/kernels.h"

/* Four lanes are what every x86-64 and every 64-bit Arm has; elsewhere the compiler makes do. */
#define LANES         4
#define DOT_ROWS      5
#define OUTER_VECTORS 2
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

static inline vf load_part(const float *p, size_t n)
{
    vf v = {p[0], n > 1 ? p[1] : 0, n > 2 ? p[2] : 0, n > 3 ? p[3] : 0};
    return v;
}

static inline void store_part(float *p, vf v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = v[i];
}

static inline vf select_lanes(vi mask, vf yes, vf no)
{
    return (vf)((mask & (vi)yes) | (~mask & (vi)no));
}

static inline vf fill_part(vf v, size_t n, float f)
{
    const vi lanes = LANE_NUMBERS;
    return select_lanes(lanes < (int32_t)n, v, (vf){f, f, f, f});
}

static inline vf select_less(vf a, vf b, vf yes, vf no)
{
    return select_lanes(a < b, yes, no);
}

static inline float sum_lanes(vf v)
{
    return (v[0] + v[2]) + (v[1] + v[3]);
}

static inline float max_lanes(vf v)
{
    float a = v[0] < v[2] ? v[2] : v[0], b = v[1] < v[3] ? v[3] : v[1];
    return a < b ? b : a;
}

static inline vf add_halves(vf a, vf b)
{
    return __builtin_shufflevector(a, b, 0, 4, 1, 5) + __builtin_shufflevector(a, b, 2, 6, 3, 7);
}

static inline vq sum_lanes4(vf a, vf b, vf c, vf d)
{
    vf ab = add_halves(a, b), cd = add_halves(c, d);
    return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
}

#include "common/compute/openblas/kernels_template.h"
