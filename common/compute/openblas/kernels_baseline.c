#include <string.h>
#include "common/compute/openblas/kernels.h"

/* Four lanes are what every x86-64 and every 64-bit Arm has; elsewhere the compiler makes do. */
#define LANES 4
#define KERNEL_TARGET
#define KERNELS      cpu_kernels_baseline
#define KERNELS_NAME "baseline"

typedef float vf __attribute__((vector_size(4 * LANES)));
typedef int32_t vi __attribute__((vector_size(4 * LANES)));

#define FMA(a, b, c) ((a) * (b) + (c))

static inline vf load_part(const float *p, size_t n)
{
    vf v = {p[0], n > 1 ? p[1] : 0, n > 2 ? p[2] : 0, 0};
    return v;
}

static inline void store_part(float *p, vf v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = v[i];
}

/* (0 + 1) + (2 + 3) */
static inline float sum_lanes(vf v)
{
    return (v[0] + v[1]) + (v[2] + v[3]);
}

#include "common/compute/openblas/kernels_template.h"
