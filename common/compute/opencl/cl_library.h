/* The system's OpenCL, loaded when somebody asks for it, so that programs run where it is not installed. */
#ifndef FEDLANE_COMPUTE_OPENCL_CL_LIBRARY_H
#define FEDLANE_COMPUTE_OPENCL_CL_LIBRARY_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include "common/base/err.h"

#define CL_FUNCTIONS(X)                                                                                      \
    X(clGetPlatformIDs)                                                                                      \
    X(clGetDeviceIDs)                                                                                        \
    X(clGetDeviceInfo)                                                                                       \
    X(clCreateContext)                                                                                       \
    X(clReleaseContext)                                                                                      \
    X(clCreateCommandQueue)                                                                                  \
    X(clReleaseCommandQueue)                                                                                 \
    X(clCreateProgramWithSource)                                                                             \
    X(clBuildProgram)                                                                                        \
    X(clGetProgramBuildInfo)                                                                                 \
    X(clReleaseProgram)                                                                                      \
    X(clCreateKernel)                                                                                        \
    X(clReleaseKernel)                                                                                       \
    X(clSetKernelArg)                                                                                        \
    X(clCreateBuffer)                                                                                        \
    X(clReleaseMemObject)                                                                                    \
    X(clEnqueueFillBuffer)                                                                                   \
    X(clEnqueueWriteBuffer)                                                                                  \
    X(clEnqueueReadBuffer)                                                                                   \
    X(clEnqueueNDRangeKernel)                                                                                \
    X(clFinish)

struct cl_library {
#define X(name) __typeof__(&(name)) name;
    CL_FUNCTIONS(X)
#undef X
};

/* The same for the whole process, never unloaded. ERR_UNAVAILABLE where it is not installed, saying what to
 * install. */
enum err cl_library_get(const struct cl_library **out, struct fault *fault) MUST_CHECK;

/* "CL_OUT_OF_RESOURCES -5" */
struct cl_error_text {
    char text[64];
};
struct cl_error_text cl_error_text(cl_int code);

#endif
