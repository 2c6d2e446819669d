/* Which devices there are. The caller holds a lock. */
#ifndef FEDLANE_COMPUTE_OPENCL_CL_FIND_H
#define FEDLANE_COMPUTE_OPENCL_CL_FIND_H

#include "common/compute/opencl/cl_device.h"

enum err cl_find_all(size_t *out_count, struct fault *fault) MUST_CHECK; /* above 0 */
/* `which` as cl_session_get has it. */
enum err cl_find(const char *which, struct cl_device **out, struct fault *fault) MUST_CHECK;

#endif
