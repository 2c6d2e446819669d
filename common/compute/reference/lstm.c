#include <math.h>
#include "common/compute/compute_lstm.h"
#include "common/compute/reference/reference.h"

/* The state of a row and step: the gates, then these, of all units each. Backward turns the gates into their
 * gradients, and the cell into what of its gradient flows on to the step before. */
enum { GATE_I, GATE_F, GATE_G, GATE_O, CELL, TANH_CELL, PARTS };

static real *state_of(const struct compute_lstm *g, real *state, size_t r, size_t t, int part)
{
    return state + ((r * g->steps + t) * PARTS + (size_t)part) * compute_stride(g->units);
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double product(const real *a, const real *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

/* What goes into one gate of unit u. */
static double gate_sum(const struct compute_op *op, int gate, size_t u, const real *x, const real *h_before)
{
    const struct compute_lstm *g = op->lstm;
    const real *w_ih = compute_arg(op, 1), *w_hh = compute_arg(op, 2), *b_ih = compute_arg(op, 3),
               *b_hh = compute_arg(op, 4);
    size_t row = (size_t)gate * g->units + u;
    double sum = (double)b_ih[row] + (double)b_hh[row];
    sum += product(w_ih + row * compute_stride(g->inputs), x, g->inputs);
    if (h_before)
        sum += product(w_hh + row * compute_stride(g->units), h_before, g->units);
    return sum;
}

static void forward_step(const struct compute_op *op, size_t r, size_t t)
{
    const struct compute_lstm *g = op->lstm;
    const size_t stride = compute_stride(g->units);
    const real *x = (const real *)compute_arg(op, 0) + (r * g->steps + t) * compute_stride(g->inputs);
    real *h = (real *)compute_arg(op, 5) + (r * g->steps + t) * stride;
    for (size_t u = 0; u < stride; u++) {
        double parts[PARTS] = {0}, before = 0;
        for (int k = GATE_I; k <= GATE_O && u < g->units; k++) {
            double sum = gate_sum(op, k, u, x, t ? h - stride : NULL);
            parts[k] = k == GATE_G ? tanh(sum) : sigmoid(sum);
        }
        if (t)
            before = (double)state_of(g, compute_arg(op, 6), r, t - 1, CELL)[u];
        parts[CELL] = parts[GATE_F] * before + parts[GATE_I] * parts[GATE_G];
        parts[TANH_CELL] = tanh(parts[CELL]);
        for (int k = 0; k < PARTS; k++)
            state_of(g, compute_arg(op, 6), r, t, k)[u] = (real)parts[k];
        h[u] = (real)(parts[GATE_O] * parts[TANH_CELL]);
        if (g->is_last_only && t + 1 == g->steps)
            ((real *)compute_arg(op, 7))[r * stride + u] = h[u];
    }
}

void reference_lstm_forward(const struct compute_op *op)
{
    for (size_t r = 0; r < op->rows; r++) {
        for (size_t t = 0; t < op->lstm->steps; t++)
            forward_step(op, r, t);
    }
}

/* The gradient of h of step t: what came from above, and what step t + 1 made of it. */
static double output_gradient(const struct compute_op *op, size_t r, size_t t, size_t u)
{
    const struct compute_lstm *g = op->lstm;
    const size_t stride = compute_stride(g->units);
    const real *dh = compute_arg(op, 0), *w_hh = compute_arg(op, 2);
    double sum = 0;
    if (!g->is_last_only)
        sum = (double)dh[(r * g->steps + t) * stride + u];
    else if (t + 1 == g->steps)
        sum = (double)dh[r * stride + u];
    for (int k = GATE_I; k <= GATE_O && t + 1 < g->steps; k++) {
        const real *gates = state_of(g, compute_arg(op, 3), r, t + 1, k);
        for (size_t v = 0; v < g->units; v++)
            sum += (double)gates[v] * (double)w_hh[((size_t)k * g->units + v) * stride + u];
    }
    return sum;
}

static void backward_unit(const struct compute_op *op, size_t r, size_t t, size_t u)
{
    const struct compute_lstm *g = op->lstm;
    double p[PARTS], before = 0, flowing = 0;
    for (int k = 0; k < PARTS; k++)
        p[k] = (double)state_of(g, compute_arg(op, 3), r, t, k)[u];
    if (t)
        before = (double)state_of(g, compute_arg(op, 3), r, t - 1, CELL)[u];
    if (t + 1 < g->steps)
        flowing = (double)state_of(g, compute_arg(op, 3), r, t + 1, CELL)[u];
    double dh = output_gradient(op, r, t, u);
    double dc = dh * p[GATE_O] * (1 - p[TANH_CELL] * p[TANH_CELL]) + flowing;
    const double out[] = {[GATE_I] = dc * p[GATE_G] * p[GATE_I] * (1 - p[GATE_I]),
                          [GATE_F] = dc * before * p[GATE_F] * (1 - p[GATE_F]),
                          [GATE_G] = dc * p[GATE_I] * (1 - p[GATE_G] * p[GATE_G]),
                          [GATE_O] = dh * p[TANH_CELL] * p[GATE_O] * (1 - p[GATE_O]),
                          [CELL] = dc * p[GATE_F]};
    for (int k = GATE_I; k <= CELL; k++)
        state_of(g, compute_arg(op, 3), r, t, k)[u] = (real)out[k];
}

/* dx of one row and step, from the gates' gradients. */
static void input_gradient(const struct compute_op *op, size_t r, size_t t)
{
    const struct compute_lstm *g = op->lstm;
    const size_t stride = compute_stride(g->inputs);
    const real *w_ih = compute_arg(op, 1);
    real *dx = (real *)compute_arg(op, 4) + (r * g->steps + t) * stride;
    for (size_t j = 0; j < stride; j++) {
        double sum = 0;
        for (int k = GATE_I; k <= GATE_O && j < g->inputs; k++) {
            const real *gates = state_of(g, compute_arg(op, 3), r, t, k);
            for (size_t u = 0; u < g->units; u++)
                sum += (double)gates[u] * (double)w_ih[((size_t)k * g->units + u) * stride + j];
        }
        dx[j] = (real)sum;
    }
}

void reference_lstm_backward(const struct compute_op *op)
{
    const struct compute_lstm *g = op->lstm;
    for (size_t r = 0; r < op->rows; r++) {
        for (size_t t = g->steps; t-- > 0;) {
            for (size_t u = 0; u < g->units; u++)
                backward_unit(op, r, t, u);
            if (g->needs_dx)
                input_gradient(op, r, t);
        }
    }
}

/* Of weight [row][j] of w_ih or w_hh: the sum over rows and steps of the gate's gradient and what it was
 * multiplied with, `lag` steps before; of a bias where values is NULL. */
static double weight_gradient(const struct compute_op *op, size_t row, const real *values, size_t width,
                              size_t j, size_t lag)
{
    const struct compute_lstm *g = op->lstm;
    double sum = 0;
    for (size_t r = 0; r < op->rows; r++) {
        for (size_t t = lag; t < g->steps; t++) {
            double gate =
                (double)state_of(g, compute_arg(op, 2), r, t, (int)(row / g->units))[row % g->units];
            sum +=
                values ? gate * (double)values[(r * g->steps + t - lag) * compute_stride(width) + j] : gate;
        }
    }
    return sum;
}

void reference_lstm_gradient(const struct compute_op *op)
{
    const struct compute_lstm *g = op->lstm;
    const size_t inputs = compute_stride(g->inputs), units = compute_stride(g->units), rows = 4 * g->units;
    const real *x = compute_arg(op, 0), *h = compute_arg(op, 1);
    real *w_ih = compute_arg(op, 3), *w_hh = compute_arg(op, 4), *b_ih = compute_arg(op, 5),
         *b_hh = compute_arg(op, 6);
    for (size_t row = 0; row < rows; row++) {
        for (size_t j = 0; j < g->inputs; j++)
            reference_put(op, &w_ih[row * inputs + j], weight_gradient(op, row, x, g->inputs, j, 0));
        for (size_t j = 0; j < g->units; j++)
            reference_put(op, &w_hh[row * units + j], weight_gradient(op, row, h, g->units, j, 1));
        double bias = weight_gradient(op, row, NULL, 0, 0, 0);
        reference_put(op, &b_ih[row], bias);
        reference_put(op, &b_hh[row], bias);
    }
    reference_pad(w_ih, rows, g->inputs);
    reference_pad(w_hh, rows, g->units);
    reference_pad(b_ih, 1, rows);
    reference_pad(b_hh, 1, rows);
}

void reference_lstm_update(const struct compute_op *op)
{
    const struct compute_lstm *g = op->lstm;
    const size_t inputs = compute_stride(g->inputs), units = compute_stride(g->units), rows = 4 * g->units;
    const real *x = compute_arg(op, 0), *h = compute_arg(op, 1), *w0_ih = compute_arg(op, 7),
               *w0_hh = compute_arg(op, 8), *b0_ih = compute_arg(op, 9), *b0_hh = compute_arg(op, 10);
    real *w_ih = compute_arg(op, 3), *w_hh = compute_arg(op, 4), *b_ih = compute_arg(op, 5),
         *b_hh = compute_arg(op, 6);
    for (size_t row = 0; row < rows; row++) {
        for (size_t i = row * inputs, j = 0; j < g->inputs; j++)
            reference_step(op, &w_ih[i + j], w0_ih[i + j], weight_gradient(op, row, x, g->inputs, j, 0));
        for (size_t i = row * units, j = 0; j < g->units; j++)
            reference_step(op, &w_hh[i + j], w0_hh[i + j], weight_gradient(op, row, h, g->units, j, 1));
        double bias = weight_gradient(op, row, NULL, 0, 0, 0);
        reference_step(op, &b_ih[row], b0_ih[row], bias);
        reference_step(op, &b_hh[row], b0_hh[row], bias);
    }
}
