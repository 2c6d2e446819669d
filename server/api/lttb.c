#include "server/api/lttb.h"

#include <math.h>

/* Bucket b of `max - 2`, over the points between the first and the last: its first point. */
static size_t bucket_start(size_t b, size_t n, size_t max)
{
    return 1 + (size_t)((double)b * (double)(n - 2) / (double)(max - 2));
}

static void mean_of(const double *x, const double *y, size_t from, size_t to, double *out_x, double *out_y)
{
    double sx = 0, sy = 0;
    size_t finite = 0;
    for (size_t i = from; i < to; i++) {
        sx += x[i];
        if (isfinite(y[i])) {
            sy += y[i];
            finite++;
        }
    }
    *out_x = sx / (double)(to - from);
    *out_y = finite ? sy / (double)finite : 0;
}

static size_t widest(const double *x, const double *y, size_t last, size_t from, size_t to, double cx,
                     double cy)
{
    size_t best = from;
    double best_area = -1, ay = isfinite(y[last]) ? y[last] : 0;
    for (size_t i = from; i < to; i++) {
        double area = fabs((x[last] - cx) * (y[i] - ay) - (x[last] - x[i]) * (cy - ay));
        if (area > best_area) {
            best_area = area;
            best = i;
        }
    }
    return best;
}

size_t lttb_select(const double *x, const double *y, size_t n, size_t max, size_t *out_indices)
{
    if (n <= max) {
        for (size_t i = 0; i < n; i++)
            out_indices[i] = i;
        return n;
    }
    size_t last = 0;
    out_indices[0] = 0;
    for (size_t b = 0; b + 2 < max; b++) {
        size_t from = bucket_start(b, n, max), to = bucket_start(b + 1, n, max);
        size_t next_end = b + 3 < max ? bucket_start(b + 2, n, max) : n;
        double cx, cy;
        mean_of(x, y, to, next_end, &cx, &cy);
        last = widest(x, y, last, from, to, cx, cy);
        out_indices[b + 1] = last;
    }
    out_indices[max - 1] = n - 1;
    return max;
}
