/* What a backend fills in. Callers use compute.h. */
#ifndef FEDLANE_COMPUTE_COMPUTE_IMPL_H
#define FEDLANE_COMPUTE_COMPUTE_IMPL_H

#include "common/compute/compute.h"

struct compute_buffer {
    size_t bytes;
    void *memory;        /* the backend's own handle */
    unsigned char *host; /* where the CPU reaches it, NULL where it cannot */
};

/* All functions are called by one thread at a time for one state. `describe` and `wait` may be NULL. */
struct compute_backend {
    const char *name;
    /* device: what stands behind the colon of "opencl:0", NULL where there is none. */
    enum err (*open)(const char *device, void **out_state, struct fault *fault) MUST_CHECK;
    void (*close)(void *state);
    const char *(*describe)(void *state);
    /* Fills memory and host of a buffer whose bytes (> 0) are set; contents zero. */
    enum err (*alloc)(void *state, struct compute_buffer *b) MUST_CHECK;
    void (*release)(void *state, struct compute_buffer *b);
    /* Only called where host is NULL. */
    enum err (*write)(void *state, struct compute_buffer *b, size_t offset, const void *from,
                      size_t bytes) MUST_CHECK;
    enum err (*read)(void *state, struct compute_buffer *b, size_t offset, void *to, size_t bytes) MUST_CHECK;
    bool (*supports)(void *state, const struct compute_op *op);
    enum err (*run)(void *state, const struct compute_op *op) MUST_CHECK;
    enum err (*wait)(void *state) MUST_CHECK;
    /* compute_scratch_bytes of an operation that it supports; NULL where it never wants any. */
    size_t (*scratch)(void *state, const struct compute_op *op);
    /* Bytes of the largest buffer that its device could take now; NULL where the machine's memory decides. */
    size_t (*available)(void *state);
    /* What failed last, and on which device, "" before; NULL where nothing fails without saying it otherwise.
     */
    const char *(*trouble)(void *state);
};

extern const struct compute_backend compute_reference, compute_openblas, compute_opencl;

/* Opens a backend that is in no registry: for tests and for programs that bring their own. */
enum err compute_open_backend(const struct compute_backend *backend, const char *device, struct compute **out,
                              struct fault *fault) MUST_CHECK;

/* For backends that have one device: refuses the name of another. */
enum err compute_refuse_device(const char *name, const char *device, struct fault *fault) MUST_CHECK;

enum compute_mode { COMPUTE_NO_ARG, COMPUTE_IN, COMPUTE_OUT, COMPUTE_IN_OUT };
struct compute_operand {
    enum compute_mode mode;
    size_t bytes; /* 0: the operation's form has no use for it, and its slice may be anything */
};
/* What an operation reads and writes: size and direction of each argument. Returns how many there are. */
int compute_operands(const struct compute_op *op, struct compute_operand out[COMPUTE_MAX_ARGS]);
int compute_descent_operands(const struct compute_op *op, struct compute_operand out[COMPUTE_MAX_ARGS]);
int compute_image_operands(const struct compute_op *op, struct compute_operand out[COMPUTE_MAX_ARGS]);
int compute_lstm_operands(const struct compute_op *op, struct compute_operand out[COMPUTE_MAX_ARGS]);

/* Operands of so many reals. */
#define COMPUTE_OPERAND(direction, n) ((struct compute_operand){COMPUTE_##direction, sizeof(real) * (n)})

/* Argument i of an operation whose buffers the CPU can reach. */
static inline void *compute_arg(const struct compute_op *op, int i)
{
    return op->arg[i].buffer->host + op->arg[i].offset;
}

/* The same for one that the operation's form may have no use for: NULL where it was left out, or lies
 * elsewhere. */
static inline void *compute_optional_arg(const struct compute_op *op, int i)
{
    return op->arg[i].buffer && op->arg[i].buffer->host ? compute_arg(op, i) : NULL;
}

static inline void *compute_scratch_arg(const struct compute_op *op)
{
    return op->scratch.buffer->host + op->scratch.offset;
}

/* Counts what is in buffers against the process's limit; false where it does not fit. */
bool compute_memory_take(size_t bytes) MUST_CHECK;
void compute_memory_give(size_t bytes);

/* alloc and release for backends that compute in the CPU's memory; 64-byte aligned. */
enum err compute_host_alloc(void *state, struct compute_buffer *b) MUST_CHECK;
void compute_host_release(void *state, struct compute_buffer *b);

/* The three operations that a softmax step is made of. */
struct compute_softmax_parts {
    struct compute_op forward, gradient, update;
};
struct compute_softmax_parts compute_softmax_parts(const struct compute_op *step);

/* Runs any operation in plain C on buffers that the CPU can reach. */
void compute_reference_run(const struct compute_op *op);

#endif
