#include "cli/data/device_file.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/data/npz.h"

const char *const device_file_endings[] = {"npz", "csv"};

struct examples {
    size_t n, features;
    const float *x;
    const int32_t *y;
};

static enum err write_npz(const char *path, const struct examples *e, struct fault *fault)
{
    const struct npz_array arrays[] = {
        {"x", NPY_F32, 2, {e->n, e->features}, e->x},
        {"y", NPY_I32, 1, {e->n}, e->y},
    };
    return npz_write(path, arrays, 2, fault);
}

static void print_csv(FILE *f, const struct examples *e)
{
    for (size_t j = 0; j < e->features; j++)
        (void)fprintf(f, "x%zu,", j);
    (void)fputs(DEVICE_FILE_LABEL "\n", f);
    for (size_t i = 0; i < e->n && !ferror(f); i++) {
        for (size_t j = 0; j < e->features; j++)
            (void)fprintf(f, "%.9g,", (double)e->x[i * e->features + j]);
        (void)fprintf(f, "%d\n", (int)e->y[i]);
    }
}

static enum err write_csv(const char *path, const struct examples *e, struct fault *fault)
{
    errno = 0;
    FILE *f = fopen(path, "wxe");
    bool is_good = f != NULL;
    if (f) {
        print_csv(f, e);
        is_good = !ferror(f);
        is_good = fclose(f) == 0 && is_good;
    }
    if (is_good)
        return ERR_OK;
    return fault_set(fault, errno == ENOSPC || errno == EDQUOT ? ERR_STORAGE_FULL : ERR_IO, NULL,
                     "%.300s: cannot be written: %s", path, strerror(errno));
}

enum err device_file_write(const char *path, enum device_file_kind kind, const struct dataset *d,
                           const struct device_data *device, enum data_split split, struct fault *fault)
{
    const size_t n = split == SPLIT_TRAIN ? device->num_train : device->num_test;
    const size_t features = dataset_num_features(d);
    float *x = calloc(n * features + 1, sizeof *x);
    int32_t *y = calloc(n + 1, sizeof *y);
    enum err e = ERR_NO_MEMORY;
    if (x && y) {
        const struct examples examples = {n, features, x, y};
        dataset_gather(d, device, split, 0, NULL, n, x, y);
        e = kind == DEVICE_FILE_NPZ ? write_npz(path, &examples, fault) : write_csv(path, &examples, fault);
    } else {
        e = fault_set(fault, e, NULL, "no memory for the %zu examples of device %lld", n,
                      (long long)device->ordinal);
    }
    free(x);
    free(y);
    return e;
}
