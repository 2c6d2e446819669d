/* The proximal coefficient mu of FedProx [arXiv 1812.06127, section 3.2]: h_k(w; w_t) = F_k(w) + (mu/2) ||w -
 * w_t||^2. */
#ifndef FEDLANE_FL_PROXIMAL_H
#define FEDLANE_FL_PROXIMAL_H

#include <stdbool.h>
#include <stdint.h>

/* Dynamic mu [appendix C.3.3]: mu rises by `step` when the global train loss rose, and sinks by `step`, not
 * below 0, after `patience` falls in a row. The members are the whole state, to be stored between rounds. */
struct dynamic_mu {
    double mu; /* for the round that comes */
    double step;
    int64_t patience;
    int64_t falls; /* in a row */
    double last_loss;
    bool has_last;
};

struct dynamic_mu dynamic_mu_start(double start, double step,
                                   int64_t patience); /* the paper: step 0.1, patience 5 */
/* f(w_t), before round t's training; called once a round. The first only sets the mark; an equal loss changes
 * nothing; NaN is no measurement and changes nothing either. */
void dynamic_mu_observe(struct dynamic_mu *d, double train_loss);

/* Whether the proximal term alone makes explicit steps diverge: learning_rate * mu >= 2. */
bool proximal_is_unstable(double learning_rate, double mu);

/* gamma-inexactness [definition 2] from ||grad h_k(w; w_t)|| and ||grad h_k(w_t; w_t)||: 1 for no work, 0 at
 * the minimum, 0 where the start already was one. */
double gamma_inexactness(double grad_norm_end, double grad_norm_start);

#endif
