/* Steps of optimizers on OpenCL: descent.cl. */
#include "common/compute/compute_descent.h"
#include "common/compute/opencl/launch.h"

/* descent.cl's struct descent */
struct cl_descent {
    cl_int rule, is_first, is_prox;
    cl_float learning_rate, mu, weight_decay, clip_norm;
    cl_float keep1, take1, keep2, take2, unbias1, unbias2, epsilon;
};

bool opencl_supports_descent(const struct opencl *o, const struct compute_op *op)
{
    return o->device->has_double || op->descent->clip_norm <= 0; /* the norm is a double */
}

enum err opencl_descent(struct opencl *o, const struct compute_op *op)
{
    const struct compute_descent *d = op->descent;
    const struct cl_descent sizes = {.rule = (cl_int)d->rule,
                                     .is_first = d->is_first,
                                     .is_prox = d->is_prox,
                                     .learning_rate = (cl_float)op->learning_rate,
                                     .mu = (cl_float)op->mu,
                                     .weight_decay = (cl_float)d->weight_decay,
                                     .clip_norm = (cl_float)d->clip_norm,
                                     .keep1 = (cl_float)d->keep1,
                                     .take1 = (cl_float)d->take1,
                                     .keep2 = (cl_float)d->keep2,
                                     .take2 = (cl_float)d->take2,
                                     .unbias1 = (cl_float)d->unbias1,
                                     .unbias2 = (cl_float)d->unbias2,
                                     .epsilon = (cl_float)d->epsilon};
    const size_t states = compute_num_states(d->rule);
    struct launch l = launch_of(o, CL_KERNEL_descent);
    launch_ulong(&l, op->rows);
    launch_bytes(&l, sizeof sizes, &sizes);
    launch_reals(&l, op->arg, 3);
    for (size_t i = 0; i < COMPUTE_MAX_STATES; i++) /* what the rule has not, the kernel leaves alone */
        launch_reals(&l, &op->arg[i < states ? 3 + i : 1], 1);
    launch_slice(&l, op->arg[d->clip_norm > 0 ? 5 : 0], 1);
    return launch_many(&l, op->rows);
}
