/* A convolution of 5 x 5 with a 2 x 2 pool behind it, by Winograd's algorithm F(2 x 2, 5 x 5): the four
 * pixels of a pool's window come from 6 x 6 of the image by 36 products per channel and filter, not by 100.
 * The points are 0, 2/3, -2/3, 3/2, -3/2 and infinity: by these, errors are as small as those of the plain
 * sum, by 1, -1, 2 and -2 twice as large.
 *
 * Tiles (windows) of one image at a time are transformed: [36][channels / 16][tiles][16]; then each of the 36
 * is a product with weights [36][channels][16] of one block of filters; [36][tiles][16] become the pool's
 * outputs. All sums are over the channels in order, so no cut shows in the bits.
 * What is not finite makes all windows not finite that it reaches into. */
#ifndef FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_WINOGRAD_H
#define FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_WINOGRAD_H

typedef uint8_t vbytes __attribute__((vector_size(LANES)));

/* The points A, -A, B, -B, of which A B = 1. */
#define WINOGRAD_A   (2.f / 3)
#define WINOGRAD_B   (3.f / 2)
#define WINOGRAD_AA  (4.f / 9)
#define WINOGRAD_BB  (9.f / 4)
#define WINOGRAD_SUM (97.f / 36) /* of their squares */

/* From 5 weights to 6, `step` vectors apart. */
INLINE void winograd_weights(const vf *g, int step, vf *out)
{
    const vf even_a = FMA(splat(WINOGRAD_AA * WINOGRAD_AA), g[4 * step],
                          FMA(splat(WINOGRAD_AA), g[2 * step], g[0])),
             even_b = FMA(splat(WINOGRAD_BB * WINOGRAD_BB), g[4 * step],
                          FMA(splat(WINOGRAD_BB), g[2 * step], g[0])),
             odd_a = WINOGRAD_A * FMA(splat(WINOGRAD_AA), g[3 * step], g[step]),
             odd_b = WINOGRAD_B * FMA(splat(WINOGRAD_BB), g[3 * step], g[step]);
    out[0] = g[0];
    out[1] = (even_a + odd_a) * (-81.f / 130); /* 1 / (2 A^2 (A^2 - B^2)) */
    out[2] = (even_a - odd_a) * (-81.f / 130);
    out[3] = (even_b + odd_b) * (8.f / 65);
    out[4] = (even_b - odd_b) * (8.f / 65);
    out[5] = g[4 * step];
}

/* From 6 values to 6. */
INLINE void winograd_values(const vf *d, int step, vf *out)
{
    const vf even_a = FMA(splat(-WINOGRAD_BB), d[2 * step], d[4 * step]),
             even_b = FMA(splat(-WINOGRAD_AA), d[2 * step], d[4 * step]),
             odd_a = FMA(splat(-WINOGRAD_BB), d[step], d[3 * step]),
             odd_b = FMA(splat(-WINOGRAD_AA), d[step], d[3 * step]);
    out[0] = FMA(splat(-WINOGRAD_SUM), d[2 * step], d[0] + d[4 * step]);
    out[1] = FMA(splat(WINOGRAD_A), odd_a, even_a);
    out[2] = FMA(splat(-WINOGRAD_A), odd_a, even_a);
    out[3] = FMA(splat(WINOGRAD_B), odd_b, even_b);
    out[4] = FMA(splat(-WINOGRAD_B), odd_b, even_b);
    out[5] = FMA(splat(-WINOGRAD_SUM), d[3 * step], d[step] + d[5 * step]);
}

/* From 6 products to 2 results. */
INLINE void winograd_results(const vf *m, int step, vf *out)
{
    out[0] = m[0] + (m[step] + m[2 * step]) + (m[3 * step] + m[4 * step]);
    out[1] = FMA(splat(WINOGRAD_A), m[step] - m[2 * step],
                 FMA(splat(WINOGRAD_B), m[3 * step] - m[4 * step], m[5 * step]));
}

/* From packed weights [filters / 16][5][5][channels][16] to [filters / 16][36][channels][16]. */
INLINE void winograd_take_weights(const struct conv_work *w)
{
    const size_t channels = w->g->pixel, all = w->filters / CONV_BLOCK * channels * PANEL_VECTORS;
    for (size_t i = 0; i < all; i++) {
        const size_t v = i % PANEL_VECTORS, c = i / PANEL_VECTORS % channels,
                     f = i / PANEL_VECTORS / channels;
        const float *from = w->weights + (f * 25 * channels + c) * CONV_BLOCK + v * LANES;
        float *to = w->winograd.weights + (f * 36 * channels + c) * CONV_BLOCK + v * LANES;
        vf g[25], half[30], done[6];
        for (size_t k = 0; k < 25; k++)
            g[k] = load(from + k * channels * CONV_BLOCK);
        for (int row = 0; row < 5; row++)
            winograd_weights(g + 5 * row, 1, half + 6 * row);
        for (int x = 0; x < 6; x++) {
            winograd_weights(half + x, 6, done);
            for (int y = 0; y < 6; y++)
                store(to + (size_t)(6 * y + x) * channels * CONV_BLOCK, done[y]);
        }
    }
}

/* A vector of channels of one window. */
INLINE void winograd_take_tile(const struct conv_work *w, const float *image, float *to, size_t next)
{
    vf half[36], d[6], done[6];
    UNROLL for (int y = 0; y < 6; y++)
    {
        UNROLL for (int x = 0; x < 6; x++)
        {
            d[x] = load(image + (size_t)y * w->line + (size_t)x * w->g->pixel);
        }
        winograd_values(d, 1, half + 6 * y);
    }
    UNROLL for (int x = 0; x < 6; x++)
    {
        winograd_values(half + x, 6, done);
        UNROLL for (int y = 0; y < 6; y++)
        {
            store(to + (size_t)(6 * y + x) * next, done[y]);
        }
    }
}

/* `n` windows from `first` on. */
INLINE void winograd_take_tiles(const struct conv_work *w, size_t first, size_t n)
{
    const size_t next = w->g->pixel * w->winograd.tiles;
    for (size_t c = 0; c < w->g->pixel; c += LANES) {
        float *to = w->winograd.values + c / 16 * 16 * w->winograd.tiles + c % 16;
        for (size_t t = first; t < first + n; t++, to += 16) {
            const size_t y = t / w->g->pool.out_width * 2, x = t % w->g->pool.out_width * 2;
            winograd_take_tile(w, w->image + conv_pixel(w, y, x) + c, to, next);
        }
    }
}

/* n is a constant, so that the sums stay in registers. */
INLINE void winograd_product(const struct conv_work *w, const float *values, const float *weights, float *out,
                             int n)
{
    vf sum[PANEL_ROWS][PANEL_VECTORS];
    UNROLL for (int i = 0; i < n * PANEL_VECTORS; i++)
    {
        sum[i / PANEL_VECTORS][i % PANEL_VECTORS] = splat(0);
    }
    for (size_t c = 0; c < w->g->pixel; c += 16, values += (w->winograd.tiles - 1) * 16) {
        for (const float *end = values + 16; values < end; values++, weights += CONV_BLOCK) {
            vf column[PANEL_VECTORS];
            UNROLL for (int v = 0; v < PANEL_VECTORS; v++)
            {
                column[v] = load(weights + v * LANES);
            }
            UNROLL for (int i = 0; i < n; i++)
            {
                const vf factor = splat(values[i * 16]);
                UNROLL for (int v = 0; v < PANEL_VECTORS; v++)
                {
                    sum[i][v] = FMA(factor, column[v], sum[i][v]);
                }
            }
        }
    }
    UNROLL for (int i = 0; i < n * PANEL_VECTORS; i++)
    {
        store(out + i * LANES, sum[i / PANEL_VECTORS][i % PANEL_VECTORS]);
    }
}

#define WINOGRAD_CASE(count)                                                                                 \
    case count:                                                                                              \
        winograd_product(w, values, weights, out, count);                                                    \
        break

/* One of the 36 products, of `n` tiles and one block of filters. */
INLINE void winograd_products(const struct conv_work *w, const float *values, const float *weights,
                              float *out, size_t n)
{
    for (size_t take; n > 0; n -= take, values += take * 16, out += take * CONV_BLOCK) {
        take = panel_take(n);
        switch (take) {
            WINOGRAD_CASE(1);
            WINOGRAD_CASE(2);
            WINOGRAD_CASE(3);
#if PANEL_ROWS >= 6
            WINOGRAD_CASE(4);
            WINOGRAD_CASE(5);
            WINOGRAD_CASE(6);
#endif
#if PANEL_ROWS >= 12
            WINOGRAD_CASE(7);
            WINOGRAD_CASE(8);
            WINOGRAD_CASE(9);
            WINOGRAD_CASE(10);
            WINOGRAD_CASE(11);
            WINOGRAD_CASE(12);
#endif
        default:
            break;
        }
    }
}

/* A vector of filters of one window: its largest, and where that is. */
INLINE void winograd_give_tile(const struct conv_work *w, const float *products, const float *bias, float *z,
                               uint8_t *largest)
{
    const size_t next = w->winograd.tiles * CONV_BLOCK;
    vf half[12], m[6], window[4];
    UNROLL for (int y = 0; y < 6; y++)
    {
        UNROLL for (int x = 0; x < 6; x++)
        {
            m[x] = load(products + (size_t)(6 * y + x) * next);
        }
        winograd_results(m, 1, half + 2 * y);
    }
    UNROLL for (int x = 0; x < 2; x++)
    {
        vf column[2];
        winograd_results(half + x, 2, column);
        window[x] = column[0];
        window[2 + x] = column[1];
    }
    vf best = window[0];
    vi which = {0}, place = {0};
    UNROLL for (int i = 1; i < 4; i++)
    {
        const vi is_more = (window[i] > best) | (~is_number(window[i]) & is_number(best));
        place += 1;
        best = pick(is_more, window[i], best);
        which = (is_more & place) | (~is_more & which);
    }
    best += load(bias);
    if (w->g->has_relu) {
        which |= (best <= splat(0)) & COMPUTE_CUT;
        best = at_least(best, splat(0));
    }
    const vbytes bytes = __builtin_convertvector(which, vbytes);
    store(z, best);
    memcpy(largest, &bytes, sizeof bytes);
}

INLINE void winograd_image(const struct compute_op *op, const struct conv_work *w, float *z, uint8_t *largest)
{
    const size_t all = w->g->pool.out_height * w->g->pool.out_width, tiles = w->winograd.tiles;
    for (size_t first = 0, n; first < all; first += n) {
        n = all - first < tiles ? all - first : tiles;
        winograd_take_tiles(w, first, n);
        for (size_t f = 0; f < w->filters; f += CONV_BLOCK) {
            for (size_t p = 0; p < 36; p++)
                winograd_products(w, w->winograd.values + p * w->g->pixel * tiles,
                                  w->winograd.weights + (f * 36 + p * CONV_BLOCK) * w->g->pixel,
                                  w->winograd.products + p * tiles * CONV_BLOCK, n);
            for (size_t i = 0; i < n * PANEL_VECTORS; i++) {
                const size_t t = i / PANEL_VECTORS, v = i % PANEL_VECTORS * LANES,
                             at = (first + t) * w->filters + f + v;
                winograd_give_tile(w, w->winograd.products + t * CONV_BLOCK + v,
                                   (const float *)compute_arg(op, 2) + f + v, z + at, largest + at);
            }
        }
    }
}

#endif
