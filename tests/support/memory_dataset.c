#include "tests/support/memory_dataset.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/rng.h"

enum { MOST_DEVICES = 64 };

struct memory_device {
    struct device_data data;
    real *x;
    int32_t *y;
};

struct dataset {
    size_t num_features, num_devices;
    int num_classes;
    struct memory_device devices[MOST_DEVICES];
};

struct dataset *memory_dataset_new(size_t num_features, int num_classes)
{
    struct dataset *d = calloc(1, sizeof *d);
    ck_assert_ptr_nonnull(d);
    d->num_features = num_features;
    d->num_classes = num_classes;
    return d;
}

void dataset_free(struct dataset *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->num_devices; i++) {
        free(d->devices[i].x);
        free(d->devices[i].y);
    }
    free(d);
}

void memory_dataset_add(struct dataset *d, int64_t ordinal, const real *x, const int32_t *y, size_t num_train,
                        size_t num_test)
{
    size_t n = num_train + num_test;
    ck_assert_uint_lt(d->num_devices, MOST_DEVICES);
    struct memory_device *device = &d->devices[d->num_devices++];
    device->data =
        (struct device_data){.ordinal = ordinal, .name = "", .num_train = num_train, .num_test = num_test};
    device->x = calloc(n * d->num_features + 1, sizeof *x);
    device->y = calloc(n + 1, sizeof *y);
    ck_assert(device->x && device->y);
    if (n == 0)
        return;
    memcpy(device->x, x, n * d->num_features * sizeof *x);
    memcpy(device->y, y, n * sizeof *y);
}

void memory_dataset_add_random(struct dataset *d, int64_t ordinal, size_t num_train, size_t num_test)
{
    size_t n = num_train + num_test, f = d->num_features, classes = (size_t)d->num_classes;
    uint64_t features = rng_key(77, RNG_MISC, (uint64_t)ordinal, 0, 0), rule = rng_key(78, RNG_MISC, 0, 0, 0);
    real *x = calloc(n * f + 1, sizeof *x);
    int32_t *y = calloc(n + 1, sizeof *y);
    ck_assert(x && y);
    for (size_t i = 0; i < n; i++) {
        double best = 0;
        for (size_t j = 0; j < f; j++)
            x[i * f + j] = (real)rng_normal(features, i * f + j);
        for (size_t c = 0; c < classes; c++) {
            double score = 0;
            for (size_t j = 0; j < f; j++)
                score += rng_normal(rule, c * f + j) * (double)x[i * f + j];
            if (c == 0 || score > best) {
                best = score;
                y[i] = (int32_t)c;
            }
        }
    }
    memory_dataset_add(d, ordinal, x, y, num_train, num_test);
    free(x);
    free(y);
}

static size_t read_examples(const json_t *rows, const json_t *labels, size_t from, real *x, int32_t *y)
{
    for (size_t i = 0; i < json_array_size(rows); i++) {
        for (size_t j = 0; j < 4; j++)
            x[4 * (from + i) + j] = (real)json_number_value(json_array_get(json_array_get(rows, i), j));
        y[from + i] = (int32_t)json_integer_value(json_array_get(labels, i));
    }
    return json_array_size(rows);
}

struct dataset *memory_dataset_tiny(const json_t *golden)
{
    const json_t *devices = json_object_get(golden, "devices");
    struct dataset *d = memory_dataset_new(4, 3);
    for (size_t k = 0; k < json_array_size(devices); k++) {
        const json_t *device = json_array_get(devices, k);
        real x[4 * 32];
        int32_t y[32];
        size_t train =
            read_examples(json_object_get(device, "x_train"), json_object_get(device, "y_train"), 0, x, y);
        size_t test =
            read_examples(json_object_get(device, "x_test"), json_object_get(device, "y_test"), train, x, y);
        memory_dataset_add(d, (int64_t)k, x, y, train, test);
    }
    return d;
}

const char *dataset_name(const struct dataset *d)
{
    (void)d;
    return "memory";
}

int dataset_input(const struct dataset *d, int64_t out_shape[LIMIT_TENSOR_DIMS])
{
    out_shape[0] = (int64_t)d->num_features;
    return 1;
}

size_t dataset_num_features(const struct dataset *d)
{
    return d->num_features;
}

int dataset_num_classes(const struct dataset *d)
{
    return d->num_classes;
}

size_t dataset_num_devices(const struct dataset *d)
{
    return d->num_devices;
}

const struct device_data *dataset_device(const struct dataset *d, size_t i)
{
    return &d->devices[i].data;
}

const struct device_data *dataset_find(const struct dataset *d, int64_t ordinal)
{
    for (size_t i = 0; i < d->num_devices; i++) {
        if (d->devices[i].data.ordinal == ordinal)
            return &d->devices[i].data;
    }
    return NULL;
}

void dataset_gather_apart(const struct dataset *d, const struct device_data *device, enum data_split split,
                          size_t first, const uint32_t *indices, size_t n, real *out_x, size_t stride,
                          int32_t *out_y)
{
    const struct memory_device *from = (const struct memory_device *)(const void *)device;
    size_t base = split == SPLIT_TRAIN ? 0 : device->num_train;
    size_t most = split == SPLIT_TRAIN ? device->num_train : device->num_test;
    for (size_t i = 0; i < n; i++) {
        size_t row = indices ? indices[i] : first + i;
        if (row >= most)
            bug("example %zu of %zu", row, most);
        memcpy(out_x + i * stride, from->x + (base + row) * d->num_features, d->num_features * sizeof *out_x);
        out_y[i] = from->y[base + row];
    }
}

void dataset_gather(const struct dataset *d, const struct device_data *device, enum data_split split,
                    size_t first, const uint32_t *indices, size_t n, real *out_x, int32_t *out_y)
{
    dataset_gather_apart(d, device, split, first, indices, n, out_x, d->num_features, out_y);
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
