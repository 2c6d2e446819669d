/* Softmax cross-entropy. Lanes behind the last class are no classes; they become 0. */
#ifndef FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_SOFTMAX_H
#define FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_SOFTMAX_H

/* f in the label's lane, 0 in the others */
INLINE vf at_label(int32_t label, size_t vector, float f)
{
    const vi lanes = LANE_NUMBERS;
    return (vf)((vi)splat(f) & (lanes == label - (int32_t)(vector * LANES)));
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

/* Four rows of one or two vectors, in registers: sums over lanes are taken of four at once, and one row's
 * latencies hide behind the others'. */
struct softmax_four {
    size_t rows[4]; /* the last row is repeated where they run out */
    vf e[4][2];     /* exp(z - most) */
    vq most, sum;
};

/* vectors is a constant; the last has `width` classes. */
INLINE void softmax_four(struct softmax_four *f, const float *z, size_t stride, int vectors, size_t width)
{
    int last = vectors - 1;
    vf of_row[4];
    UNROLL for (int q = 0; q < 4; q++)
    {
        const float *row = z + f->rows[q] * stride;
        f->e[q][0] = load(row);
        f->e[q][last] = load(row + last * LANES);
        of_row[q] = fill_part(f->e[q][last], width, -INFINITY);
        if (vectors == 2)
            of_row[q] = at_least(f->e[q][0], of_row[q]);
    }
    f->most = max_lanes4(of_row[0], of_row[1], of_row[2], of_row[3]);
    UNROLL for (int q = 0; q < 4; q++)
    {
        const vf most = splat(f->most[q]);
        f->e[q][last] = of_row[q] = fill_part(exponential(f->e[q][last] - most), width, 0);
        if (vectors == 2) {
            f->e[q][0] = exponential(f->e[q][0] - most);
            of_row[q] += f->e[q][0];
        }
    }
    f->sum = sum_lanes4(of_row[0], of_row[1], of_row[2], of_row[3]);
}

INLINE void take_four(struct softmax_four *f, size_t first, size_t rows)
{
    UNROLL for (size_t q = 0; q < 4; q++)
    {
        f->rows[q] = first + q < rows ? first + q : rows - 1;
    }
}

INLINE void store_four(float *to, vq four, size_t count)
{
    if (count >= 4) {
        memcpy(to, &four, sizeof four);
        return;
    }
    to[0] = four[0];
    if (count > 1)
        to[1] = four[1];
    if (count > 2)
        to[2] = four[2];
}

INLINE vq label_logits(const struct softmax_four *f, const float *z, size_t stride, const int32_t *labels)
{
    const vq at = {z[f->rows[0] * stride + (size_t)labels[f->rows[0]]],
                   z[f->rows[1] * stride + (size_t)labels[f->rows[1]]],
                   z[f->rows[2] * stride + (size_t)labels[f->rows[2]]],
                   z[f->rows[3] * stride + (size_t)labels[f->rows[3]]]};
    return at;
}

/* From the first vector without a class on. */
INLINE void clear_end(float *row, size_t from, size_t stride)
{
    for (; from < stride; from += LANES)
        store(row + from, splat(0));
}

INLINE void gradient_of_few(const struct compute_op *op, int vectors, size_t width)
{
    size_t stride = compute_stride(op->outputs), rows = op->rows;
    const float *z = compute_arg(op, 0), scale = op->scale;
    const int32_t *labels = compute_arg(op, 1);
    float *dz = compute_arg(op, 2), *sums = compute_arg(op, 3), *targets = compute_arg(op, 4);
    for (size_t r = 0; r < rows; r += 4) {
        struct softmax_four f;
        take_four(&f, r, rows);
        const vq target = label_logits(&f, z, stride, labels);
        softmax_four(&f, z, stride, vectors, width);
        const vq factor = scale / f.sum;
        UNROLL for (int q = 0; q < 4; q++)
        {
            UNROLL for (int v = 0; v < vectors; v++)
            {
                store(dz + f.rows[q] * stride + (size_t)v * LANES,
                      f.e[q][v] * splat(factor[q]) - at_label(labels[f.rows[q]], (size_t)v, scale));
            }
            clear_end(dz + f.rows[q] * stride, (size_t)vectors * LANES, stride);
        }
        store_four(sums + r, f.sum, rows - r);
        store_four(targets + r, target - f.most, rows - r);
    }
}

INLINE void loss_of_few(const struct compute_op *op, int vectors, size_t width)
{
    size_t stride = compute_stride(op->outputs), rows = op->rows;
    const float *z = compute_arg(op, 0);
    const int32_t *labels = compute_arg(op, 1);
    float *sums = compute_arg(op, 2), *targets = compute_arg(op, 3);
    int32_t *correct = compute_arg(op, 4);
    for (size_t r = 0; r < rows; r += 4) {
        struct softmax_four f;
        take_four(&f, r, rows);
        softmax_four(&f, z, stride, vectors, width);
        store_four(sums + r, f.sum, rows - r);
        store_four(targets + r, label_logits(&f, z, stride, labels) - f.most, rows - r);
        for (size_t q = 0; q < 4 && r + q < rows; q++)
            correct[r + q] = is_first_largest(z + (r + q) * stride, labels[r + q], f.most[q]);
    }
}

/* One row of any length. e may be z; NULL: nobody wants the exponentials. */
struct softmax_row {
    float most, sum;
};

INLINE struct softmax_row softmax_row(const float *z, size_t classes, float *e)
{
    size_t last = (classes - 1) / LANES * LANES, width = classes - last;
    vf most = fill_part(load(z + last), width, -INFINITY), sum = splat(0);
    for (size_t c = 0; c < last; c += LANES)
        most = at_least(load(z + c), most);
    struct softmax_row s = {.most = max_lanes4(most, most, most, most)[0]};
    for (size_t c = 0; c <= last; c += LANES) {
        vf some = exponential(load(z + c) - splat(s.most));
        some = c == last ? fill_part(some, width, 0) : some;
        if (e)
            store(e + c, some);
        sum += some;
    }
    s.sum = sum_lanes4(sum, splat(0), splat(0), splat(0))[0];
    return s;
}

INLINE void gradient_of_many(const struct compute_op *op)
{
    size_t stride = compute_stride(op->outputs);
    const float *z = compute_arg(op, 0);
    const int32_t *labels = compute_arg(op, 1);
    float *dz = compute_arg(op, 2), *sums = compute_arg(op, 3), *targets = compute_arg(op, 4);
    for (size_t r = 0; r < op->rows; r++, z += stride, dz += stride) {
        float target = z[labels[r]];
        struct softmax_row s = softmax_row(z, op->outputs, dz);
        size_t c = 0;
        for (; c < op->outputs; c += LANES)
            store(dz + c, load(dz + c) * splat(op->scale / s.sum));
        clear_end(dz, c, stride);
        dz[labels[r]] -= op->scale;
        sums[r] = s.sum;
        targets[r] = target - s.most;
    }
}

INLINE void loss_of_many(const struct compute_op *op)
{
    size_t stride = compute_stride(op->outputs);
    const float *z = compute_arg(op, 0);
    const int32_t *labels = compute_arg(op, 1);
    float *sums = compute_arg(op, 2), *targets = compute_arg(op, 3);
    int32_t *correct = compute_arg(op, 4);
    for (size_t r = 0; r < op->rows; r++, z += stride) {
        struct softmax_row s = softmax_row(z, op->outputs, NULL);
        sums[r] = s.sum;
        targets[r] = z[labels[r]] - s.most;
        correct[r] = is_first_largest(z, labels[r], s.most);
    }
}

KERNEL_TARGET static void softmax_gradient(const struct compute_op *op)
{
    if (op->outputs <= LANES)
        gradient_of_few(op, 1, op->outputs);
    else if (op->outputs <= 2 * LANES)
        gradient_of_few(op, 2, op->outputs - LANES);
    else
        gradient_of_many(op);
}

KERNEL_TARGET static void softmax_loss(const struct compute_op *op)
{
    if (op->outputs <= LANES)
        loss_of_few(op, 1, op->outputs);
    else if (op->outputs <= 2 * LANES)
        loss_of_few(op, 2, op->outputs - LANES);
    else
        loss_of_many(op);
}

#endif
