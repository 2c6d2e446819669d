#include "common/compute/openblas/kernels.h"

#include <stdlib.h>
#include <string.h>

const struct cpu_kernels *cpu_kernels_choose(void)
{
    const char *wish = getenv("FEDLANE_CPU");
    if (wish && strcmp(wish, "baseline") == 0)
        return &cpu_kernels_baseline;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &cpu_kernels_avx2;
#endif
    return &cpu_kernels_baseline;
}
