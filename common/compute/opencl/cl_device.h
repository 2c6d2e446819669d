/* OpenCL devices: found once, each with a context and the built kernels, which all that compute on it share.
 */
#ifndef FEDLANE_COMPUTE_OPENCL_CL_DEVICE_H
#define FEDLANE_COMPUTE_OPENCL_CL_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include "common/compute/opencl/cl_library.h"

struct cl_device {
    const struct cl_library *cl;
    cl_device_id id;
    cl_context context;
    cl_program program;
    bool has_double;
    uint64_t memory_bytes, largest_buffer_bytes;
    char description[256]; /* name, platform, memory: one line */
};

/* Which: "0", "1", ... over all platforms in their order; "gpu" is the first GPU; NULL is that,
 * or where there is none the first of any kind. It lives as long as the process. ERR_UNAVAILABLE: no OpenCL,
 * no such device, or the kernels do not build there (the compiler's text is in the log); ERR_INVALID_FIELD
 * for what is no number. */
enum err cl_device_count(size_t *out, struct fault *fault) MUST_CHECK; /* above 0 */
enum err cl_device_get(const char *which, const struct cl_device **out, struct fault *fault) MUST_CHECK;

#endif
