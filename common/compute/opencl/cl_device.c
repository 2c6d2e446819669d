#include "common/compute/opencl/cl_device.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/embed.h"
#include "common/base/log.h"

enum { MAX_PLATFORMS = 16, MAX_DEVICES = 32, LOG_BYTES = 4096 };

extern const struct embedded_file opencl_sources[];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cl_device devices[MAX_DEVICES]; /* found; `program` is set once its kernels are built */
static cl_device_type types[MAX_DEVICES];
static cl_uint num_devices;
static bool are_found;

static void describe(struct cl_device *d, cl_uint number)
{
    char name[128] = "", version[256] = "", extensions[4096] = "";
    cl_ulong memory = 0, largest = 0;
    const struct cl_library *cl = d->cl;
    (void)cl->clGetDeviceInfo(d->id, CL_DEVICE_NAME, sizeof name, name, NULL);
    (void)cl->clGetDeviceInfo(d->id, CL_DEVICE_VERSION, sizeof version, version, NULL);
    (void)cl->clGetDeviceInfo(d->id, CL_DEVICE_EXTENSIONS, sizeof extensions, extensions, NULL);
    (void)cl->clGetDeviceInfo(d->id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof memory, &memory, NULL);
    (void)cl->clGetDeviceInfo(d->id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof largest, &largest, NULL);
    d->has_double = strstr(extensions, "cl_khr_fp64") != NULL;
    d->memory_bytes = memory;
    d->largest_buffer_bytes = largest;
    (void)snprintf(d->description, sizeof d->description, "opencl:%u: %s, %.40s, %.1f GiB", (unsigned)number,
                   name, version, (double)memory / (1024.0 * 1024.0 * 1024.0));
}

static void find_devices(const struct cl_library *cl)
{
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint num_platforms = 0;
    if (cl->clGetPlatformIDs(MAX_PLATFORMS, platforms, &num_platforms) != CL_SUCCESS)
        return;
    num_platforms = num_platforms < MAX_PLATFORMS ? num_platforms : MAX_PLATFORMS;
    for (cl_uint p = 0; p < num_platforms; p++) {
        cl_device_id ids[MAX_DEVICES];
        cl_uint count = 0;
        if (cl->clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MAX_DEVICES, ids, &count) != CL_SUCCESS)
            continue;
        for (cl_uint i = 0; i < count && i < MAX_DEVICES && num_devices < MAX_DEVICES; i++, num_devices++) {
            struct cl_device *d = &devices[num_devices];
            d->cl = cl;
            d->id = ids[i];
            (void)cl->clGetDeviceInfo(d->id, CL_DEVICE_TYPE, sizeof *types, &types[num_devices], NULL);
            describe(d, num_devices);
        }
    }
}

static enum err choose(const char *which, struct cl_device **out, struct fault *fault)
{
    char *end = NULL;
    unsigned long number = 0;
    if (which && strcmp(which, "gpu") != 0) {
        number = strtoul(which, &end, 10);
        if (which[0] < '0' || which[0] > '9' || *end != '\0')
            return fault_set(fault, ERR_INVALID_FIELD, NULL,
                             "opencl:%.40s: the device must be a number, as in opencl:0, or gpu", which);
    } else {
        for (cl_uint i = num_devices; i-- > 0;)
            number = types[i] & CL_DEVICE_TYPE_GPU ? i : number;
        if (which && !(types[number] & CL_DEVICE_TYPE_GPU))
            return fault_set(fault, ERR_UNAVAILABLE, NULL, "none of the %u OpenCL devices is a GPU",
                             (unsigned)num_devices);
    }
    if (number >= num_devices)
        return fault_set(fault, ERR_UNAVAILABLE, NULL, "no OpenCL device %lu; there are %u, from opencl:0 on",
                         number, (unsigned)num_devices);
    *out = &devices[number];
    return ERR_OK;
}

static void log_build(const struct cl_device *d, cl_program program)
{
    size_t size = 0;
    (void)d->cl->clGetProgramBuildInfo(program, d->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
    char *text = calloc(1, size + 1);
    if (text)
        (void)d->cl->clGetProgramBuildInfo(program, d->id, CL_PROGRAM_BUILD_LOG, size, text, NULL);
    log_error("opencl", "%s: the kernels do not build:\n%.*s", d->description, (int)LOG_BYTES,
              text ? text : "");
    free(text);
}

/* FEDLANE_OPENCL_OPTIONS is given to the device's compiler as it is. */
static enum err build(struct cl_device *d, struct fault *fault)
{
    const char *source = (const char *)opencl_sources[0].data, *more = getenv("FEDLANE_OPENCL_OPTIONS");
    char options[512];
    cl_int code = CL_SUCCESS;
    (void)snprintf(options, sizeof options, "-cl-std=CL1.2%s %s", d->has_double ? " -DHAS_DOUBLE" : "",
                   more ? more : "");
    cl_context context = d->cl->clCreateContext(NULL, 1, &d->id, NULL, NULL, &code);
    if (cl_check(code, "clCreateContext"))
        return fault_set(fault, ERR_UNAVAILABLE, NULL, "%s: cannot be used (OpenCL error %d)", d->description,
                         (int)code);
    cl_program program = d->cl->clCreateProgramWithSource(context, 1, &source, NULL, &code);
    if (code == CL_SUCCESS) {
        code = d->cl->clBuildProgram(program, 1, &d->id, options, NULL, NULL);
        if (code != CL_SUCCESS) {
            log_build(d, program);
            (void)d->cl->clReleaseProgram(program);
        }
    }
    if (code != CL_SUCCESS) {
        (void)d->cl->clReleaseContext(context);
        return fault_set(
            fault, ERR_UNAVAILABLE, NULL,
            "%s: the kernels do not build there (OpenCL error %d); the compiler's text is in the log",
            d->description, (int)code);
    }
    d->context = context;
    d->program = program;
    return ERR_OK;
}

/* With the lock held. */
static enum err look_for_devices(struct fault *fault)
{
    const struct cl_library *cl = NULL;
    enum err err = cl_library_get(&cl, fault);
    if (err)
        return err;
    if (!are_found)
        find_devices(cl);
    are_found = true;
    if (num_devices > 0)
        return ERR_OK;
    return fault_set(
        fault, ERR_UNAVAILABLE, NULL,
        "OpenCL is here, but no device: install the device's driver, such as pocl-opencl-icd for the CPU, or "
        "train on the cpu");
}

enum err cl_device_count(size_t *out, struct fault *fault)
{
    (void)pthread_mutex_lock(&lock);
    enum err err = look_for_devices(fault);
    *out = num_devices;
    (void)pthread_mutex_unlock(&lock);
    return err;
}

enum err cl_device_get(const char *which, const struct cl_device **out, struct fault *fault)
{
    struct cl_device *d = NULL;
    (void)pthread_mutex_lock(&lock);
    enum err err = look_for_devices(fault);
    if (!err)
        err = choose(which, &d, fault);
    if (!err && d && !d->program)
        err = build(d, fault);
    (void)pthread_mutex_unlock(&lock);
    if (!err)
        *out = d;
    return err;
}
