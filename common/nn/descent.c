#include "common/nn/descent.h"

#include <math.h>

struct compute_descent descent_of(const struct optimizer *o, uint64_t step)
{
    struct compute_descent d = {.rule = COMPUTE_RULE_SGD,
                                .is_first = step == 1,
                                .is_prox = optimizer_is_prox(o->kind),
                                .weight_decay = (real)o->weight_decay,
                                .clip_norm = (real)o->clip_norm};
    if (optimizer_has_momentum(o->kind)) {
        d.rule = COMPUTE_RULE_MOMENTUM;
        d.keep1 = (real)o->momentum;
        d.take1 = 1;
    } else if (optimizer_has_betas(o->kind)) {
        d.rule = COMPUTE_RULE_ADAM;
        d.keep1 = (real)o->beta1;
        d.take1 = (real)(1 - o->beta1);
        d.keep2 = (real)o->beta2;
        d.take2 = (real)(1 - o->beta2);
        d.unbias1 = (real)(1 / (1 - pow(o->beta1, (double)step)));
        d.unbias2 = (real)(1 / sqrt(1 - pow(o->beta2, (double)step)));
        d.epsilon = (real)o->epsilon;
    }
    return d;
}
