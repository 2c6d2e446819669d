/* Losses: softmax and sigmoid cross-entropy. */

uint first_largest(__global const float *z, uint outputs)
{
    uint best = 0;
    for (uint c = 1; c < outputs; c++)
        if (z[c] > z[best])
            best = c;
    return best;
}

float sum_of_exponentials(__global const float *z, uint outputs, float shift)
{
    float sum = 0;
    for (uint c = 0; c < outputs; c++)
        sum += exp(z[c] - shift);
    return sum;
}

/* A work-item has a row. */
__kernel void softmax_gradient(uint rows, uint outputs, uint stride, float scale, __global const float *z, ulong z_at,
                               __global const int *labels, ulong labels_at, __global float *dz, ulong dz_at,
                               __global float *sums, ulong sums_at, __global float *targets, ulong targets_at)
{
    const uint r = get_global_id(0);
    if (r >= rows)
        return;
    z += z_at + (ulong)r * stride;
    dz += dz_at + (ulong)r * stride;
    const uint label = labels[labels_at + r];
    const float shift = z[first_largest(z, outputs)], sum = sum_of_exponentials(z, outputs, shift);
    sums[sums_at + r] = sum;
    targets[targets_at + r] = z[label] - shift;
    for (uint c = 0; c < stride; c++)
        dz[c] = c < outputs ? scale * (exp(z[c] - shift) / sum - (c == label ? 1 : 0)) : 0;
}

__kernel void softmax_loss(uint rows, uint outputs, uint stride, __global const float *z, ulong z_at,
                           __global const int *labels, ulong labels_at, __global float *sums, ulong sums_at,
                           __global float *targets, ulong targets_at, __global int *correct, ulong correct_at)
{
    const uint r = get_global_id(0);
    if (r >= rows)
        return;
    z += z_at + (ulong)r * stride;
    const uint label = labels[labels_at + r], best = first_largest(z, outputs);
    sums[sums_at + r] = sum_of_exponentials(z, outputs, z[best]);
    targets[targets_at + r] = z[label] - z[best];
    correct[correct_at + r] = best == label && !isnan(z[label]);
}

/* A row of sigmoid cross-entropy: softmax over the logits 0 and z, the larger taken from both. */
void write_losses(float z, int label, __global float *sum, __global float *target)
{
    *sum = 1 + exp(-fabs(z));
    *target = (label ? z : 0) - (z < 0 ? 0 : z);
}

__kernel void sigmoid_gradient(uint rows, uint outputs, uint stride, float scale, __global const float *z, ulong z_at,
                               __global const int *labels, ulong labels_at, __global float *dz, ulong dz_at,
                               __global float *sums, ulong sums_at, __global float *targets, ulong targets_at)
{
    const uint r = get_global_id(0);
    if (r >= rows)
        return;
    const float logit = z[z_at + (ulong)r * stride];
    const int label = labels[labels_at + r];
    write_losses(logit, label, &sums[sums_at + r], &targets[targets_at + r]);
    dz += dz_at + (ulong)r * stride;
    dz[0] = scale * (1 / (1 + exp(-logit)) - label);
    for (uint c = outputs; c < stride; c++)
        dz[c] = 0;
}

__kernel void sigmoid_loss(uint rows, uint outputs, uint stride, __global const float *z, ulong z_at,
                           __global const int *labels, ulong labels_at, __global float *sums, ulong sums_at,
                           __global float *targets, ulong targets_at, __global int *correct, ulong correct_at)
{
    const uint r = get_global_id(0);
    if (r >= rows)
        return;
    const float logit = z[z_at + (ulong)r * stride];
    const int label = labels[labels_at + r];
    write_losses(logit, label, &sums[sums_at + r], &targets[targets_at + r]);
    correct[correct_at + r] = !isnan(logit) && (logit > 0) == (label == 1);
}
