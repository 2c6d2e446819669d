#include <math.h>
#include <string.h>
#include "common/compute/compute_image.h"
#include "common/compute/reference/reference.h"

static size_t input_at(const struct compute_conv *g, size_t y, size_t x, size_t c)
{
    return (y * g->width + x) * g->pixel + c;
}

static size_t weight_at(const struct compute_conv *g, size_t f, size_t ky, size_t kx, size_t c)
{
    return f * compute_conv_filter(g) + ky * compute_conv_run(g) + kx * g->pixel + c;
}

/* The input's row or column under place k of a window that stands at o; false outside of the image. */
static bool is_inside(size_t o, size_t stride, size_t k, size_t pad, size_t size, size_t *out)
{
    *out = o * stride + k - pad;
    return o * stride + k >= pad && *out < size;
}

/* The convolution itself, of one output. */
static real convolve(const struct compute_conv *g, const real *x, const real *w, const real *b, size_t oy,
                     size_t ox, size_t f)
{
    double sum = (double)b[f];
    for (size_t ky = 0; ky < g->kernel_height; ky++) {
        for (size_t kx = 0; kx < g->kernel_width; kx++) {
            size_t iy, ix;
            if (!is_inside(oy, g->stride, ky, g->pad_top, g->height, &iy) ||
                !is_inside(ox, g->stride, kx, g->pad_left, g->width, &ix))
                continue;
            for (size_t c = 0; c < g->channels; c++)
                sum += (double)x[input_at(g, iy, ix, c)] * (double)w[weight_at(g, f, ky, kx, c)];
        }
    }
    return (real)sum;
}

/* The first largest output of one window of the pool. */
static real largest_of(const struct compute_op *op, const real *x, size_t py, size_t px, size_t f,
                       uint8_t *out_where)
{
    const struct compute_conv *g = op->conv;
    const real *w = compute_arg(op, 1), *b = compute_arg(op, 2);
    real best = 0;
    for (size_t i = 0; i < g->pool.size * g->pool.size; i++) {
        size_t oy = py * g->pool.stride + i / g->pool.size, ox = px * g->pool.stride + i % g->pool.size;
        real v = convolve(g, x, w, b, oy, ox, f);
        if (i == 0 || v > best || (isnan(v) && !isnan(best))) {
            best = v;
            *out_where = (uint8_t)i;
        }
    }
    return best;
}

void reference_conv_forward(const struct compute_op *op)
{
    const struct compute_conv *g = op->conv;
    const size_t stride = compute_stride(g->filters), width = g->pool.size ? g->pool.out_width : g->out_width,
                 size = compute_conv_output(g);
    const real *w = compute_arg(op, 1), *b = compute_arg(op, 2);
    real *z = compute_arg(op, 3);
    uint8_t *largest = g->pool.size ? compute_arg(op, 4) : NULL;
    for (size_t i = 0; i < op->rows * size; i++) {
        const real *x = (const real *)compute_arg(op, 0) + i / size * compute_conv_input(g);
        size_t pixel = i % size / stride, y = pixel / width, f = i % stride;
        uint8_t where = 0;
        real v = 0;
        if (f < g->filters)
            v = g->pool.size ? largest_of(op, x, y, pixel % width, f, &where)
                             : convolve(g, x, w, b, y, pixel % width, f);
        if (g->has_relu && v <= 0) {
            v = 0;
            where = COMPUTE_CUT;
        }
        z[i] = v;
        if (largest)
            largest[i] = where;
    }
}

/* Row r's gradient of the convolution's own output, before relu and pool. */
static double output_gradient(const struct compute_conv *g, const real *dz, const void *seen, size_t r,
                              size_t oy, size_t ox, size_t f)
{
    const size_t stride = compute_stride(g->filters);
    dz += r * compute_conv_output(g) + f;
    if (g->pool.size == 0) {
        size_t at = (oy * g->out_width + ox) * stride;
        bool is_cut = g->has_relu && ((const real *)seen)[r * compute_conv_output(g) + at + f] <= 0;
        return is_cut ? 0 : (double)dz[at];
    }
    size_t size = g->pool.size, py = oy / size, px = ox / size;
    if (py >= g->pool.out_height || px >= g->pool.out_width)
        return 0;
    size_t at = (py * g->pool.out_width + px) * stride;
    const uint8_t *largest = (const uint8_t *)seen + r * compute_conv_output(g) + f;
    return largest[at] == oy % size * size + ox % size ? (double)dz[at] : 0;
}

/* The output that a pixel meets at place k of the kernel. */
static bool is_met(size_t i, size_t stride, size_t k, size_t pad, size_t size, size_t *out)
{
    size_t from = i + pad - k;
    *out = from / stride;
    return i + pad >= k && from % stride == 0 && *out < size;
}

static double pixel_gradient(const struct compute_op *op, size_t r, size_t y, size_t x, size_t c)
{
    const struct compute_conv *g = op->conv;
    const real *dz = compute_arg(op, 0), *w = compute_arg(op, 2);
    double sum = 0;
    for (size_t ky = 0; ky < g->kernel_height; ky++) {
        for (size_t kx = 0; kx < g->kernel_width; kx++) {
            size_t oy, ox;
            if (!is_met(y, g->stride, ky, g->pad_top, g->out_height, &oy) ||
                !is_met(x, g->stride, kx, g->pad_left, g->out_width, &ox))
                continue;
            for (size_t f = 0; f < g->filters; f++)
                sum += output_gradient(g, dz, compute_optional_arg(op, 1), r, oy, ox, f) *
                       (double)w[weight_at(g, f, ky, kx, c)];
        }
    }
    return sum;
}

void reference_conv_input_gradient(const struct compute_op *op)
{
    const struct compute_conv *g = op->conv;
    const size_t size = compute_conv_input(g);
    real *dx = compute_arg(op, 3);
    for (size_t i = 0; i < op->rows * size; i++) {
        size_t pixel = i % size / g->pixel, c = i % size % g->pixel;
        bool is_value = c < g->channels && pixel < g->height * g->width;
        dx[i] = is_value ? (real)pixel_gradient(op, i / size, pixel / g->width, pixel % g->width, c) : 0;
    }
}

static double weight_gradient(const struct compute_op *op, size_t ky, size_t kx, size_t c, size_t f)
{
    const struct compute_conv *g = op->conv;
    const real *dz = compute_arg(op, 1);
    double sum = 0;
    for (size_t i = 0; i < op->rows * g->out_height * g->out_width; i++) {
        size_t r = i / (g->out_height * g->out_width), oy = i / g->out_width % g->out_height,
               ox = i % g->out_width, iy, ix;
        const real *x = (const real *)compute_arg(op, 0) + r * compute_conv_input(g);
        if (is_inside(oy, g->stride, ky, g->pad_top, g->height, &iy) &&
            is_inside(ox, g->stride, kx, g->pad_left, g->width, &ix))
            sum += (double)x[input_at(g, iy, ix, c)] *
                   output_gradient(g, dz, compute_optional_arg(op, 2), r, oy, ox, f);
    }
    return sum;
}

static double bias_gradient(const struct compute_op *op, size_t f)
{
    const struct compute_conv *g = op->conv;
    const real *dz = compute_arg(op, 1);
    double sum = 0;
    for (size_t i = 0; i < op->rows * g->out_height * g->out_width; i++)
        sum += output_gradient(g, dz, compute_optional_arg(op, 2), i / (g->out_height * g->out_width),
                               i / g->out_width % g->out_height, i % g->out_width, f);
    return sum;
}

/* Each weight of filter f: what is done with its gradient is the caller's. False for padding. */
static bool is_weight(const struct compute_conv *g, size_t i, size_t *out_ky, size_t *out_kx, size_t *out_c)
{
    *out_ky = i / compute_conv_run(g);
    *out_kx = i % compute_conv_run(g) / g->pixel;
    *out_c = i % compute_conv_run(g) % g->pixel;
    return *out_kx < g->kernel_width && *out_c < g->channels;
}

void reference_conv_gradient(const struct compute_op *op)
{
    const struct compute_conv *g = op->conv;
    const size_t filter = compute_conv_filter(g);
    real *dw = compute_arg(op, 3), *db = compute_arg(op, 4);
    for (size_t f = 0; f < g->filters; f++) {
        for (size_t i = 0; i < filter; i++) {
            size_t ky, kx, c;
            if (is_weight(g, i, &ky, &kx, &c))
                reference_put(op, &dw[f * filter + i], weight_gradient(op, ky, kx, c, f));
            else
                dw[f * filter + i] = 0;
        }
        reference_put(op, &db[f], bias_gradient(op, f));
    }
    reference_pad(db, 1, g->filters);
}

void reference_conv_update(const struct compute_op *op)
{
    const struct compute_conv *g = op->conv;
    const size_t filter = compute_conv_filter(g);
    real *w = compute_arg(op, 3), *b = compute_arg(op, 4);
    const real *w0 = compute_arg(op, 5), *b0 = compute_arg(op, 6);
    for (size_t f = 0; f < g->filters; f++) {
        for (size_t i = f * filter; i < (f + 1) * filter; i++) {
            size_t ky, kx, c;
            if (is_weight(g, i - f * filter, &ky, &kx, &c))
                reference_step(op, &w[i], w0[i], weight_gradient(op, ky, kx, c, f));
        }
        reference_step(op, &b[f], b0[f], bias_gradient(op, f));
    }
}
