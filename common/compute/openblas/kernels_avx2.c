#include "common/compute/openblas/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <math.h>
#include <string.h>

#define LANES         8
#define DOT_ROWS      5
#define OUTER_VECTORS 2
#define KERNEL_TARGET __attribute__((target("avx2,fma")))
#define KERNELS       cpu_kernels_avx2
#define KERNELS_NAME  "avx2"

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

KERNEL_TARGET static inline vf load_part(const float *p, size_t n)
{
    return (vf)_mm256_maskload_ps(p, first_lanes(n));
}

/* By halves: some CPUs take many cycles for a masked store. */
KERNEL_TARGET static inline void store_part(float *p, vf v, size_t n)
{
    __m128 some = _mm256_castps256_ps128((__m256)v);
    if (n == LANES) {
        _mm256_storeu_ps(p, (__m256)v);
        return;
    }
    if (n & 4) {
        _mm_storeu_ps(p, some);
        some = _mm256_extractf128_ps((__m256)v, 1);
        p += 4;
    }
    if (n & 2) {
        _mm_storel_pi((__m64 *)(void *)p, some);
        some = _mm_movehl_ps(some, some);
        p += 2;
    }
    if (n & 1)
        _mm_store_ss(p, some);
}

KERNEL_TARGET static inline vf fill_part(vf v, size_t n, float f)
{
    return (vf)_mm256_blendv_ps(_mm256_set1_ps(f), (__m256)v, _mm256_castsi256_ps(first_lanes(n)));
}

KERNEL_TARGET static inline vf select_less(vf a, vf b, vf yes, vf no)
{
    return (vf)_mm256_blendv_ps((__m256)no, (__m256)yes, _mm256_cmp_ps((__m256)a, (__m256)b, _CMP_LT_OQ));
}

/* Lanes i and i + 4, i + 2, i + 1. */
KERNEL_TARGET static inline float sum_lanes(vf v)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128((__m256)v), _mm256_extractf128_ps((__m256)v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

KERNEL_TARGET static inline float max_lanes(vf v)
{
    __m128 s = _mm_max_ps(_mm256_castps256_ps128((__m256)v), _mm256_extractf128_ps((__m256)v, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

KERNEL_TARGET static inline __m256 add_halves(__m256 a, __m256 b)
{
    return _mm256_add_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
}

KERNEL_TARGET static inline vq sum_lanes4(vf a, vf b, vf c, vf d)
{
    __m256d ab = _mm256_castps_pd(add_halves((__m256)a, (__m256)b));
    __m256d cd = _mm256_castps_pd(add_halves((__m256)c, (__m256)d));
    __m256 s = _mm256_add_ps(_mm256_castpd_ps(_mm256_unpacklo_pd(ab, cd)),
                             _mm256_castpd_ps(_mm256_unpackhi_pd(ab, cd)));
    return (vq)_mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
}

#include "common/compute/openblas/kernels_template.h"
#endif
