#ifndef FEDLANE_TESTS_COMPUTE_SEQUENCE_OPS_H
#define FEDLANE_TESTS_COMPUTE_SEQUENCE_OPS_H

#include "tests/compute/op_check.h"

void ck_sequence_ops(struct compute *c, struct compute *reference);

#endif
