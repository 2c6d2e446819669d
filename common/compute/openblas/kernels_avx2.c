#include "common/base/rng.h"
#include "common/compute/compute_descent.h"
#include "common/compute/openblas/conv.h"
#include "common/compute/openblas/kernels.h"
#include "common/compute/openblas/lstm.h"
#include "common/compute/openblas/tiles.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <math.h>
#include <string.h>

#define LANES          8
#define DOT_ROWS       5
#define OUTER_VECTORS  2
#define PANEL_ROWS     6
#define MANY_ROWS      6
#define MANY_VECTORS   2
#define IS_BLAS_SLOWER true
#define KERNEL_TARGET  __attribute__((target("avx2,fma")))
#define KERNELS        cpu_kernels_avx2
#define KERNELS_NAME   "avx2"

typedef float vf __attribute__((vector_size(4 * LANES)));
typedef int32_t vi __attribute__((vector_size(4 * LANES)));
typedef float vq __attribute__((vector_size(16)));
typedef double vpairs __attribute__((vector_size(16)));

#define LANE_NUMBERS                                                                                         \
    {                                                                                                        \
        0, 1, 2, 3, 4, 5, 6, 7                                                                               \
    }
#define FMA(a, b, c) ((vf)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))

static const int32_t mask_table[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};

KERNEL_TARGET static inline __m256i first_lanes(size_t n)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)(mask_table + 8 - n));
}

KERNEL_TARGET static inline vf fill_part(vf v, size_t n, float f)
{
    return (vf)_mm256_blendv_ps(_mm256_set1_ps(f), (__m256)v, _mm256_castsi256_ps(first_lanes(n)));
}

KERNEL_TARGET static inline vf at_least(vf v, vf floor)
{
    return (vf)_mm256_max_ps((__m256)floor, (__m256)v);
}

KERNEL_TARGET static inline vf square_root(vf v)
{
    return (vf)_mm256_sqrt_ps((__m256)v);
}

KERNEL_TARGET static inline vf where_positive(vf v, vf w)
{
    return (vf)_mm256_and_ps(_mm256_cmp_ps((__m256)v, _mm256_setzero_ps(), _CMP_GT_OQ), (__m256)w);
}

/* Pairs of lanes within each half, then the halves: [a, b, c, d] in the end. */
#define DEFINE_LANES4(name, op)                                                                              \
    KERNEL_TARGET static inline vq name(vf va, vf vb, vf vc, vf vd)                                          \
    {                                                                                                        \
        __m256 a = (__m256)va, b = (__m256)vb, c = (__m256)vc, d = (__m256)vd;                               \
        __m256 ab = _mm256_##op##_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));                    \
        __m256 cd = _mm256_##op##_ps(_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));                    \
        __m256 s = _mm256_##op##_ps(_mm256_shuffle_ps(ab, cd, 0x44), _mm256_shuffle_ps(ab, cd, 0xee));       \
        return (vq)_mm_##op##_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));                    \
    }

DEFINE_LANES4(sum_lanes4, add)
DEFINE_LANES4(max_lanes4, max)

#include "common/compute/openblas/kernels_template.h"
#endif
