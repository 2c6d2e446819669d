#include "common/compute/opencl/cl_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

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

/* Those that users meet. */
#define CL_ERRORS(X)                                                                                         \
    X(CL_DEVICE_NOT_FOUND)                                                                                   \
    X(CL_DEVICE_NOT_AVAILABLE)                                                                               \
    X(CL_COMPILER_NOT_AVAILABLE)                                                                             \
    X(CL_MEM_OBJECT_ALLOCATION_FAILURE)                                                                      \
    X(CL_OUT_OF_RESOURCES)                                                                                   \
    X(CL_OUT_OF_HOST_MEMORY)                                                                                 \
    X(CL_BUILD_PROGRAM_FAILURE)                                                                              \
    X(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)                                                          \
    X(CL_INVALID_DEVICE)                                                                                     \
    X(CL_INVALID_CONTEXT)                                                                                    \
    X(CL_INVALID_COMMAND_QUEUE)                                                                              \
    X(CL_INVALID_BUILD_OPTIONS)                                                                              \
    X(CL_INVALID_WORK_GROUP_SIZE)                                                                            \
    X(CL_INVALID_BUFFER_SIZE)

struct cl_error_text cl_error_text(cl_int code)
{
    static const struct {
        cl_int code;
        const char *name;
    } names[] = {
#define X(name) {name, #name},
        CL_ERRORS(X)
#undef X
    };
    struct cl_error_text out;
    const char *name = "OpenCL error";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].code == code)
            name = names[i].name;
    }
    (void)snprintf(out.text, sizeof out.text, "%s %d", name, (int)code);
    return out;
}
