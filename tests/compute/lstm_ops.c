#include "tests/compute/lstm_ops.h"

void ck_lstm_ops(struct compute *c, struct compute *reference)
{
    static const size_t sizes[][3] = {/* rows, steps, units */
                                      {0, 3, 5},  {1, 1, 1},  {2, 3, 4},   {3, 2, 7},
                                      {5, 4, 16}, {7, 3, 17}, {10, 5, 33}, {13, 2, 100},
                                      {25, 2, 9}, {1, 0, 3},  {4, 6, 40},  {12, 1, 31}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int is_last_only = 0; is_last_only < 2; is_last_only++) {
            const struct compute_lstm g = {
                .steps = sizes[i][1], .units = sizes[i][2], .is_last_only = is_last_only != 0};
            struct compute_op op = {.kind = COMPUTE_LSTM_FORWARD, .rows = sizes[i][0], .lstm = &g};
            ck_op(c, reference, op);
            op.kind = COMPUTE_LSTM_BACKWARD;
            ck_op(c, reference, op);
        }
    }
}
