/* A label stands twice: in its device's row, and in a row of its own that lists are filtered by. */
#include <string.h>
#include "common/base/str.h"
#include "server/core/device.h"

static struct device_label_row label_row(const struct device_row *device, const char *name,
                                         const json_t *value)
{
    return (struct device_label_row){
        .device_id = device->id, .name = name, .value = json_string_value(value)};
}

static enum err labels_change(struct work *w, const struct device_row *device, json_t *former, json_t *labels)
{
    const char *name;
    json_t *value;
    enum err e = ERR_OK;
    json_object_foreach(former, name, value)
    {
        struct device_label_row row = label_row(device, name, value);
        if (!e && !json_object_get(labels, name))
            e = store_remove(w->txn, RECORD_DEVICE_LABEL, &row);
    }
    json_object_foreach(labels, name, value)
    {
        struct device_label_row row = label_row(device, name, value);
        if (!e && !json_equal(json_object_get(former, name), value))
            e = store_put(w->txn, RECORD_DEVICE_LABEL, &row);
    }
    return e;
}

enum err device_labels_set(struct work *w, const struct device_row *device, const char *former)
{
    json_t *before = NULL, *now = NULL;
    if (str_eq(former, device->labels))
        return ERR_OK;
    enum err e = json_from_row(former, &before);
    if (!e)
        e = json_from_row(device->labels, &now);
    if (!e)
        e = labels_change(w, device, before, now);
    if (!e)
        e = presence_relabelling(w->core, device);
    json_decref(before);
    json_decref(now);
    return e;
}
