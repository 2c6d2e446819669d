/* Max-pooling and the order of an image's values. A work-item has a value: its column is a channel (pool) or a place in
 * the row (unpack). */

/* What is under place i of the window that puts out pixel y, x: the pixel of the input. */
uint under(uint y, uint x, uint size, uint step, uint width, uint i)
{
    return (y * step + i / size) * width + x * step + i % size;
}

__kernel __attribute__((reqd_work_group_size(ACROSS, DOWN, 1))) void
pool_forward(uint rows, uint stride, uint size, uint step, uint height, uint width, uint out_height, uint out_width,
             __global const float *x, ulong x_at, __global float *y, ulong y_at, __global uchar *largest,
             ulong largest_at)
{
    const uint c = get_global_id(0), i = get_global_id(1), pixels = out_height * out_width, pixel = i % pixels;
    const uint oy = pixel / out_width, ox = pixel % out_width;
    if (i >= rows * pixels)
        return;
    x += x_at + (ulong)(i / pixels) * height * width * stride + c;
    float most = x[(ulong)under(oy, ox, size, step, width, 0) * stride];
    uchar where = 0;
    for (uint k = 1; k < size * size; k++) {
        const float v = x[(ulong)under(oy, ox, size, step, width, k) * stride];
        if (is_larger(v, most)) {
            most = v;
            where = (uchar)k;
        }
    }
    y[y_at + (ulong)i * stride + c] = most;
    largest[largest_at + (ulong)i * stride + c] = where;
}

/* Each pixel of dx looks at the windows that it is in, from the top left. */
__kernel __attribute__((reqd_work_group_size(ACROSS, DOWN, 1))) void
pool_backward(uint rows, uint stride, uint size, uint step, uint height, uint width, uint out_height, uint out_width,
              __global const float *dy, ulong dy_at, __global const uchar *largest, ulong largest_at,
              __global float *dx, ulong dx_at)
{
    const uint c = get_global_id(0), i = get_global_id(1), pixel = i % (height * width);
    const uint iy = pixel / width, ix = pixel % width;
    const ulong image = (ulong)(i / (height * width)) * out_height * out_width;
    float sum = 0;
    if (i >= rows * height * width)
        return;
    for (uint oy = iy < size ? 0 : (iy - size) / step + 1; oy < out_height && oy * step <= iy; oy++)
        for (uint ox = ix < size ? 0 : (ix - size) / step + 1; ox < out_width && ox * step <= ix; ox++) {
            const ulong at = (image + oy * out_width + ox) * stride + c;
            if (largest[largest_at + at] == (iy - oy * step) * size + ix - ox * step)
                sum += dy[dy_at + at];
        }
    dx[dx_at + (ulong)i * stride + c] = sum;
}

__kernel __attribute__((reqd_work_group_size(ACROSS, DOWN, 1))) void
unpack(uint rows, uint pixels, uint channels, uint spacing, int is_planar, uint x_stride, uint y_stride,
       __global const float *x, ulong x_at, __global float *y, ulong y_at)
{
    const uint i = get_global_id(0), r = get_global_id(1), pixel = i / spacing, c = i % spacing;
    float v = 0;
    if (r >= rows)
        return;
    if (c < channels && pixel < pixels)
        v = x[x_at + (ulong)r * x_stride + (is_planar ? c * pixels + pixel : pixel * channels + c)];
    y[y_at + (ulong)r * y_stride + i] = v;
}
