#include <cblas.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "common/base/log.h"
#include "common/compute/openblas/conv.h"
#include "common/compute/openblas/kernels.h"
#include "common/compute/openblas/lstm.h"

/* OpenBLAS exports it and declares it nowhere; other BLAS libraries do not have it. */
int blas_thread_shutdown_(void) __attribute__((weak));

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct cpu_kernels *kernels;
static char description[256];

/* The number of BLAS threads is the process's, and results depend on it: devices train in parallel on threads
 * of ours. Those that OpenBLAS started when it was loaded spin for a while, on cores that have better to do.
 */
static void set_up(void)
{
    openblas_set_num_threads(1);
    if (blas_thread_shutdown_)
        (void)blas_thread_shutdown_();
    kernels = cpu_kernels_choose();
    (void)snprintf(description, sizeof description, "openblas: %s, core %s, own kernels %s",
                   openblas_get_config(), openblas_get_corename(), kernels->name);
    log_info("compute", "%s", description);
}

static enum err blas_open(const char *device, void **out_state, struct fault *fault)
{
    *out_state = NULL;
    enum err err = compute_refuse_device("openblas", device, fault);
    if (!err)
        (void)pthread_once(&once, set_up);
    return err;
}

static void blas_close(void *state)
{
    (void)state;
}

static const char *blas_describe(void *state)
{
    (void)state;
    return description;
}

static bool is_conv(const struct compute_op *op)
{
    return op->kind >= COMPUTE_CONV_FORWARD && op->kind <= COMPUTE_CONV_UPDATE;
}

static bool blas_supports(void *state, const struct compute_op *op)
{
    (void)state;
    return kernels->run[op->kind] != NULL && (!is_conv(op) || conv_supports(op));
}

static size_t blas_scratch(void *state, const struct compute_op *op)
{
    (void)state;
    if (op->kind == COMPUTE_LSTM_FORWARD || op->kind == COMPUTE_LSTM_BACKWARD)
        return lstm_scratch_bytes(op);
    return is_conv(op) ? conv_scratch_bytes(op) : 0;
}

/* Which of a dense operation's kernels: only its sizes decide, so that bits never depend on a measurement,
 * nor on which part of the rows or outputs is asked for at once. A few rows fit the kernels that pack
 * nothing. */
static bool is_many(const struct compute_op *op)
{
    if (op->kind == COMPUTE_DENSE_GRADIENT || op->kind == COMPUTE_DENSE_UPDATE)
        return op->rows > 128;
    return op->kind <= COMPUTE_DENSE_INPUT_GRADIENT && op->rows >= 32 && op->outputs >= 32;
}

/* Sizes must fit BLAS's int. */
static bool is_for_blas(const struct compute_op *op)
{
    const size_t most = 1u << 30;
    if (kernels->is_blas_slower || op->kind > COMPUTE_DENSE_INPUT_GRADIENT)
        return false;
    if (op->rows < 48 || op->outputs < 48 || op->inputs < 48)
        return false;
    return op->rows < most && op->outputs < most && op->inputs < most;
}

static void blas_forward(const struct compute_op *op)
{
    int rows = (int)op->rows, outputs = (int)op->outputs;
    int x_stride = (int)compute_stride(op->inputs), z_stride = (int)compute_stride(op->outputs);
    const float *b = compute_arg(op, 2);
    float *z = compute_arg(op, 3);
    for (int r = 0; r < rows; r++) /* b has the padding that z wants */
        memcpy(z + (ptrdiff_t)r * z_stride, b, (size_t)z_stride * sizeof *z);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, outputs, (int)op->inputs, 1,
                compute_arg(op, 0), x_stride, compute_arg(op, 1), x_stride, 1, z, z_stride);
}

static void blas_input_gradient(const struct compute_op *op)
{
    int x_stride = (int)compute_stride(op->inputs), z_stride = (int)compute_stride(op->outputs);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)op->rows, x_stride, (int)op->outputs, 1,
                compute_arg(op, 0), z_stride, compute_arg(op, 1), x_stride, 0, compute_arg(op, 2), x_stride);
}

static enum err blas_run(void *state, const struct compute_op *op)
{
    (void)state;
    if (is_for_blas(op)) {
        if (op->kind == COMPUTE_DENSE_FORWARD)
            blas_forward(op);
        else
            blas_input_gradient(op);
    } else if (is_many(op)) {
        kernels->many[op->kind](op);
    } else {
        kernels->run[op->kind](op);
    }
    return ERR_OK;
}

const struct compute_backend compute_openblas = {
    .name = "openblas",
    .open = blas_open,
    .close = blas_close,
    .describe = blas_describe,
    .alloc = compute_host_alloc,
    .release = compute_host_release,
    .supports = blas_supports,
    .run = blas_run,
    .scratch = blas_scratch,
};
