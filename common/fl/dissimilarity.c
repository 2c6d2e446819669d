#include "common/fl/dissimilarity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum err dissimilarity_init(struct dissimilarity *d, size_t capacity)
{
    size_t room = capacity ? capacity : 1;
    *d = (struct dissimilarity){.capacity = capacity};
    d->weighted = malloc(room * sizeof *d->weighted);
    d->uniform = malloc(room * sizeof *d->uniform);
    if (d->weighted && d->uniform)
        return ERR_OK;
    dissimilarity_release(d);
    return ERR_NO_MEMORY;
}

void dissimilarity_release(struct dissimilarity *d)
{
    free(d->weighted);
    free(d->uniform);
    *d = (struct dissimilarity){0};
}

void dissimilarity_begin(struct dissimilarity *d, size_t num_elements)
{
    if (num_elements > d->capacity)
        bug("a range of %zu elements in a dissimilarity with room for %zu", num_elements, d->capacity);
    d->num_elements = num_elements;
    d->num_examples = 0;
    d->num_devices = 0;
    d->last_ordinal = -1;
    memset(d->weighted, 0, num_elements * sizeof *d->weighted);
    memset(d->uniform, 0, num_elements * sizeof *d->uniform);
}

void dissimilarity_add(struct dissimilarity *d, int64_t ordinal, int64_t num_examples, const real *gradient)
{
    double n = (double)num_examples, square = 0;
    if (ordinal <= d->last_ordinal || num_examples <= 0)
        bug("gradient of device %lld with %lld examples after device %lld", (long long)ordinal,
            (long long)num_examples, (long long)d->last_ordinal);
    d->last_ordinal = ordinal;
    d->num_examples += n;
    d->num_devices++;
    for (size_t i = 0; i < d->num_elements; i++) {
        double g = (double)gradient[i];
        square += g * g;
        d->weighted[i] += n * g;
        d->uniform[i] += g;
    }
    d->sum_square_weighted += n * square;
    d->sum_square_uniform += square;
}

void dissimilarity_end(struct dissimilarity *d)
{
    if (d->num_devices == 0)
        return;
    for (size_t i = 0; i < d->num_elements; i++) {
        double g = d->weighted[i] / d->num_examples;
        d->square_of_mean += g * g;
        d->cross += d->uniform[i] / (double)d->num_devices * g;
    }
}

enum err dissimilarity_finish(const struct dissimilarity *d, struct dissimilarity_result *out)
{
    if (d->num_devices == 0)
        return ERR_INVALID_UPDATE;
    double weighted = d->sum_square_weighted / d->num_examples;
    double uniform = d->sum_square_uniform / (double)d->num_devices;
    out->grad_norm = sqrt(d->square_of_mean);
    out->b = 1;
    if (weighted > 0)
        out->b = d->square_of_mean > 0 ? sqrt(weighted / d->square_of_mean) : INFINITY;
    /* E ||g_k - g||^2 = E ||g_k||^2 - 2 E g_k . g + ||g||^2; rounding may leave a little less than 0. */
    out->grad_variance_weighted = fmax(0, weighted - d->square_of_mean);
    out->grad_variance_uniform = fmax(0, uniform - 2 * d->cross + d->square_of_mean);
    return ERR_OK;
}
