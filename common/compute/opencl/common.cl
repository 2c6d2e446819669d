/* What the other files build on: this one stands before each of them.
 *
 * Matrices are as common/compute/compute.h has them: row-major, rows padded with zeros. Every sum runs in an order that
 * only the sizes decide. `..._at` are offsets in elements of what the pointer before them points to. */

#ifdef HAS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#define TILE  64 /* a work-group's square of results */
#define SIDE  16 /* work-items along each side of it */
#define EACH  4  /* results of a work-item along each side: of item ly + p SIDE and column lx + q SIDE */
#define DEPTH 16 /* terms in local memory at a time; as SIDE, so that a work-item loads EACH values of either side */

#define ACROSS 16 /* a work-group of the kernels that have a work-item for each value of a matrix: so many columns ... */
#define DOWN   4  /* ... of so many rows */

enum { FINISH_STORE, FINISH_ADD, FINISH_STEP };

float finish(int how, float old, float anchor, float sum, float learning_rate, float mu)
{
    if (how == FINISH_ADD)
        return old + sum;
    if (how == FINISH_STEP)
        return old - learning_rate * (sum + mu * (old - anchor));
    return sum;
}

void clear_tile(float (*sum)[EACH])
{
    for (int p = 0; p < EACH; p++)
        for (int q = 0; q < EACH; q++)
            sum[p][q] = 0;
}

/* Adds the DEPTH terms in local memory, a barrier before and after. */
void add_terms(float (*sum)[EACH], __local float (*as)[TILE + 1], __local float (*bs)[TILE + 1], uint lx,
               uint ly)
{
#pragma unroll
    for (int t = 0; t < DEPTH; t++)
#pragma unroll
        for (int p = 0; p < EACH; p++)
#pragma unroll
            for (int q = 0; q < EACH; q++)
                sum[p][q] += as[t][ly + p * SIDE] * bs[t][lx + q * SIDE];
}

/* The first of the largest; a NaN is larger than any number. */
bool is_larger(float v, float most)
{
    return v > most || (isnan(v) && !isnan(most));
}
