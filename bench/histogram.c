#include "bench/histogram.h"
#include <stddef.h>

#define STEP_BITS 6

static size_t bucket_of(uint64_t ns)
{
    if (ns < HISTOGRAM_STEPS)
        return (size_t)ns;
    unsigned doubling = 63u - (unsigned)__builtin_clzll(ns) - STEP_BITS;
    size_t bucket = (doubling + 1) * HISTOGRAM_STEPS + (size_t)((ns >> doubling) - HISTOGRAM_STEPS);
    return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

/* The largest value that goes there. */
static int64_t bucket_end(size_t bucket)
{
    size_t doubling = bucket / HISTOGRAM_STEPS, step = bucket % HISTOGRAM_STEPS;
    if (doubling == 0)
        return (int64_t)step;
    return (int64_t)(((HISTOGRAM_STEPS + step + 1) << (doubling - 1)) - 1);
}

void histogram_add(struct histogram *h, int64_t ns)
{
    if (ns < 0)
        ns = 0;
    h->count++;
    h->sum_ns += (double)ns;
    if (ns > h->max_ns)
        h->max_ns = ns;
    h->buckets[bucket_of((uint64_t)ns)]++;
}

int64_t histogram_at(const struct histogram *h, double quantile)
{
    double wanted = quantile * (double)h->count;
    uint64_t below = 0;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        below += h->buckets[i];
        if (below > 0 && (double)below >= wanted)
            return bucket_end(i) < h->max_ns ? bucket_end(i) : h->max_ns;
    }
    return h->max_ns;
}
