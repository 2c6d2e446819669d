#include "common/compute/opencl/opencl.h"

#include <stdio.h>
#include <stdlib.h>
#include "common/base/log.h"

enum err opencl_check(struct opencl *o, cl_int code, const char *what)
{
    if (code == CL_SUCCESS)
        return ERR_OK;
    (void)snprintf(o->trouble, sizeof o->trouble, "%s: %s: %s", o->device->description, what,
                   cl_error_text(code).text);
    log_error("opencl", "%s", o->trouble);
    cl_session_give_up(o->session);
    return code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_HOST_MEMORY ? ERR_NO_MEMORY
                                                                                     : ERR_UNAVAILABLE;
}

static void opencl_close(void *state)
{
    struct opencl *o = state;
    for (size_t i = 0; i < CL_KERNEL_COUNT; i++) {
        if (o->kernels[i])
            (void)o->cl->clReleaseKernel(o->kernels[i]);
    }
    if (o->queue)
        (void)o->cl->clReleaseCommandQueue(o->queue);
    cl_session_put(o->session);
    free(o);
}

static enum err make_kernels(struct opencl *o)
{
    static const struct {
        const char *file, *name;
    } kernels[CL_KERNEL_COUNT] = {
#define X(file, name) {#file ".cl", #name},
        CL_KERNELS(X)
#undef X
    };
    cl_int code = CL_SUCCESS;
    const size_t count = o->device->has_double ? CL_KERNEL_COUNT : CL_KERNEL_reduce;
    for (size_t i = 0; i < count; i++) {
        o->kernels[i] = cl_session_kernel(o->session, kernels[i].file, kernels[i].name, &code);
        enum err err = opencl_check(o, code, kernels[i].name);
        if (err)
            return err;
    }
    return ERR_OK;
}

static enum err opencl_open(const char *device, void **out_state, struct fault *fault)
{
    struct cl_session *session = NULL;
    cl_int code = CL_SUCCESS;
    enum err err = cl_session_get(device, &session, fault);
    if (err)
        return err;
    struct opencl *o = calloc(1, sizeof *o);
    if (!o) {
        cl_session_put(session);
        return fault_set(fault, ERR_NO_MEMORY, NULL, "out of memory for the opencl backend");
    }
    o->session = session;
    o->device = session->device;
    o->cl = o->device->cl;
    o->queue = o->cl->clCreateCommandQueue(session->context, o->device->id, 0, &code);
    err = opencl_check(o, code, "clCreateCommandQueue");
    if (!err)
        err = make_kernels(o);
    if (err) {
        err = fault_set(fault, err, NULL, "%s", o->trouble);
        opencl_close(o);
        return err;
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

static const char *opencl_trouble(void *state)
{
    const struct opencl *o = state;
    return o->trouble;
}

static size_t opencl_available(void *state)
{
    const struct opencl *o = state;
    return cl_device_available(o->device);
}

/* The driver takes the memory when it is first written at the earliest: whether there is any shows here. */
static enum err fill(struct opencl *o, cl_mem memory, size_t bytes)
{
    const cl_uchar zero = 0;
    cl_int code = o->cl->clEnqueueFillBuffer(o->queue, memory, &zero, sizeof zero, 0, bytes, 0, NULL, NULL);
    if (code == CL_SUCCESS)
        code = o->cl->clFinish(o->queue);
    return opencl_check(o, code, "filling a buffer");
}

static enum err opencl_alloc(void *state, struct compute_buffer *b)
{
    struct opencl *o = state;
    cl_int code = CL_SUCCESS;
    if (!cl_device_take(o->session->device, b->bytes))
        return ERR_NO_MEMORY;
    cl_mem memory = o->cl->clCreateBuffer(o->session->context, CL_MEM_READ_WRITE, b->bytes, NULL, &code);
    enum err err = opencl_check(o, code, "clCreateBuffer");
    if (!err)
        err = fill(o, memory, b->bytes);
    if (err) {
        if (memory)
            (void)o->cl->clReleaseMemObject(memory);
        cl_device_give(o->session->device, b->bytes);
        return err;
    }
    b->memory = memory;
    return ERR_OK;
}

static void opencl_release(void *state, struct compute_buffer *b)
{
    struct opencl *o = state;
    (void)o->cl->clReleaseMemObject(b->memory);
    cl_device_give(o->session->device, b->bytes);
}

static enum err opencl_write(void *state, struct compute_buffer *b, size_t offset, const void *from,
                             size_t bytes)
{
    struct opencl *o = state;
    return opencl_check(
        o, o->cl->clEnqueueWriteBuffer(o->queue, b->memory, CL_TRUE, offset, bytes, from, 0, NULL, NULL),
        "clEnqueueWriteBuffer");
}

static enum err opencl_read(void *state, struct compute_buffer *b, size_t offset, void *to, size_t bytes)
{
    struct opencl *o = state;
    return opencl_check(
        o, o->cl->clEnqueueReadBuffer(o->queue, b->memory, CL_TRUE, offset, bytes, to, 0, NULL, NULL),
        "clEnqueueReadBuffer");
}

static enum err opencl_wait(void *state)
{
    struct opencl *o = state;
    return opencl_check(o, o->cl->clFinish(o->queue), "clFinish");
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
    .scratch = opencl_scratch,
    .available = opencl_available,
    .trouble = opencl_trouble,
};
