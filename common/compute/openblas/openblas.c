#include <cblas.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "common/base/log.h"
#include "common/compute/openblas/conv.h"
#include "common/compute/openblas/kernels.h"
#include "common/compute/openblas/lstm.h"
#include "common/compute/openblas/tiles.h"

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
    return (kernels->run[op->kind] || kernels->part[op->kind]) && (!is_conv(op) || conv_supports(op));
}

static size_t blas_scratch(void *state, const struct compute_op *op)
{
    (void)state;
    if (op->kind == COMPUTE_LSTM_FORWARD || op->kind == COMPUTE_LSTM_BACKWARD)
        return lstm_scratch_bytes(op);
    return is_conv(op) ? conv_scratch_bytes(op) : 0;
}

/* Whether BLAS does it; sizes must fit its int. */
static bool is_for_blas(const struct compute_op *op)
{
    const size_t most = 1u << 30;
    if (kernels->is_blas_slower || op->kind > COMPUTE_DENSE_INPUT_GRADIENT)
        return false;
    if (op->rows < 48 || op->outputs < 48 || op->inputs < 48)
        return false;
    return op->rows < most && op->outputs < most && op->inputs < most;
}

/* Rows, or columns, of a product: how many BLAS is called with shows in the bits, so a part is some of these
 * tiles, each a product of its own. */
enum { BLAS_TILE = 256 };

static void blas_forward(const struct compute_op *op, const struct team_part *part)
{
    const bool is_by_rows = tiles_are_rows(op);
    const size_t x_stride = compute_stride(op->inputs), z_stride = compute_stride(op->outputs),
                 all = is_by_rows ? op->rows : op->outputs;
    const float *x = compute_arg(op, 0), *w = compute_arg(op, 1), *b = compute_arg(op, 2);
    float *z = compute_arg(op, 3);
    for (size_t from = part->from; from < part->to; from += BLAS_TILE) {
        const size_t n = all - from < BLAS_TILE ? all - from : BLAS_TILE, row = is_by_rows ? from : 0,
                     column = is_by_rows ? 0 : from, rows = is_by_rows ? n : op->rows,
                     columns = is_by_rows ? op->outputs : n;
        float *to = z + row * z_stride + column;
        for (size_t r = 0; r < rows; r++) /* b has the padding that z wants */
            memcpy(to + r * z_stride, b + column, compute_stride(columns) * sizeof *z);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)columns, (int)op->inputs, 1,
                    x + row * x_stride, (int)x_stride, w + column * x_stride, (int)x_stride, 1, to,
                    (int)z_stride);
    }
}

static void blas_input_gradient(const struct compute_op *op, const struct team_part *part)
{
    const bool is_by_rows = tiles_are_rows(op);
    const size_t x_stride = compute_stride(op->inputs), z_stride = compute_stride(op->outputs),
                 all = is_by_rows ? op->rows : x_stride;
    const float *dz = compute_arg(op, 0), *w = compute_arg(op, 1);
    float *dx = compute_arg(op, 2);
    for (size_t from = part->from; from < part->to; from += BLAS_TILE) {
        const size_t n = all - from < BLAS_TILE ? all - from : BLAS_TILE, row = is_by_rows ? from : 0,
                     column = is_by_rows ? 0 : from;
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)(is_by_rows ? n : op->rows),
                    (int)(is_by_rows ? x_stride : n), (int)op->outputs, 1, dz + row * z_stride, (int)z_stride,
                    w + column, (int)x_stride, 0, dx + row * x_stride + column, (int)x_stride);
    }
}

static void run_part(const void *ctx, const struct team_part *part)
{
    const struct compute_op *op = ctx;
    if (tiles_are_elements(op)) {
        const struct compute_op some = tiles_elements(op, part);
        kernels->run[op->kind](&some);
    } else if (is_for_blas(op)) {
        op->kind == COMPUTE_DENSE_FORWARD ? blas_forward(op, part) : blas_input_gradient(op, part);
    } else if (tiles_are_many(op)) {
        kernels->many[op->kind](op, part);
    } else {
        kernels->part[op->kind](op, part);
    }
}

static enum err blas_run(void *state, const struct compute_op *op)
{
    (void)state;
    if (!kernels->part[op->kind] && !tiles_are_elements(op)) {
        kernels->run[op->kind](op);
        return ERR_OK;
    }
    if (kernels->prepare[op->kind])
        kernels->prepare[op->kind](op);
    const struct tiles tiles = tiles_of(op);
    team_run(tiles.count, is_for_blas(op) ? BLAS_TILE : tiles.unit, tiles.parts, run_part, op);
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
