#include "common/base/rng.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TWO_PI 6.283185307179586476925286766559
#define ULP53  0x1p-53

static uint64_t mix64(uint64_t z)
{
    z ^= z >> 30;
    z *= RNG_MIX_1;
    z ^= z >> 27;
    z *= RNG_MIX_2;
    return z ^ z >> 31;
}

uint64_t rng_key(uint64_t seed, uint64_t tag, uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t words[] = {tag, a, b, c};
    uint64_t h = mix64(seed + RNG_GOLDEN);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        h = mix64((h ^ words[i]) + RNG_GOLDEN);
    return h;
}

uint64_t rng_u64(uint64_t key, uint64_t i)
{
    return mix64(key + (i + 1) * RNG_GOLDEN);
}

double rng_uniform(uint64_t key, uint64_t i)
{
    return (double)(rng_u64(key, i) >> 11) * ULP53;
}

struct pair {
    double radius, angle;
};

static struct pair box_muller(uint64_t key, uint64_t pair_index)
{
    double u1 = (double)((rng_u64(key, 2 * pair_index) >> 11) + 1) * ULP53;
    double u2 = rng_uniform(key, 2 * pair_index + 1);
    return (struct pair){sqrt(-2.0 * log(u1)), TWO_PI * u2};
}

double rng_normal(uint64_t key, uint64_t i)
{
    struct pair p = box_muller(key, i / 2);
    return p.radius * (i % 2 ? sin(p.angle) : cos(p.angle));
}

void rng_normals(uint64_t key, double *out, size_t n)
{
    for (size_t i = 0; i < n; i += 2) {
        struct pair p = box_muller(key, i / 2);
        out[i] = p.radius * cos(p.angle);
        if (i + 1 < n)
            out[i + 1] = p.radius * sin(p.angle);
    }
}

enum err rng_permutation(uint64_t key, uint32_t *out, size_t n)
{
    if (n > UINT32_MAX)
        return ERR_INVALID_FIELD;
    struct rng_sort_item *scratch = calloc(n ? n : 1, sizeof *scratch);
    if (!scratch)
        return ERR_NO_MEMORY;
    rng_permutation_into(key, out, n, scratch);
    free(scratch);
    return ERR_OK;
}

/* Grows with the output, so n buckets of about one element each are already in order among themselves. */
static size_t bucket_of(uint64_t output, size_t n)
{
    return (size_t)((output >> 32) * n >> 32);
}

void rng_permutation_into(uint64_t key, uint32_t *out, size_t n, struct rng_sort_item *scratch)
{
    if (n > UINT32_MAX)
        bug("a permutation of %zu elements does not fit 32-bit indices", n);
    if (n == 0)
        return;
    /* `out` counts the buckets first: the keys are uniform, so this and one insertion pass sort in linear
     * time. */
    memset(out, 0, n * sizeof *out);
    for (size_t i = 0; i < n; i++)
        out[bucket_of(rng_u64(key, i), n)]++;
    uint32_t start = 0;
    for (size_t b = 0; b < n; b++) {
        uint32_t count = out[b];
        out[b] = start;
        start += count;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t output = rng_u64(key, i);
        scratch[out[bucket_of(output, n)]++] = (struct rng_sort_item){output, (uint32_t)i};
    }
    for (size_t i = 1; i < n; i++) {
        struct rng_sort_item item = scratch[i];
        size_t j = i;
        for (; j > 0 && scratch[j - 1].key > item.key; j--)
            scratch[j] = scratch[j - 1];
        scratch[j] = item;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = scratch[i].index;
}

int64_t rng_one_to(uint64_t key, uint64_t i, int64_t n)
{
    if (n < 1)
        bug("an integer between 1 and %lld was asked for", (long long)n);
    int64_t below = (int64_t)floor((double)n * rng_uniform(key, i));
    return 1 + (below < n ? below : n - 1); /* above 2^53 the product may round up to n */
}
