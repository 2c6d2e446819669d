#include "common/compute/openblas/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <math.h>
#include <string.h>

#define LANES         16
#define DOT_ROWS      10
#define OUTER_VECTORS 4
#define KERNEL_TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma")))
#define KERNELS       cpu_kernels_avx512
#define KERNELS_NAME  "avx512"

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

KERNEL_TARGET static inline vf load_part(const float *p, size_t n)
{
    return (vf)_mm512_maskz_loadu_ps(first_lanes(n), p);
}

KERNEL_TARGET static inline void store_part(float *p, vf v, size_t n)
{
    _mm512_mask_storeu_ps(p, first_lanes(n), (__m512)v);
}

KERNEL_TARGET static inline vf fill_part(vf v, size_t n, float f)
{
    return (vf)_mm512_mask_blend_ps(first_lanes(n), _mm512_set1_ps(f), (__m512)v);
}

KERNEL_TARGET static inline vf select_less(vf a, vf b, vf yes, vf no)
{
    return (vf)_mm512_mask_blend_ps(_mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LT_OQ), (__m512)no,
                                    (__m512)yes);
}

/* Lanes i and i + 8, i + 4, i + 2, i + 1. */
KERNEL_TARGET static inline float sum_lanes(vf v)
{
    __m256 h = _mm256_add_ps(_mm512_castps512_ps256((__m512)v), _mm512_extractf32x8_ps((__m512)v, 1));
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

KERNEL_TARGET static inline float max_lanes(vf v)
{
    __m256 h = _mm256_max_ps(_mm512_castps512_ps256((__m512)v), _mm512_extractf32x8_ps((__m512)v, 1));
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

KERNEL_TARGET static inline __m512 add_halves(__m512 a, __m512 b)
{
    return _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
}

KERNEL_TARGET static inline vq sum_lanes4(vf a, vf b, vf c, vf d)
{
    __m512d ab = _mm512_castps_pd(add_halves((__m512)a, (__m512)b));
    __m512d cd = _mm512_castps_pd(add_halves((__m512)c, (__m512)d));
    __m512 s = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(ab, cd)),
                             _mm512_castpd_ps(_mm512_unpackhi_pd(ab, cd)));
    __m256 h = _mm256_add_ps(_mm512_castps512_ps256(s), _mm512_extractf32x8_ps(s, 1));
    return (vq)_mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
}

#include "common/compute/openblas/kernels_template.h"
#endif
