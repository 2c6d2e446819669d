/* A worker on an OpenCL device that is smaller than it is, or that is lost in the middle of its work. The
 * program is linked so that what common/compute/opencl loads of the system's OpenCL passes through here.
 *
 * TEST_OPENCL_MEMORY=n, TEST_OPENCL_LARGEST=n: bytes of its memory and of its largest buffer.
 * TEST_OPENCL_LOST_AT=n: the n-th kernel started fails, and so does all that is asked of it after that, as
 * after a reset of a graphics card; a new context works. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "common/compute/opencl/cl_library.h"

enum err __real_cl_library_get(const struct cl_library **out, struct fault *fault) MUST_CHECK;
enum err __wrap_cl_library_get(const struct cl_library **out, struct fault *fault) MUST_CHECK;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cl_library real_library, library;
static atomic_long num_started;
static atomic_bool is_lost;

static long number_of(const char *name)
{
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : 0;
}

static cl_int get_device_info(cl_device_id id, cl_device_info what, size_t size, void *value,
                              size_t *out_size)
{
    const char *name = what == CL_DEVICE_GLOBAL_MEM_SIZE      ? "TEST_OPENCL_MEMORY"
                       : what == CL_DEVICE_MAX_MEM_ALLOC_SIZE ? "TEST_OPENCL_LARGEST"
                                                              : NULL;
    cl_int code = real_library.clGetDeviceInfo(id, what, size, value, out_size);
    if (name && number_of(name) > 0 && value && size == sizeof(cl_ulong))
        *(cl_ulong *)value = (cl_ulong)number_of(name);
    return code;
}

static cl_context create_context(const cl_context_properties *properties, cl_uint n, const cl_device_id *ids,
                                 void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                                 void *user_data, cl_int *out_code)
{
    atomic_store(&is_lost, false);
    return real_library.clCreateContext(properties, n, ids, notify, user_data, out_code);
}

static cl_int start_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *offset,
                           const size_t *global, const size_t *local, cl_uint n, const cl_event *wait,
                           cl_event *event)
{
    if (atomic_fetch_add(&num_started, 1) + 1 == number_of("TEST_OPENCL_LOST_AT"))
        atomic_store(&is_lost, true);
    return atomic_load(&is_lost) ? CL_OUT_OF_RESOURCES
                                 : real_library.clEnqueueNDRangeKernel(queue, kernel, dims, offset, global,
                                                                       local, n, wait, event);
}

static cl_int write_buffer(cl_command_queue queue, cl_mem to, cl_bool waits, size_t offset, size_t size,
                           const void *from, cl_uint n, const cl_event *wait, cl_event *event)
{
    return atomic_load(&is_lost)
               ? CL_INVALID_COMMAND_QUEUE
               : real_library.clEnqueueWriteBuffer(queue, to, waits, offset, size, from, n, wait, event);
}

static cl_int finish(cl_command_queue queue)
{
    return atomic_load(&is_lost) ? CL_INVALID_COMMAND_QUEUE : real_library.clFinish(queue);
}

enum err __wrap_cl_library_get(const struct cl_library **out, struct fault *fault)
{
    const struct cl_library *found = NULL;
    enum err err = __real_cl_library_get(&found, fault);
    if (err)
        return err;
    (void)pthread_mutex_lock(&lock);
    real_library = library = *found;
    library.clGetDeviceInfo = get_device_info;
    library.clCreateContext = create_context;
    library.clEnqueueNDRangeKernel = start_kernel;
    library.clEnqueueWriteBuffer = write_buffer;
    library.clFinish = finish;
    (void)pthread_mutex_unlock(&lock);
    *out = &library;
    return ERR_OK;
}
