/* Steps of sequences and tables of tokens on a backend, against the reference. */
#include "tests/compute/sequence_ops.h"

void ck_sequence_ops(struct compute *c, struct compute *reference)
{
    static const size_t shapes[][3] = {{0, 3, 4}, {1, 1, 1}, {2, 3, 17}, {10, 80, 100}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const struct compute_lstm g = {.steps = shapes[i][1], .units = shapes[i][2]};
        ck_op(c, reference, (struct compute_op){.kind = COMPUTE_LAST_STEP, .rows = shapes[i][0], .lstm = &g});
    }
    static const size_t tables[][4] = {
        {0, 3, 4, 5}, {1, 1, 1, 1}, {3, 17, 5, 8}, {10, 80, 80, 8}, {2, 5, 300, 33}};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        const struct compute_table g = {tables[i][1], tables[i][2], tables[i][3]};
        struct compute_op op = {.kind = COMPUTE_GATHER, .rows = tables[i][0], .table = &g};
        ck_op(c, reference, op);
        op.kind = COMPUTE_SCATTER_ADD;
        ck_op(c, reference, op);
        op.accumulate = true;
        ck_op(c, reference, op);
    }
}
