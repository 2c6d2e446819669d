/* From an operation to the kernels that do it. */
#include "common/compute/opencl/opencl.h"

enum { TILE = 64, SIDE = 16, GROUP = 64, PARTS = 256 }; /* as kernels.cl has them */
enum finish { FINISH_STORE, FINISH_ADD, FINISH_STEP };

/* A kernel whose arguments are being set. The first error stays. */
struct launch {
    const struct opencl *opencl;
    cl_kernel kernel;
    cl_uint num_args;
    cl_int code;
};

static struct launch launch_of(const struct opencl *o, enum cl_kernel_name name)
{
    return (struct launch){.opencl = o, .kernel = o->kernels[name], .code = CL_SUCCESS};
}

static void arg(struct launch *l, size_t bytes, const void *value)
{
    if (l->code == CL_SUCCESS)
        l->code = l->opencl->device->cl->clSetKernelArg(l->kernel, l->num_args++, bytes, value);
}

static void arg_uint(struct launch *l, size_t value)
{
    const cl_uint v = (cl_uint)value;
    arg(l, sizeof v, &v);
}

static void arg_ulong(struct launch *l, size_t value)
{
    const cl_ulong v = value;
    arg(l, sizeof v, &v);
}

static void arg_int(struct launch *l, int value)
{
    const cl_int v = value;
    arg(l, sizeof v, &v);
}

static void arg_float(struct launch *l, real value)
{
    const cl_float v = (cl_float)value;
    arg(l, sizeof v, &v);
}

/* The buffer, and the offset in elements of `size` bytes. */
static void arg_slice(struct launch *l, struct compute_slice s, size_t size)
{
    cl_mem memory = s.buffer->memory;
    arg(l, sizeof memory, &memory);
    arg_ulong(l, s.offset / size);
}

static void arg_slices(struct launch *l, const struct compute_slice *s, int count)
{
    for (int i = 0; i < count; i++)
        arg_slice(l, s[i], sizeof(float));
}

static enum err start(struct launch *l, cl_uint dims, const size_t *global, const size_t *local)
{
    const struct opencl *o = l->opencl;
    enum err err = cl_check(l->code, "clSetKernelArg");
    if (err)
        return err;
    return cl_check(
        o->device->cl->clEnqueueNDRangeKernel(o->queue, l->kernel, dims, NULL, global, local, 0, NULL, NULL),
        "clEnqueueNDRangeKernel");
}

/* n work-items, and what fills up the last group. */
static enum err start_many(struct launch *l, size_t n)
{
    const size_t local = GROUP, global = (n + GROUP - 1) / GROUP * GROUP;
    return n == 0 ? ERR_OK : start(l, 1, &global, &local);
}

struct product {
    size_t items, width, terms;
    struct compute_slice a, b, out, more;
    size_t a_item, a_term, b_term, b_width, out_stride;
    bool has_bias;
    enum finish finish;
};

static enum err run_product(const struct opencl *o, const struct compute_op *op, const struct product *p)
{
    struct launch l = launch_of(o, CL_KERNEL_product);
    const size_t local[2] = {SIDE, SIDE};
    const size_t global[2] = {(p->out_stride + TILE - 1) / TILE * SIDE, (p->items + TILE - 1) / TILE * SIDE};
    if (global[0] == 0 || global[1] == 0)
        return ERR_OK;
    arg_uint(&l, p->items);
    arg_uint(&l, p->width);
    arg_uint(&l, p->terms);
    arg_slice(&l, p->a, sizeof(float));
    arg_uint(&l, p->a_item);
    arg_uint(&l, p->a_term);
    arg_slice(&l, p->b, sizeof(float));
    arg_uint(&l, p->b_term);
    arg_uint(&l, p->b_width);
    arg_slice(&l, p->out, sizeof(float));
    arg_uint(&l, p->out_stride);
    arg_slice(&l, p->more, sizeof(float));
    arg_int(&l, p->has_bias);
    arg_int(&l, (int)p->finish);
    arg_float(&l, op->learning_rate);
    arg_float(&l, op->mu);
    return start(&l, 2, global, local);
}

static enum err run_forward(const struct opencl *o, const struct compute_op *op)
{
    const struct product p = {.items = op->rows,
                              .width = op->outputs,
                              .terms = op->inputs,
                              .a = op->arg[0],
                              .a_item = compute_stride(op->inputs),
                              .a_term = 1,
                              .b = op->arg[1],
                              .b_term = 1,
                              .b_width = compute_stride(op->inputs),
                              .out = op->arg[3],
                              .out_stride = compute_stride(op->outputs),
                              .more = op->arg[2],
                              .has_bias = true};
    return run_product(o, op, &p);
}

static enum err run_input_gradient(const struct opencl *o, const struct compute_op *op)
{
    const struct product p = {.items = op->rows,
                              .width = op->inputs,
                              .terms = op->outputs,
                              .a = op->arg[0],
                              .a_item = compute_stride(op->outputs),
                              .a_term = 1,
                              .b = op->arg[1],
                              .b_term = compute_stride(op->inputs),
                              .b_width = 1,
                              .out = op->arg[2],
                              .out_stride = compute_stride(op->inputs),
                              .more = op->arg[2]};
    return run_product(o, op, &p);
}

/* The gradient of weights and biases into w and b, with anchors w0 and b0 that only a step reads. */
static enum err run_weight_gradient(const struct opencl *o, const struct compute_op *op, enum finish how,
                                    struct compute_slice w, struct compute_slice b, struct compute_slice w0,
                                    struct compute_slice b0)
{
    const size_t stride = compute_stride(op->outputs);
    const struct product p = {.items = op->outputs,
                              .width = op->inputs,
                              .terms = op->rows,
                              .a = op->arg[1],
                              .a_item = 1,
                              .a_term = stride,
                              .b = op->arg[0],
                              .b_term = compute_stride(op->inputs),
                              .b_width = 1,
                              .out = w,
                              .out_stride = compute_stride(op->inputs),
                              .more = w0,
                              .finish = how};
    enum err err = run_product(o, op, &p);
    if (err)
        return err;
    struct launch l = launch_of(o, CL_KERNEL_column_sums);
    arg_uint(&l, op->rows);
    arg_uint(&l, op->outputs);
    arg_uint(&l, stride);
    arg_slices(&l, &op->arg[1], 1);
    arg_slices(&l, &b, 1);
    arg_slices(&l, &b0, 1);
    arg_int(&l, (int)how);
    arg_float(&l, op->learning_rate);
    arg_float(&l, op->mu);
    return start_many(&l, stride);
}

static enum err run_elementwise(const struct opencl *o, const struct compute_op *op,
                                enum cl_kernel_name kernel, int num_args)
{
    struct launch l = launch_of(o, kernel);
    arg_ulong(&l, op->rows);
    if (kernel == CL_KERNEL_prox_gradient)
        arg_float(&l, op->mu);
    arg_slices(&l, op->arg, num_args);
    return start_many(&l, op->rows);
}

static enum err run_softmax(const struct opencl *o, const struct compute_op *op, enum cl_kernel_name kernel)
{
    struct launch l = launch_of(o, kernel);
    arg_uint(&l, op->rows);
    arg_uint(&l, op->outputs);
    arg_uint(&l, compute_stride(op->outputs));
    if (kernel == CL_KERNEL_softmax_gradient)
        arg_float(&l, op->scale);
    arg_slices(&l, op->arg, 5);
    return start_many(&l, op->rows);
}

static enum err run_reduce(const struct opencl *o, const struct compute_op *op)
{
    struct launch l = launch_of(o, CL_KERNEL_reduce);
    const size_t all = PARTS;
    arg_ulong(&l, op->rows);
    arg_int(&l, op->kind == COMPUTE_SQUARED_DISTANCE);
    arg_slices(&l, op->arg, 2);
    arg_slice(&l, op->arg[2], sizeof(double));
    return start(&l, 1, &all, &all);
}

static enum err run_softmax_step(const struct opencl *o, const struct compute_op *op)
{
    const struct compute_softmax_parts parts = compute_softmax_parts(op);
    enum err err = run_forward(o, &parts.forward);
    if (!err)
        err = run_softmax(o, &parts.gradient, CL_KERNEL_softmax_gradient);
    if (!err)
        err = run_weight_gradient(o, &parts.update, FINISH_STEP, parts.update.arg[2], parts.update.arg[3],
                                  parts.update.arg[4], parts.update.arg[5]);
    return err;
}

enum err opencl_run(void *state, const struct compute_op *op)
{
    const struct opencl *o = state;
    const struct compute_slice *a = op->arg;
    switch (op->kind) {
    case COMPUTE_DENSE_FORWARD:
        return run_forward(o, op);
    case COMPUTE_DENSE_INPUT_GRADIENT:
        return run_input_gradient(o, op);
    case COMPUTE_DENSE_GRADIENT:
        return run_weight_gradient(o, op, op->accumulate ? FINISH_ADD : FINISH_STORE, a[2], a[3], a[2], a[3]);
    case COMPUTE_DENSE_UPDATE:
        return run_weight_gradient(o, op, FINISH_STEP, a[2], a[3], a[4], a[5]);
    case COMPUTE_RELU_FORWARD:
        return run_elementwise(o, op, CL_KERNEL_relu_forward, 2);
    case COMPUTE_RELU_BACKWARD:
        return run_elementwise(o, op, CL_KERNEL_relu_backward, 3);
    case COMPUTE_SOFTMAX_GRADIENT:
        return run_softmax(o, op, CL_KERNEL_softmax_gradient);
    case COMPUTE_SOFTMAX_LOSS:
        return run_softmax(o, op, CL_KERNEL_softmax_loss);
    case COMPUTE_SOFTMAX_STEP:
        return run_softmax_step(o, op);
    case COMPUTE_PROX_GRADIENT:
        return run_elementwise(o, op, CL_KERNEL_prox_gradient, 3);
    case COMPUTE_DOT:
    case COMPUTE_SQUARED_DISTANCE:
        return run_reduce(o, op);
    default:
        bug("opencl does not do %s", compute_kind_name(op->kind));
    }
}

/* Sizes go to the kernels as 32 bits, element counts as 64. */
static bool has_usual_sizes(const struct compute_op *op)
{
    const size_t most = 1u << 31;
    return op->rows < most && op->inputs < most && op->outputs < most;
}

bool opencl_supports(void *state, const struct compute_op *op)
{
    const struct opencl *o = state;
    switch (op->kind) {
    case COMPUTE_DENSE_FORWARD:
    case COMPUTE_DENSE_INPUT_GRADIENT:
    case COMPUTE_DENSE_GRADIENT:
    case COMPUTE_DENSE_UPDATE:
    case COMPUTE_SOFTMAX_GRADIENT:
    case COMPUTE_SOFTMAX_LOSS:
    case COMPUTE_SOFTMAX_STEP:
        return has_usual_sizes(op);
    case COMPUTE_RELU_FORWARD:
    case COMPUTE_RELU_BACKWARD:
    case COMPUTE_PROX_GRADIENT:
        return true;
    case COMPUTE_DOT:
    case COMPUTE_SQUARED_DISTANCE:
        return o->device->has_double;
    default:
        return false;
    }
}
