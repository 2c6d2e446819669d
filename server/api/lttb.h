/* Down-sampling of a curve for plotting: largest triangle three buckets (Steinarsson, "Downsampling Time
 * Series for Visual Representation", 2013). Keeps the first and the last point and, of each bucket between,
 * the one that spans the largest triangle with its neighbours, so peaks survive. */
#ifndef FEDLANE_API_LTTB_H
#define FEDLANE_API_LTTB_H

#include <stddef.h>

/* Indices of the points to keep, ascending, into out_indices[max]. x ascends; y may hold NaN, which never
 * wins over a number. Returns how many: n when n <= max, else max. max >= 2. */
size_t lttb_select(const double *x, const double *y, size_t n, size_t max, size_t *out_indices);

#endif
