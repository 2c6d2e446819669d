/* Steps of optimizers on a backend. */
#ifndef FEDLANE_TESTS_COMPUTE_DESCENT_OPS_H
#define FEDLANE_TESTS_COMPUTE_DESCENT_OPS_H

#include "tests/compute/op_check.h"

void ck_descent_ops(struct compute *c, struct compute *reference);
/* Against the formulas of docs/algorithms.md. */
void ck_descents_by_hand(struct compute *c);

#endif
