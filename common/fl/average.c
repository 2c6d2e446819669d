#include "common/fl/average.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum err average_init(struct average *a, size_t capacity)
{
    *a = (struct average){.capacity = capacity};
    a->acc = malloc((capacity ? capacity : 1) * sizeof *a->acc);
    return a->acc ? ERR_OK : ERR_NO_MEMORY;
}

void average_release(struct average *a)
{
    free(a->acc);
    *a = (struct average){0};
}

void average_begin(struct average *a, size_t num_elements)
{
    if (num_elements > a->capacity)
        bug("a range of %zu elements in an average with room for %zu", num_elements, a->capacity);
    a->num_elements = num_elements;
    a->total = 0;
    a->last_ordinal = -1;
    memset(a->acc, 0, num_elements * sizeof *a->acc);
}

/* How far ahead the values are asked for: several streams at once are more than the processor foresees. */
#define AHEAD_BYTES 2048

/* acc[i] += weights[k] * values[k][i] for k = 0, 1, ... in turn: one product and one sum each, never fused,
 * so that vectors of any length and no vectors at all give the same bits. */
static inline __attribute__((always_inline)) void add_group(double *acc, size_t n, size_t count,
                                                            const double *weights, const real *const *values,
                                                            size_t first)
{
    typedef real real8 __attribute__((vector_size(8 * sizeof(real))));
    typedef double double8 __attribute__((vector_size(64)));
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        double8 sum[2];
        memcpy(sum, acc + i, sizeof sum);
        for (size_t k = 0; k < count; k++) {
            real8 v[2];
            memcpy(v, values[k] + first + i, sizeof v);
            sum[0] += weights[k] * __builtin_convertvector(v[0], double8);
            sum[1] += weights[k] * __builtin_convertvector(v[1], double8);
            __builtin_prefetch((const void *)((uintptr_t)(values[k] + first + i) + AHEAD_BYTES));
        }
        memcpy(acc + i, sum, sizeof sum);
    }
    for (; i < n; i++) {
        for (size_t k = 0; k < count; k++)
            acc[i] += weights[k] * (double)values[k][first + i];
    }
}

/* Whole groups with constants, so that nothing is left of the loops over k. */
static inline __attribute__((always_inline)) void add_all(double *acc, size_t n, size_t count,
                                                          const double *weights, const real *const *values,
                                                          size_t first)
{
    size_t k = 0;
    for (; k + AVERAGE_GROUP <= count; k += AVERAGE_GROUP)
        add_group(acc, n, AVERAGE_GROUP, weights + k, values + k, first);
    for (; k < count; k++)
        add_group(acc, n, 1, weights + k, values + k, first);
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) static void add_avx512(double *acc, size_t n, size_t count,
                                                          const double *weights, const real *const *values,
                                                          size_t first)
{
    add_all(acc, n, count, weights, values, first);
}

__attribute__((target("avx2"))) static void add_avx2(double *acc, size_t n, size_t count,
                                                     const double *weights, const real *const *values,
                                                     size_t first)
{
    add_all(acc, n, count, weights, values, first);
}
#endif

static void add_devices(double *acc, size_t n, size_t count, const double *weights, const real *const *values,
                        size_t first)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) {
        add_avx512(acc, n, count, weights, values, first);
        return;
    }
    if (__builtin_cpu_supports("avx2")) {
        add_avx2(acc, n, count, weights, values, first);
        return;
    }
#endif
    add_all(acc, n, count, weights, values, first);
}

void average_add(struct average *a, size_t count, const int64_t *ordinals, const double *weights,
                 const real *const *values, size_t first)
{
    for (size_t k = 0; k < count; k++) {
        if (ordinals[k] <= a->last_ordinal)
            bug("device %lld added to an average after device %lld", (long long)ordinals[k],
                (long long)a->last_ordinal);
        if (!(weights[k] >= 0) || !isfinite(weights[k]))
            bug("weight %g of device %lld", weights[k], (long long)ordinals[k]);
        a->last_ordinal = ordinals[k];
        a->total += weights[k];
    }
    add_devices(a->acc, a->num_elements, count, weights, values, first);
}

enum err average_finish(const struct average *a, real *out)
{
    if (!(a->total > 0))
        return ERR_INVALID_UPDATE;
    for (size_t i = 0; i < a->num_elements; i++)
        out[i] = (real)(a->acc[i] / a->total);
    return ERR_OK;
}

enum err average_blocks(const int64_t *ordinals, const double *weights, const real *const *values,
                        size_t num_devices, size_t num_params, real *out)
{
    struct average a;
    enum err err = average_init(&a, AVERAGE_RANGE);
    for (size_t from = 0; !err && (from < num_params || from == 0); from += AVERAGE_RANGE) {
        size_t some = num_params - from < AVERAGE_RANGE ? num_params - from : AVERAGE_RANGE;
        average_begin(&a, some);
        average_add(&a, num_devices, ordinals, weights, values, from);
        err = average_finish(&a, out + from);
    }
    average_release(&a);
    return err;
}

/* The largest weight that a device may have, given that those above `cap` are held at it. */
static double next_cap(const double *weights, size_t n, double cap, double fraction)
{
    double rest = 0;
    size_t num_capped = 0;
    for (size_t k = 0; k < n; k++) {
        if (weights[k] > cap)
            num_capped++;
        else
            rest += weights[k];
    }
    return fraction * rest / (1 - fraction * (double)num_capped);
}

static void bound_shares(double *weights, size_t n, double fraction)
{
    size_t num_positive = 0, num_capped = 0, before;
    for (size_t k = 0; k < n; k++)
        num_positive += weights[k] > 0;
    if (fraction * (double)num_positive <= 1) {
        for (size_t k = 0; k < n; k++)
            weights[k] = weights[k] > 0;
        return;
    }
    /* Each pass holds more devices at a lower cap, until nobody is above it. */
    double cap = INFINITY;
    do {
        before = num_capped;
        cap = next_cap(weights, n, cap, fraction);
        num_capped = 0;
        for (size_t k = 0; k < n; k++)
            num_capped += weights[k] > cap;
    } while (num_capped > before);
    for (size_t k = 0; k < n; k++) {
        if (weights[k] > cap)
            weights[k] = cap;
    }
}

enum err average_weights(enum weighting weighting, double max_weight_fraction, const int64_t *num_examples,
                         size_t num_devices, double *out_weights, struct fault *fault)
{
    bool has_weight = false;
    if (!(max_weight_fraction > 0) || max_weight_fraction > 1)
        return fault_set(fault, ERR_INVALID_FIELD, "max_weight_fraction",
                         "must be above 0 and at most 1, not %g", max_weight_fraction);
    for (size_t k = 0; k < num_devices; k++) {
        if (num_examples[k] < 0)
            return fault_set(fault, ERR_INVALID_FIELD, "num_examples", "must be 0 or more, not %lld",
                             (long long)num_examples[k]);
        out_weights[k] = (double)num_examples[k];
        if (weighting == WEIGHTING_UNIFORM && num_examples[k] > 0)
            out_weights[k] = 1;
        has_weight = has_weight || num_examples[k] > 0;
    }
    if (!has_weight)
        return fault_set(fault, ERR_INVALID_UPDATE, NULL,
                         "none of the %zu updates has a training example, so there is nothing to average",
                         num_devices);
    if (max_weight_fraction < 1)
        bound_shares(out_weights, num_devices, max_weight_fraction);
    return ERR_OK;
}
