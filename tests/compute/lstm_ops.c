#include "tests/compute/lstm_ops.h"
#include <math.h>
#include <string.h>

/* Every exponent, some mantissas, both signs; and what is no ordinary number. */
static float gate_input(size_t i)
{
    static const float others[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, -NAN, 88.2f, -88.2f, 88.5f, -88.5f};
    const size_t num_others = sizeof others / sizeof *others;
    if (i < num_others)
        return others[i];
    i -= num_others;
    const float mantissa = 1 + (float)(i / 2 % 8) / 8 + (float)(i % 5) / 64;
    return ldexpf(i % 2 ? -mantissa : mantissa, (int)(i / 16 % 277) - 149);
}

/* Within 2 units in the last place. */
static void ck_near(float got, double expected, float input)
{
    if (isnan(input))
        ck_assert(isnan(got));
    else if (!(fabs((double)got - expected) <= 2.4e-7 * fabs(expected) + 2e-38))
        ck_abort_msg("%g, not %g, for %g", (double)got, expected, (double)input);
}

/* The gates of many rows of one step: what comes from x goes through them alone. */
static void ck_gates(struct compute *c)
{
    enum { UNITS = 4, ROWS = 4096, STRIDE = 16 };
    const struct compute_lstm g = {.steps = 1, .units = UNITS};
    struct compute_op op = {.kind = COMPUTE_LSTM_FORWARD, .rows = ROWS, .lstm = &g};
    struct operands o;
    make_operands(&op, 1, &o);
    memset(o.bytes[1], 0, o.info[1].bytes);
    for (size_t i = 0; i < (size_t)ROWS * STRIDE; i++)
        ((float *)(void *)o.bytes[2])[i] = gate_input(i / STRIDE * UNITS + i % UNITS);
    run_on(c, op, &o, 0);
    for (size_t i = 0; i < (size_t)ROWS * STRIDE; i++) {
        const float x = gate_input(i / STRIDE * UNITS + i % UNITS);
        const bool is_tanh = i % STRIDE / UNITS == 2;
        ck_near(((float *)(void *)o.bytes[2])[i], is_tanh ? tanh((double)x) : 1 / (1 + exp(-(double)x)), x);
    }
    free_operands(&o);
}

/* The same of the operation of its own. */
static void ck_tanh(struct compute *c)
{
    struct compute_op op = {.kind = COMPUTE_TANH_FORWARD, .rows = 16 * 277 + 13};
    struct operands o;
    make_operands(&op, 1, &o);
    float *x = (float *)(void *)o.bytes[0], *y = (float *)(void *)o.bytes[1];
    for (size_t i = 0; i < op.rows; i++)
        x[i] = gate_input(i);
    run_on(c, op, &o, 0);
    for (size_t i = 0; i < op.rows; i++) {
        ck_near(y[i], tanh((double)x[i]), x[i]);
        ck_assert(isnan(x[i]) || !signbit(y[i]) == !signbit(x[i]));
    }
    free_operands(&o);
}

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
    ck_gates(c);
    ck_tanh(c);
}
