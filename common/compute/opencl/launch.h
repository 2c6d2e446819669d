/* A kernel whose arguments are being set, one after the other; then it is started. */
#ifndef FEDLANE_COMPUTE_OPENCL_LAUNCH_H
#define FEDLANE_COMPUTE_OPENCL_LAUNCH_H

#include "common/compute/opencl/opencl.h"

enum { CL_TILE = 64, CL_SIDE = 16, CL_ACROSS = 16, CL_DOWN = 4 }; /* as common.cl has them */
enum cl_finish { CL_FINISH_STORE, CL_FINISH_ADD, CL_FINISH_STEP };

struct launch {
    struct opencl *opencl;
    enum cl_kernel_name name;
    cl_uint num_args;
    cl_int code; /* the first error stays */
};

struct launch launch_of(struct opencl *o, enum cl_kernel_name name);
void launch_bytes(struct launch *l, size_t bytes, const void *value);
void launch_uint(struct launch *l, size_t value);
void launch_ulong(struct launch *l, uint64_t value);
void launch_int(struct launch *l, int value);
void launch_float(struct launch *l, real value);
/* The buffer, and the offset in elements of `size` bytes. */
void launch_slice(struct launch *l, struct compute_slice s, size_t size);
void launch_reals(struct launch *l, const struct compute_slice *s, int count);

enum err launch_groups(struct launch *l, cl_uint dims, const size_t *global, const size_t *local) MUST_CHECK;
/* n work-items, and what fills up the last group; nothing where there are none. */
enum err launch_many(struct launch *l, size_t n) MUST_CHECK;
/* A work-item for each value of a matrix. */
enum err launch_matrix(struct launch *l, size_t columns, size_t rows) MUST_CHECK;
/* A group for each tile of a product, `layers` times. */
enum err launch_tiles(struct launch *l, size_t columns, size_t items, size_t layers) MUST_CHECK;

#endif
