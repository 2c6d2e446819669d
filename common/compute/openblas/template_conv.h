/* Convolution; conv.h says how it is cut. */
#ifndef FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_CONV_H
#define FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_CONV_H

/* 16 floats each: parts of a run whose sums stay in registers, and of one that is shorter; lines of the
 * shortest. The order of sums follows from them. */
enum { CONV_PARTS = LANES == 16 ? 10 : 5, CONV_SHORT = 5, CONV_LINES = 5 };

/* One block of filters at all pixels. */
INLINE void conv_block(const struct conv_work *w, const struct panel *p, float *out)
{
    size_t y = 0, x = 0;
    for (size_t left = w->g->out_height * w->g->out_width, n; left > 0; left -= n) {
        const float *rows[PANEL_ROWS];
        n = panel_take(left);
        for (size_t i = 0; i < n; i++) {
            rows[i] = w->image + conv_pixel(w, y, x);
            if (++x == w->g->out_width) {
                x = 0;
                y++;
            }
        }
        panel_run(p, rows, out, n);
        out += n * p->out_stride;
    }
}

/* The first largest of a window, NaN before all; where it is, in *which. */
INLINE vf pool_window(const struct conv_work *w, const float *z, vi *which)
{
    const size_t size = w->g->pool.size;
    vf best = load(z);
    vi place = {0};
    *which = place;
    for (size_t ky = 0; ky < size; ky++) {
        for (size_t kx = 0; kx < size; kx++, place += 1) {
            const vf v = load(z + (ky * w->g->out_width + kx) * CONV_BLOCK);
            const vi is_more = (v > best) | (~is_number(v) & is_number(best));
            best = pick(is_more, v, best);
            *which = (is_more & place) | (~is_more & *which);
        }
    }
    return best;
}

INLINE void conv_pool(const struct conv_work *w, float *z, uint8_t *largest)
{
    const struct compute_pool *pool = &w->g->pool;
    for (size_t i = 0; i < pool->out_height * pool->out_width; i++, z += w->filters, largest += w->filters) {
        const size_t y = i / pool->out_width * pool->stride, x = i % pool->out_width * pool->stride;
        UNROLL for (int v = 0; v < PANEL_VECTORS; v++)
        {
            vi which;
            const vf best = pool_window(w, w->z + (y * w->g->out_width + x) * CONV_BLOCK + v * LANES, &which);
            if (w->g->has_relu)
                which |= (best <= splat(0)) & COMPUTE_CUT;
            const vbytes bytes = __builtin_convertvector(which, vbytes);
            store(z + v * LANES, best);
            memcpy(largest + v * LANES, &bytes, sizeof bytes);
        }
    }
}

KERNEL_TARGET static void conv_forward_prepare(const struct compute_op *op)
{
    struct conv_work w;
    conv_work_init(op, 0, &w);
    conv_pack(&w, compute_arg(op, 1));
    if (w.winograd.tiles > 0)
        winograd_take_weights(&w);
}

/* Some of the images. */
KERNEL_TARGET static void conv_forward(const struct compute_op *op, const struct team_part *part)
{
    struct conv_work w;
    conv_work_init(op, part->seat, &w);
    for (size_t r = part->from; r < part->to; r++) {
        const size_t at = r * compute_conv_output(w.g);
        conv_take_image(&w, (const float *)compute_arg(op, 0) + r * compute_conv_input(w.g));
        if (w.winograd.tiles > 0) {
            winograd_image(op, &w, (float *)compute_arg(op, 3) + at, (uint8_t *)compute_arg(op, 4) + at);
            continue;
        }
        for (size_t f = 0; f < w.filters; f += CONV_BLOCK) {
            float *z = (float *)compute_arg(op, 3) + at + f;
            const struct panel p = {.lines = w.g->kernel_height,
                                    .line = w.line,
                                    .run = w.run,
                                    .panel = w.weights + f * w.g->kernel_height * w.run,
                                    .bias = (const float *)compute_arg(op, 2) + f,
                                    .has_relu = w.g->has_relu,
                                    .out_stride = w.g->pool.size ? CONV_BLOCK : w.filters};
            conv_block(&w, &p, w.g->pool.size ? w.z : z);
            if (w.g->pool.size)
                conv_pool(&w, z, (uint8_t *)compute_arg(op, 4) + at + f);
        }
    }
}

/* What terms are added to, in `lines` lines of 16 * parts floats. */
struct conv_sum {
    float *to;
    size_t to_line;
    const uint32_t *at; /* the terms */
    const float *gradients;
    size_t count;
    const float *from;
    size_t from_line;
};

/* lines and parts are constants, so that the sums stay in registers. */
INLINE void conv_add_tile(const struct conv_sum *s, int lines, int parts)
{
    vf sum[CONV_PARTS][PANEL_VECTORS];
    const int vectors = parts * PANEL_VECTORS;
    UNROLL for (int i = 0; i < lines * vectors; i++)
    {
        sum[i / PANEL_VECTORS][i % PANEL_VECTORS] =
            load(s->to + (size_t)(i / vectors) * s->to_line + i % vectors * LANES);
    }
    for (size_t t = 0; t < s->count; t++) {
        const float *from = s->from + s->at[t];
        const vf factor = splat(s->gradients[t]);
        UNROLL for (int i = 0; i < lines * vectors; i++)
        {
            vf *to = &sum[i / PANEL_VECTORS][i % PANEL_VECTORS];
            *to = FMA(factor, load(from + (size_t)(i / vectors) * s->from_line + i % vectors * LANES), *to);
        }
    }
    UNROLL for (int i = 0; i < lines * vectors; i++)
    {
        store(s->to + (size_t)(i / vectors) * s->to_line + i % vectors * LANES,
              sum[i / PANEL_VECTORS][i % PANEL_VECTORS]);
    }
}

/* lines is 1, or parts is. */
INLINE void conv_add(const struct conv_sum *s, size_t lines, size_t parts)
{
    if (s->count == 0)
        return;
    if (parts > CONV_SHORT) {
        conv_add_tile(s, 1, CONV_PARTS);
        return;
    }
    switch (lines > 1 ? lines + 10 : parts) {
    case 1:
        conv_add_tile(s, 1, 1);
        break;
    case 2:
        conv_add_tile(s, 1, 2);
        break;
    case 3:
        conv_add_tile(s, 1, 3);
        break;
    case 4:
        conv_add_tile(s, 1, 4);
        break;
    case 5:
        conv_add_tile(s, 1, 5);
        break;
    case 12:
        conv_add_tile(s, 2, 1);
        break;
    case 13:
        conv_add_tile(s, 3, 1);
        break;
    case 14:
        conv_add_tile(s, 4, 1);
        break;
    case 15:
        conv_add_tile(s, 5, 1);
        break;
    default:
        break;
    }
}

/* A part of a filter's weights that the sums in registers hold at a time: lines from ky on of short runs, or
 * a slice from k on of a long one. Slice by slice, so that what it reads stays in the first-level cache. */
struct conv_slice {
    size_t ky, k, lines, parts;
};

INLINE bool conv_next_slice(const struct conv_work *w, struct conv_slice *s)
{
    s->k += s->parts * 16;
    if (s->k >= w->run_stride) {
        s->k = 0;
        s->ky += s->lines;
    }
    const size_t lines = w->g->kernel_height - s->ky, rest = w->run_stride - s->k;
    if (s->ky >= w->g->kernel_height)
        return false;
    s->lines = w->run_stride > 16 ? 1 : lines < CONV_LINES ? lines : CONV_LINES;
    s->parts = rest / 16 >= CONV_PARTS ? CONV_PARTS : rest / 16 < CONV_SHORT ? rest / 16 : CONV_SHORT;
    return true;
}

/* Appends the lanes that count to the terms, of which there are n; returns how many there are then. */
INLINE size_t conv_keep(const struct conv_work *w, size_t n, vi counts, vi at, vf gradients)
{
#if defined(HAS_COMPRESS)
    return n + compress(counts, at, gradients, w->at + n, w->gradients + n);
#else
    int32_t counting[LANES];
    memcpy(counting, &counts, sizeof counting);
    for (size_t i = 0; i < LANES; i++) {
        w->at[n] = (uint32_t)at[i];
        w->gradients[n] = gradients[i];
        n += counting[i] & 1;
    }
    return n;
#endif
}

/* Where gradients are that came from this place of their window, and are not 0. */
INLINE vi conv_counts(const struct conv_work *w, const void *seen, size_t at, vf dz, int32_t place)
{
    const vi is_there = dz != splat(0);
    if (w->g->pool.size > 0) {
        vbytes bytes;
        memcpy(&bytes, (const uint8_t *)seen + at, sizeof bytes);
        return is_there & (__builtin_convertvector(bytes, vi) == place);
    }
    return w->g->has_relu ? is_there & ~(load((const float *)seen + at) <= splat(0)) : is_there;
}

/* The terms of one image's gradient by output pixel of the convolution, `at` is the filter's weights. Those
 * of a window's pixels lie together, in the order of filters. */
INLINE void conv_terms_by_pixel(const struct conv_work *w, const float *dz, const void *seen)
{
    const struct compute_conv *g = w->g;
    const size_t width = g->pool.size ? g->pool.out_width : g->out_width,
                 step = g->pool.size ? g->pool.stride : 1;
    const vi lanes = LANE_NUMBERS;
    uint32_t places[COMPUTE_CUT + 1];
    size_t n = 0;
    conv_list_places(w, 1, g->out_width, places);
    memset(w->lists, 0, g->out_height * g->out_width * sizeof *w->lists);
    for (size_t i = 0; i < w->outputs; i++) {
        const size_t pixel = i / width * step * g->out_width + i % width * step;
        for (size_t place = 0; place < step * step; place++) {
            const size_t first = n;
            for (size_t f = 0; f < w->filters; f += LANES) {
                const vf gradients = load(dz + i * w->filters + f);
                const vi filter = lanes + (int32_t)f,
                         counts = (filter < (int32_t)g->filters) &
                                  conv_counts(w, seen, i * w->filters + f, gradients, (int32_t)place);
                n = conv_keep(w, n, counts, filter * (int32_t)w->filter_stride, gradients);
            }
            w->lists[pixel + places[place]] = (struct conv_list){(uint32_t)first, (uint32_t)(n - first)};
        }
    }
}

KERNEL_TARGET static void conv_input_gradient(const struct compute_op *op, const struct team_part *part)
{
    struct conv_work w;
    conv_work_init(op, part->seat, &w);
    for (size_t r = part->from; r < part->to; r++) {
        const size_t at = r * compute_conv_output(w.g);
        const char *seen = compute_optional_arg(op, 1);
        if (seen)
            seen += at * (w.g->pool.size ? 1 : sizeof(float));
        conv_terms_by_pixel(&w, (const float *)compute_arg(op, 0) + at, seen);
        memset(w.image, 0, w.lines * w.line * sizeof(float));
        for (struct conv_slice s = {0}; conv_next_slice(&w, &s);) {
            for (size_t p = 0; p < w.g->out_height * w.g->out_width; p++) {
                const size_t to = conv_pixel(&w, p / w.g->out_width, p % w.g->out_width);
                const struct conv_sum sum = {.to = w.image + to + s.ky * w.line + s.k,
                                             .to_line = w.line,
                                             .at = w.at + w.lists[p].first,
                                             .gradients = w.gradients + w.lists[p].first,
                                             .count = w.lists[p].count,
                                             .from = (const float *)compute_arg(op, 2) + s.ky * w.run_stride +
                                                     s.k,
                                             .from_line = w.run_stride};
                conv_add(&sum, s.lines, s.parts);
            }
        }
        conv_give_image(&w, (float *)compute_arg(op, 3) + r * compute_conv_input(w.g));
    }
}

/* Of one image, from whichever place. */
INLINE void conv_sum_bias(const struct conv_work *w, const struct team_part *part, const float *dz,
                          const void *seen)
{
    for (size_t f = part->from; f < part->to; f += LANES) {
        vf sum = load(w->bias + f);
        for (size_t i = f; i < w->outputs * w->filters; i += w->filters) {
            const vf v = load(dz + i);
            vi counts = ~(vi){0};
            if (w->g->pool.size > 0)
                counts = ~conv_counts(w, seen, i, v, COMPUTE_CUT);
            else if (w->g->has_relu)
                counts = conv_counts(w, seen, i, v, 0);
            sum += (vf)(counts & (vi)v);
        }
        store(w->bias + f, sum);
    }
}

/* The gradient by filter and that of the bias, over all images. */
INLINE void conv_sum_gradients(const struct compute_op *op, const struct team_part *part,
                               const struct conv_work *w)
{
    const size_t filters = compute_stride(part->to - part->from);
    memset(w->weights + part->from * w->filter_stride, 0, filters * w->filter_stride * sizeof(float));
    memset(w->bias + part->from, 0, filters * sizeof(float));
    for (size_t r = 0; r < op->rows; r++) {
        const size_t at = r * compute_conv_output(w->g);
        const char *seen = compute_optional_arg(op, 2);
        if (seen)
            seen += at * (w->g->pool.size ? 1 : sizeof(float));
        conv_take_image(w, (const float *)compute_arg(op, 0) + r * compute_conv_input(w->g));
        conv_terms_by_filter(w, part->from, part->to, (const float *)compute_arg(op, 1) + at, seen);
        conv_sum_bias(w, part, (const float *)compute_arg(op, 1) + at, seen);
        for (struct conv_slice s = {0}; conv_next_slice(w, &s);) {
            for (size_t f = part->from; f < part->to; f++) {
                const struct conv_sum sum = {.to = w->weights + f * w->filter_stride + s.ky * w->run_stride +
                                                   s.k,
                                             .to_line = w->run_stride,
                                             .at = w->at + w->lists[f].first,
                                             .gradients = w->gradients + w->lists[f].first,
                                             .count = w->lists[f].count,
                                             .from = w->image + s.ky * w->line + s.k,
                                             .from_line = w->line};
                conv_add(&sum, s.lines, s.parts);
            }
        }
    }
}

/* The sums to their end. What stands behind a run belongs to the image's next pixels: it is none. */
INLINE void conv_finish(const struct conv_work *w, const struct team_part *part, const struct outer *how)
{
    const size_t lines = w->g->kernel_height;
    for (size_t row = part->from * lines; row < part->to * lines; row++) {
        for (size_t k = 0; k < w->run_stride; k += LANES) {
            const size_t at = row * w->run_stride + k, left = w->run > k ? w->run - k : 0;
            vf sum = load(w->weights + at);
            if (left < LANES)
                sum = left ? fill_part(sum, left, 0) : splat(0);
            finish_vector(how, how->finish, at, sum);
        }
    }
}

/* Of some filters, a multiple of CONV_BLOCK where they are not the last. */
INLINE void conv_gradients(const struct compute_op *op, const struct team_part *part, struct outer how,
                           float *weights, float *bias, const float *weights0, const float *bias0)
{
    struct conv_work w;
    conv_work_init(op, part->seat, &w);
    conv_sum_gradients(op, part, &w);
    how.out = weights;
    how.anchor = weights0;
    conv_finish(&w, part, &how);
    how.out = bias;
    how.anchor = bias0;
    const size_t end = part->from + compute_stride(part->to - part->from);
    for (size_t f = part->from; f < end; f += LANES)
        finish_vector(&how, how.finish, f, load(w.bias + f));
}

KERNEL_TARGET static void conv_gradient(const struct compute_op *op, const struct team_part *part)
{
    const struct outer how = {.finish = op->accumulate ? FINISH_ADD : FINISH_STORE};
    conv_gradients(op, part, how, compute_arg(op, 3), compute_arg(op, 4), NULL, NULL);
}

KERNEL_TARGET static void conv_update(const struct compute_op *op, const struct team_part *part)
{
    const struct outer how = {
        .finish = op->mu == 0 ? FINISH_SGD : FINISH_PROX, .learning_rate = op->learning_rate, .mu = op->mu};
    conv_gradients(op, part, how, compute_arg(op, 3), compute_arg(op, 4), compute_arg(op, 5),
                   compute_arg(op, 6));
}

#endif
