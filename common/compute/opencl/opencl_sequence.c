/* Tables of tokens and the LSTM on OpenCL: sequence.cl, lstm.cl. */
#include "common/compute/compute_lstm.h"
#include "common/compute/opencl/launch.h"

enum { MEMBERS = 128, TOGETHER = 2 }; /* as lstm.cl has them */

size_t opencl_lstm_scratch(const struct compute_op *op)
{
    return op->kind == COMPUTE_LSTM_FORWARD ? 4 * op->lstm->units * op->lstm->units * sizeof(float) : 0;
}

/* A group for every TOGETHER examples. */
static enum err run_through(struct launch *l, size_t rows)
{
    const size_t local = MEMBERS, global = (rows + TOGETHER - 1) / TOGETHER * MEMBERS;
    return launch_groups(l, 1, &global, &local);
}

static struct launch launch_lstm(struct opencl *o, const struct compute_op *op, enum cl_kernel_name name)
{
    struct launch l = launch_of(o, name);
    launch_uint(&l, op->rows);
    launch_uint(&l, op->lstm->steps);
    launch_uint(&l, op->lstm->units);
    launch_uint(&l, compute_stride(op->lstm->units));
    launch_uint(&l, compute_stride(4 * op->lstm->units));
    return l;
}

enum err opencl_lstm_forward(struct opencl *o, const struct compute_op *op)
{
    const size_t units = op->lstm->units;
    struct launch pack = launch_of(o, CL_KERNEL_lstm_pack);
    launch_uint(&pack, units);
    launch_uint(&pack, compute_stride(units));
    launch_reals(&pack, &op->arg[0], 1);
    launch_reals(&pack, &op->scratch, 1);
    enum err err = launch_matrix(&pack, units, 4 * units);
    if (err)
        return err;
    struct launch l = launch_lstm(o, op, CL_KERNEL_lstm_forward);
    launch_reals(&l, &op->scratch, 1);
    launch_reals(&l, &op->arg[1], 5);
    return run_through(&l, op->rows);
}

enum err opencl_lstm_backward(struct opencl *o, const struct compute_op *op)
{
    struct launch l = launch_lstm(o, op, CL_KERNEL_lstm_backward);
    launch_int(&l, op->lstm->is_last_only);
    launch_reals(&l, op->arg, 4);
    return run_through(&l, op->rows);
}

enum err opencl_last_step(struct opencl *o, const struct compute_op *op)
{
    const size_t stride = compute_stride(op->lstm->units);
    struct launch l = launch_of(o, CL_KERNEL_last_step);
    launch_uint(&l, op->rows);
    launch_uint(&l, op->lstm->steps);
    launch_uint(&l, stride);
    launch_reals(&l, op->arg, 2);
    return launch_matrix(&l, stride, op->rows);
}

enum err opencl_gather(struct opencl *o, const struct compute_op *op)
{
    const struct compute_table *g = op->table;
    const size_t stride = compute_stride(g->width), count = op->rows * g->steps;
    struct launch l = launch_of(o, CL_KERNEL_gather);
    launch_uint(&l, count);
    launch_uint(&l, g->steps);
    launch_uint(&l, compute_stride(g->steps));
    launch_uint(&l, stride);
    launch_reals(&l, op->arg, 3);
    return launch_matrix(&l, stride, count);
}

enum err opencl_scatter_add(struct opencl *o, const struct compute_op *op)
{
    const struct compute_table *g = op->table;
    const size_t stride = compute_stride(g->width);
    struct launch l = launch_of(o, CL_KERNEL_scatter_add);
    launch_uint(&l, op->rows * g->steps);
    launch_uint(&l, g->steps);
    launch_uint(&l, compute_stride(g->steps));
    launch_uint(&l, g->vocabulary);
    launch_uint(&l, stride);
    launch_int(&l, op->accumulate);
    launch_reals(&l, op->arg, 3);
    return launch_matrix(&l, stride, g->vocabulary);
}
