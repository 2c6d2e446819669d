/* The synthetic data set in float64, in place of the real readers: what trainers use of
 * common/data/dataset.h, for the tests of the float64 build. */
#include <stdlib.h>
#include <string.h>
#include "common/data/dataset.h"
#include "common/data/shares.h"
#include "common/data/source.h"

struct dataset {
    struct loaded loaded;
    struct device_data *devices;
};

enum err pool_alloc_floats(struct pool *p, size_t num_rows, size_t num_features, const char *field,
                           struct fault *fault)
{
    (void)field;
    (void)fault;
    p->values = calloc(num_rows * num_features, sizeof *p->values);
    p->labels = calloc(num_rows, sizeof *p->labels);
    p->num_rows = num_rows;
    p->num_features = num_features;
    return p->values && p->labels ? ERR_OK : ERR_NO_MEMORY;
}

enum err dataset_load(const json_t *data, uint64_t default_seed, struct dataset **out, struct fault *fault)
{
    struct dataset *d = calloc(1, sizeof *d);
    if (!d)
        return ERR_NO_MEMORY;
    *out = d;
    struct shares *shares = &d->loaded.shares;
    enum err err = source_synthetic(data, default_seed, &d->loaded, fault);
    if (!err)
        err = shares_shuffle(shares, default_seed, 0, fault);
    if (err)
        return err;
    d->devices = calloc(shares->num_devices, sizeof *d->devices);
    for (size_t k = 0; d->devices && k < shares->num_devices; k++) {
        size_t n = shares_count(shares, k), num_train = shares_num_train(n);
        d->devices[k] = (struct device_data){.ordinal = (int64_t)k,
                                             .name = "",
                                             .num_train = num_train,
                                             .num_test = n - num_train,
                                             .rows = shares->rows + shares->first[k]};
    }
    return d->devices ? ERR_OK : ERR_NO_MEMORY;
}

void dataset_free(struct dataset *d)
{
    if (!d)
        return;
    free(d->loaded.pool.values);
    free(d->loaded.pool.labels);
    shares_release(&d->loaded.shares);
    free(d->devices);
    free(d);
}

const char *dataset_name(const struct dataset *d)
{
    (void)d;
    return "synthetic";
}

size_t dataset_num_features(const struct dataset *d)
{
    return d->loaded.pool.num_features;
}

int dataset_num_classes(const struct dataset *d)
{
    return d->loaded.pool.num_classes;
}

size_t dataset_num_devices(const struct dataset *d)
{
    return d->loaded.shares.num_devices;
}

const struct device_data *dataset_device(const struct dataset *d, size_t i)
{
    return &d->devices[i];
}

const struct device_data *dataset_find(const struct dataset *d, int64_t ordinal)
{
    return &d->devices[ordinal];
}

void dataset_gather_apart(const struct dataset *d, const struct device_data *device, enum data_split split,
                          size_t first, const uint32_t *indices, size_t n, real *out_x, size_t stride,
                          int32_t *out_y)
{
    const struct pool *pool = &d->loaded.pool;
    const uint32_t *rows = split == SPLIT_TRAIN ? device->rows : device->rows + device->num_train;
    for (size_t i = 0; i < n; i++) {
        uint32_t row = rows[indices ? indices[i] : first + i];
        memcpy(out_x + i * stride, pool->values + row * pool->num_features,
               pool->num_features * sizeof *out_x);
        out_y[i] = pool->labels[row];
    }
}

size_t dataset_num_tokens(const struct dataset *d)
{
    (void)d;
    return 0;
}

const char *dataset_vocabulary(const struct dataset *d)
{
    (void)d;
    return NULL;
}

const char *dataset_vocabulary_sha256(const struct dataset *d)
{
    (void)d;
    return "";
}

const char *dataset_place(const struct dataset *d, const struct device_data *device, enum data_split split,
                          size_t example, char out[DATASET_PLACE])
{
    (void)d;
    (void)device;
    (void)split;
    (void)example;
    out[0] = '\0';
    return out;
}

int dataset_input(const struct dataset *d, int64_t out_shape[LIMIT_TENSOR_DIMS])
{
    out_shape[0] = (int64_t)d->loaded.pool.num_features;
    return 1;
}
