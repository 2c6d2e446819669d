#ifndef FEDLANE_TESTS_COMPUTE_GRAD_OPS_H
#define FEDLANE_TESTS_COMPUTE_GRAD_OPS_H

#include "tests/compute/op_check.h"

/* The backward operations of a backend against central differences of its forward operations. */
void ck_gradients(struct compute *c);

#endif
