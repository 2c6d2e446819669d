#include "common/compute/openblas/conv.h"

#include <cblas.h>
#include <math.h>
#include <string.h>
#include "common/compute/compute_image.h"

/* One image at a time in scratch memory. */
struct work {
    const struct compute_conv *g;
    size_t pixels, terms, stride; /* outputs of the convolution; weights of each; filters with padding */
    float *windows;               /* [pixels][terms] */
    float *out;                   /* [pixels][stride]: the convolution's own output, or its gradient */
    float *gradient;              /* [filters][terms], then [stride]: of weights and bias */
};

static struct work work_of(const struct compute_op *op)
{
    const struct compute_conv *g = op->conv;
    struct work w = {.g = g,
                     .pixels = g->out_height * g->out_width,
                     .terms = compute_conv_filter(g),
                     .stride = compute_stride(g->filters),
                     .windows = compute_scratch_arg(op)};
    w.out = w.windows + w.pixels * w.terms;
    w.gradient = w.out + w.pixels * w.stride;
    return w;
}

size_t blas_conv_scratch(const struct compute_op *op)
{
    const struct compute_conv *g = op->conv;
    size_t pixels = g->out_height * g->out_width, terms = compute_conv_filter(g),
           stride = compute_stride(g->filters);
    size_t gradient = op->kind == COMPUTE_CONV_UPDATE ? g->filters * terms + stride : 0;
    return (pixels * (terms + stride) + gradient) * sizeof(float);
}

bool blas_conv_supports(const struct compute_op *op)
{
    const struct compute_conv *g = op->conv;
    const size_t most = 1u << 30, pixels = g->out_height * g->out_width, terms = compute_conv_filter(g);
    return pixels > 0 && terms > 0 && g->filters > 0 && pixels < most && terms < most && g->filters < most;
}

/* What a window's row sees of an image's: `count` values from `image`, and how many of the run stand before
 * them, outside. */
struct seen_row {
    size_t before, count, image;
};

static struct seen_row row_under(const struct compute_conv *g, size_t top, size_t left, size_t ky)
{
    size_t y = top + ky - g->pad_top; /* wraps around above the image */
    size_t from = left < g->pad_left ? g->pad_left - left : 0;
    size_t end = g->width + g->pad_left - left, to = end < g->kernel_width ? end : g->kernel_width;
    if (y >= g->height || left >= g->width + g->pad_left || from >= to)
        return (struct seen_row){0};
    return (struct seen_row){from * g->pixel, (to - from) * g->pixel,
                             (y * g->width + left + from - g->pad_left) * g->pixel};
}

/* An image's windows. */
static void take_windows(const struct work *w, const float *image)
{
    const struct compute_conv *g = w->g;
    const size_t run = compute_conv_run(g);
    float *window = w->windows;
    for (size_t p = 0; p < w->pixels; p++) {
        size_t top = p / g->out_width * g->stride, left = p % g->out_width * g->stride;
        for (size_t ky = 0; ky < g->kernel_height; ky++, window += run) {
            const struct seen_row row = row_under(g, top, left, ky);
            memset(window, 0, run * sizeof *window);
            memcpy(window + row.before, image + row.image, row.count * sizeof *window);
        }
    }
}

/* Adds up what the windows hold where they lie on the image. */
static void add_windows(const struct work *w, float *image)
{
    const struct compute_conv *g = w->g;
    const float *window = w->windows;
    for (size_t p = 0; p < w->pixels; p++) {
        size_t top = p / g->out_width * g->stride, left = p % g->out_width * g->stride;
        for (size_t ky = 0; ky < g->kernel_height; ky++, window += compute_conv_run(g)) {
            const struct seen_row row = row_under(g, top, left, ky);
            for (size_t i = 0; i < row.count; i++)
                image[row.image + i] += window[row.before + i];
        }
    }
}

static void finish_pixel(const struct work *w, const float *from, size_t window, size_t side, size_t row,
                         float *z, uint8_t *largest)
{
    for (size_t f = 0; f < w->stride; f++) {
        float best = from[f];
        size_t where = 0;
        for (size_t i = 1; i < window; i++) {
            float v = from[(i / side * row + i % side) * w->stride + f];
            if (v > best || (isnan(v) && !isnan(best))) {
                best = v;
                where = i;
            }
        }
        if (w->g->has_relu && best <= 0) {
            best = 0;
            where = COMPUTE_CUT;
        }
        z[f] = best;
        if (largest)
            largest[f] = (uint8_t)where;
    }
}

/* relu and pool, from the convolution's own output. */
static void finish_image(const struct work *w, float *z, uint8_t *largest)
{
    const struct compute_pool *pool = &w->g->pool;
    if (pool->size == 0) {
        for (size_t p = 0; p < w->pixels; p++)
            finish_pixel(w, w->out + p * w->stride, 1, 1, 0, z + p * w->stride, NULL);
        return;
    }
    for (size_t p = 0; p < pool->out_height * pool->out_width; p++) {
        size_t y = p / pool->out_width * pool->stride, x = p % pool->out_width * pool->stride;
        finish_pixel(w, w->out + (y * w->g->out_width + x) * w->stride, pool->size * pool->size, pool->size,
                     w->g->out_width, z + p * w->stride, largest + p * w->stride);
    }
}

static void forward(const struct compute_op *op)
{
    const struct work w = work_of(op);
    const size_t output = compute_conv_output(w.g);
    const float *weights = compute_arg(op, 1), *b = compute_arg(op, 2);
    for (size_t r = 0; r < op->rows; r++) {
        uint8_t *largest = w.g->pool.size ? (uint8_t *)compute_arg(op, 4) + r * output : NULL;
        take_windows(&w, (const float *)compute_arg(op, 0) + r * compute_conv_input(w.g));
        for (size_t p = 0; p < w.pixels; p++)
            memcpy(w.out + p * w.stride, b, w.stride * sizeof *b);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)w.pixels, (int)w.g->filters, (int)w.terms,
                    1, w.windows, (int)w.terms, weights, (int)w.terms, 1, w.out, (int)w.stride);
        finish_image(&w, (float *)compute_arg(op, 3) + r * output, largest);
    }
}

/* The gradient of the convolution's own output of image r, from that of z. */
static void spread_gradient(const struct work *w, const float *dz, const void *seen, size_t r)
{
    const struct compute_conv *g = w->g;
    const size_t output = compute_conv_output(g);
    dz += r * output;
    if (g->pool.size == 0) {
        const float *z = g->has_relu ? (const float *)seen + r * output : dz;
        for (size_t i = 0; i < output; i++)
            w->out[i] = g->has_relu && z[i] <= 0 ? 0 : dz[i];
        return;
    }
    const uint8_t *largest = (const uint8_t *)seen + r * output;
    memset(w->out, 0, w->pixels * w->stride * sizeof *w->out);
    for (size_t i = 0; i < output; i++) {
        if (largest[i] == COMPUTE_CUT)
            continue;
        size_t p = i / w->stride, y = p / g->pool.out_width * g->pool.stride + largest[i] / g->pool.size,
               x = p % g->pool.out_width * g->pool.stride + largest[i] % g->pool.size;
        w->out[(y * g->out_width + x) * w->stride + i % w->stride] += dz[i];
    }
}

static void input_gradient(const struct compute_op *op)
{
    const struct work w = work_of(op);
    const size_t input = compute_conv_input(w.g);
    const float *weights = compute_arg(op, 2);
    float *dx = compute_arg(op, 3);
    memset(dx, 0, op->rows * input * sizeof *dx);
    for (size_t r = 0; r < op->rows; r++) {
        spread_gradient(&w, compute_arg(op, 0), compute_optional_arg(op, 1), r);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)w.pixels, (int)w.terms, (int)w.g->filters,
                    1, w.out, (int)w.stride, weights, (int)w.terms, 0, w.windows, (int)w.terms);
        add_windows(&w, dx + r * input);
    }
}

/* The gradient of weights and bias, summed from zero unless `accumulate`. */
static void weight_gradients(const struct compute_op *op, const struct work *w, bool accumulate, float *dw,
                             float *db)
{
    if (!accumulate)
        memset(db, 0, w->stride * sizeof *db);
    if (!accumulate && op->rows == 0)
        memset(dw, 0, w->g->filters * w->terms * sizeof *dw);
    for (size_t r = 0; r < op->rows; r++) {
        take_windows(w, (const float *)compute_arg(op, 0) + r * compute_conv_input(w->g));
        spread_gradient(w, compute_arg(op, 1), compute_optional_arg(op, 2), r);
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)w->g->filters, (int)w->terms,
                    (int)w->pixels, 1, w->out, (int)w->stride, w->windows, (int)w->terms,
                    accumulate || r > 0 ? 1 : 0, dw, (int)w->terms);
        for (size_t p = 0; p < w->pixels; p++) {
            for (size_t f = 0; f < w->stride; f++)
                db[f] += w->out[p * w->stride + f];
        }
    }
}

static void step(const struct compute_op *op, size_t n, const float *gradient, float *weights,
                 const float *anchor)
{
    for (size_t i = 0; i < n; i++)
        weights[i] -= op->learning_rate * (gradient[i] + op->mu * (weights[i] - anchor[i]));
}

static void update(const struct compute_op *op)
{
    const struct work w = work_of(op);
    float *db = w.gradient + w.g->filters * w.terms;
    weight_gradients(op, &w, false, w.gradient, db);
    step(op, w.g->filters * w.terms, w.gradient, compute_arg(op, 3), compute_arg(op, 5));
    step(op, w.stride, db, compute_arg(op, 4), compute_arg(op, 6));
}

void blas_conv_run(const struct compute_op *op)
{
    if (op->kind == COMPUTE_CONV_FORWARD) {
        forward(op);
    } else if (op->kind == COMPUTE_CONV_INPUT_GRADIENT) {
        input_gradient(op);
    } else if (op->kind == COMPUTE_CONV_GRADIENT) {
        const struct work w = work_of(op);
        weight_gradients(op, &w, op->accumulate, compute_arg(op, 3), compute_arg(op, 4));
    } else {
        update(op);
    }
}
