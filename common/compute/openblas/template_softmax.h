/* Softmax cross-entropy, a row at a time; a row of few classes stays in registers. */
#ifndef FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_SOFTMAX_H
#define FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_SOFTMAX_H

/* exp(x) for x <= 0: 2^n e^r with |r| <= ln(2) / 2 and e^r by its polynomial (Cephes' expf coefficients),
 * within 2 units in the last place. Below -87 it gives exp(-87), 1e-38 instead of less. NaN stays NaN. */
INLINE vf exponential(vf x)
{
    const vf rounding = splat(12582912.0f); /* 1.5 * 2^23: adding it rounds to an integer in the low bits */
    x = select_less(x, splat(-87.0f), splat(-87.0f), x);
    vf shifted = FMA(x, splat(1.44269504088896341f), rounding);
    vf n = shifted - rounding;
    vf r = FMA(n, splat(-0.693359375f), x);
    r = FMA(n, splat(2.12194440e-4f), r);
    vf p = splat(1.9875691500e-4f);
    p = FMA(p, r, splat(1.3981999507e-3f));
    p = FMA(p, r, splat(8.3334519073e-3f));
    p = FMA(p, r, splat(4.1665795894e-2f));
    p = FMA(p, r, splat(1.6666665459e-1f));
    p = FMA(p, r, splat(5.0000001201e-1f));
    p = FMA(p * r, r, r) + splat(1);
    vi exponent = ((vi)shifted - (vi)rounding + 127) << 23;
    return p * (vf)exponent;
}

/* The softmax of one row: its largest logit, exp(z - most) and their sum. The last of its vectors has `width`
 * lanes. */
struct softmax_row {
    size_t vectors, width;
    float most, sum;
};

/* A row of one or two vectors stays in registers: reading back what was just stored in part is slow. */
INLINE void few_exponentials(struct softmax_row *s, const float *z, vf e[2])
{
    size_t last = s->vectors - 1;
    if (last == 1)
        e[0] = load(z);
    e[last] = load_part(z + last * LANES, s->width);
    vf most = fill_part(e[last], s->width, -INFINITY);
    if (last == 1)
        most = select_less(most, e[0], e[0], most);
    s->most = max_lanes(most);
    e[last] = exponential(e[last] - splat(s->most));
    vf sum = fill_part(e[last], s->width, 0);
    if (last == 1) {
        e[0] = exponential(e[0] - splat(s->most));
        sum += e[0];
    }
    s->sum = sum_lanes(sum);
}

INLINE void few_store(const struct softmax_row *s, float *to, const vf e[2])
{
    if (s->vectors == 2)
        store(to, e[0]);
    store_part(to + (s->vectors - 1) * LANES, e[s->vectors - 1], s->width);
}

/* Any row. e may be z; NULL: nobody wants the exponentials. */
INLINE void many_exponentials(struct softmax_row *s, const float *z, float *e)
{
    size_t last = (s->vectors - 1) * LANES;
    vf most = fill_part(load_part(z + last, s->width), s->width, -INFINITY), sum = splat(0);
    for (size_t c = 0; c < last; c += LANES) {
        vf next = load(z + c);
        most = select_less(most, next, next, most);
    }
    s->most = max_lanes(most);
    for (size_t c = 0; c < last; c += LANES) {
        vf some = exponential(load(z + c) - splat(s->most));
        if (e)
            store(e + c, some);
        sum += some;
    }
    vf some = exponential(load_part(z + last, s->width) - splat(s->most));
    if (e)
        store_part(e + last, some, s->width);
    s->sum = sum_lanes(sum + fill_part(some, s->width, 0));
}

INLINE void many_multiply(const struct softmax_row *s, float *row, float factor)
{
    size_t last = (s->vectors - 1) * LANES;
    for (size_t c = 0; c < last; c += LANES)
        store(row + c, load(row + c) * splat(factor));
    store_part(row + last, load_part(row + last, s->width) * splat(factor), s->width);
}

/* f in the label's lane, 0 in the others */
INLINE vf at_label(int32_t label, size_t vector, float f)
{
    const vi lanes = LANE_NUMBERS;
    return (vf)((vi)splat(f) & (lanes == label - (int32_t)(vector * LANES)));
}

INLINE void gradient_rows(const struct compute_op *op, struct softmax_row s)
{
    size_t n = op->outputs;
    const float *z = compute_arg(op, 0);
    const int32_t *labels = compute_arg(op, 1);
    float *dz = compute_arg(op, 2), *sums = compute_arg(op, 3), *targets = compute_arg(op, 4);
    const float scale = op->scale;
    for (size_t r = 0; r < op->rows; r++, z += n, dz += n) {
        float target = z[labels[r]];
        if (s.vectors <= 2) {
            vf e[2];
            few_exponentials(&s, z, e);
            UNROLL for (size_t v = 0; v < s.vectors; v++)
            {
                e[v] = e[v] * splat(scale / s.sum) - at_label(labels[r], v, scale);
            }
            few_store(&s, dz, e);
        } else {
            many_exponentials(&s, z, dz);
            many_multiply(&s, dz, scale / s.sum);
            dz[labels[r]] -= scale;
        }
        sums[r] = s.sum;
        targets[r] = target - s.most;
    }
}

/* The label's logit is the largest and no class before it has the same. */
INLINE bool is_first_largest(const float *z, int32_t label, float most)
{
    if (!(z[label] >= most))
        return false;
    for (int32_t c = 0; c < label; c++) {
        if (z[c] >= most)
            return false;
    }
    return true;
}

INLINE void loss_rows(const struct compute_op *op, struct softmax_row s)
{
    size_t n = op->outputs;
    const int32_t *labels = compute_arg(op, 1);
    float *z = compute_arg(op, 0), *sums = compute_arg(op, 2), *targets = compute_arg(op, 3);
    int32_t *correct = compute_arg(op, 4);
    for (size_t r = 0; r < op->rows; r++, z += n) {
        vf e[2];
        if (s.vectors <= 2)
            few_exponentials(&s, z, e);
        else
            many_exponentials(&s, z, NULL);
        targets[r] = z[labels[r]] - s.most;
        correct[r] = is_first_largest(z, labels[r], s.most);
        sums[r] = s.sum;
    }
}

/* Where the number of vectors is a constant no loop over them is left. */
KERNEL_TARGET static void softmax_gradient(const struct compute_op *op)
{
    size_t full = (op->outputs - 1) / LANES, width = op->outputs - full * LANES;
    if (full == 0)
        gradient_rows(op, (struct softmax_row){.vectors = 1, .width = width});
    else if (full == 1)
        gradient_rows(op, (struct softmax_row){.vectors = 2, .width = width});
    else
        gradient_rows(op, (struct softmax_row){.vectors = full + 1, .width = width});
}

KERNEL_TARGET static void softmax_loss(const struct compute_op *op)
{
    size_t full = (op->outputs - 1) / LANES, width = op->outputs - full * LANES;
    if (full == 0)
        loss_rows(op, (struct softmax_row){.vectors = 1, .width = width});
    else if (full == 1)
        loss_rows(op, (struct softmax_row){.vectors = 2, .width = width});
    else
        loss_rows(op, (struct softmax_row){.vectors = full + 1, .width = width});
}

#endif
