#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/embed.h"
#include "common/base/log.h"
#include "common/compute/opencl/cl_device.h"
#include "common/compute/opencl/cl_find.h"

enum { LOG_BYTES = 4096 };

extern const struct embedded_file opencl_sources[];
extern const size_t opencl_sources_count;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what is found, and who uses it */

static void log_build(const struct cl_device *d, cl_program program, const char *file)
{
    size_t size = 0;
    (void)d->cl->clGetProgramBuildInfo(program, d->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
    char *text = calloc(1, size + 1);
    if (text)
        (void)d->cl->clGetProgramBuildInfo(program, d->id, CL_PROGRAM_BUILD_LOG, size, text, NULL);
    log_error("opencl", "%s: %s does not build:\n%.*s", d->description, file, (int)LOG_BYTES,
              text ? text : "");
    free(text);
}

/* FEDLANE_OPENCL_OPTIONS is given to the device's compiler as it is. */
static enum err build_file(const struct cl_session *s, const struct embedded_file *file, cl_program *out,
                           struct fault *fault)
{
    const struct cl_device *d = s->device;
    const char *more = getenv("FEDLANE_OPENCL_OPTIONS");
    char options[512], line[64];
    cl_int code = CL_SUCCESS;
    (void)snprintf(options, sizeof options, "-cl-std=CL1.2%s %s", d->has_double ? " -DHAS_DOUBLE" : "",
                   more ? more : "");
    (void)snprintf(line, sizeof line, "#line 1 \"%s\"\n", file->name); /* for the compiler's messages */
    const char *text[] = {"#line 1 \"common.cl\"\n", (const char *)opencl_sources[0].data, line,
                          (const char *)file->data};
    cl_program program =
        d->cl->clCreateProgramWithSource(s->context, sizeof text / sizeof *text, text, NULL, &code);
    *out = program;
    if (code == CL_SUCCESS)
        code = d->cl->clBuildProgram(program, 1, &d->id, options, NULL, NULL);
    if (code == CL_SUCCESS)
        return ERR_OK;
    if (program)
        log_build(d, program, file->name);
    return fault_set(fault, ERR_UNAVAILABLE, NULL,
                     "%s: the kernels of %s do not build there (%s); the compiler's text is in the log. A "
                     "newer driver may help; or train on the cpu",
                     d->description, file->name, cl_error_text(code).text);
}

static void session_free(struct cl_session *s)
{
    const struct cl_library *cl = s->device->cl;
    for (size_t i = 0; s->programs && i < opencl_sources_count; i++) {
        if (s->programs[i])
            (void)cl->clReleaseProgram(s->programs[i]);
    }
    if (s->context)
        (void)cl->clReleaseContext(s->context);
    free(s->programs);
    free(s);
}

static enum err session_new(struct cl_device *d, struct cl_session **out, struct fault *fault)
{
    struct cl_session *s = calloc(1, sizeof *s);
    cl_int code = CL_SUCCESS;
    if (!s)
        return fault_set(fault, ERR_NO_MEMORY, NULL, "out of memory for the opencl backend");
    s->device = d;
    s->programs = calloc(opencl_sources_count, sizeof *s->programs);
    s->context = d->cl->clCreateContext(NULL, 1, &d->id, NULL, NULL, &code);
    enum err err = ERR_OK;
    if (!s->programs)
        err = fault_set(fault, ERR_NO_MEMORY, NULL, "out of memory for the opencl backend");
    else if (code != CL_SUCCESS)
        err = fault_set(fault, ERR_UNAVAILABLE, NULL, "%s: cannot be used: clCreateContext: %s",
                        d->description, cl_error_text(code).text);
    for (size_t i = 1; !err && s->programs && i < opencl_sources_count; i++)
        err = build_file(s, &opencl_sources[i], &s->programs[i], fault);
    if (err) {
        session_free(s);
        return err;
    }
    *out = s;
    return ERR_OK;
}

/* With the lock held. */
static enum err get(const char *which, struct cl_session **out, struct fault *fault)
{
    struct cl_device *d = NULL;
    enum err err = cl_find(which, &d, fault);
    if (err)
        return err;
    struct cl_session *s = d->session;
    if (!s) {
        err = session_new(d, &s, fault);
        if (err || !s)
            return err;
        s->num_users = 1;
        d->session = s;
    }
    s->num_users++;
    *out = s;
    return ERR_OK;
}

enum err cl_session_get(const char *which, struct cl_session **out, struct fault *fault)
{
    (void)pthread_mutex_lock(&lock);
    enum err err = get(which, out, fault);
    (void)pthread_mutex_unlock(&lock);
    return err;
}

/* With the lock held. */
static void leave(struct cl_session *s)
{
    if (--s->num_users == 0)
        session_free(s);
}

void cl_session_put(struct cl_session *s)
{
    (void)pthread_mutex_lock(&lock);
    leave(s);
    (void)pthread_mutex_unlock(&lock);
}

void cl_session_give_up(struct cl_session *s)
{
    (void)pthread_mutex_lock(&lock);
    if (s->device->session == s) {
        s->device->session = NULL;
        leave(s);
    }
    (void)pthread_mutex_unlock(&lock);
}

enum err cl_device_count(size_t *out, struct fault *fault)
{
    (void)pthread_mutex_lock(&lock);
    enum err err = cl_find_all(out, fault);
    (void)pthread_mutex_unlock(&lock);
    return err;
}

cl_kernel cl_session_kernel(const struct cl_session *s, const char *file, const char *name, cl_int *out_code)
{
    for (size_t i = 1; i < opencl_sources_count; i++) {
        if (strcmp(opencl_sources[i].name, file) == 0)
            return s->device->cl->clCreateKernel(s->programs[i], name, out_code);
    }
    bug("no kernels in %s", file);
}
