#include "worker/device_entry.h"
#include <stdio.h>
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

json_t *device_entry(const char *prefix, const struct dataset *data, const struct device_data *device)
{
    char name[LIMIT_NAME + 1];
    (void)snprintf(name, sizeof name, "%.170s-%lld", prefix, (long long)device->ordinal);
    return json_pack("{s:s, s:I, s:s, s:I, s:I, s:o, s:i}", "name", name, "ordinal",
                     (json_int_t)device->ordinal, "dataset", dataset_name(data), "num_examples",
                     (json_int_t)device->num_train, "num_test_examples", (json_int_t)device->num_test,
                     "input", shape_json(data), "classes", dataset_num_classes(data));
}
