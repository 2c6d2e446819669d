/* The dense layer's products with all the weights, for up to FEW rows: tiles would be mostly empty, and too few to keep
 * a device busy. The weights are read once, by neighbours side by side. */

#define FEW   16
#define LANES 64 /* of a group, side by side along a row of w ... */
#define LINES 4  /* ... and in so many rows of it */

/* z = x w' + b. A group has LINES outputs, and its lanes share their inputs. Rows beyond the last are the last. */
__kernel __attribute__((reqd_work_group_size(LANES, LINES, 1))) void
few_forward(uint rows, uint inputs, uint outputs, uint x_stride, uint z_stride, __global const float *x, ulong x_at,
            __global const float *w, ulong w_at, __global const float *b, ulong b_at, __global float *z, ulong z_at)
{
    __local float parts[LINES * FEW][LANES + 1];
    const uint lane = get_local_id(0), line = get_local_id(1), o = get_group_id(0) * LINES + line;
    float sum[FEW];
    for (int r = 0; r < FEW; r++)
        sum[r] = 0;
    for (uint t = lane; t < inputs && o < outputs; t += LANES) {
        const float f = w[w_at + (ulong)o * x_stride + t];
#pragma unroll
        for (uint r = 0; r < FEW; r++)
            sum[r] += f * x[x_at + (ulong)min(r, rows - 1) * x_stride + t];
    }
    for (int r = 0; r < FEW; r++)
        parts[line * FEW + r][lane] = sum[r];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < FEW && lane < rows && o < z_stride) {
        float total = 0;
        for (int k = 0; k < LANES; k++)
            total += parts[line * FEW + lane][k];
        z[z_at + (ulong)lane * z_stride + o] = o < outputs ? total + b[b_at + o] : 0;
    }
}

/* dx = dz w. A group has LANES inputs, and its lines share the outputs. */
__kernel __attribute__((reqd_work_group_size(LANES, LINES, 1))) void
few_input_gradient(uint rows, uint inputs, uint outputs, uint x_stride, uint z_stride, __global const float *dz,
                   ulong dz_at, __global const float *w, ulong w_at, __global float *dx, ulong dx_at)
{
    __local float parts[LINES][FEW][LANES];
    const uint lane = get_local_id(0), line = get_local_id(1), i = get_group_id(0) * LANES + lane;
    float sum[FEW];
    for (int r = 0; r < FEW; r++)
        sum[r] = 0;
    for (uint o = line; o < outputs && i < inputs; o += LINES) {
        const float f = w[w_at + (ulong)o * x_stride + i];
#pragma unroll
        for (uint r = 0; r < FEW; r++)
            sum[r] += f * dz[dz_at + (ulong)min(r, rows - 1) * z_stride + o];
    }
    for (int r = 0; r < FEW; r++)
        parts[line][r][lane] = sum[r];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint r = line; r < rows && i < x_stride; r += LINES) {
        float total = 0;
        for (int k = 0; k < LINES; k++)
            total += parts[k][r][lane];
        dx[dx_at + (ulong)r * x_stride + i] = total;
    }
}
