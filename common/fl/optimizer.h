/* How a device's steps are made of gradients. Names, defaults and formulas of momentum and adam are those of
 * PyTorch's torch.optim.SGD and Adam and torch.nn.utils.clip_grad_norm_; docs/algorithms.md has them all.
 * With L the mean loss of a batch, w_t the weights that the device received:
 *
 *   g = clip(grad L) + weight_decay w,  clip(x) = x min(1, clip_norm / (||x|| + 1e-6)), ||x|| over all
 * tensors sgd       d = g momentum  v <- momentum v + g,  d = v adam      m <- beta1 m + (1 - beta1) g,  v <-
 * beta2 v + (1 - beta2) g^2, and in step t = 1, 2, ... d = (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) +
 * epsilon) w <- w - learning_rate (d + mu (w - w_t))
 *
 * prox_momentum and prox_adam put the proximal term through their state, which is another algorithm than
 * FedProx: there mu (w - w_t) is part of g, and w <- w - learning_rate d. States are zeros at the begin of
 * each job, and never leave the device. */
#ifndef FEDLANE_FL_OPTIMIZER_H
#define FEDLANE_FL_OPTIMIZER_H

#include <stdbool.h>
#include <stddef.h>
#include "common/base/err.h"

enum optimizer_kind {
    OPTIMIZER_SGD,
    OPTIMIZER_MOMENTUM,
    OPTIMIZER_ADAM,
    OPTIMIZER_PROX_MOMENTUM,
    OPTIMIZER_PROX_ADAM,
    OPTIMIZER_COUNT
};

#define OPTIMIZER_MOMENTUM_DEFAULT 0.9
#define OPTIMIZER_BETA1_DEFAULT    0.9
#define OPTIMIZER_BETA2_DEFAULT    0.999
#define OPTIMIZER_EPSILON_DEFAULT  1e-8

/* Of momentum, beta1 and beta2: 0 to this. At 1 a state never forgets, or never learns. */
#define OPTIMIZER_MEMORY_MOST   0.999999
#define OPTIMIZER_EPSILON_LEAST 1e-12
#define OPTIMIZER_EPSILON_MOST  1.0
#define OPTIMIZER_DECAY_MOST    1e6
#define OPTIMIZER_CLIP_LEAST    1e-12
#define OPTIMIZER_CLIP_MOST     1e12

/* All zero is plain SGD. */
struct optimizer {
    enum optimizer_kind kind;
    double momentum;              /* of momentum, prox_momentum */
    double beta1, beta2, epsilon; /* of adam, prox_adam */
    double weight_decay;          /* 0: none */
    double clip_norm;             /* 0: none */
};

/* Of that kind, with its defaults. */
struct optimizer optimizer_of(enum optimizer_kind kind);

/* The names by kind, NULL at their end. */
extern const char *const optimizer_names[OPTIMIZER_COUNT + 1];
const char *optimizer_name(enum optimizer_kind kind);
/* false: there is none of that name. */
bool optimizer_find(const char *name, enum optimizer_kind *out) MUST_CHECK;

bool optimizer_has_momentum(enum optimizer_kind kind);
bool optimizer_has_betas(enum optimizer_kind kind);
/* Whether the proximal term goes through the state. */
bool optimizer_is_prox(enum optimizer_kind kind);
/* How many values it keeps for each parameter, from step to step. */
size_t optimizer_num_states(enum optimizer_kind kind);
/* Plain SGD: every layer may step on its own as soon as its gradient is there. */
bool optimizer_is_plain(const struct optimizer *o);

/* ERR_INVALID_FIELD, naming what is out of range ("training.momentum") and the range. Settings that its kind
 * does not have are not looked at. */
enum err optimizer_check(const struct optimizer *o, struct fault *fault) MUST_CHECK;

#endif
