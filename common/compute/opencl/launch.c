#include "common/compute/opencl/launch.h"

enum { GROUP = 64 };

struct launch launch_of(struct opencl *o, enum cl_kernel_name name)
{
    return (struct launch){.opencl = o, .name = name, .code = CL_SUCCESS};
}

void launch_bytes(struct launch *l, size_t bytes, const void *value)
{
    if (l->code == CL_SUCCESS)
        l->code = l->opencl->cl->clSetKernelArg(l->opencl->kernels[l->name], l->num_args++, bytes, value);
}

void launch_uint(struct launch *l, size_t value)
{
    const cl_uint v = (cl_uint)value;
    launch_bytes(l, sizeof v, &v);
}

void launch_ulong(struct launch *l, uint64_t value)
{
    const cl_ulong v = value;
    launch_bytes(l, sizeof v, &v);
}

void launch_int(struct launch *l, int value)
{
    const cl_int v = value;
    launch_bytes(l, sizeof v, &v);
}

void launch_float(struct launch *l, real value)
{
    const cl_float v = (cl_float)value;
    launch_bytes(l, sizeof v, &v);
}

void launch_slice(struct launch *l, struct compute_slice s, size_t size)
{
    cl_mem memory = s.buffer->memory;
    launch_bytes(l, sizeof memory, &memory);
    launch_ulong(l, s.offset / size);
}

void launch_reals(struct launch *l, const struct compute_slice *s, int count)
{
    for (int i = 0; i < count; i++)
        launch_slice(l, s[i], sizeof(float));
}

enum err launch_groups(struct launch *l, cl_uint dims, const size_t *global, const size_t *local)
{
    static const char *const names[CL_KERNEL_COUNT] = {
#define X(file, name) #name,
        CL_KERNELS(X)
#undef X
    };
    struct opencl *o = l->opencl;
    for (cl_uint i = 0; i < dims; i++) {
        if (global[i] == 0)
            return ERR_OK;
    }
    if (l->code == CL_SUCCESS)
        l->code = o->cl->clEnqueueNDRangeKernel(o->queue, o->kernels[l->name], dims, NULL, global, local, 0,
                                                NULL, NULL);
    return opencl_check(o, l->code, names[l->name]);
}

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

enum err launch_many(struct launch *l, size_t n)
{
    const size_t local = GROUP, global = round_up(n, GROUP);
    return launch_groups(l, 1, &global, &local);
}

enum err launch_matrix(struct launch *l, size_t columns, size_t rows)
{
    const size_t local[2] = {CL_ACROSS, CL_DOWN},
                 global[2] = {round_up(columns, CL_ACROSS), round_up(rows, CL_DOWN)};
    return launch_groups(l, 2, global, local);
}

enum err launch_tiles(struct launch *l, size_t columns, size_t items, size_t layers)
{
    const size_t local[3] = {CL_SIDE, CL_SIDE, 1},
                 global[3] = {round_up(columns, CL_TILE) / CL_TILE * CL_SIDE,
                              round_up(items, CL_TILE) / CL_TILE * CL_SIDE, layers};
    return launch_groups(l, layers == 1 ? 2 : 3, global, local);
}
