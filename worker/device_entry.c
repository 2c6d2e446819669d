#include "worker/device_entry.h"
#include <stdio.h>
#include <string.h>
#include "common/json/json_num.h"

static json_t *shape_json(const struct dataset *data)
{
    int64_t shape[LIMIT_TENSOR_DIMS];
    int num_dims = dataset_input(data, shape);
    json_t *list = json_array();
    for (int i = 0; i < num_dims; i++) {
        if (json_array_append_new(list, json_num_int(shape[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static void full_name(const char *prefix, const char *own, char out[LIMIT_NAME + 1])
{
    const size_t len = strlen(own), room = len < LIMIT_NAME ? LIMIT_NAME - 1 - len : 0;
    size_t kept = strlen(prefix);
    if (kept > room) {
        kept = room;
        while (kept > 0 && ((unsigned char)prefix[kept] & 0xc0) == 0x80)
            kept--; /* not within a character */
    }
    (void)snprintf(out, LIMIT_NAME + 1, "%.*s%s%s", (int)kept, prefix, kept > 0 ? "-" : "", own);
}

json_t *device_entry(const char *prefix, const struct dataset *data, const struct device_data *device)
{
    char ordinal[32], name[LIMIT_NAME + 1];
    (void)snprintf(ordinal, sizeof ordinal, "%lld", (long long)device->ordinal);
    full_name(prefix, device->name[0] ? device->name : ordinal, name);
    const char *vocabulary = dataset_vocabulary_sha256(data);
    json_t *told = *vocabulary ? json_pack("{s:s}", "vocabulary_sha256", vocabulary) : NULL;
    if (*vocabulary && !told)
        return NULL;
    return json_pack("{s:s, s:I, s:s, s:I, s:I, s:o, s:i, s:o*}", "name", name, "ordinal",
                     (json_int_t)device->ordinal, "dataset", dataset_name(data), "num_examples",
                     (json_int_t)device->num_train, "num_test_examples", (json_int_t)device->num_test,
                     "input", shape_json(data), "classes", dataset_num_classes(data), "capabilities", told);
}

bool device_entry_count_labels(json_t *entry, const struct dataset *data, const struct device_data *device)
{
    int64_t counts[LIMIT_LABEL_COUNTS];
    int num_classes = dataset_num_classes(data);
    if (num_classes > LIMIT_LABEL_COUNTS)
        return true;
    dataset_label_counts(data, device, SPLIT_TRAIN, counts);
    json_t *list = json_object();
    bool ok = list != NULL;
    for (int i = 0; ok && i < num_classes; i++) {
        char label[16];
        (void)snprintf(label, sizeof label, "%d", i);
        ok = json_object_set_new(list, label, json_num_int(counts[i])) == 0;
    }
    json_t *told = json_object_get(entry, "capabilities");
    if (ok && told)
        ok = json_object_set(told, "label_counts", list) == 0;
    else if (ok)
        ok = json_object_set_new(entry, "capabilities", json_pack("{s:O}", "label_counts", list)) == 0;
    json_decref(list);
    return ok;
}
