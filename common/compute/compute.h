/* Arithmetic on large arrays, on whatever does it fastest: a backend is a table of functions (compute_impl.h)
 * behind opaque buffers and layer-sized operations. What a backend does not support runs on the reference,
 * which is plain C.
 *
 * Matrices are row-major float32 (real.h); each row is padded with zeros to compute_stride values, so that
 * rows start where vectors and cache lines do and no kernel has a ragged end. Padding is 0 in what an
 * operation reads, and 0 in what it writes (unless a number beside it is not finite). Labels are int32;
 * vectors have no padding. Operations are queued: results are there after compute_wait or compute_read. One
 * struct compute serves one thread; different ones may run at once, and results depend neither on that nor on
 * how buffers are aligned. Sizes of 0 are legal everywhere. */
#ifndef FEDLANE_COMPUTE_COMPUTE_H
#define FEDLANE_COMPUTE_COMPUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"
#include "common/base/real.h"

struct compute;        /* an opened backend */
struct compute_buffer; /* memory of a backend */

/* A place in a buffer; offset in bytes, a multiple of the element's size. */
struct compute_slice {
    struct compute_buffer *buffer;
    size_t offset;
};

static inline struct compute_slice compute_at(struct compute_slice s, size_t bytes)
{
    return (struct compute_slice){s.buffer, s.offset + bytes};
}

/* Values from the start of one row of a matrix to the next. */
static inline size_t compute_stride(size_t width)
{
    return (width + 15) / 16 * 16;
}

static inline size_t compute_matrix_bytes(size_t rows, size_t width)
{
    return rows * compute_stride(width) * sizeof(real);
}

/* "reference", "openblas" (also "cpu"), or "opencl", where "opencl:1" is that device of those that `fedlane
 * doctor` lists and "opencl" the first GPU. NULL takes the environment's FEDLANE_COMPUTE, else "openblas".
 * ERR_INVALID_FIELD for a name that is not there, listing those that are; ERR_UNAVAILABLE where the machine
 * lacks what it needs. */
enum err compute_open(const char *name, struct compute **out, struct fault *fault) MUST_CHECK;
/* What NULL means from now on, in place of FEDLANE_COMPUTE: one of the names above, "cpu" (openblas), or
 * "auto", which is opencl where there is a GPU on which the kernels build, else the cpu, with a warning that
 * says why. Opens it once, so that a machine that lacks it shows before any training: ERR_USAGE. Before the
 * first thread opens. */
enum err compute_choose(const char *name, struct fault *fault) MUST_CHECK;
/* How many there are, from opencl:0 on. ERR_UNAVAILABLE: none, and what would have to be installed. */
enum err compute_num_opencl_devices(size_t *out, struct fault *fault) MUST_CHECK;
void compute_close(struct compute *c); /* all its buffers freed before */
const char *compute_name(const struct compute *c);
const char *compute_description(
    const struct compute *c); /* library, version, kernels: one line for the log */
/* What failed last on a device and which that is, for whoever is told that an operation failed; "" where
 * there is nothing to add to its error. */
const char *compute_trouble(const struct compute *c);

/* At most so many bytes in all buffers of the process together; 0, as at the start: no limit. */
void compute_limit_memory(size_t bytes);
size_t compute_memory_limit(void);
size_t compute_memory_left(void); /* SIZE_MAX without a limit */
/* Bytes of the largest buffer that the backend's device could take now, without that limit; SIZE_MAX where it
 * computes in the machine's memory. */
size_t compute_device_available(const struct compute *c);

/* Contents are zero. ERR_NO_MEMORY, also above the limit. */
enum err compute_alloc(struct compute *c, size_t bytes, struct compute_buffer **out) MUST_CHECK;
void compute_free(struct compute *c, struct compute_buffer *b); /* NULL is legal */
size_t compute_bytes_in_use(const struct compute *c);           /* of all buffers, as asked for */

/* Both return after the bytes were copied; reading waits for what was queued before. */
enum err compute_write(struct compute *c, struct compute_slice to, const void *from, size_t bytes) MUST_CHECK;
enum err compute_read(struct compute *c, struct compute_slice from, void *to, size_t bytes) MUST_CHECK;
/* The same for a matrix that has no padding outside; writing makes it 0. */
enum err compute_write_matrix(struct compute *c, struct compute_slice to, const real *from, size_t rows,
                              size_t width) MUST_CHECK;
enum err compute_read_matrix(struct compute *c, struct compute_slice from, real *to, size_t rows,
                             size_t width) MUST_CHECK;
/* Where the CPU can reach the slice, or NULL where it cannot; valid until the buffer is freed. Wait before
 * using it. */
void *compute_host(const struct compute *c, struct compute_slice s);
enum err compute_wait(struct compute *c) MUST_CHECK;

enum compute_kind {
    COMPUTE_DENSE_FORWARD,
    COMPUTE_DENSE_INPUT_GRADIENT,
    COMPUTE_DENSE_GRADIENT,
    COMPUTE_DENSE_UPDATE,
    COMPUTE_RELU_FORWARD,
    COMPUTE_RELU_BACKWARD,
    COMPUTE_TANH_FORWARD,
    COMPUTE_TANH_BACKWARD,
    COMPUTE_SOFTMAX_GRADIENT,
    COMPUTE_SOFTMAX_LOSS,
    COMPUTE_SOFTMAX_STEP,
    COMPUTE_SIGMOID_GRADIENT,
    COMPUTE_SIGMOID_LOSS,
    COMPUTE_DROPOUT,
    COMPUTE_UNPACK, /* compute_image.h */
    COMPUTE_CONV_FORWARD,
    COMPUTE_CONV_INPUT_GRADIENT,
    COMPUTE_CONV_GRADIENT,
    COMPUTE_CONV_UPDATE,
    COMPUTE_POOL_FORWARD,
    COMPUTE_POOL_BACKWARD,
    COMPUTE_LSTM_FORWARD, /* compute_lstm.h */
    COMPUTE_LSTM_BACKWARD,
    COMPUTE_LAST_STEP,
    COMPUTE_GATHER,
    COMPUTE_SCATTER_ADD,
    COMPUTE_PROX_GRADIENT,
    COMPUTE_PROX_STEP,
    COMPUTE_DESCENT, /* compute_descent.h */
    COMPUTE_DOT,
    COMPUTE_SQUARED_DISTANCE,
    COMPUTE_KIND_COUNT
};

enum { COMPUTE_MAX_ARGS = 9 };

struct compute_conv; /* compute_image.h */
struct compute_pool;
struct compute_unpack;
struct compute_lstm; /* compute_lstm.h */
struct compute_table;
struct compute_descent; /* compute_descent.h */

/* One operation; the functions below fill it in. */
struct compute_op {
    enum compute_kind kind;
    size_t rows, inputs, outputs; /* a vector operation has its length in rows */
    real learning_rate, mu, scale;
    bool accumulate;
    uint64_t key; /* of a random stream (rng.h) */
    union {       /* sizes and form of the operations that take one; alive during the call */
        const struct compute_conv *conv;
        const struct compute_pool *pool;
        const struct compute_unpack *unpack;
        const struct compute_lstm *lstm;
        const struct compute_table *table;
        const struct compute_descent *descent;
    };
    struct compute_slice arg[COMPUTE_MAX_ARGS]; /* in the order of the functions' parameters */
    struct compute_slice scratch; /* compute_scratch_bytes of them, contents undefined before and after */
};

const char *compute_kind_name(enum compute_kind kind);
/* Whether the backend itself does it, not the reference for it. */
bool compute_supports(const struct compute *c, const struct compute_op *op);
/* How much room beside its operands an operation wants at most, for up to op's rows: only kind, sizes and
 * form are looked at, no slices. The caller plans it, so that nothing is taken while a model trains. */
size_t compute_scratch_bytes(const struct compute *c, const struct compute_op *op);
/* A slice that does not hold its operand is a broken invariant. */
enum err compute_run(struct compute *c, const struct compute_op *op) MUST_CHECK;

/* The dense layer: matrices x [rows, inputs], w [outputs, inputs], b [1, outputs], z [rows, outputs]; d... is
 * the loss's gradient with respect to it. */

/* z = x w' + b */
enum err compute_dense_forward(struct compute *c, size_t rows, size_t inputs, size_t outputs,
                               struct compute_slice x, struct compute_slice w, struct compute_slice b,
                               struct compute_slice z) MUST_CHECK;
/* dx = dz w */
enum err compute_dense_input_gradient(struct compute *c, size_t rows, size_t inputs, size_t outputs,
                                      struct compute_slice dz, struct compute_slice w,
                                      struct compute_slice dx) MUST_CHECK;
/* dw = dz' x, db = column sums of dz; added to what is there if `accumulate` */
enum err compute_dense_gradient(struct compute *c, size_t rows, size_t inputs, size_t outputs,
                                bool accumulate, struct compute_slice x, struct compute_slice dz,
                                struct compute_slice dw, struct compute_slice db) MUST_CHECK;
/* The same gradient, summed from zero, and at once the proximal SGD step with it [arXiv 1812.06127, algorithm
 * 2]: w <- w - learning_rate (dw + mu (w - w0)), b likewise. The gradient is never written. */
enum err compute_dense_update(struct compute *c, size_t rows, size_t inputs, size_t outputs,
                              real learning_rate, real mu, struct compute_slice x, struct compute_slice dz,
                              struct compute_slice w, struct compute_slice b, struct compute_slice w0,
                              struct compute_slice b0) MUST_CHECK;

/* y = max(x, 0); y may be x. A NaN stays NaN. */
enum err compute_relu_forward(struct compute *c, size_t n, struct compute_slice x,
                              struct compute_slice y) MUST_CHECK;
/* dx = dy where y > 0, else 0; dx may be dy */
enum err compute_relu_backward(struct compute *c, size_t n, struct compute_slice y, struct compute_slice dy,
                               struct compute_slice dx) MUST_CHECK;

/* y = tanh(x); y may be x */
enum err compute_tanh_forward(struct compute *c, size_t n, struct compute_slice x,
                              struct compute_slice y) MUST_CHECK;
/* dx = dy (1 - y^2); dx may be dy */
enum err compute_tanh_backward(struct compute *c, size_t n, struct compute_slice y, struct compute_slice dy,
                               struct compute_slice dx) MUST_CHECK;

/* Softmax cross-entropy of a matrix of logits z [rows, outputs] and labels [rows] in 0..outputs-1. A row's
 * loss is log(sums[r]) - targets[r] with sums = sum_c exp(z_c - max z), targets = z_label - max z: the caller
 * takes the logarithms, and only where it wants the loss. dz = scale (softmax(z) - onehot(label)), scale = 1
 * / rows for the mean; dz may be z. */
enum err compute_softmax_gradient(struct compute *c, size_t rows, size_t outputs, real scale,
                                  struct compute_slice z, struct compute_slice labels,
                                  struct compute_slice dz, struct compute_slice sums,
                                  struct compute_slice targets) MUST_CHECK;
/* Without the gradient; correct[r] (int32) is 1 where the label is the first of the largest logits. z is
 * destroyed. */
enum err compute_softmax_loss(struct compute *c, size_t rows, size_t outputs, struct compute_slice z,
                              struct compute_slice labels, struct compute_slice sums,
                              struct compute_slice targets, struct compute_slice correct) MUST_CHECK;

/* A whole step of softmax regression, where what lies between the operations would cost as much as they:
 * dense_forward, softmax_gradient and dense_update of one layer. dz [rows, outputs] is scratch. */
enum err compute_softmax_step(struct compute *c, size_t rows, size_t inputs, size_t outputs, real scale,
                              real learning_rate, real mu, struct compute_slice x,
                              struct compute_slice labels, struct compute_slice w, struct compute_slice b,
                              struct compute_slice w0, struct compute_slice b0, struct compute_slice dz,
                              struct compute_slice sums, struct compute_slice targets) MUST_CHECK;

/* Sigmoid cross-entropy of one logit a row, z [rows, 1], and labels [rows] of 0 or 1; sums and targets as for
 * softmax_gradient: a row's loss is log(sums[r]) - targets[r]. dz = scale (sigmoid(z) - label); dz may be
 * z. */
enum err compute_sigmoid_gradient(struct compute *c, size_t rows, real scale, struct compute_slice z,
                                  struct compute_slice labels, struct compute_slice dz,
                                  struct compute_slice sums, struct compute_slice targets) MUST_CHECK;
/* Without the gradient; correct[r] (int32) is 1 where z > 0 says the label. */
enum err compute_sigmoid_loss(struct compute *c, size_t rows, struct compute_slice z,
                              struct compute_slice labels, struct compute_slice sums,
                              struct compute_slice targets, struct compute_slice correct) MUST_CHECK;

/* y[i] = 0 where output i of the stream `key` is below rate (as a uniform number), else x[i] / (1 - rate); y
 * may be x. The gradient is the same operation on dy. */
enum err compute_dropout(struct compute *c, size_t n, real rate, uint64_t key, struct compute_slice x,
                         struct compute_slice y) MUST_CHECK;

/* w <- w - learning_rate (g + mu (w - w0)) */
enum err compute_prox_step(struct compute *c, size_t n, real learning_rate, real mu, struct compute_slice g,
                           struct compute_slice w, struct compute_slice w0) MUST_CHECK;
/* g <- g + mu (w - w0): from grad F to grad h */
enum err compute_prox_gradient(struct compute *c, size_t n, real mu, struct compute_slice g,
                               struct compute_slice w, struct compute_slice w0) MUST_CHECK;
/* out, one double: a . b, or ||a - b||^2, summed in double */
enum err compute_dot(struct compute *c, size_t n, struct compute_slice a, struct compute_slice b,
                     struct compute_slice out) MUST_CHECK;
enum err compute_squared_distance(struct compute *c, size_t n, struct compute_slice a, struct compute_slice b,
                                  struct compute_slice out) MUST_CHECK;

#endif
