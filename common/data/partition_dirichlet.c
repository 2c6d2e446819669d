/* dirichlet: of each class, every device gets a share; the shares of a class are Dirichlet(alpha), made of
 * gamma variates. docs/datasets.md says which outputs of which key they take. */
#include "common/data/partition.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/rng.h"

#define MAX_ATTEMPTS 1000
/* Beyond so many draws fewer attempts are made, but never less than MIN_ATTEMPTS. */
#define MAX_DRAWS    2e7
#define MIN_ATTEMPTS 10
/* Each try of the rejection loop owns this many outputs of the key. */
#define OUTPUTS_PER_TRY 4

struct dirichlet {
    const struct labelled *in;
    uint64_t seed;
    double alpha;
    size_t devices, classes, min_examples;
    uint32_t *sorted; /* the rows by label */
    size_t *first;    /* [classes + 1], of the labels in sorted */
    double *weights;  /* [devices], of the class at hand */
    size_t *counts;   /* [devices], likewise */
    size_t *sizes;    /* [devices]: what a device gets of all classes */
};

static void dirichlet_release(struct dirichlet *d)
{
    free(d->sorted);
    free(d->first);
    free(d->weights);
    free(d->counts);
    free(d->sizes);
}

static enum err dirichlet_init(struct dirichlet *d)
{
    d->sorted = malloc(d->in->num_rows * sizeof *d->sorted);
    d->first = calloc(d->classes + 1, sizeof *d->first);
    d->weights = malloc(d->devices * sizeof *d->weights);
    d->counts = calloc(d->devices, sizeof *d->counts);
    d->sizes = calloc(d->devices, sizeof *d->sizes);
    if (!d->sorted || !d->first || !d->weights || !d->counts || !d->sizes)
        return ERR_NO_MEMORY;
    rows_by_label(d->in, d->sorted, d->first);
    return ERR_OK;
}

/* In (0, 1], so that its logarithm is finite. */
static double log_uniform(uint64_t key, uint64_t i)
{
    return log((double)((rng_u64(key, i) >> 11) + 1) * 0x1p-53);
}

/* ln of a Gamma(shape) variate, shape >= 1: Marsaglia and Tsang, "A simple method for generating gamma
 * variables", ACM TOMS 26 (2000), without the squeeze, which only saves time. */
static double log_gamma_variate(uint64_t key, double shape)
{
    const double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (uint64_t first = 0;; first += OUTPUTS_PER_TRY) {
        const double x = rng_normal(key, first);
        const double root = 1 + c * x;
        if (root <= 0)
            continue;
        const double v = root * root * root;
        if (log_uniform(key, first + 2) < x * x / 2 + d - d * v + d * log(v))
            return log(d) + log(v);
    }
}

/* A Gamma(alpha) variate g as alpha ln g where alpha < 1, else as ln g. For a small alpha g itself, and even
 * ln g, leave the range of double: only differences of what is returned here are to be divided by alpha. */
static double scaled_log_gamma(uint64_t key, double alpha)
{
    if (alpha >= 1)
        return log_gamma_variate(key, alpha);
    /* Gamma(alpha) = Gamma(alpha + 1) U^(1/alpha); the first try leaves its fourth output for U. */
    return alpha * log_gamma_variate(key, alpha + 1) + log_uniform(key, 3);
}

/* Fills counts: how many examples of the class each device gets in this attempt. */
static void share_out_class(struct dirichlet *d, size_t class, size_t attempt)
{
    const double unit = d->alpha < 1 ? d->alpha : 1;
    const size_t n = d->first[class + 1] - d->first[class];
    double most = -INFINITY, total = 0, sum = 0;
    for (size_t k = 0; k < d->devices; k++) {
        d->weights[k] = scaled_log_gamma(rng_key(d->seed, RNG_DIRICHLET, class, k, attempt), d->alpha);
        most = fmax(most, d->weights[k]);
    }
    for (size_t k = 0; k < d->devices; k++) {
        d->weights[k] = exp((d->weights[k] - most) / unit);
        total += d->weights[k];
    }
    size_t taken = 0;
    for (size_t k = 0; k < d->devices; k++) {
        sum += d->weights[k]; /* in the order of `total`, so that the last cut is n exactly */
        const size_t cut = (size_t)floor(sum / total * (double)n);
        d->counts[k] = cut - taken;
        taken = cut;
    }
}

/* Fills sizes. Returns how many devices get fewer than min_examples. */
static size_t attempt_sizes(struct dirichlet *d, size_t attempt)
{
    size_t too_small = 0;
    memset(d->sizes, 0, d->devices * sizeof *d->sizes);
    for (size_t l = 0; l < d->classes; l++) {
        if (d->first[l + 1] == d->first[l])
            continue;
        share_out_class(d, l, attempt);
        for (size_t k = 0; k < d->devices; k++)
            d->sizes[k] += d->counts[k];
    }
    for (size_t k = 0; k < d->devices; k++)
        too_small += d->sizes[k] < d->min_examples;
    return too_small;
}

static size_t num_attempts(const struct dirichlet *d)
{
    const double affordable = MAX_DRAWS / ((double)d->devices * (double)d->classes);
    return affordable >= MAX_ATTEMPTS   ? MAX_ATTEMPTS
           : affordable <= MIN_ATTEMPTS ? MIN_ATTEMPTS
                                        : (size_t)affordable;
}

static enum err find_attempt(struct dirichlet *d, size_t *out_attempt, struct fault *fault)
{
    const size_t attempts = num_attempts(d);
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < attempts; i++) {
        const size_t too_small = attempt_sizes(d, i);
        if (too_small == 0) {
            *out_attempt = i;
            return ERR_OK;
        }
        least = too_small < least ? too_small : least;
    }
    return fault_set(
        fault, ERR_INVALID_FIELD, "data.partition.alpha",
        "in %zu attempts with alpha %g, never did each of the %zu devices get %zu examples or more: "
        "in the best one, %zu had fewer. Give fewer devices, a larger alpha or a smaller "
        "min_examples, or another seed",
        attempts, d->alpha, d->devices, d->min_examples, least);
}

/* Draws the chosen attempt again and copies: a device has its rows class by class. */
static enum err fill(struct dirichlet *d, size_t attempt, struct shares *out)
{
    uint32_t *order = calloc(d->in->num_rows, sizeof *order);
    size_t *next = calloc(d->devices, sizeof *next);
    enum err err = order && next ? ERR_OK : ERR_NO_MEMORY;
    for (size_t k = 0; !err && k < d->devices; k++) {
        next[k] = out->first[k];
        out->first[k + 1] = out->first[k] + d->sizes[k];
    }
    for (size_t l = 0; !err && l < d->classes; l++) {
        const size_t n = d->first[l + 1] - d->first[l];
        if (n == 0)
            continue;
        err = rng_permutation(rng_key(d->seed, RNG_ORDER_IN_CLASS, l, 0, 0), order, n);
        if (err)
            break;
        share_out_class(d, l, attempt);
        for (size_t k = 0, i = 0; k < d->devices; k++)
            for (size_t end = i + d->counts[k]; i < end; i++)
                out->rows[next[k]++] = d->sorted[d->first[l] + order[i]];
    }
    free(order);
    free(next);
    return err;
}

enum err partition_dirichlet(const struct labelled *in, const struct partition_params *params, uint64_t seed,
                             struct shares *out, struct fault *fault)
{
    struct dirichlet d = {.in = in,
                          .seed = seed,
                          .alpha = params->alpha,
                          .devices = (size_t)params->devices,
                          .classes = (size_t)in->num_classes,
                          .min_examples = (size_t)params->min_examples};
    size_t attempt = 0;
    if (d.min_examples > in->num_rows / d.devices)
        return fault_set(fault, ERR_INVALID_FIELD, "data.partition.min_examples",
                         "%zu devices with %zu examples or more each need more than the %zu that there are: "
                         "give fewer devices or at most %zu",
                         d.devices, d.min_examples, in->num_rows, in->num_rows / d.devices);
    enum err err = dirichlet_init(&d);
    if (!err)
        err = find_attempt(&d, &attempt, fault);
    if (!err)
        err = shares_alloc(out, d.devices, in->num_rows, fault);
    if (!err)
        err = fill(&d, attempt, out);
    if (err == ERR_NO_MEMORY) {
        shares_release(out);
        err = fault_set(fault, err, "data.partition", "no memory to share out %zu examples", in->num_rows);
    }
    dirichlet_release(&d);
    return err;
}
