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

#define LANES          16
#define DOT_ROWS       10
#define OUTER_VECTORS  4
#define PANEL_ROWS     12
#define MANY_ROWS      12
#define MANY_VECTORS   2
#define IS_BLAS_SLOWER true
#define KERNEL_TARGET  __attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma")))
#define KERNELS        cpu_kernels_avx512
#define KERNELS_NAME   "avx512"

typedef float vf __attribute__((vector_size(4 * LANES)));
typedef int32_t vi __attribute__((vector_size(4 * LANES)));
typedef float vq __attribute__((vector_size(16)));
typedef double vpairs __attribute__((vector_size(16)));

#define LANE_NUMBERS                                                                                         \
    {                                                                                                        \
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15                                                 \
    }
#define FMA(a, b, c) ((vf)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))

KERNEL_TARGET static inline __mmask16 first_lanes(size_t n)
{
    return (__mmask16)((1u << n) - 1);
}

KERNEL_TARGET static inline vf fill_part(vf v, size_t n, float f)
{
    return (vf)_mm512_mask_blend_ps(first_lanes(n), _mm512_set1_ps(f), (__m512)v);
}

#define HAS_COMPRESS
/* The lanes whose mark is set, to the front of what is written whole; how many they are. */
KERNEL_TARGET static inline size_t compress(vi marks, vi a, vf b, uint32_t *out_a, float *out_b)
{
    const __mmask16 which = _mm512_movepi32_mask((__m512i)marks);
    _mm512_storeu_si512(out_a, _mm512_maskz_compress_epi32(which, (__m512i)a));
    _mm512_storeu_ps(out_b, _mm512_maskz_compress_ps(which, (__m512)b));
    return (size_t)__builtin_popcount(which);
}

#define HAS_PARTS
KERNEL_TARGET static inline vf load_part(const float *p, size_t n)
{
    return (vf)_mm512_maskz_loadu_ps(first_lanes(n), p);
}

KERNEL_TARGET static inline void store_part(float *p, vf v, size_t n)
{
    _mm512_mask_storeu_ps(p, first_lanes(n), (__m512)v);
}

KERNEL_TARGET static inline vf at_least(vf v, vf floor)
{
    return (vf)_mm512_max_ps((__m512)floor, (__m512)v);
}

KERNEL_TARGET static inline vf square_root(vf v)
{
    return (vf)_mm512_sqrt_ps((__m512)v);
}

KERNEL_TARGET static inline vf where_positive(vf v, vf w)
{
    return (vf)_mm512_maskz_mov_ps(_mm512_cmp_ps_mask((__m512)v, _mm512_setzero_ps(), _CMP_GT_OQ), (__m512)w);
}

/* Pairs of lanes within each quarter, then quarters: [a, b, c, d] in the end. */
#define DEFINE_LANES4(name, op)                                                                              \
    KERNEL_TARGET static inline vq name(vf va, vf vb, vf vc, vf vd)                                          \
    {                                                                                                        \
        __m512 a = (__m512)va, b = (__m512)vb, c = (__m512)vc, d = (__m512)vd;                               \
        __m512 ab = _mm512_##op##_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));                    \
        __m512 cd = _mm512_##op##_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));                    \
        __m512 s = _mm512_##op##_ps(_mm512_shuffle_ps(ab, cd, 0x44), _mm512_shuffle_ps(ab, cd, 0xee));       \
        __m256 h = _mm256_##op##_ps(_mm512_castps512_ps256(s), _mm512_extractf32x8_ps(s, 1));                \
        return (vq)_mm_##op##_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));                    \
    }

DEFINE_LANES4(sum_lanes4, add)
DEFINE_LANES4(max_lanes4, max)

#include "common/compute/openblas/kernels_template.h"
#endif
