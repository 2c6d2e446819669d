/* Synthetic(alpha, beta) of Li et al., arXiv 1812.06127, section 5.1, with Fedlane's random streams. */
#include "common/data/source.h"

#include <math.h>
#include <stdlib.h>
#include "common/base/limits.h"
#include "common/base/rng.h"

#define FEATURES 60
#define CLASSES  10

struct params {
    struct source_common common;
    double alpha, beta;
    int64_t devices;
    bool iid;
};

static const struct json_field fields[] = {
    SOURCE_COMMON_FIELDS(struct params),
    JSON_FIELD(struct params, alpha, JSON_FIELD_DOUBLE, .min = 0, .max = 1e6),
    JSON_FIELD(struct params, beta, JSON_FIELD_DOUBLE, .min = 0, .max = 1e6),
    JSON_FIELD(struct params, devices, JSON_FIELD_INT, .min = 1, .max = LIMIT_DEVICES_PER_RUN),
    JSON_FIELD(struct params, iid, JSON_FIELD_BOOL, .min = 0),
};

/* What one device's examples are drawn from. */
struct generator {
    double mean[FEATURES];             /* v_k */
    double weights[CLASSES][FEATURES]; /* W_k */
    double biases[CLASSES];            /* b_k */
    double sd[FEATURES];               /* the same for all devices */
};

static size_t device_size(uint64_t seed, size_t k)
{
    return (size_t)floor(exp(4 + 2 * rng_normal(rng_key(seed, RNG_SYNTHETIC_SIZES, 0, 0, 0), k))) + 50;
}

static void draw_generator(struct generator *g, const struct params *p, uint64_t seed, size_t k)
{
    const size_t model = p->iid ? 0 : k;
    const double u = p->iid ? 0 : p->alpha * rng_normal(rng_key(seed, RNG_SYNTHETIC_U, 0, 0, 0), k);
    const double b = p->iid ? 0 : p->beta * rng_normal(rng_key(seed, RNG_SYNTHETIC_B, 0, 0, 0), k);
    rng_normals(rng_key(seed, RNG_SYNTHETIC_V, k, 0, 0), g->mean, FEATURES);
    rng_normals(rng_key(seed, RNG_SYNTHETIC_WEIGHTS, model, 0, 0), g->weights[0], CLASSES * FEATURES);
    rng_normals(rng_key(seed, RNG_SYNTHETIC_BIASES, model, 0, 0), g->biases, CLASSES);
    for (int j = 0; j < FEATURES; j++) {
        g->mean[j] = p->iid ? 0 : g->mean[j] + b;
        g->sd[j] = sqrt(pow(j + 1, -1.2));
    }
    for (int c = 0; c < CLASSES; c++) {
        g->biases[c] += u;
        for (int j = 0; j < FEATURES; j++)
            g->weights[c][j] += u;
    }
}

static int32_t label_of(const struct generator *g, const double x[FEATURES])
{
    int32_t best = 0;
    double best_logit = -INFINITY;
    for (int32_t c = 0; c < CLASSES; c++) {
        double logit = g->biases[c];
        for (int j = 0; j < FEATURES; j++)
            logit += g->weights[c][j] * x[j];
        if (logit > best_logit) {
            best = c;
            best_logit = logit;
        }
    }
    return best;
}

static enum err draw_examples(const struct generator *g, uint64_t seed, size_t k, struct loaded *out,
                              struct fault *fault)
{
    const size_t first = out->shares.first[k], n = shares_count(&out->shares, k);
    double *x = malloc(n * FEATURES * sizeof *x);
    if (!x)
        return fault_set(fault, ERR_NO_MEMORY, "data.devices",
                         "no memory to draw the %zu examples of device %zu", n, k);
    rng_normals(rng_key(seed, RNG_SYNTHETIC_X, k, 0, 0), x, n * FEATURES);
    for (size_t i = 0; i < n; i++) {
        double *row = x + i * FEATURES;
        real *values = out->pool.values + (first + i) * FEATURES;
        for (int j = 0; j < FEATURES; j++) {
            row[j] = g->mean[j] + g->sd[j] * row[j];
            values[j] = (real)row[j];
        }
        out->pool.labels[first + i] = label_of(g, row);
        out->shares.rows[first + i] = (uint32_t)(first + i);
    }
    free(x);
    return ERR_OK;
}

static enum err alloc(struct loaded *out, size_t devices, uint64_t seed, struct fault *fault)
{
    size_t total = 0;
    for (size_t k = 0; k < devices; k++)
        total += device_size(seed, k);
    enum err err = pool_alloc_floats(&out->pool, total, FEATURES, "data.devices", fault);
    if (err == ERR_OK)
        err = shares_alloc(&out->shares, devices, total, fault);
    if (err != ERR_OK)
        return err;
    out->pool.num_classes = CLASSES;
    for (size_t k = 0; k < devices; k++)
        out->shares.first[k + 1] = out->shares.first[k] + device_size(seed, k);
    return ERR_OK;
}

enum err source_synthetic(const json_t *data, uint64_t seed, struct loaded *out, struct fault *fault)
{
    struct params p = {.alpha = 1, .beta = 1, .devices = 30};
    struct generator g;
    struct arena arena = ARENA_INIT(64 * KIB);
    enum err err = json_spec_parse(data, fields, sizeof fields / sizeof *fields, JSON_REFUSE_UNKNOWN, "data.",
                                   &arena, &p, fault);
    arena_release(&arena);
    if (err == ERR_OK)
        err = alloc(out, (size_t)p.devices, seed, fault);
    for (size_t k = 0; err == ERR_OK && k < (size_t)p.devices; k++) {
        draw_generator(&g, &p, seed, k);
        err = draw_examples(&g, seed, k, out, fault);
    }
    return err;
}
