#include "common/compute/openblas/conv.h"
#include "common/compute/openblas/tiles.h"

#include <string.h>

enum {
    SLACK = 64, /* floats behind the image: the last run is read, and written with zeros, to its padded end */
    WINOGRAD_LEAST_TILES = 4,
    WINOGRAD_FLOATS = 1 << 16
};

static size_t align16(size_t floats)
{
    return (floats + 15) / 16 * 16;
}

/* Only the geometry decides, never the number of images: these may be shared out among threads. */
static bool is_for_winograd(const struct compute_conv *g)
{
    return g->kernel_height == 5 && g->kernel_width == 5 && g->stride == 1 && g->pool.size == 2 &&
           g->pixel % 16 == 0 && g->pool.out_height * g->pool.out_width >= WINOGRAD_LEAST_TILES;
}

/* As many tiles as leave room for the other halves of the products in the second-level cache. */
static size_t winograd_tiles(const struct conv_work *w)
{
    const size_t windows = w->outputs, fit = WINOGRAD_FLOATS / (36 * w->g->pixel),
                 tiles = fit > WINOGRAD_LEAST_TILES ? fit : WINOGRAD_LEAST_TILES;
    return tiles < windows ? tiles : windows;
}

/* Floats of scratch memory: what all seats have in common, and what each has of its own. */
struct conv_scratch {
    size_t common, seat;
};

/* Sizes, and where each part of a seat's scratch memory begins. */
static struct conv_scratch lay_out(const struct compute_op *op, struct conv_work *w, float *scratch,
                                   size_t seat)
{
    const struct compute_conv *g = op->conv;
    const size_t pixels = g->out_height * g->out_width;
    *w = (struct conv_work){.g = g, .run = g->kernel_width * g->pixel, .filters = compute_stride(g->filters)};
    w->run_stride = compute_conv_run(g);
    w->line = (g->out_width ? (g->out_width - 1) * g->stride + g->kernel_width : 0) * g->pixel;
    w->lines = g->out_height ? (g->out_height - 1) * g->stride + g->kernel_height : 0;
    w->outputs = g->pool.size ? g->pool.out_height * g->pool.out_width : pixels;
    w->filter_stride = compute_conv_filter(g);
    struct conv_scratch s = {.common = w->filters * (w->filter_stride + 1),
                             .seat = align16(w->lines * w->line) + SLACK};
    const size_t image = s.seat, weights = s.common;
    size_t behind = 0; /* floats of the values, or terms, behind the image */
    if (op->kind == COMPUTE_CONV_FORWARD && is_for_winograd(g)) {
        w->winograd.tiles = winograd_tiles(w);
        s.common += 36 * g->pixel * w->filters;
        behind = 36 * g->pixel * w->winograd.tiles;
        s.seat += behind + 36 * w->winograd.tiles * CONV_BLOCK;
    } else if (op->kind == COMPUTE_CONV_FORWARD) {
        s.seat += g->pool.size ? pixels * CONV_BLOCK : 0;
    } else { /* vectors of terms are written, of which some count; a list is two floats */
        behind = 2 * (align16(w->outputs * g->filters) + 16);
        s.seat += behind + align16(2 * (pixels > g->filters ? pixels : g->filters));
    }
    if (!scratch)
        return s;
    w->weights = scratch;
    w->bias = scratch + w->filters * w->filter_stride;
    w->winograd.weights = scratch + weights;
    w->image = scratch + s.common + seat * s.seat;
    w->z = w->winograd.values = w->image + image;
    w->winograd.products = w->z + behind;
    w->at = (uint32_t *)(void *)w->z;
    w->gradients = w->z + behind / 2;
    w->lists = (struct conv_list *)(void *)(w->z + behind);
    return s;
}

bool conv_supports(const struct compute_op *op)
{
    const struct compute_conv *g = op->conv;
    const size_t most = 1u << 30, pixels = g->out_height * g->out_width, filter = compute_conv_filter(g);
    return pixels > 0 && filter > 0 && g->filters > 0 && pixels < most && g->filters < most / pixels &&
           filter < most / g->filters && g->height * g->width < most / g->pixel;
}

size_t conv_scratch_bytes(const struct compute_op *op)
{
    struct conv_work w;
    const struct conv_scratch s = lay_out(op, &w, NULL, 0);
    return (s.common + tiles_seats(op) * s.seat) * sizeof(float) + 64; /* to begin at a cache line */
}

void conv_work_init(const struct compute_op *op, size_t seat, struct conv_work *out)
{
    uintptr_t at = (uintptr_t)compute_scratch_arg(op);
    (void)lay_out(op, out, (float *)((at + 63) / 64 * 64), seat);
    memset(out->image, 0, (align16(out->lines * out->line) + SLACK) * sizeof *out->image);
}

/* How much of the image its windows reach: lines, and floats of a line. */
static void reach(const struct conv_work *w, size_t *out_lines, size_t *out_floats)
{
    const struct compute_conv *g = w->g;
    const size_t border = g->pad_left * g->pixel, lines = w->lines > g->pad_top ? w->lines - g->pad_top : 0,
                 floats = w->line > border ? w->line - border : 0;
    *out_lines = lines < g->height ? lines : g->height;
    *out_floats = floats < g->width * g->pixel ? floats : g->width * g->pixel;
}

static float *inside(const struct conv_work *w, size_t y)
{
    return w->image + (y + w->g->pad_top) * w->line + w->g->pad_left * w->g->pixel;
}

void conv_take_image(const struct conv_work *w, const float *x)
{
    size_t lines, floats;
    reach(w, &lines, &floats);
    for (size_t y = 0; y < lines; y++)
        memcpy(inside(w, y), x + y * w->g->width * w->g->pixel, floats * sizeof *x);
}

void conv_give_image(const struct conv_work *w, float *dx)
{
    size_t lines, floats;
    reach(w, &lines, &floats);
    const size_t line = w->g->width * w->g->pixel, all = compute_conv_input(w->g);
    if (lines * line < all || floats < line)
        memset(dx, 0, all * sizeof *dx);
    for (size_t y = 0; y < lines; y++)
        memcpy(dx + y * line, inside(w, y), floats * sizeof *dx);
}

void conv_pack(const struct conv_work *w, const float *weights)
{
    const size_t rows = w->g->kernel_height * w->run;
    memset(w->weights, 0, w->filters * rows * sizeof *weights);
    for (size_t f = 0; f < w->g->filters; f++) {
        float *to = w->weights + f / CONV_BLOCK * CONV_BLOCK * rows + f % CONV_BLOCK;
        for (size_t ky = 0; ky < w->g->kernel_height; ky++) {
            const float *from = weights + f * w->filter_stride + ky * w->run_stride;
            for (size_t k = 0; k < w->run; k++, to += CONV_BLOCK)
                *to = from[k];
        }
    }
}

/* What an output of the operation came from: the place in its window; false where relu cut it, or the
 * gradient is 0. */
static inline bool is_term(const struct conv_work *w, size_t at, const void *seen, float gradient,
                           size_t *out_place)
{
    *out_place = 0;
    if (w->g->pool.size > 0) {
        const uint8_t place = ((const uint8_t *)seen)[at];
        *out_place = place;
        return (place != COMPUTE_CUT) & (gradient != 0);
    }
    return (!w->g->has_relu || !(((const float *)seen)[at] <= 0)) & (gradient != 0);
}

void conv_list_places(const struct conv_work *w, size_t stride, size_t line, uint32_t out[COMPUTE_CUT + 1])
{
    const size_t size = w->g->pool.size;
    memset(out, 0, (COMPUTE_CUT + 1) * sizeof *out);
    for (size_t i = 0; i < size * size; i++)
        out[i] = (uint32_t)(i / size * line + i % size * stride);
}

/* What is no term is overwritten by the next one. */
void conv_terms_by_filter(const struct conv_work *w, size_t from, size_t to, const float *dz,
                          const void *seen)
{
    const struct compute_conv *g = w->g;
    const size_t width = g->pool.size ? g->pool.out_width : g->out_width,
                 step = g->pool.size ? g->pool.stride : 1;
    uint32_t places[COMPUTE_CUT + 1];
    size_t n = 0;
    conv_list_places(w, g->stride * g->pixel, g->stride * w->line, places);
    for (size_t f = from; f < to; f++) {
        const size_t first = n;
        for (size_t i = 0, at = f; i < w->outputs; i += width) {
            const size_t pixel = conv_pixel(w, i / width * step, 0);
            for (size_t x = 0; x < width; x++, at += w->filters) {
                size_t place;
                const bool counts = is_term(w, at, seen, dz[at], &place);
                w->at[n] = (uint32_t)(pixel + x * step * g->stride * g->pixel) + places[place];
                w->gradients[n] = dz[at];
                n += counts;
            }
        }
        w->lists[f] = (struct conv_list){(uint32_t)first, (uint32_t)(n - first)};
    }
}
