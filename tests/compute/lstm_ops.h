#ifndef FEDLANE_TESTS_COMPUTE_LSTM_OPS_H
#define FEDLANE_TESTS_COMPUTE_LSTM_OPS_H

#include "tests/compute/op_check.h"

/* The LSTM's steps, of many sizes, on a backend against the reference. */
void ck_lstm_ops(struct compute *c, struct compute *reference);

#endif
