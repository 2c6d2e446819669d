#include "cli/data/data_stats.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void data_counts(const struct dataset *d, const struct device_data *device, int64_t *out)
{
    const size_t classes = (size_t)dataset_num_classes(d);
    int64_t *test = out + classes;
    dataset_label_counts(d, device, SPLIT_TRAIN, out);
    dataset_label_counts(d, device, SPLIT_TEST, test);
    for (size_t c = 0; c < classes; c++)
        out[c] += test[c];
}

static int larger_first(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

static void measure_sizes(struct data_stats *s)
{
    const size_t n = s->num_devices;
    double squares = 0;
    s->mean = (double)(s->train + s->test) / (double)n;
    for (size_t k = 0; k < n; k++)
        squares += ((double)s->sizes[k] - s->mean) * ((double)s->sizes[k] - s->mean);
    s->sd = sqrt(squares / (double)n);
    memcpy(s->sorted, s->sizes, n * sizeof *s->sorted);
    qsort(s->sorted, n, sizeof *s->sorted, larger_first);
    s->max = s->sorted[0];
    s->min = s->sorted[n - 1];
    const size_t lower = (n - 1) / 2, upper = n / 2;
    s->median = ((double)s->sorted[lower] + (double)s->sorted[upper]) / 2;
}

static void add_device(struct data_stats *s, const struct dataset *d, size_t k, int64_t *counts)
{
    const struct device_data *device = dataset_device(d, k);
    s->train += (int64_t)device->num_train;
    s->test += (int64_t)device->num_test;
    s->sizes[k] = (int64_t)(device->num_train + device->num_test);
    data_counts(d, device, counts);
    for (int c = 0; c < s->num_classes; c++) {
        s->class_examples[c] += counts[c];
        s->class_devices[c] += counts[c] > 0;
        s->mean_labels += counts[c] > 0;
    }
}

enum err data_stats_init(struct data_stats *s, const struct dataset *d)
{
    *s = (struct data_stats){.num_devices = dataset_num_devices(d), .num_classes = dataset_num_classes(d)};
    const size_t classes = (size_t)s->num_classes;
    int64_t *counts = calloc(2 * classes, sizeof *counts);
    s->sizes = calloc(s->num_devices, sizeof *s->sizes);
    s->sorted = calloc(s->num_devices, sizeof *s->sorted);
    s->class_examples = calloc(classes, sizeof *s->class_examples);
    s->class_devices = calloc(classes, sizeof *s->class_devices);
    bool ok = counts && s->sizes && s->sorted && s->class_examples && s->class_devices;
    for (size_t k = 0; ok && k < s->num_devices; k++)
        add_device(s, d, k, counts);
    free(counts);
    if (!ok) {
        data_stats_release(s);
        return ERR_NO_MEMORY;
    }
    s->mean_labels /= (double)s->num_devices;
    measure_sizes(s);
    return ERR_OK;
}

void data_stats_release(struct data_stats *s)
{
    free(s->sizes);
    free(s->sorted);
    free(s->class_examples);
    free(s->class_devices);
    *s = (struct data_stats){0};
}

static json_t *classes_json(const struct data_stats *s)
{
    json_t *all = json_array();
    for (int c = 0; all && c < s->num_classes; c++) {
        json_t *one = json_pack("{s:i, s:I, s:I}", "label", c, "examples", (json_int_t)s->class_examples[c],
                                "devices", (json_int_t)s->class_devices[c]);
        if (!one || json_array_append_new(all, one) != 0) {
            json_decref(all);
            return NULL;
        }
    }
    return all;
}

json_t *data_stats_json(const struct data_stats *s, const struct dataset *d)
{
    json_t *classes = classes_json(s);
    if (!classes)
        return NULL;
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:s*, s:i, s:{s:f, s:f, s:I, s:f, s:I, s:f}, s:o}",
                     "name", dataset_name(d), "devices", (json_int_t)s->num_devices, "examples",
                     (json_int_t)(s->train + s->test), "train", (json_int_t)s->train, "test",
                     (json_int_t)s->test, "features", (json_int_t)dataset_num_features(d), "vocabulary",
                     dataset_vocabulary(d), "classes", s->num_classes, "per_device", "mean", s->mean,
                     "population_sd", s->sd, "min", (json_int_t)s->min, "median", s->median, "max",
                     (json_int_t)s->max, "labels", s->mean_labels, "per_class", classes);
}

static json_t *labels_json(const struct dataset *d, const struct device_data *device)
{
    const int classes = dataset_num_classes(d);
    int64_t *counts = calloc(2 * (size_t)classes, sizeof *counts);
    json_t *labels = counts ? json_object() : NULL;
    if (labels)
        data_counts(d, device, counts);
    for (int c = 0; labels && c < classes; c++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%d", c);
        if (counts[c] > 0 && json_object_set_new(labels, name, json_integer(counts[c])) != 0) {
            json_decref(labels);
            labels = NULL;
        }
    }
    free(counts);
    return labels;
}

json_t *data_device_json(const struct dataset *d, size_t i)
{
    const struct device_data *device = dataset_device(d, i);
    json_t *labels = labels_json(d, device);
    if (!labels)
        return NULL;
    return json_pack("{s:I, s:s*, s:I, s:I, s:I, s:o}", "ordinal", (json_int_t)device->ordinal, "name",
                     *device->name ? device->name : NULL, "examples",
                     (json_int_t)(device->num_train + device->num_test), "train",
                     (json_int_t)device->num_train, "test", (json_int_t)device->num_test, "labels", labels);
}
