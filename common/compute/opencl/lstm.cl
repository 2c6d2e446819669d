/* The LSTM over all time steps (compute_lstm.h). A work-group goes through the steps of TOGETHER examples, which share
 * what it reads of the weights; a work-item has all four gates of its units. Between steps the group meets. */

#define MEMBERS  128 /* work-items of a group */
#define TOGETHER 2

/* w_hh so that the four gates of a unit lie together, and neighbouring units beside each other: [k][unit][gate]. */
__kernel __attribute__((reqd_work_group_size(ACROSS, DOWN, 1))) void
lstm_pack(uint units, uint stride, __global const float *w_hh, ulong w_hh_at, __global float *packed, ulong packed_at)
{
    const uint k = get_global_id(0), row = get_global_id(1);
    if (k < units && row < 4 * units)
        packed[packed_at + ((ulong)k * units + row % units) * 4 + row / units] = w_hh[w_hh_at + (ulong)row * stride + k];
}

float sigmoid(float x)
{
    return 1 / (1 + exp(-x));
}

float4 load_gates(__global const float *at, uint units)
{
    return (float4)(at[0], at[units], at[2 * units], at[3 * units]);
}

void store_gates(__global float *at, uint units, float4 v)
{
    at[0] = v.s0;
    at[units] = v.s1;
    at[2 * units] = v.s2;
    at[3 * units] = v.s3;
}

/* Each example beyond the last is the last again, whose results are written once. */
__kernel __attribute__((reqd_work_group_size(MEMBERS, 1, 1))) void
lstm_forward(uint rows, uint steps, uint units, uint stride, uint gates_stride, __global const float *packed,
             ulong packed_at, __global const float *b_hh, ulong b_hh_at, __global float *z, ulong z_at,
             __global float *cells, ulong cells_at, __global float *h, ulong h_at, __global float *h_before,
             ulong h_before_at)
{
    const uint first = get_group_id(0) * TOGETHER;
    z += z_at;
    cells += cells_at;
    h += h_at;
    h_before += h_before_at;
    for (uint t = 0; t < steps; t++) {
        for (uint u = get_local_id(0); u < stride; u += MEMBERS) {
            ulong at[TOGETHER];
            float4 sum[TOGETHER];
            for (int e = 0; e < TOGETHER; e++) {
                at[e] = (ulong)min(first + e, rows - 1) * steps + t;
                sum[e] = 0;
                if (u < units)
                    sum[e] = load_gates(z + at[e] * gates_stride + u, units) + load_gates(b_hh + b_hh_at + u, units);
            }
            for (uint k = 0; t > 0 && u < units && k < units; k++) {
                const float4 w = vload4((ulong)k * units + u, packed + packed_at);
                for (int e = 0; e < TOGETHER; e++)
                    sum[e] += w * h[(at[e] - 1) * stride + k];
            }
            for (int e = 0; e < TOGETHER && first + e < rows; e++) {
                const ulong to = at[e] * stride + u;
                const float4 gates =
                    (float4)(sigmoid(sum[e].s0), sigmoid(sum[e].s1), tanh(sum[e].s2), sigmoid(sum[e].s3));
                const float cell = gates.s1 * (t > 0 ? cells[to - stride] : 0) + gates.s0 * gates.s2;
                h_before[to] = t > 0 ? h[to - stride] : 0;
                cells[to] = u < units ? cell : 0;
                h[to] = u < units ? gates.s3 * tanh(cell) : 0;
                if (u < units)
                    store_gates(z + at[e] * gates_stride + u, units, gates);
            }
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
}

/* A step's cell becomes the gradient that flows from it to the cell of the step before. */
__kernel __attribute__((reqd_work_group_size(MEMBERS, 1, 1))) void
lstm_backward(uint rows, uint steps, uint units, uint stride, uint gates_stride, int is_last_only,
              __global const float *dh, ulong dh_at, __global const float *w_hh, ulong w_hh_at, __global float *z,
              ulong z_at, __global float *cells, ulong cells_at)
{
    const uint first = get_group_id(0) * TOGETHER;
    dh += dh_at;
    w_hh += w_hh_at;
    z += z_at;
    cells += cells_at;
    for (uint t = steps; t-- > 0;) {
        for (uint u = get_local_id(0); u < units; u += MEMBERS) {
            ulong at[TOGETHER];
            float sum[TOGETHER];
            for (int e = 0; e < TOGETHER; e++) {
                const uint r = min(first + e, rows - 1);
                at[e] = (ulong)r * steps + t;
                sum[e] = 0;
                if (!is_last_only)
                    sum[e] = dh[at[e] * stride + u];
                else if (t + 1 == steps)
                    sum[e] = dh[(ulong)r * stride + u];
            }
            for (uint row = 0; t + 1 < steps && row < 4 * units; row++) {
                const float w = w_hh[(ulong)row * stride + u];
                for (int e = 0; e < TOGETHER; e++)
                    sum[e] += z[(at[e] + 1) * gates_stride + row] * w;
            }
            for (int e = 0; e < TOGETHER && first + e < rows; e++) {
                const float4 gate = load_gates(z + at[e] * gates_stride + u, units);
                __global float *cell = cells + at[e] * stride + u;
                const float i = gate.s0, f = gate.s1, k = gate.s2, o = gate.s3, squashed = tanh(*cell),
                            before = t > 0 ? *(cell - stride) : 0, flowing = t + 1 < steps ? cell[stride] : 0,
                            dc = sum[e] * o * (1 - squashed * squashed) + flowing;
                store_gates(z + at[e] * gates_stride + u, units,
                            (float4)(dc * k * i * (1 - i), dc * before * f * (1 - f), dc * i * (1 - k * k),
                                     sum[e] * squashed * o * (1 - o)));
                *cell = dc * f;
            }
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
}
