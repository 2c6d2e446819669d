/* Convolution: three products whose matrices are never written down; a work-group has a tile of results and picks the
 * operands out of images and weights (compute_image.h says how they lie). */

struct conv { /* as opencl_conv.c fills it in */
    uint rows, channels, height, width, pixel, input; /* of x; input: values of an image */
    uint filters, filters_stride, kernel_height, kernel_width, run, filter;
    uint stride;
    int pad_top, pad_left;
    uint out_height, out_width; /* of the convolution itself */
    uint has_relu, pool;        /* the pool's size, 0 without one */
    uint z_height, z_width;     /* of what comes out */
};

enum { CUT = 255 };

/* z = pool(relu(conv(x) + b)). Items are the pixels of z. Where there is a pool, the places of its window are gone
 * through one after the other, and the largest so far stays in registers. */
__kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1))) void
conv_forward(const struct conv g, __global const float *x, ulong x_at, __global const float *w, ulong w_at,
             __global const float *b, ulong b_at, __global float *z, ulong z_at, __global uchar *largest,
             ulong largest_at)
{
    __local float as[DEPTH][TILE + 1], bs[DEPTH][TILE + 1];
    const uint lx = get_local_id(0), ly = get_local_id(1);
    const uint i0 = get_group_id(1) * TILE, j0 = get_group_id(0) * TILE;
    const uint pixels = g.z_height * g.z_width, items = g.rows * pixels, window = g.pool ? g.pool : 1;
    const int row_end = (int)(g.width * g.pixel);
    float best[EACH][EACH];
    uchar where[EACH][EACH];
    x += x_at;
    w += w_at;
    for (uint place = 0; place < window * window; place++) {
        float sum[EACH][EACH];
        ulong image[EACH];
        int top[EACH], left[EACH]; /* where the kernel stands: its first row, its first value in a row */
        clear_tile(sum);
        for (int k = 0; k < EACH; k++) {
            const uint i = i0 + ly + k * SIDE, pixel = i % pixels;
            image[k] = (ulong)(i / pixels) * g.input;
            top[k] = (int)((pixel / g.z_width * window + place / window) * g.stride) - g.pad_top;
            left[k] = ((int)((pixel % g.z_width * window + place % window) * g.stride) - g.pad_left) * (int)g.pixel;
        }
        for (uint ky = 0; ky < g.kernel_height; ky++)
            for (uint p0 = 0; p0 < g.run; p0 += DEPTH) {
                const uint p = p0 + lx;
                for (int k = 0; k < EACH; k++) {
                    const uint f = j0 + ly + k * SIDE;
                    const int iy = top[k] + (int)ky, at = left[k] + (int)p;
                    const bool is_inside = i0 + ly + k * SIDE < items && p < g.kernel_width * g.pixel && iy >= 0 &&
                                           iy < (int)g.height && at >= 0 && at < row_end;
                    as[lx][ly + k * SIDE] = is_inside ? x[image[k] + (ulong)(iy * row_end + at)] : 0;
                    bs[lx][ly + k * SIDE] = f < g.filters ? w[(ulong)f * g.filter + ky * g.run + p] : 0;
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                add_terms(sum, as, bs, lx, ly);
                barrier(CLK_LOCAL_MEM_FENCE);
            }
        for (int p = 0; p < EACH; p++)
            for (int q = 0; q < EACH; q++) {
                const uint f = j0 + lx + q * SIDE;
                const float v = f < g.filters ? sum[p][q] + b[b_at + f] : 0;
                if (place == 0 || is_larger(v, best[p][q])) {
                    best[p][q] = v;
                    where[p][q] = (uchar)place;
                }
            }
    }
    for (int p = 0; p < EACH; p++)
        for (int q = 0; q < EACH; q++) {
            const uint i = i0 + ly + p * SIDE, f = j0 + lx + q * SIDE;
            const ulong at = (ulong)i * g.filters_stride + f;
            const bool is_cut = g.has_relu && best[p][q] <= 0;
            if (i >= items || f >= g.filters_stride)
                continue;
            z[z_at + at] = is_cut ? 0 : best[p][q];
            if (g.pool)
                largest[largest_at + at] = is_cut ? CUT : where[p][q];
        }
}

/* Where the gradient of an output of the convolution itself lies, for the first filter: the pixel of dz, and the place
 * in the pool's window that it must have come from; a pixel of NOWHERE where none takes from it. */
#define NOWHERE UINT_MAX
struct origin {
    uint pixel, place;
};

struct origin origin_of(const struct conv *g, uint r, uint oy, uint ox)
{
    struct origin o = {r * g->z_height * g->z_width, 0};
    if (g->pool) {
        o.place = oy % g->pool * g->pool + ox % g->pool;
        oy /= g->pool;
        ox /= g->pool;
    }
    if (oy >= g->z_height || ox >= g->z_width)
        o.pixel = NOWHERE;
    else
        o.pixel += oy * g->z_width + ox;
    return o;
}

/* dz of a filter there, 0 where relu or the pool took something else. `seen` is what compute_image.h says. */
float gradient_at(const struct conv *g, struct origin o, uint f, __global const float *dz, __global const uchar *seen)
{
    if (o.pixel == NOWHERE || f >= g->filters)
        return 0;
    const ulong at = (ulong)o.pixel * g->filters_stride + f;
    if (g->pool)
        return seen[at] == o.place ? dz[at] : 0;
    return g->has_relu && ((__global const float *)seen)[at] <= 0 ? 0 : dz[at];
}

/* The output that a pixel meets at place k of the kernel. */
bool is_met(uint i, uint stride, uint k, int pad, uint size, uint *out)
{
    const uint from = i + (uint)pad;
    if (from < k || (stride > 1 && (from - k) % stride != 0))
        return false;
    *out = stride > 1 ? (from - k) / stride : from - k;
    return *out < size;
}

/* dx. Items are the pixels of x, columns its channels. */
__kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1))) void
conv_input_gradient(const struct conv g, __global const float *dz, ulong dz_at, __global const uchar *seen,
                    ulong seen_at, __global const float *w, ulong w_at, __global float *dx, ulong dx_at)
{
    __local float as[DEPTH][TILE + 1], bs[DEPTH][TILE + 1];
    const uint lx = get_local_id(0), ly = get_local_id(1);
    const uint i0 = get_group_id(1) * TILE, j0 = get_group_id(0) * TILE;
    const uint pixels = g.height * g.width, items = g.rows * pixels;
    float sum[EACH][EACH];
    clear_tile(sum);
    dz += dz_at;
    seen += seen_at;
    w += w_at;
    for (uint ky = 0; ky < g.kernel_height; ky++)
        for (uint kx = 0; kx < g.kernel_width; kx++) {
            struct origin from[EACH];
            for (int k = 0; k < EACH; k++) {
                const uint i = i0 + ly + k * SIDE, pixel = i % pixels;
                uint oy = 0, ox = 0;
                from[k].pixel = NOWHERE;
                if (i < items && is_met(pixel / g.width, g.stride, ky, g.pad_top, g.out_height, &oy) &&
                    is_met(pixel % g.width, g.stride, kx, g.pad_left, g.out_width, &ox))
                    from[k] = origin_of(&g, i / pixels, oy, ox);
            }
            for (uint f0 = 0; f0 < g.filters; f0 += DEPTH) {
                for (int k = 0; k < EACH; k++) {
                    const uint c = j0 + lx + k * SIDE, f = f0 + ly;
                    as[lx][ly + k * SIDE] = gradient_at(&g, from[k], f0 + lx, dz, seen);
                    bs[ly][lx + k * SIDE] = f < g.filters && c < g.channels
                                                ? w[(ulong)f * g.filter + ky * g.run + kx * g.pixel + c]
                                                : 0;
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                add_terms(sum, as, bs, lx, ly);
                barrier(CLK_LOCAL_MEM_FENCE);
            }
        }
    for (int p = 0; p < EACH; p++) {
        const uint i = i0 + ly + p * SIDE, pixel = i % pixels;
        __global float *image = dx + dx_at + (ulong)(i / pixels) * g.input;
        if (i >= items)
            continue;
        for (int q = 0; q < EACH; q++) {
            const uint c = j0 + lx + q * SIDE;
            if (c < g.pixel)
                image[pixel * g.pixel + c] = c < g.channels ? sum[p][q] : 0;
        }
        for (uint at = pixels * g.pixel + lx; j0 == 0 && pixel == 0 && at < g.input; at += SIDE)
            image[at] = 0; /* what fills up the image's row */
    }
}

/* A part of the pixels' gradients of the weights, [part][filters][filter + 1, padded]: items are the filters, columns
 * the weights of one and then its bias, whose input is 1. */
__kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1))) void
conv_gradient(const struct conv g, uint part_pixels, __global const float *x, ulong x_at, __global const float *dz,
              ulong dz_at, __global const uchar *seen, ulong seen_at, __global float *parts, ulong parts_at)
{
    __local float as[DEPTH][TILE + 1], bs[DEPTH][TILE + 1];
    const uint lx = get_local_id(0), ly = get_local_id(1), stride = g.filter + SIDE;
    const uint i0 = get_group_id(1) * TILE, j0 = get_group_id(0) * TILE;
    const uint pixels = g.out_height * g.out_width, first = get_group_id(2) * part_pixels,
               end = min(first + part_pixels, g.rows * pixels);
    const int row_end = (int)(g.width * g.pixel);
    float sum[EACH][EACH];
    int ky[EACH], at_in_run[EACH];
    clear_tile(sum);
    x += x_at;
    dz += dz_at;
    seen += seen_at;
    for (int k = 0; k < EACH; k++) {
        ky[k] = (int)((j0 + lx + k * SIDE) / g.run);
        at_in_run[k] = (int)((j0 + lx + k * SIDE) % g.run);
    }
    for (uint m0 = first; m0 < end; m0 += DEPTH) {
        const uint m = m0 + ly, r = m / pixels, oy = m % pixels / g.out_width, ox = m % pixels % g.out_width;
        const int top = (int)(oy * g.stride) - g.pad_top, left = ((int)(ox * g.stride) - g.pad_left) * (int)g.pixel;
        struct origin from = {NOWHERE, 0};
        if (m < end)
            from = origin_of(&g, r, oy, ox);
        for (int k = 0; k < EACH; k++) {
            const uint j = j0 + lx + k * SIDE;
            const int iy = top + ky[k], at = left + at_in_run[k];
            const bool is_inside = m < end && j < g.filter && at_in_run[k] < (int)(g.kernel_width * g.pixel) &&
                                   iy >= 0 && iy < (int)g.height && at >= 0 && at < row_end;
            as[ly][lx + k * SIDE] = gradient_at(&g, from, i0 + lx + k * SIDE, dz, seen);
            bs[ly][lx + k * SIDE] = is_inside ? x[(ulong)r * g.input + (ulong)(iy * row_end + at)]
                                              : (j == g.filter && m < end ? 1 : 0);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        add_terms(sum, as, bs, lx, ly);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int p = 0; p < EACH; p++)
        for (int q = 0; q < EACH; q++) {
            const uint f = i0 + ly + p * SIDE, j = j0 + lx + q * SIDE;
            if (f < g.filters && j < stride)
                parts[parts_at + ((ulong)get_group_id(2) * g.filters + f) * stride + j] = sum[p][q];
        }
}

/* The parts' sum, for weights and biases, and what is done with it. */
__kernel void conv_finish(const struct conv g, uint num_parts, __global const float *parts, ulong parts_at,
                          __global float *w, ulong w_at, __global float *b, ulong b_at, __global const float *w0,
                          ulong w0_at, __global const float *b0, ulong b0_at, int how, float learning_rate, float mu)
{
    const uint stride = g.filter + SIDE, i = get_global_id(0), f = i / stride, j = i % stride, p = j % g.run;
    float sum = 0;
    if (f >= g.filters)
        return;
    for (uint part = 0; part < num_parts; part++)
        sum += parts[parts_at + ((ulong)part * g.filters + f) * stride + j];
    if (j < g.filter) {
        const ulong at = (ulong)f * g.filter + j;
        const bool is_weight = p < g.kernel_width * g.pixel && p % g.pixel < g.channels;
        w[w_at + at] = is_weight ? finish(how, w[w_at + at], w0[w0_at + at], sum, learning_rate, mu) : 0;
    } else if (j == g.filter) {
        b[b_at + f] = finish(how, b[b_at + f], b0[b0_at + f], sum, learning_rate, mu);
    } else if (f + 1 == g.filters && f + j - g.filter < g.filters_stride) {
        b[b_at + f + j - g.filter] = 0; /* padding */
    }
}
