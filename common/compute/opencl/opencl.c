#include "common/compute/opencl/opencl.h"

#include <stdlib.h>
#include "common/base/log.h"

static const char *const kernel_names[CL_KERNEL_COUNT] = {
#define X(name) #name,
    CL_KERNELS(X)
#undef X
};

static void opencl_close(void *state)
{
    struct opencl *o = state;
    for (size_t i = 0; i < CL_KERNEL_COUNT; i++) {
        if (o->kernels[i])
            (void)o->device->cl->clReleaseKernel(o->kernels[i]);
    }
    if (o->queue)
        (void)o->device->cl->clReleaseCommandQueue(o->queue);
    free(o);
}

static enum err make_kernels(struct opencl *o)
{
    cl_int code = CL_SUCCESS;
    size_t count = o->device->has_double ? CL_KERNEL_COUNT : CL_KERNEL_reduce;
    for (size_t i = 0; code == CL_SUCCESS && i < count; i++)
        o->kernels[i] = o->device->cl->clCreateKernel(o->device->program, kernel_names[i], &code);
    return cl_check(code, "clCreateKernel");
}

static enum err opencl_open(const char *device, void **out_state, struct fault *fault)
{
    const struct cl_device *d = NULL;
    cl_int code = CL_SUCCESS;
    enum err err = cl_device_get(device, &d, fault);
    if (err)
        return err;
    struct opencl *o = calloc(1, sizeof *o);
    if (!o)
        return fault_set(fault, ERR_NO_MEMORY, NULL, "out of memory for the opencl backend");
    o->device = d;
    o->queue = d->cl->clCreateCommandQueue(d->context, d->id, 0, &code);
    err = cl_check(code, "clCreateCommandQueue");
    if (!err)
        err = make_kernels(o);
    if (err) {
        opencl_close(o);
        return fault_set(fault, err, NULL, "%s: cannot be used; the log says why", d->description);
    }
    *out_state = o;
    return ERR_OK;
}

enum err compute_num_opencl_devices(size_t *out, struct fault *fault)
{
    return cl_device_count(out, fault);
}

static const char *opencl_describe(void *state)
{
    const struct opencl *o = state;
    return o->device->description;
}

static enum err opencl_alloc(void *state, struct compute_buffer *b)
{
    struct opencl *o = state;
    const struct cl_library *cl = o->device->cl;
    const cl_uchar zero = 0;
    cl_int code = CL_SUCCESS;
    if (b->bytes > o->device->largest_buffer_bytes) {
        log_error("opencl", "%s: a buffer of %zu bytes is asked for, the device's largest is %llu",
                  o->device->description, b->bytes, (unsigned long long)o->device->largest_buffer_bytes);
        return ERR_NO_MEMORY;
    }
    cl_mem memory = cl->clCreateBuffer(o->device->context, CL_MEM_READ_WRITE, b->bytes, NULL, &code);
    enum err err = cl_check(code, "clCreateBuffer");
    if (err)
        return err;
    err = cl_check(cl->clEnqueueFillBuffer(o->queue, memory, &zero, sizeof zero, 0, b->bytes, 0, NULL, NULL),
                   "clEnqueueFillBuffer");
    if (!err) /* drivers take the memory now at the earliest: whether there is any shows here */
        err = cl_check(cl->clFinish(o->queue), "clFinish");
    if (err) {
        (void)cl->clReleaseMemObject(memory);
        return err;
    }
    b->memory = memory;
    return ERR_OK;
}

static void opencl_release(void *state, struct compute_buffer *b)
{
    struct opencl *o = state;
    (void)o->device->cl->clReleaseMemObject(b->memory);
}

static enum err opencl_write(void *state, struct compute_buffer *b, size_t offset, const void *from,
                             size_t bytes)
{
    struct opencl *o = state;
    return cl_check(
        o->device->cl->clEnqueueWriteBuffer(o->queue, b->memory, CL_TRUE, offset, bytes, from, 0, NULL, NULL),
        "clEnqueueWriteBuffer");
}

static enum err opencl_read(void *state, struct compute_buffer *b, size_t offset, void *to, size_t bytes)
{
    struct opencl *o = state;
    return cl_check(
        o->device->cl->clEnqueueReadBuffer(o->queue, b->memory, CL_TRUE, offset, bytes, to, 0, NULL, NULL),
        "clEnqueueReadBuffer");
}

static enum err opencl_wait(void *state)
{
    struct opencl *o = state;
    return cl_check(o->device->cl->clFinish(o->queue), "clFinish");
}

const struct compute_backend compute_opencl = {
    .name = "opencl",
    .open = opencl_open,
    .close = opencl_close,
    .describe = opencl_describe,
    .alloc = opencl_alloc,
    .release = opencl_release,
    .write = opencl_write,
    .read = opencl_read,
    .supports = opencl_supports,
    .run = opencl_run,
    .wait = opencl_wait,
};
