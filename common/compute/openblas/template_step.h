/* A step of softmax regression. A batch of up to 16 rows and classes stands across: a vector has one class of
 * all rows, so that maxima and sums over classes need no lane to meet another. */
#ifndef FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_STEP_H
#define FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_STEP_H

/* Rows are rounded up to fours wherever a tile of them ends, hence the room behind the 16th. */
enum { ACROSS = 16, ACROSS_STRIDE = 32, ACROSS_VECTORS = ACROSS / LANES };

/* z becomes dz, both [classes][rows]. */
INLINE void softmax_across(const struct compute_op *op, float z[ACROSS][ACROSS_STRIDE], size_t v)
{
    const vi lanes = LANE_NUMBERS;
    size_t first = v * LANES, n = op->outputs, rows = op->rows > first ? op->rows - first : 0;
    rows = rows < LANES ? rows : LANES;
    float *sums = (float *)compute_arg(op, 7) + first, *targets = (float *)compute_arg(op, 8) + first;
    int32_t labels_of[LANES] = {0};
    for (size_t r = 0; r < rows; r++)
        labels_of[r] = ((const int32_t *)compute_arg(op, 1))[first + r];
    vi labels, is_row = lanes < (int32_t)rows;
    memcpy(&labels, labels_of, sizeof labels);
    vf most = load(z[0] + first), sum = splat(0);
    for (size_t c = 1; c < n; c++)
        most = at_least(load(z[c] + first), most);
    vi target = {0};
    vf e[ACROSS];
    for (size_t c = 0; c < n; c++) {
        vf shifted = load(z[c] + first) - most;
        target |= (labels == (int32_t)c) & (vi)shifted;
        e[c] = exponential(shifted);
        sum += e[c];
    }
    vf factor = op->scale / sum;
    for (size_t c = 0; c < n; c++) {
        vf dz = e[c] * factor - (vf)((labels == (int32_t)c) & (vi)splat(op->scale));
        store(z[c] + first, (vf)(is_row & (vi)dz));
    }
    float of_rows[2][LANES];
    store(of_rows[0], sum);
    store(of_rows[1], (vf)target);
    memcpy(sums, of_rows[0], rows * sizeof *sums);
    memcpy(targets, of_rows[1], rows * sizeof *targets);
}

INLINE void forward_across(const struct compute_op *op, float z[ACROSS][ACROSS_STRIDE])
{
    const struct dots d = {.outputs = op->outputs,
                           .x_stride = compute_stride(op->inputs),
                           .z_stride = ACROSS_STRIDE,
                           .x = compute_arg(op, 0),
                           .w = compute_arg(op, 2),
                           .b = compute_arg(op, 3),
                           .z = z[0]};
    for (size_t r = 0; r < op->rows; r += DOT_BLOCK) {
        size_t rows = op->rows - r < DOT_BLOCK ? op->rows - r : DOT_BLOCK, c = 0;
        for (; c + 2 <= d.outputs; c += 2)
            dot_rows(&d, r, rows, c, 2, true);
        if (c < d.outputs)
            dot_rows(&d, r, rows, c, 1, true);
    }
}

INLINE void update_across(const struct compute_op *op, float dz[ACROSS][ACROSS_STRIDE])
{
    struct outer o = {.terms = op->rows,
                      .items = op->outputs,
                      .width = compute_stride(op->inputs),
                      .a = dz[0],
                      .a_term = 1,
                      .a_item = ACROSS_STRIDE,
                      .b = compute_arg(op, 0),
                      .out = compute_arg(op, 2),
                      .finish = op->mu == 0 ? FINISH_SGD : FINISH_PROX,
                      .learning_rate = op->learning_rate,
                      .mu = op->mu,
                      .anchor = compute_arg(op, 4)};
    outer_run(&o, 0, o.width);
    float db[ACROSS];
    for (size_t c = 0; c < ACROSS; c += 4) {
        vf of_class[4];
        UNROLL for (size_t q = 0; q < 4; q++)
        {
            of_class[q] = load(dz[c + q]);
            UNROLL for (size_t v = 1; v < ACROSS_VECTORS; v++)
            {
                of_class[q] += load(dz[c + q] + v * LANES);
            }
        }
        vq four = sum_lanes4(of_class[0], of_class[1], of_class[2], of_class[3]);
        memcpy(db + c, &four, sizeof four);
    }
    o.out = compute_arg(op, 3);
    o.anchor = compute_arg(op, 5);
    for (size_t c = 0; c < ACROSS; c += LANES)
        finish_vector(&o, o.finish, c, load(db + c));
}

KERNEL_TARGET static void softmax_step(const struct compute_op *op)
{
    if (op->rows <= ACROSS && op->outputs <= ACROSS && op->rows > 0) {
        float z[ACROSS][ACROSS_STRIDE] __attribute__((aligned(64))) = {{0}};
        forward_across(op, z);
        for (size_t v = 0; v < ACROSS_VECTORS; v++)
            softmax_across(op, z, v);
        update_across(op, z);
        return;
    }
    const struct compute_softmax_parts parts = compute_softmax_parts(op);
    const struct team_part forward = tiles_all(&parts.forward), update = tiles_all(&parts.update);
    dense_forward(&parts.forward, &forward);
    softmax_gradient(&parts.gradient);
    dense_update(&parts.update, &update);
}

#endif
