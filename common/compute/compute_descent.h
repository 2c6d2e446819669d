/* The step of an optimizer over all parameters at once: what momentum, adam, clipping and weight decay want
 * beside the gradient's own proximal step (compute_dense_update and the like, which never write the
 * gradient). The rules' formulas are in common/fl/optimizer.h. */
#ifndef FEDLANE_COMPUTE_COMPUTE_DESCENT_H
#define FEDLANE_COMPUTE_COMPUTE_DESCENT_H

#include "common/compute/compute.h"

enum compute_rule { COMPUTE_RULE_SGD, COMPUTE_RULE_MOMENTUM, COMPUTE_RULE_ADAM };

struct compute_descent {
    enum compute_rule rule;
    bool is_first; /* states count as zeros and are only written */
    bool is_prox;  /* mu (w - w0) is part of the gradient that the state takes, not beside the direction */
    real weight_decay;
    real clip_norm;    /* 0: squared_norm is not looked at */
    real keep1, take1; /* m <- keep1 m + take1 g; momentum: take1 is 1 */
    real keep2, take2; /* v <- keep2 v + take2 g^2, of adam */
    real unbias1;      /* 1 / (1 - beta1^t) */
    real unbias2;      /* 1 / sqrt(1 - beta2^t) */
    real epsilon;
};

/* The most that has states. */
enum { COMPUTE_MAX_STATES = 2 };

static inline size_t compute_num_states(enum compute_rule rule)
{
    return rule == COMPUTE_RULE_ADAM ? 2 : rule == COMPUTE_RULE_MOMENTUM ? 1 : 0;
}

/* With vectors of n: g' = clip(g) + weight_decay w, and mu (w - w0) if is_prox; clip(x) = x min(1, clip_norm
 * / (norm + 1e-6)), norm the root of squared_norm, a double (compute_dot writes it). States m and v take g';
 * the direction is d = g', or m, or unbias1 m / (unbias2 sqrt(v) + epsilon). w <- w - learning_rate d, or w -
 * learning_rate (d + mu (w - w0)). States beyond the rule's are left out. */
enum err compute_descent(struct compute *c, size_t n, const struct compute_descent *d, real learning_rate,
                         real mu, struct compute_slice g, struct compute_slice w, struct compute_slice w0,
                         const struct compute_slice states[COMPUTE_MAX_STATES],
                         struct compute_slice squared_norm) MUST_CHECK;

/* What the gradient is multiplied by. Not finite where the norm is not: a training that diverged shows it. */
real compute_clip_factor(const struct compute_descent *d, double squared_norm);

#endif
