#include "tests/unit/data/support.h"

#include <ftw.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include "common/base/log.h"
#include "common/base/rng.h"

json_t *golden(const char *name)
{
    const char *srcdir = getenv("srcdir");
    char path[512];
    json_error_t error;
    (void)snprintf(path, sizeof path, "%s/tests/data/%s", srcdir ? srcdir : ".", name);
    json_t *root = json_load_file(path, 0, &error);
    ck_assert_msg(root != NULL, "%s: %s", path, error.text);
    return root;
}

static json_t *object(const char *fmt, va_list ap) PRINTF_LIKE(1, 0);
static json_t *object(const char *fmt, va_list ap)
{
    char text[4096];
    json_error_t error;
    ck_assert_int_lt(vsnprintf(text, sizeof text, fmt, ap), (int)sizeof text);
    for (char *c = text; *c; c++)
        if (*c == '\'')
            *c = '"';
    json_t *data = json_loads(text, JSON_DECODE_ANY, &error);
    ck_assert_msg(data != NULL, "%s: %s", text, error.text);
    return data;
}

struct dataset *load(uint64_t default_seed, const char *fmt, ...)
{
    struct dataset *d = NULL;
    struct fault fault = FAULT_NONE;
    va_list ap;
    va_start(ap, fmt);
    json_t *data = object(fmt, ap);
    va_end(ap);
    const enum err err = dataset_load(data, default_seed, &d, &fault);
    ck_assert_msg(err == ERR_OK, "%s: %s: %s", err_name(err), fault.field, fault.detail);
    json_decref(data);
    return d;
}

void ck_refused(enum err err, const char *field, const char *words, const char *fmt, ...)
{
    struct dataset *d = NULL;
    struct fault fault = FAULT_NONE;
    va_list ap;
    va_start(ap, fmt);
    json_t *data = object(fmt, ap);
    va_end(ap);
    char *text = json_dumps(data, JSON_ENCODE_ANY);
    const enum err got = dataset_load(data, 1, &d, &fault);
    ck_assert_msg(got == err && fault.err == err, "%s: %s instead of %s: %s", text, err_name(got),
                  err_name(err), fault.detail);
    ck_assert_msg(strcmp(fault.field, field) == 0, "%s: field %s instead of %s", text, fault.field, field);
    ck_assert_msg(strstr(fault.detail, words) != NULL, "%s: no \"%s\" in \"%s\"", text, words, fault.detail);
    ck_assert_ptr_null(d);
    free(text);
    json_decref(data);
}

static int64_t whole(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    ck_assert_msg(json_is_integer(value), "%s", name);
    return json_integer_value(value);
}

static void ck_label_counts(const struct dataset *d, const json_t *expected)
{
    int64_t total[16] = {0}, counts[16];
    const int classes = dataset_num_classes(d);
    ck_assert_int_le(classes, 16);
    for (size_t k = 0; k < dataset_num_devices(d); k++) {
        dataset_label_counts(d, dataset_device(d, k), SPLIT_TRAIN, counts);
        for (int c = 0; c < classes; c++)
            total[c] += counts[c];
    }
    ck_assert_uint_eq(json_array_size(expected), (size_t)classes);
    for (int c = 0; c < classes; c++)
        ck_assert_int_eq(total[c], json_integer_value(json_array_get(expected, (size_t)c)));
}

void ck_golden_counts(const struct dataset *d, const json_t *expected)
{
    const size_t devices = dataset_num_devices(d);
    const json_t *sizes = json_object_get(expected, "device_sizes");
    int64_t train = 0, test = 0, least = INT64_MAX, most = 0;
    double squares = 0;
    ck_assert_int_eq((int64_t)devices, whole(expected, "devices"));
    for (size_t k = 0; k < devices; k++) {
        const struct device_data *device = dataset_device(d, k);
        const int64_t n = (int64_t)(device->num_train + device->num_test);
        if (json_is_array(sizes))
            ck_assert_int_eq(n, json_integer_value(json_array_get(sizes, k)));
        train += (int64_t)device->num_train;
        test += (int64_t)device->num_test;
        least = n < least ? n : least;
        most = n > most ? n : most;
        squares += (double)n * (double)n;
    }
    const double mean = (double)(train + test) / (double)devices;
    ck_assert_int_eq(train, whole(expected, "train"));
    ck_assert_int_eq(test, whole(expected, "test"));
    ck_assert_int_eq(train + test, whole(expected, "samples"));
    ck_assert_int_eq(least, whole(expected, "min"));
    ck_assert_int_eq(most, whole(expected, "max"));
    ck_assert_double_eq_tol(sqrt(squares / (double)devices - mean * mean),
                            json_real_value(json_object_get(expected, "stdev")), 1e-6);
    ck_label_counts(d, json_object_get(expected, "label_counts_train"));
}

double sum_x_train(const struct dataset *d)
{
    const size_t features = dataset_num_features(d);
    float *x = malloc(features * sizeof *x);
    int32_t y;
    double sum = 0;
    ck_assert_ptr_nonnull(x);
    for (size_t k = 0; k < dataset_num_devices(d); k++) {
        const struct device_data *device = dataset_device(d, k);
        for (size_t i = 0; i < device->num_train; i++) {
            dataset_gather(d, device, SPLIT_TRAIN, i, NULL, 1, x, &y);
            for (size_t j = 0; j < features; j++)
                sum += (double)x[j];
        }
    }
    free(x);
    return sum;
}

static char directory[256];

void files_create(void)
{
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(directory, sizeof directory, "%s/fedlane-data-XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(directory));
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *place)
{
    (void)st, (void)kind, (void)place;
    return remove(path);
}

void files_remove(void)
{
    ck_assert_int_eq(nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

void folder_create(const char *name)
{
    ck_assert_int_eq(mkdir(file_path(name), 0700), 0);
}

const char *file_path(const char *name)
{
    static char paths[8][600];
    static size_t next;
    char *path = paths[next++ % 8];
    (void)snprintf(path, sizeof paths[0], "%s/%s", directory, name);
    return path;
}

void file_write(const char *name, const void *bytes, size_t n, bool compressed)
{
    /* A file that is truncated and written anew costs a flush on some file systems. */
    (void)unlink(file_path(name));
    /* "wT" writes the bytes as they are. */
    gzFile f = gzopen(file_path(name), compressed ? "wb" : "wbT");
    ck_assert_ptr_nonnull(f);
    if (n > 0)
        ck_assert_int_eq(gzwrite(f, bytes, (unsigned)n), (int)n);
    ck_assert_int_eq(gzclose(f), Z_OK);
}

void text_write(const char *name, const char *text)
{
    file_write(name, text, strlen(text), false);
}

void ck_device(const struct dataset *d, size_t k, enum data_split split, size_t n, const float *x,
               const int32_t *y)
{
    const struct device_data *device = dataset_device(d, k);
    const size_t features = dataset_num_features(d);
    float got_x[64];
    int32_t got_y[16];
    ck_assert_uint_eq(split == SPLIT_TRAIN ? device->num_train : device->num_test, n);
    ck_assert(n <= 16 && n * features <= 64);
    dataset_gather(d, device, split, 0, NULL, n, got_x, got_y);
    for (size_t i = 0; i < n * features; i++)
        ck_assert_msg(got_x[i] == x[i], "device %zu: number %zu is %.9g instead of %.9g", k, i,
                      (double)got_x[i], (double)x[i]);
    for (size_t i = 0; i < n; i++)
        ck_assert_int_eq(got_y[i], y[i]);
}

void abuse(const char *name, const char *text, uint64_t flips, const char *fmt, ...)
{
    const size_t n = strlen(text);
    char *bad = malloc(n + 1);
    ck_assert_ptr_nonnull(bad);
    va_list ap;
    va_start(ap, fmt);
    json_t *data = object(fmt, ap);
    va_end(ap);
    log_init(LOG_ERROR, LOG_TEXT);
    for (uint64_t i = 0; i < n + flips; i++) {
        struct fault fault = FAULT_NONE;
        struct dataset *d = NULL;
        memcpy(bad, text, n);
        for (uint64_t k = 0; i >= n && k < 1 + i % 3; k++)
            bad[rng_u64(i, 2 * k) % n] = (char)rng_u64(i, 2 * k + 1);
        file_write(name, bad, i < n ? i : n, false);
        const enum err err = dataset_load(data, 1, &d, &fault);
        ck_assert_msg(err == ERR_OK || fault.detail[0], "%s without a word", err_name(err));
        dataset_free(d);
    }
    free(bad);
    json_decref(data);
}

size_t idx_write(const char *name, int num_dims, const uint32_t *dims, const uint8_t *content, size_t n,
                 bool compressed)
{
    const size_t header = 4 + 4 * (size_t)num_dims;
    uint8_t *bytes = calloc(1, header + n);
    ck_assert_ptr_nonnull(bytes);
    bytes[2] = 0x08;
    bytes[3] = (uint8_t)num_dims;
    for (int i = 0; i < num_dims; i++)
        for (int b = 0; b < 4; b++)
            bytes[4 + 4 * i + b] = (uint8_t)(dims[i] >> (24 - 8 * b));
    if (n > 0)
        memcpy(bytes + header, content, n);
    file_write(name, bytes, header + n, compressed);
    free(bytes);
    return header + n;
}

void file_read(const char *name, uint8_t *out, size_t max, size_t *out_n)
{
    FILE *f = fopen(file_path(name), "rb");
    ck_assert_ptr_nonnull(f);
    *out_n = fread(out, 1, max, f);
    ck_assert_int_eq(fclose(f), 0);
}
