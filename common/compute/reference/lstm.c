#include <math.h>
#include "common/compute/compute_lstm.h"
#include "common/compute/reference/reference.h"

enum { GATE_I, GATE_F, GATE_G, GATE_O, NUM_GATES };

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* One step of one row: z, cells, h and h_before are that step's. */
static void forward_step(const struct compute_op *op, size_t step, bool is_first)
{
    const struct compute_lstm *g = op->lstm;
    const size_t units = g->units, stride = compute_stride(units);
    const real *w_hh = compute_arg(op, 0), *b_hh = compute_arg(op, 1);
    real *z = (real *)compute_arg(op, 2) + step * compute_stride(4 * units);
    real *cells = (real *)compute_arg(op, 3) + step * stride, *h = (real *)compute_arg(op, 4) + step * stride,
         *h_before = (real *)compute_arg(op, 5) + step * stride;
    for (size_t u = 0; u < stride; u++)
        h_before[u] = is_first || u >= units ? 0 : *(h - stride + u);
    for (size_t row = 0; row < 4 * units; row++) {
        double sum = (double)z[row] + (double)b_hh[row];
        for (size_t u = 0; u < units; u++)
            sum += (double)w_hh[row * stride + u] * (double)h_before[u];
        z[row] = (real)(row / units == GATE_G ? tanh(sum) : sigmoid(sum));
    }
    for (size_t u = 0; u < units; u++) {
        double before = is_first ? 0 : (double)*(cells - stride + u);
        double cell = (double)z[GATE_F * units + u] * before +
                      (double)z[GATE_I * units + u] * (double)z[GATE_G * units + u];
        cells[u] = (real)cell;
        h[u] = (real)((double)z[GATE_O * units + u] * tanh(cell));
    }
    reference_pad(cells, 1, units);
    reference_pad(h, 1, units);
}

void reference_lstm_forward(const struct compute_op *op)
{
    for (size_t i = 0; i < op->rows * op->lstm->steps; i++)
        forward_step(op, i, i % op->lstm->steps == 0);
}

/* The gradient of h of unit u of step t in row r: what came from above, and what the next step made of it. */
static double output_gradient(const struct compute_op *op, size_t r, size_t t, size_t u)
{
    const struct compute_lstm *g = op->lstm;
    const size_t stride = compute_stride(g->units), step = r * g->steps + t;
    const bool is_last = t + 1 == g->steps;
    const real *dh = compute_arg(op, 0), *w_hh = compute_arg(op, 1);
    const real *next = (const real *)compute_arg(op, 2) + (step + 1) * compute_stride(4 * g->units);
    double sum = 0;
    if (!g->is_last_only)
        sum = (double)dh[step * stride + u];
    else if (is_last)
        sum = (double)dh[r * stride + u];
    for (size_t row = 0; !is_last && row < 4 * g->units; row++)
        sum += (double)next[row] * (double)w_hh[row * stride + u];
    return sum;
}

/* A step's cell becomes the gradient that flows from it to the cell of the step before. */
static void backward_unit(const struct compute_op *op, size_t r, size_t t, size_t u)
{
    const struct compute_lstm *g = op->lstm;
    const size_t units = g->units, stride = compute_stride(units), step = r * g->steps + t;
    real *z = (real *)compute_arg(op, 2) + step * compute_stride(4 * units) + u;
    real *cell = (real *)compute_arg(op, 3) + step * stride + u;
    const double i = (double)z[GATE_I * units], f = (double)z[GATE_F * units], k = (double)z[GATE_G * units],
                 o = (double)z[GATE_O * units], squashed = tanh((double)*cell);
    const double before = t == 0 ? 0 : (double)*(cell - stride);
    const double flowing = t + 1 == g->steps ? 0 : (double)cell[stride];
    double dh = output_gradient(op, r, t, u), dc = dh * o * (1 - squashed * squashed) + flowing;
    z[GATE_I * units] = (real)(dc * k * i * (1 - i));
    z[GATE_F * units] = (real)(dc * before * f * (1 - f));
    z[GATE_G * units] = (real)(dc * i * (1 - k * k));
    z[GATE_O * units] = (real)(dh * squashed * o * (1 - o));
    *cell = (real)(dc * f);
}

void reference_lstm_backward(const struct compute_op *op)
{
    for (size_t r = 0; r < op->rows; r++) {
        for (size_t t = op->lstm->steps; t-- > 0;) {
            for (size_t u = 0; u < op->lstm->units; u++)
                backward_unit(op, r, t, u);
        }
    }
}
