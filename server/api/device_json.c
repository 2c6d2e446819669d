#include "server/api/device_json.h"

#include "server/api/fields.h"
#include "server/core/names.h"

#define MAX_TASKS_SHOWN 100 /* a device has one or two open tasks per run */

static json_t *open_task(const struct task_row *task)
{
    struct obj o = obj_new();
    obj_text(&o, "id", task->id);
    obj_text(&o, "run_id", task->run_id);
    obj_int(&o, "round", task->round);
    obj_text(&o, "type", task_type_name(task->type));
    obj_text(&o, "status", task_status_name(task->status));
    return obj_end(&o);
}

/* Its open tasks, by id only and with what they are. */
static void put_open_tasks(struct obj *o, struct store_txn *txn, struct arena *arena, const char *device_id)
{
    struct task_row *rows;
    size_t n;
    enum err e = store_find(txn, QUERY_TASKS_OPEN_BY_DEVICE, arena, MAX_TASKS_SHOWN, &rows, &n,
                            store_text(device_id), store_int(TASK_CLAIMED));
    json_t *ids = e == ERR_OK ? json_array() : NULL, *tasks = e == ERR_OK ? json_array() : NULL;
    bool ok = ids && tasks;
    for (size_t i = 0; ok && i < n; i++) {
        ok = json_array_append_new(ids, json_string(rows[i].id)) == 0 &&
             json_array_append_new(tasks, open_task(&rows[i])) == 0;
    }
    if (!ok) {
        json_decref(ids);
        json_decref(tasks);
        ids = tasks = NULL;
    }
    obj_take(o, "task_ids", ids);
    obj_take(o, "open_tasks", tasks);
}

json_t *device_json(struct api *api, struct store_txn *txn, struct arena *arena,
                    const struct device_row *device)
{
    struct obj o = obj_new();
    obj_text(&o, "id", device->id);
    obj_text_or_null(&o, "worker_id", device->worker_id);
    obj_text(&o, "name", device->name);
    obj_text(&o, "dataset", device->dataset);
    obj_int(&o, "ordinal", device->ordinal);
    obj_int(&o, "num_examples", device->num_examples);
    obj_int(&o, "num_test_examples", device->num_test_examples);
    obj_raw(&o, arena, "input", device->input);
    obj_int(&o, "classes", device->classes);
    obj_raw(&o, arena, "labels", device->labels);
    obj_raw(&o, arena, "capabilities", device->capabilities);
    obj_text(&o, "status", presence_name(core_device_presence(api->core, device)));
    obj_time(&o, "last_seen_at", core_device_last_seen(api->core, device));
    obj_num_or_null(&o, "steps_per_second", device->steps_per_second);
    put_open_tasks(&o, txn, arena, device->id);
    obj_time(&o, "created_at", device->created_at);
    obj_time(&o, "revoked_at", device->revoked_at);
    return obj_end(&o);
}

enum err device_of_path(struct reading *r, struct store_txn *txn, struct device_row *out)
{
    record_init(RECORD_DEVICE, out);
    enum err e = api_path_id(r->rq, "device", &out->id, r->fault);
    if (e == ERR_OK)
        e = api_get(txn, RECORD_DEVICE, r->arena, out, "device", out->id, r->fault);
    return e;
}

enum err worker_of_path(struct reading *r, struct store_txn *txn, struct worker_row *out)
{
    record_init(RECORD_WORKER, out);
    enum err e = api_path_id(r->rq, "worker", &out->id, r->fault);
    if (e == ERR_OK)
        e = api_get(txn, RECORD_WORKER, r->arena, out, "worker", out->id, r->fault);
    return e;
}
