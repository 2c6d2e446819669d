#include "common/compute/opencl/cl_find.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PLATFORMS = 16, MAX_DEVICES = 32, WORK_ITEMS = 256 /* the largest group of our kernels */ };

static struct cl_device devices[MAX_DEVICES];
static cl_uint num_devices;
static bool are_found;

static void ask(const struct cl_device *d, cl_device_info what, size_t size, void *out)
{
    (void)d->cl->clGetDeviceInfo(d->id, what, size, out, NULL);
}

static void describe(struct cl_device *d, cl_uint number)
{
    char name[128] = "", version[256] = "", driver[128] = "", extensions[4096] = "";
    cl_ulong memory = 0, largest = 0;
    ask(d, CL_DEVICE_NAME, sizeof name, name);
    ask(d, CL_DEVICE_VERSION, sizeof version, version);
    ask(d, CL_DRIVER_VERSION, sizeof driver, driver);
    ask(d, CL_DEVICE_EXTENSIONS, sizeof extensions, extensions);
    ask(d, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof memory, &memory);
    ask(d, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof largest, &largest);
    ask(d, CL_DEVICE_TYPE, sizeof d->type, &d->type);
    ask(d, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof d->most_work_items, &d->most_work_items);
    char *end = strchr(version, ' '); /* "OpenCL 3.0" and what the vendor adds */
    end = end ? strchr(end + 1, ' ') : NULL;
    if (end)
        *end = '\0';
    d->has_double = strstr(extensions, "cl_khr_fp64") != NULL;
    d->memory_bytes = memory;
    d->largest_buffer_bytes = largest;
    (void)snprintf(d->description, sizeof d->description, "opencl:%u: %s, %.40s, driver %.40s, %.1f GiB",
                   (unsigned)number, name, version, driver, (double)memory / (1024.0 * 1024.0 * 1024.0));
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
            number = devices[i].type & CL_DEVICE_TYPE_GPU ? i : number;
        if (which && !(devices[number].type & CL_DEVICE_TYPE_GPU))
            return fault_set(fault, ERR_UNAVAILABLE, NULL, "none of the %u OpenCL devices is a GPU",
                             (unsigned)num_devices);
    }
    if (number >= num_devices)
        return fault_set(fault, ERR_UNAVAILABLE, NULL, "no OpenCL device %lu; there are %u, from opencl:0 on",
                         number, (unsigned)num_devices);
    if (devices[number].most_work_items < WORK_ITEMS)
        return fault_set(fault, ERR_UNAVAILABLE, NULL,
                         "%s: runs at most %zu work-items together, and %d are needed",
                         devices[number].description, devices[number].most_work_items, WORK_ITEMS);
    *out = &devices[number];
    return ERR_OK;
}

enum err cl_find_all(size_t *out_count, struct fault *fault)
{
    const struct cl_library *cl = NULL;
    enum err err = cl_library_get(&cl, fault);
    if (err)
        return err;
    if (!are_found)
        find_devices(cl);
    are_found = true;
    *out_count = num_devices;
    if (num_devices > 0)
        return ERR_OK;
    return fault_set(
        fault, ERR_UNAVAILABLE, NULL,
        "OpenCL is here, but no device: install the device's driver, such as pocl-opencl-icd for the CPU, or "
        "train on the cpu");
}

enum err cl_find(const char *which, struct cl_device **out, struct fault *fault)
{
    size_t count = 0;
    enum err err = cl_find_all(&count, fault);
    return err ? err : choose(which, out, fault);
}

bool cl_device_take(struct cl_device *d, size_t bytes)
{
    size_t before = atomic_fetch_add(&d->bytes_in_use, bytes);
    if (bytes <= d->largest_buffer_bytes && before <= d->memory_bytes && bytes <= d->memory_bytes - before)
        return true;
    cl_device_give(d, bytes);
    return false;
}

void cl_device_give(struct cl_device *d, size_t bytes)
{
    (void)atomic_fetch_sub(&d->bytes_in_use, bytes);
}

size_t cl_device_available(const struct cl_device *d)
{
    const uint64_t used = atomic_load(&d->bytes_in_use),
                   left = used < d->memory_bytes ? d->memory_bytes - used : 0;
    return (size_t)(left < d->largest_buffer_bytes ? left : d->largest_buffer_bytes);
}
