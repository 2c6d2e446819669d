/* Updates that come in pieces. */
#include <string.h>
#include "server/core/task_access.h"

static enum err superseded(struct fault *fault, int64_t attempt, const struct task_row *task)
{
    return fault_set(fault, ERR_SUPERSEDED, "attempt",
                     "attempt %lld was superseded by attempt %lld of the same task: drop this work",
                     (long long)attempt, (long long)task->attempt);
}

/* One of the same attempt is replaced. Those of older ones stay as what they were, without their bytes: who
 * goes on with one learns that it was superseded. */
static enum err former_remove(struct work *w, const struct task_row *task, struct op_upload_open *a)
{
    struct upload_row *rows;
    size_t count;
    enum err e = store_find(w->txn, QUERY_UPLOADS_BY_TASK, w->arena, 0, &rows, &count, store_text(task->id),
                            store_any);
    if (e)
        return e;
    a->out_former_blobs = arena_calloc(w->arena, count, sizeof *a->out_former_blobs);
    if (!a->out_former_blobs)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count && !e; i++) {
        if (rows[i].blob_id)
            a->out_former_blobs[a->out_num_former++] = rows[i].blob_id;
        rows[i].blob_id = 0;
        e = rows[i].attempt == task->attempt ? store_remove(w->txn, RECORD_UPLOAD, &rows[i])
                                             : store_update(w->txn, RECORD_UPLOAD, &rows[i]);
    }
    return e;
}

static enum err upload_store(struct work *w, const struct task_row *task, struct op_upload_open *a)
{
    record_init(RECORD_UPLOAD, &a->out);
    enum err e = work_id(w, &a->out.id);
    a->out.task_id = task->id;
    a->out.run_id = task->run_id;
    a->out.round = task->round;
    a->out.attempt = task->attempt;
    a->out.blob_id = a->blob_id;
    a->out.size_bytes = a->size_bytes;
    a->out.sha256 = a->sha256;
    a->out.metadata = a->metadata;
    a->out.created_at = w->now_ms;
    return e ? e : store_insert(w->txn, RECORD_UPLOAD, &a->out);
}

enum err op_upload_open(struct store_txn *txn, void *arg)
{
    struct op_upload_open *a = arg;
    struct work w = work_begin(txn, &a->base);
    struct task_context c;
    a->out_num_former = 0;
    enum err e = task_of_caller(&w, a->task_id, a->worker_id, a->device_id, &c.task);
    if (!e)
        e = task_context_look(&w, &c);
    if (e)
        return e;
    if (a->attempt >= 0 && a->attempt < c.task.attempt)
        return superseded(w.fault, a->attempt, &c.task);
    if (a->attempt > c.task.attempt || c.task.attempt == 0)
        return fault_set(w.fault, ERR_INVALID_UPDATE, "attempt",
                         "the task was not claimed as attempt %lld: claim it first",
                         (long long)(a->attempt < 0 ? 1 : a->attempt));
    e = former_remove(&w, &c.task, a);
    return e ? e : upload_store(&w, &c.task, a);
}

static enum err row_find(struct store_txn *txn, const char *task_id, const char *upload_id,
                         struct arena *arena, struct upload_row *out)
{
    record_init(RECORD_UPLOAD, out);
    out->id = upload_id;
    enum err e = store_get(txn, RECORD_UPLOAD, arena, out);
    return !e && strcmp(out->task_id, task_id) != 0 ? ERR_NOT_FOUND : e;
}

enum err core_upload_find(struct store_txn *txn, const char *task_id, const char *upload_id,
                          struct arena *arena, struct upload_row *out, struct fault *fault)
{
    struct work w = {.txn = txn, .arena = arena, .fault = fault, .caller = ""};
    struct task_context c;
    enum err found = row_find(txn, task_id, upload_id, arena, out);
    if (found && found != ERR_NOT_FOUND)
        return found;
    if (!found && *out->body_sha256)
        return ERR_OK;
    enum err e = task_load(&w, task_id, &c.task);
    if (!e && !found && out->attempt < c.task.attempt)
        return superseded(fault, out->attempt, &c.task);
    if (!e && !found && *c.task.update_id) /* by another way; if it is the same, it is a repeat */
        return ERR_OK;
    if (!e)
        e = task_context_look(&w, &c);
    if (!e && found)
        e = fault_set(fault, ERR_NOT_FOUND, NULL,
                      "The task has no upload %s: it was dropped, or another took its place. POST "
                      ".../uploads begins a new one.",
                      upload_id);
    return e;
}

enum err op_upload_touch(struct store_txn *txn, void *arg)
{
    struct op_upload *a = arg;
    struct work w = work_begin(txn, &a->base);
    struct upload_row row;
    return core_upload_find(txn, a->task_id, a->upload_id, w.arena, &row, w.fault);
}

enum err op_upload_drop(struct store_txn *txn, void *arg)
{
    struct op_upload *a = arg;
    struct work w = work_begin(txn, &a->base);
    struct upload_row row;
    a->out_blob = 0;
    enum err e = row_find(txn, a->task_id, a->upload_id, w.arena, &row);
    if (e == ERR_NOT_FOUND)
        return fault_set(w.fault, e, NULL, "The task has no upload %s; nothing is left to drop.",
                         a->upload_id);
    if (e)
        return e;
    if (*row.body_sha256)
        return fault_set(w.fault, ERR_CONFLICT, NULL,
                         "The upload is complete and was taken as the task's update; it cannot be dropped.");
    a->out_blob = row.blob_id;
    return store_remove(txn, RECORD_UPLOAD, &row);
}

/* The file that is the task's update; 0: none. */
static enum err update_blob(struct work *w, const char *task_id, int64_t *out)
{
    struct update_row *rows;
    size_t count;
    enum err e = store_find(w->txn, QUERY_UPDATE_BY_TASK, w->arena, 1, &rows, &count, store_text(task_id));
    *out = !e && count > 0 ? rows[0].blob_id : 0;
    return e;
}

enum err op_upload_take(struct store_txn *txn, void *arg)
{
    struct op_upload_take *a = arg;
    struct work w = work_begin(txn, &a->update.base);
    struct upload_row row;
    int64_t blob = 0;
    a->out_blob = 0;
    enum err e = core_upload_find(txn, a->update.task_id, a->upload_id, w.arena, &row, w.fault);
    if (!e)
        e = op_task_update(txn, &a->update);
    if (e || *row.body_sha256)
        return e;
    e = update_blob(&w, a->update.task_id, &blob);
    if (blob != row.blob_id)
        a->out_blob = row.blob_id;
    row.blob_id = blob;
    row.body_sha256 = a->update.body_sha256;
    return e ? e : store_update(txn, RECORD_UPLOAD, &row);
}
