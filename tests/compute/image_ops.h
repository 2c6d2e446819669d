#ifndef FEDLANE_TESTS_COMPUTE_IMAGE_OPS_H
#define FEDLANE_TESTS_COMPUTE_IMAGE_OPS_H

#include "tests/compute/op_check.h"

void ck_image_ops(struct compute *c, struct compute *reference);

#endif
