/* The dense layer's products. */

/* out[i][j] = sum over t of a(i, t) b(t, j), for i < items, j < width; columns from width to out_stride become 0.
 * a(i, t) = a[i a_item + t a_term], b(t, j) = b[t b_term + j b_width]. `more` is a bias that is added (FINISH_STORE,
 * if has_bias) or the anchor, laid out as out (FINISH_STEP). */
__kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1))) void
product(uint items, uint width, uint terms, __global const float *a, ulong a_at, uint a_item, uint a_term,
        __global const float *b, ulong b_at, uint b_term, uint b_width, __global float *out, ulong out_at,
        uint out_stride, __global const float *more, ulong more_at, int has_bias, int how, float learning_rate,
        float mu)
{
    __local float as[DEPTH][TILE + 1], bs[DEPTH][TILE + 1];
    const uint lx = get_local_id(0), ly = get_local_id(1), flat = ly * SIDE + lx;
    const uint i0 = get_group_id(1) * TILE, j0 = get_group_id(0) * TILE;
    float sum[EACH][EACH];
    clear_tile(sum);
    a += a_at;
    b += b_at;
    for (uint t0 = 0; t0 < terms; t0 += DEPTH) {
        for (uint l = flat; l < TILE * DEPTH; l += SIDE * SIDE) {
            /* neighbours read neighbours, whichever way the matrix lies */
            uint t = a_term == 1 ? l % DEPTH : l / TILE, i = a_term == 1 ? l / DEPTH : l % TILE;
            as[t][i] = i0 + i < items && t0 + t < terms ? a[(ulong)(i0 + i) * a_item + (ulong)(t0 + t) * a_term] : 0;
            t = b_term == 1 ? l % DEPTH : l / TILE;
            i = b_term == 1 ? l / DEPTH : l % TILE;
            bs[t][i] = j0 + i < width && t0 + t < terms ? b[(ulong)(t0 + t) * b_term + (ulong)(j0 + i) * b_width] : 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        add_terms(sum, as, bs, lx, ly);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int p = 0; p < EACH; p++)
        for (int q = 0; q < EACH; q++) {
            const uint i = i0 + ly + p * SIDE, j = j0 + lx + q * SIDE;
            const ulong at = (ulong)i * out_stride + j;
            if (i >= items || j >= out_stride)
                continue;
            if (has_bias)
                out[out_at + at] = j < width ? sum[p][q] + more[more_at + j] : 0;
            else
                out[out_at + at] = j >= width ? 0
                                              : finish(how, out[out_at + at], more[more_at + at], sum[p][q],
                                                       learning_rate, mu);
        }
}

/* out[j] = sum over the rows of a[t][j] */
__kernel void column_sums(uint rows, uint width, uint stride, __global const float *a, ulong a_at, __global float *out,
                          ulong out_at, __global const float *anchor, ulong anchor_at, int how, float learning_rate,
                          float mu)
{
    const uint j = get_global_id(0);
    float sum = 0;
    if (j >= stride)
        return;
    for (uint t = 0; t < rows; t++)
        sum += a[a_at + (ulong)t * stride + j];
    out[out_at + j] =
        j >= width ? 0 : finish(how, out[out_at + j], anchor[anchor_at + j], sum, learning_rate, mu);
}
