#include "common/compute/openblas/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#define LANES         8
#define KERNEL_TARGET __attribute__((target("avx2,fma")))
#define KERNELS       cpu_kernels_avx2
#define KERNELS_NAME  "avx2"

typedef float vf __attribute__((vector_size(4 * LANES)));
typedef int32_t vi __attribute__((vector_size(4 * LANES)));

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

KERNEL_TARGET static inline void store_part(float *p, vf v, size_t n)
{
    _mm256_maskstore_ps(p, first_lanes(n), (__m256)v);
}

KERNEL_TARGET static inline float sum_lanes(vf v)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128((__m256)v), _mm256_extractf128_ps((__m256)v, 1));
    s = _mm_hadd_ps(s, s);
    return _mm_cvtss_f32(_mm_hadd_ps(s, s));
}

#include "common/compute/openblas/kernels_template.h"
#endif
