/* Durations in buckets that are 1.6 % wide from a nanosecond to half an hour, so a percentile costs no list
 * of all values. */
#ifndef FEDLANE_BENCH_HISTOGRAM_H
#define FEDLANE_BENCH_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_STEPS   64 /* buckets for each doubling */
#define HISTOGRAM_BUCKETS (36 * HISTOGRAM_STEPS)

struct histogram {
    uint64_t count;
    int64_t max_ns;
    double sum_ns;
    uint64_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *h, int64_t ns);
/* The value that a part `quantile` (0 to 1) of all values does not exceed, to 1.6 %; 0 when there is none. */
int64_t histogram_at(const struct histogram *h, double quantile);

#endif
