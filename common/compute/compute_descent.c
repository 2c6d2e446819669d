#include "common/compute/compute_descent.h"

#include <math.h>
#include "common/compute/compute_impl.h"

/* As torch.nn.utils.clip_grad_norm_ has it. */
#define CLIP_ALLOWANCE 1e-6

int compute_descent_operands(const struct compute_op *op, struct compute_operand out[COMPUTE_MAX_ARGS])
{
    const struct compute_descent *d = op->descent;
    const struct compute_operand none = {COMPUTE_IN, 0}, state = d->is_first
                                                                     ? COMPUTE_OPERAND(OUT, op->rows)
                                                                     : COMPUTE_OPERAND(IN_OUT, op->rows);
    const size_t states = compute_num_states(d->rule);
    out[0] = COMPUTE_OPERAND(IN, op->rows);
    out[1] = COMPUTE_OPERAND(IN_OUT, op->rows);
    out[2] = COMPUTE_OPERAND(IN, op->rows);
    out[3] = states > 0 ? state : none;
    out[4] = states > 1 ? state : none;
    out[5] = (struct compute_operand){COMPUTE_IN, d->clip_norm > 0 ? sizeof(double) : 0};
    return 6;
}

enum err compute_descent(struct compute *c, size_t n, const struct compute_descent *d, real learning_rate,
                         real mu, struct compute_slice g, struct compute_slice w, struct compute_slice w0,
                         const struct compute_slice states[COMPUTE_MAX_STATES],
                         struct compute_slice squared_norm)
{
    const struct compute_op op = {.kind = COMPUTE_DESCENT,
                                  .rows = n,
                                  .learning_rate = learning_rate,
                                  .mu = mu,
                                  .descent = d,
                                  .arg = {g, w, w0, states[0], states[1], squared_norm}};
    return compute_run(c, &op);
}

real compute_clip_factor(const struct compute_descent *d, double squared_norm)
{
    double factor = (double)d->clip_norm / (sqrt(squared_norm) + CLIP_ALLOWANCE);
    return factor >= 1 ? 1 : (real)factor;
}
