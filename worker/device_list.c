#include "worker/device_list.h"
#include <stdlib.h>
#include <string.h>
#include "common/base/limits.h"

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static size_t sort_unique(int64_t *ordinals, size_t count)
{
    size_t kept = 0;
    qsort(ordinals, count, sizeof *ordinals, compare);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || ordinals[i] != ordinals[kept - 1])
            ordinals[kept++] = ordinals[i];
    }
    return kept;
}

/* Digits only; moves *p behind them. */
static bool take_number(const char **p, int64_t *out)
{
    int64_t value = 0;
    if (**p < '0' || **p > '9')
        return false;
    for (; **p >= '0' && **p <= '9'; (*p)++) {
        value = value * 10 + (**p - '0');
        if (value > LIMIT_ORDINAL)
            return false;
    }
    *out = value;
    return true;
}

static enum err refuse(struct fault *fault, const char *text, const char *at)
{
    return fault_set(fault, ERR_USAGE, "devices",
                     "\"%.100s\" is no list of devices: expected a number at \"%.20s\"; write it like 0-9,12",
                     text, at);
}

enum err device_list_parse(const char *text, int64_t **out_ordinals, size_t *out_count, struct fault *fault)
{
    int64_t *ordinals = malloc(LIMIT_DEVICES_PER_WORKER * sizeof *ordinals);
    size_t count = 0;
    enum err e = ERR_OK;
    if (!ordinals)
        return fault_set(fault, ERR_NO_MEMORY, "devices", "not enough memory for the list of devices");
    for (const char *p = text; !e;) {
        int64_t first = 0, last = 0;
        const char *start = p;
        bool is_good = take_number(&p, &first);
        last = first;
        if (is_good && *p == '-') {
            p++;
            is_good = take_number(&p, &last);
        }
        if (!is_good || (*p && *p != ','))
            e = refuse(fault, text, *start && is_good ? start : p);
        else if (last < first)
            e = fault_set(fault, ERR_USAGE, "devices",
                          "%lld-%lld: a range goes from the lower number to the higher", (long long)first,
                          (long long)last);
        else if ((size_t)(last - first) >= LIMIT_DEVICES_PER_WORKER - count)
            e = fault_set(fault, ERR_USAGE, "devices",
                          "more than %d devices; start several workers, each with its part and a state "
                          "directory of its own",
                          LIMIT_DEVICES_PER_WORKER);
        for (int64_t k = first; !e && k <= last; k++)
            ordinals[count++] = k;
        if (e || *p == '\0')
            break;
        p++;
    }
    if (e) {
        free(ordinals);
        return e;
    }
    *out_ordinals = ordinals;
    *out_count = sort_unique(ordinals, count);
    return ERR_OK;
}

static enum err all_devices(const struct dataset *data, const char *data_path, int64_t **out_ordinals,
                            size_t *out_count, struct fault *fault)
{
    size_t n = dataset_num_devices(data);
    if (n == 0 || n > LIMIT_DEVICES_PER_WORKER)
        return fault_set(fault, ERR_USAGE, "devices",
                         "%s: has %zu devices, but one worker holds 1 to %d; choose with --devices",
                         data_path, n, LIMIT_DEVICES_PER_WORKER);
    int64_t *ordinals = malloc(n * sizeof *ordinals);
    if (!ordinals)
        return fault_set(fault, ERR_NO_MEMORY, "devices", "not enough memory for the list of devices");
    for (size_t i = 0; i < n; i++)
        ordinals[i] = dataset_device(data, i)->ordinal;
    *out_ordinals = ordinals;
    *out_count = n;
    return ERR_OK;
}

enum err device_list_choose(const char *text, const struct dataset *data, const char *data_path,
                            int64_t **out_ordinals, size_t *out_count, struct fault *fault)
{
    size_t n = dataset_num_devices(data);
    if (!text)
        return all_devices(data, data_path, out_ordinals, out_count, fault);
    enum err e = device_list_parse(text, out_ordinals, out_count, fault);
    for (size_t i = 0; !e && i < *out_count; i++) {
        long long ordinal = (long long)(*out_ordinals)[i];
        if (!dataset_find(data, ordinal) && n > 0)
            e = fault_set(fault, ERR_USAGE, "devices",
                          "%s: has no device %lld; it has %zu devices, %lld to %lld", data_path, ordinal, n,
                          (long long)dataset_device(data, 0)->ordinal,
                          (long long)dataset_device(data, n - 1)->ordinal);
        else if (n == 0)
            e = fault_set(fault, ERR_USAGE, "devices", "%s: has no devices", data_path);
        if (e) {
            free(*out_ordinals);
            *out_ordinals = NULL;
        }
    }
    return e;
}
