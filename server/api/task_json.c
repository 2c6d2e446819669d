#include "server/api/task_json.h"

#include "common/base/str.h"
#include "common/json/json_num.h"
#include "server/api/fields.h"
#include "server/api/offer.h"
#include "server/core/names.h"

static void put_work(struct obj *o, struct api *api, const struct task_row *t)
{
    obj_int(o, "num_examples", t->num_examples);
    obj_int(o, "num_test_examples", t->num_test_examples);
    obj_int(o, "steps_assigned", t->steps_assigned);
    obj_int(o, "max_steps", t->max_steps);
    obj_num_or_null(o, "max_seconds", t->max_seconds);
    obj_bool(o, "straggler", t->is_straggler != 0);
    obj_take(o, "want", wants_json(t->wants));
    /* While it is open, what the device reported last; it lives in memory only. */
    struct progress progress = {.steps_done = t->steps_done};
    if (t->status <= TASK_CLAIMED)
        (void)core_progress_get(api->core, t->id, &progress);
    obj_int(o, "steps_done", progress.steps_done);
    obj_take(o, "train_loss", progress.has_loss ? json_num(progress.train_loss) : json_null());
    obj_bool(o, "partial", t->is_partial != 0);
}

/* What was said with an update, which has a row of its own. Of those of earlier versions the task has it. */
static enum err report_find(struct store_txn *txn, struct arena *arena, struct task_row *t)
{
    struct update_report_row row = {.update_id = t->update_id, .report = t->report};
    if (*t->report || !*t->update_id)
        return ERR_OK;
    enum err e = store_get(txn, RECORD_UPDATE_REPORT, arena, &row);
    t->report = row.report;
    return e == ERR_NOT_FOUND ? ERR_OK : e;
}

json_t *task_json(struct api *api, struct arena *arena, const struct task_row *t)
{
    struct obj o = obj_new();
    obj_text(&o, "id", t->id);
    obj_text(&o, "run_id", t->run_id);
    obj_int(&o, "round", t->round);
    obj_int(&o, "ordinal", t->ordinal);
    obj_text(&o, "type", task_type_name(t->type));
    obj_text(&o, "device_id", t->device_id);
    obj_text_or_null(&o, "worker_id", t->worker_id);
    obj_text(&o, "status", task_status_name(t->status));
    obj_int(&o, "attempt", t->attempt);
    obj_int(&o, "model_version", t->model_version);
    put_work(&o, api, t);
    obj_text_or_null(&o, "stop_reason", t->stop_reason);
    obj_text_or_null(&o, "code", t->code);
    obj_text_or_null(&o, "detail", t->detail);
    obj_text_or_null(&o, "update_id", t->update_id);
    obj_raw(&o, arena, "report", t->report);
    obj_int(&o, "bytes_in", t->bytes_in);
    obj_time(&o, "created_at", t->created_at);
    obj_time(&o, "claimed_at", t->claimed_at);
    obj_time(&o, "downloaded_at", t->downloaded_at);
    obj_time(&o, "trained_at", t->trained_at);
    obj_time(&o, "uploaded_at", t->uploaded_at);
    obj_time(&o, "deadline_at", t->deadline_at);
    return obj_end(&o);
}

json_t *task_render(struct reading *r, struct store_txn *txn, const void *row)
{
    struct task_row task = *(const struct task_row *)row;
    return report_find(txn, r->arena, &task) == ERR_OK ? task_json(r->api, r->arena, &task) : NULL;
}

enum err task_filters(struct reading *r, struct store_value *out_status, struct store_value *out_type)
{
    const char *status = request_query(r->rq, "status"), *type = request_query(r->rq, "type");
    int64_t value;
    *out_status = *out_type = store_any;
    if (status) {
        if (task_status_parse(status, &value) != ERR_OK)
            return fault_set(r->fault, ERR_INVALID_FIELD, "status",
                             "It must be ready, claimed, completed, dropped, failed, late or cancelled.");
        *out_status = store_int(value);
    }
    if (type) {
        bool is_train = str_eq(type, task_type_name(TASK_TRAIN));
        if (!is_train && !str_eq(type, task_type_name(TASK_EVALUATE)))
            return fault_set(r->fault, ERR_INVALID_FIELD, "type", "It must be train or evaluate.");
        *out_type = store_int(is_train ? TASK_TRAIN : TASK_EVALUATE);
    }
    return ERR_OK;
}

enum err task_of_path(const struct request *rq, struct store_txn *txn, struct arena *arena,
                      struct task_row *out, struct fault *fault)
{
    record_init(RECORD_TASK, out);
    enum err e = api_path_id(rq, "task", &out->id, fault);
    if (e == ERR_OK)
        e = api_get(txn, RECORD_TASK, arena, out, "task", out->id, fault);
    return e;
}

json_t *receipt_json(const struct op_task_update *op)
{
    struct obj o = obj_new();
    obj_bool(&o, "accepted", op->out_accepted);
    obj_text_or_null(&o, "update_id", op->out_update_id);
    obj_bool(&o, "duplicate", op->out_duplicate);
    obj_bool(&o, "partial", op->out_partial);
    obj_text_or_null(&o, "reason", op->out_reason);
    return obj_end(&o);
}
