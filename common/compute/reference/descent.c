#include <math.h>
#include "common/compute/compute_descent.h"
#include "common/compute/reference/reference.h"

/* Of one parameter; m and v are its states, whichever the rule has. */
static double direction(const struct compute_descent *d, double g, real *m, real *v)
{
    if (d->rule == COMPUTE_RULE_SGD)
        return g;
    *m = (real)((double)d->keep1 * (d->is_first ? 0 : (double)*m) + (double)d->take1 * g);
    if (d->rule == COMPUTE_RULE_MOMENTUM)
        return (double)*m;
    *v = (real)((double)d->keep2 * (d->is_first ? 0 : (double)*v) + (double)d->take2 * g * g);
    return (double)d->unbias1 * (double)*m / ((double)d->unbias2 * sqrt((double)*v) + (double)d->epsilon);
}

void reference_descent(const struct compute_op *op)
{
    const struct compute_descent *d = op->descent;
    const size_t states = compute_num_states(d->rule);
    const real *g = compute_arg(op, 0), *w0 = compute_arg(op, 2);
    real *w = compute_arg(op, 1), none = 0;
    real *m = states > 0 ? compute_arg(op, 3) : NULL, *v = states > 1 ? compute_arg(op, 4) : NULL;
    const double *squared_norm = d->clip_norm > 0 ? compute_arg(op, 5) : NULL;
    const double factor = squared_norm ? (double)compute_clip_factor(d, *squared_norm) : 1;
    for (size_t i = 0; i < op->rows; i++) {
        double pull = (double)op->mu * ((double)w[i] - (double)w0[i]);
        double of_loss = factor * (double)g[i] + (double)d->weight_decay * (double)w[i];
        double step =
            direction(d, d->is_prox ? of_loss + pull : of_loss, m ? &m[i] : &none, v ? &v[i] : &none);
        w[i] = (real)((double)w[i] - (double)op->learning_rate * (d->is_prox ? step : step + pull));
    }
}
