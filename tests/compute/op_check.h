/* One operation on a backend against the reference, on the same random operands. */
#ifndef FEDLANE_TESTS_COMPUTE_OP_CHECK_H
#define FEDLANE_TESTS_COMPUTE_OP_CHECK_H

#include "common/compute/compute_impl.h"
#include "common/compute/compute_image.h"
#include "common/compute/compute_lstm.h"
#include "tests/support/unit.h"

enum { GUARD = 16 }; /* floats behind each operand that must stay as they are */

struct operands {
    unsigned char *bytes[COMPUTE_MAX_ARGS];
    struct compute_operand info[COMPUTE_MAX_ARGS];
    int count;
};

/* Numbers around 0, small integers for labels, places in a window for bytes, zeros for padding; outputs start
 * as numbers that nobody computes, with their padding. */
void make_operands(const struct compute_op *op, uint64_t seed, struct operands *out);
/* Whether value i of an operand is padding. */
bool is_padding(const struct compute_op *op, int arg, size_t i);
struct operands copy_operands(const struct operands *from);
void free_operands(struct operands *o);
/* Runs op on a backend with operands `shift` bytes off the buffer's start; results replace the operands'
 * bytes. */
void run_on(struct compute *c, struct compute_op op, struct operands *o, size_t shift);
/* The error's power over the values': operands are of the size of 1, so where sums cancel to less than 0.03
 * the error is absolute. */
double nmse(const float *got, const float *expected, size_t n);
/* Results within rounding of the reference's, padding 0, nothing else touched, the same bits at any
 * alignment. */
void ck_op(struct compute *c, struct compute *reference, struct compute_op op);

#endif
