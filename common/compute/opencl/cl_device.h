/* OpenCL devices, found once, and what all that compute on one share: a context with the built kernels. */
#ifndef FEDLANE_COMPUTE_OPENCL_CL_DEVICE_H
#define FEDLANE_COMPUTE_OPENCL_CL_DEVICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "common/compute/opencl/cl_library.h"

struct cl_session;

struct cl_device {
    const struct cl_library *cl;
    cl_device_id id;
    cl_device_type type;
    bool has_double;
    uint64_t memory_bytes, largest_buffer_bytes;
    size_t most_work_items; /* of a group */
    atomic_size_t bytes_in_use;
    struct cl_session *session; /* which the next one who asks gets; NULL: one is built */
    char description[256];      /* name, platform, memory: one line */
};

/* A context and its kernels. */
struct cl_session {
    struct cl_device *device;
    cl_context context;
    cl_program *programs; /* one for each of opencl_sources after the first, which stands before each */
    size_t num_users;     /* and the device itself, as long as it hands it out */
};

enum err cl_device_count(size_t *out, struct fault *fault) MUST_CHECK; /* above 0 */

/* Which: "0", "1", ... over all platforms in their order; "gpu" is the first GPU; NULL is that, or where
 * there is none the first of any kind. ERR_UNAVAILABLE: no OpenCL, no such device, or the kernels do not
 * build there (the compiler's text is in the log); ERR_INVALID_FIELD for what is no number. */
enum err cl_session_get(const char *which, struct cl_session **out, struct fault *fault) MUST_CHECK;
void cl_session_put(struct cl_session *s);
/* The device failed in it: nobody gets it any more, and who asks next gets a new one. */
void cl_session_give_up(struct cl_session *s);
/* A kernel of the file "conv.cl"; its arguments are the caller's. */
cl_kernel cl_session_kernel(const struct cl_session *s, const char *file, const char *name, cl_int *out_code);

/* Counts a buffer against the device's memory, which drivers hand out only when it is used, when it is too
 * late to say so. False: there is not so much, or not in one piece. */
bool cl_device_take(struct cl_device *d, size_t bytes) MUST_CHECK;
void cl_device_give(struct cl_device *d, size_t bytes);
/* The largest buffer that it could take now. */
size_t cl_device_available(const struct cl_device *d);

#endif
