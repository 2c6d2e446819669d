/* Tables of tokens, and the last steps of sequences. A work-item has a value: its column, and its row of what comes
 * out. */

uint token_of(__global const float *tokens, uint steps, uint stride, uint i)
{
    return (uint)tokens[(ulong)(i / steps) * stride + i % steps];
}

__kernel __attribute__((reqd_work_group_size(ACROSS, DOWN, 1))) void
gather(uint count, uint steps, uint tokens_stride, uint stride, __global const float *tokens, ulong tokens_at,
       __global const float *table, ulong table_at, __global float *y, ulong y_at)
{
    const uint j = get_global_id(0), i = get_global_id(1);
    if (i < count)
        y[y_at + (ulong)i * stride + j] =
            table[table_at + (ulong)token_of(tokens + tokens_at, steps, tokens_stride, i) * stride + j];
}

/* The tokens pass by in local memory, and each row of the table takes those that are its own, in their order. */
__kernel __attribute__((reqd_work_group_size(ACROSS, DOWN, 1))) void
scatter_add(uint count, uint steps, uint tokens_stride, uint vocabulary, uint stride, int accumulate,
            __global const float *tokens, ulong tokens_at, __global const float *dy, ulong dy_at,
            __global float *d_table, ulong d_table_at)
{
    __local uint passing[ACROSS * DOWN];
    const uint j = get_global_id(0), token = get_global_id(1), me = get_local_id(1) * ACROSS + get_local_id(0);
    float sum = 0;
    dy += dy_at + j;
    for (uint i0 = 0; i0 < count; i0 += ACROSS * DOWN) {
        const uint here = min((uint)(ACROSS * DOWN), count - i0);
        if (me < here)
            passing[me] = token_of(tokens + tokens_at, steps, tokens_stride, i0 + me);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = 0; i < here; i++)
            if (passing[i] == token)
                sum += dy[(ulong)(i0 + i) * stride];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (token < vocabulary) {
        __global float *to = d_table + d_table_at + (ulong)token * stride + j;
        *to = accumulate ? *to + sum : sum;
    }
}

__kernel __attribute__((reqd_work_group_size(ACROSS, DOWN, 1))) void
last_step(uint rows, uint steps, uint stride, __global const float *h, ulong h_at, __global float *last, ulong last_at)
{
    const uint j = get_global_id(0), r = get_global_id(1);
    if (r < rows)
        last[last_at + (ulong)r * stride + j] = h[h_at + ((ulong)(r + 1) * steps - 1) * stride + j];
}
