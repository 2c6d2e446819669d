#include "common/compute/openblas/kernels.h"

#include <stdlib.h>
#include <string.h>
#include "common/base/log.h"

static bool is_wish(const char *wish, const char *name)
{
    return wish && strcmp(wish, name) == 0;
}

const struct cpu_kernels *cpu_kernels_choose(void)
{
    const char *wish = getenv("FEDLANE_CPU");
    if (wish && *wish && !is_wish(wish, "baseline") && !is_wish(wish, "avx2") && !is_wish(wish, "avx512"))
        log_warning("compute", "FEDLANE_CPU=%s is none of avx512, avx2 and baseline: the fastest is taken",
                    wish);
    if (is_wish(wish, "baseline"))
        return &cpu_kernels_baseline;
#if defined(__x86_64__)
    if (!is_wish(wish, "avx2") && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return &cpu_kernels_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &cpu_kernels_avx2;
#endif
    return &cpu_kernels_baseline;
}
