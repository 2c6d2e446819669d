/* The dense layer on OpenCL: few.cl for few rows, dense.cl for more. */
#include "common/compute/opencl/launch.h"

enum { FEW = 16, LANES = 64, LINES = 4 }; /* as few.cl has them */

/* A group for every `each` of `columns`. */
static enum err run_few(struct opencl *o, const struct compute_op *op, enum cl_kernel_name name,
                        size_t columns, size_t each)
{
    const size_t local[2] = {LANES, LINES}, global[2] = {(columns + each - 1) / each * LANES, LINES};
    struct launch l = launch_of(o, name);
    if (op->rows == 0)
        return ERR_OK;
    launch_uint(&l, op->rows);
    launch_uint(&l, op->inputs);
    launch_uint(&l, op->outputs);
    launch_uint(&l, compute_stride(op->inputs));
    launch_uint(&l, compute_stride(op->outputs));
    launch_reals(&l, op->arg, op->kind == COMPUTE_DENSE_INPUT_GRADIENT ? 3 : 4);
    return launch_groups(&l, 2, global, local);
}

struct product {
    size_t items, width, terms;
    struct compute_slice a, b, out, more;
    size_t a_item, a_term, b_term, b_width, out_stride;
    bool has_bias;
    enum cl_finish finish;
};

static enum err run_product(struct opencl *o, const struct compute_op *op, const struct product *p)
{
    struct launch l = launch_of(o, CL_KERNEL_product);
    launch_uint(&l, p->items);
    launch_uint(&l, p->width);
    launch_uint(&l, p->terms);
    launch_slice(&l, p->a, sizeof(float));
    launch_uint(&l, p->a_item);
    launch_uint(&l, p->a_term);
    launch_slice(&l, p->b, sizeof(float));
    launch_uint(&l, p->b_term);
    launch_uint(&l, p->b_width);
    launch_slice(&l, p->out, sizeof(float));
    launch_uint(&l, p->out_stride);
    launch_slice(&l, p->more, sizeof(float));
    launch_int(&l, p->has_bias);
    launch_int(&l, (int)p->finish);
    launch_float(&l, op->learning_rate);
    launch_float(&l, op->mu);
    return launch_tiles(&l, p->out_stride, p->items, 1);
}

enum err opencl_dense_forward(struct opencl *o, const struct compute_op *op)
{
    if (op->rows <= FEW)
        return run_few(o, op, CL_KERNEL_few_forward, compute_stride(op->outputs), LINES);
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

enum err opencl_dense_input_gradient(struct opencl *o, const struct compute_op *op)
{
    if (op->rows <= FEW)
        return run_few(o, op, CL_KERNEL_few_input_gradient, compute_stride(op->inputs), LANES);
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
static enum err run_weight_gradient(struct opencl *o, const struct compute_op *op, enum cl_finish how,
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
    launch_uint(&l, op->rows);
    launch_uint(&l, op->outputs);
    launch_uint(&l, stride);
    launch_reals(&l, &op->arg[1], 1);
    launch_reals(&l, &b, 1);
    launch_reals(&l, &b0, 1);
    launch_int(&l, (int)how);
    launch_float(&l, op->learning_rate);
    launch_float(&l, op->mu);
    return launch_many(&l, stride);
}

enum err opencl_dense_gradient(struct opencl *o, const struct compute_op *op)
{
    const struct compute_slice *a = op->arg;
    return run_weight_gradient(o, op, op->accumulate ? CL_FINISH_ADD : CL_FINISH_STORE, a[2], a[3], a[2],
                               a[3]);
}

enum err opencl_dense_update(struct opencl *o, const struct compute_op *op)
{
    const struct compute_slice *a = op->arg;
    return run_weight_gradient(o, op, CL_FINISH_STEP, a[2], a[3], a[4], a[5]);
}
