#include "common/compute/opencl/cl_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include "common/base/log.h"

static const char file_name[] = "libOpenCL.so.1";
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct cl_library library;
static const char
    *missing; /* the function that the library lacks, or the library's name; NULL: all is there */

static const struct {
    const char *name;
    size_t at;
} functions[] = {
#define X(name) {#name, offsetof(struct cl_library, name)},
    CL_FUNCTIONS(X)
#undef X
};

static void load(void)
{
    void *handle = dlopen(file_name, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        missing = file_name;
        return;
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *function = dlsym(handle, functions[i].name);
        if (!function) {
            missing = functions[i].name;
            return;
        }
        memcpy((char *)&library + functions[i].at, &function, sizeof function);
    }
}

enum err cl_library_get(const struct cl_library **out, struct fault *fault)
{
    (void)pthread_once(&once, load);
    if (missing)
        return fault_set(
            fault, ERR_UNAVAILABLE, NULL,
            "OpenCL is not here (no %s): install ocl-icd-libopencl1 and the device's driver, such as "
            "pocl-opencl-icd for the CPU, or train on the cpu",
            missing);
    *out = &library;
    return ERR_OK;
}

enum err cl_check(cl_int code, const char *what)
{
    if (code == CL_SUCCESS)
        return ERR_OK;
    log_error("opencl", "%s: OpenCL error %d", what, (int)code);
    return code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES ||
                   code == CL_OUT_OF_HOST_MEMORY || code == CL_INVALID_BUFFER_SIZE
               ? ERR_NO_MEMORY
               : ERR_UNAVAILABLE;
}
