#include "common/data/standardise.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/limits.h"
#include "common/base/str.h"

#define FIELD    "data.standardise"
#define SOFTENER 0.001 /* keeps features of no deviation finite */

static const struct {
    const char *name;
    enum standardise_kind kind;
} words[] = {
    {"none", STANDARDISE_NONE},
    {"device", STANDARDISE_DEVICE},
    {"pixels", STANDARDISE_PIXELS},
    {"unit", STANDARDISE_UNIT},
};

static enum err parse_object(const json_t *value, struct standardise *out, struct fault *fault)
{
    const char *key;
    json_t *item;
    out->kind = STANDARDISE_GIVEN;
    out->mean = json_object_get(value, "mean");
    out->std = json_object_get(value, "std");
    if (!out->mean || !out->std)
        return fault_set(fault, ERR_MISSING_FIELD, out->mean ? FIELD ".std" : FIELD ".mean",
                         "give both mean and std, each a number or a list of one number per feature");
    json_object_foreach((json_t *)(uintptr_t)value, key, item)
    {
        if (!str_eq(key, "mean") && !str_eq(key, "std"))
            return fault_set(fault, ERR_UNKNOWN_FIELD, FIELD,
                             "\"%.60s\" is no field here; it has mean and std", key);
    }
    return ERR_OK;
}

enum err standardise_parse(const json_t *value, struct standardise *out, struct fault *fault)
{
    *out = (struct standardise){.kind = STANDARDISE_NONE};
    if (!value)
        return ERR_OK;
    if (json_is_object(value))
        return parse_object(value, out, fault);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_eq(json_string_value(value), words[i].name)) {
            out->kind = words[i].kind;
            return ERR_OK;
        }
    return fault_set(
        fault, ERR_INVALID_FIELD, FIELD,
        "must be \"none\", \"device\", for data in bytes also \"pixels\" or \"unit\", or an object "
        "with mean and std");
}

/* -- what the numbers are -------------------------------------------------------------------------------- */

static enum err read_number(const json_t *value, const char *name, size_t j, bool is_list, double least,
                            double *out, struct fault *fault)
{
    char field[64];
    (void)snprintf(field, sizeof field, is_list ? FIELD ".%s[%zu]" : FIELD ".%s", name, j);
    *out = json_number_value(value);
    if (!json_is_number(value) || !(fabs(*out) <= 1e30) || *out < least)
        return fault_set(fault, ERR_INVALID_FIELD, field, "must be a finite number%s",
                         least == 0 ? ", 0 or more" : "");
    return ERR_OK;
}

static enum err read_numbers(const json_t *value, const char *name, double least, size_t n, double *out,
                             struct fault *fault)
{
    char field[64];
    enum err err = ERR_OK;
    const bool is_list = json_is_array(value);
    if (is_list && json_array_size(value) != n) {
        (void)snprintf(field, sizeof field, FIELD ".%s", name);
        return fault_set(fault, ERR_INVALID_FIELD, field, "has %zu numbers, but an example has %zu features",
                         json_array_size(value), n);
    }
    for (size_t j = 0; err == ERR_OK && j < n; j++)
        err =
            read_number(is_list ? json_array_get(value, j) : value, name, j, is_list, least, &out[j], fault);
    return err;
}

/* Two passes, the second around the mean: exact enough for any mean. */
static void moments(const struct pool *p, const uint32_t *rows, size_t count, double *mean, double *std)
{
    const size_t n = p->num_features;
    memset(mean, 0, n * sizeof *mean);
    memset(std, 0, n * sizeof *std);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < n; j++)
            mean[j] += (double)p->values[rows[i] * n + j];
    for (size_t j = 0; j < n; j++)
        mean[j] /= (double)count;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < n; j++) {
            const double d = (double)p->values[rows[i] * n + j] - mean[j];
            std[j] += d * d;
        }
    for (size_t j = 0; j < n; j++)
        std[j] = sqrt(std[j] / (double)count);
}

/* -- applying -------------------------------------------------------------------------------------------- */

static enum err scale_row(struct pool *p, size_t row, const double *mean, const double *std,
                          struct fault *fault)
{
    if (!p->values)
        bug("a scale for a pool without floats");
    float *x = p->values + row * p->num_features;
    for (size_t j = 0; j < p->num_features; j++) {
        const double value = ((double)x[j] - mean[j]) / (std[j] + SOFTENER);
        if (!(fabs(value) <= FLT_MAX))
            return fault_set(
                fault, ERR_INVALID_FIELD, FIELD,
                "makes feature %zu of example %zu too large for a float: it is %g, the mean %g and "
                "the deviation %g",
                j, row, (double)x[j], mean[j], std[j]);
        x[j] = (float)value;
    }
    return ERR_OK;
}

static enum err to_floats(struct pool *p, struct fault *fault)
{
    const size_t n = p->num_rows * p->num_features;
    float *values =
        p->num_rows > LIMIT_DATA_POOL / sizeof *values / p->num_features ? NULL : malloc(n * sizeof *values);
    if (!values)
        return fault_set(fault, ERR_NO_MEMORY, FIELD,
                         "no memory for the bytes as floats, which \"device\" needs (%zu MiB)",
                         n / MIB * sizeof *values);
    for (size_t i = 0; i < n; i++)
        values[i] = (float)p->bytes[i];
    free(p->bytes);
    p->bytes = NULL;
    p->values = values;
    return ERR_OK;
}

static enum err by_device(struct pool *p, const struct shares *shares, const size_t *num_train, double *mean,
                          double *std, struct fault *fault)
{
    enum err err = ERR_OK;
    for (size_t k = 0; err == ERR_OK && k < shares->num_devices; k++) {
        const uint32_t *rows = shares->rows + shares->first[k];
        moments(p, rows, num_train[k], mean, std);
        for (size_t i = 0; err == ERR_OK && i < shares_count(shares, k); i++)
            err = scale_row(p, rows[i], mean, std, fault);
    }
    return err;
}

static enum err given(const struct standardise *s, struct pool *p, double *mean, double *std,
                      struct fault *fault)
{
    enum err err = read_numbers(s->mean, "mean", -(double)INFINITY, p->num_features, mean, fault);
    if (err == ERR_OK)
        err = read_numbers(s->std, "std", 0, p->num_features, std, fault);
    if (err == ERR_OK && p->bytes)
        err = pool_scale(p, POOL_SCALING_NONE, fault);
    if (err != ERR_OK)
        return err;
    if (p->bytes) {
        for (size_t j = 0; j < p->num_features; j++) {
            p->mean[j] = (float)mean[j];
            p->scale[j] = (float)(1 / (std[j] + SOFTENER));
        }
        return ERR_OK;
    }
    for (size_t row = 0; err == ERR_OK && row < p->num_rows; row++)
        err = scale_row(p, row, mean, std, fault);
    return err;
}

static enum err by_numbers(const struct standardise *s, struct pool *pool, const struct shares *shares,
                           const size_t *num_train, struct fault *fault)
{
    double *mean = calloc(pool->num_features, sizeof *mean);
    double *std = calloc(pool->num_features, sizeof *std);
    enum err err = ERR_OK;
    if (!mean || !std)
        err = fault_set(fault, ERR_NO_MEMORY, FIELD, "no memory for the scale of %zu features",
                        pool->num_features);
    else if (s->kind == STANDARDISE_GIVEN)
        err = given(s, pool, mean, std, fault);
    else
        err = by_device(pool, shares, num_train, mean, std, fault);
    free(mean);
    free(std);
    return err;
}

enum err standardise_apply(const struct standardise *s, struct pool *pool, const struct shares *shares,
                           const size_t *num_train, struct fault *fault)
{
    if (pool->values && (s->kind == STANDARDISE_PIXELS || s->kind == STANDARDISE_UNIT))
        return fault_set(
            fault, ERR_INVALID_FIELD, FIELD,
            "\"pixels\" and \"unit\" are for data in bytes; these are numbers: choose \"device\", or "
            "give mean and std");
    if (pool->text.steps > 0 && s->kind != STANDARDISE_NONE)
        return fault_set(fault, ERR_INVALID_FIELD, FIELD, "is for numbers, and these are texts");
    enum err err = ERR_OK;
    switch (s->kind) {
    case STANDARDISE_NONE:
        /* Image sources have scaled theirs already. */
        return pool->bytes && !pool->mean ? pool_scale(pool, POOL_SCALING_NONE, fault) : ERR_OK;
    case STANDARDISE_PIXELS:
        return pool_scale(pool, POOL_SCALING_PIXELS, fault);
    case STANDARDISE_UNIT:
        return pool_scale(pool, POOL_SCALING_UNIT, fault);
    case STANDARDISE_DEVICE:
        err = pool->bytes ? to_floats(pool, fault) : ERR_OK;
        break;
    case STANDARDISE_GIVEN:
        break;
    }
    return err == ERR_OK ? by_numbers(s, pool, shares, num_train, fault) : err;
}
