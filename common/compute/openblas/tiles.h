/* How operations are cut into parts of their results, for threads that have nothing else to do (team.h). A
 * sum is never cut, and its order never depends on the part that it falls into: our own kernels give the same
 * bits for any cut. BLAS does not, and gets tiles that the sizes alone decide (openblas.c). */
#ifndef FEDLANE_COMPUTE_OPENBLAS_TILES_H
#define FEDLANE_COMPUTE_OPENBLAS_TILES_H

#include "common/compute/compute_impl.h"
#include "common/compute/team.h"

/* What team_run takes. */
struct tiles {
    size_t count, unit, parts;
};
struct tiles tiles_of(const struct compute_op *op);

/* All of it in one part. */
struct team_part tiles_all(const struct compute_op *op);

/* How many seats an operation must have scratch memory for. */
size_t tiles_seats(const struct compute_op *op);

/* Whether a dense forward operation or input gradient is cut by rows, not by columns of its result. */
static inline bool tiles_are_rows(const struct compute_op *op)
{
    return op->rows > (op->kind == COMPUTE_DENSE_FORWARD ? op->outputs : op->inputs);
}

/* Whether a dense operation has so many rows that packing its operands pays. Only the sizes decide, so that
 * bits never depend on a measurement. */
static inline bool tiles_are_many(const struct compute_op *op)
{
    if (op->kind == COMPUTE_DENSE_GRADIENT || op->kind == COMPUTE_DENSE_UPDATE)
        return op->rows > 128;
    return op->kind <= COMPUTE_DENSE_INPUT_GRADIENT && op->rows >= 32 && op->outputs >= 32;
}

/* Operations on vectors of one length, value by value. */
bool tiles_are_elements(const struct compute_op *op);
/* Such an operation on a part of its vectors. */
struct compute_op tiles_elements(const struct compute_op *op, const struct team_part *part);

#endif
