/* One batch of tasks: claimed, run, handed in. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "cli/simulate/sim_impl.h"

/* -- claiming -------------------------------------------------------------------------------------------- */

struct batch {
    struct arena arena; /* of the offers' texts */
    struct sim_job *jobs;
    size_t num_jobs;
};

static void batch_release(struct batch *b)
{
    for (size_t i = 0; i < b->num_jobs; i++)
        sim_job_release(&b->jobs[i]);
    free(b->jobs);
    arena_release(&b->arena);
}

static void job_init(struct sim_job *job, const struct task_offer *offer, const char *worker_id)
{
    const struct task_row *t = &offer->task;
    *job = (struct sim_job){.worker_id = worker_id};
    struct worker_task *task = &job->task;
    worker_task_init(task);
    task->task_id = t->id;
    task->run_id = t->run_id;
    task->device_id = t->device_id;
    task->type = t->type == TASK_TRAIN ? WORK_TRAIN : WORK_EVALUATE;
    task->round = t->round;
    task->attempt = t->attempt;
    task->model_version = t->model_version;
    task->weights_sha256 = offer->weights_sha256;
    task->model = offer->model;
    task->dataset = offer->dataset;
    task->ordinal = t->ordinal;
    task->seed = offer->seed;
    task->local_epochs = offer->local_epochs;
    task->local_steps = offer->local_steps;
    task->batch_size = offer->batch_size;
    task->learning_rate = offer->learning_rate;
    task->proximal_mu = offer->proximal_mu;
    task->optimizer = offer->optimizer;
    task->max_steps = t->max_steps;
    task->accept_partial = offer->accept_partial;
    /* Bounds of real time do not exist here. */
    task->max_seconds = NAN;
    task->time_left_ms = -1;
    task->wants_evaluation = t->wants & WANT_EVALUATION;
    task->wants_gamma = t->wants & WANT_GAMMA;
    task->wants_gradient = t->wants & WANT_GRADIENT;
    /* A step costs three times the forward pass of its examples. */
    job->work = t->num_examples + t->num_test_examples +
                (task->type == WORK_TRAIN ? 3 * t->max_steps * offer->batch_size : 0);
}

static enum err claim(struct sim *s, const char *worker_id, struct batch *b, struct fault *fault)
{
    struct op_task_claim op = {.base = {.core = s->core, .arena = &b->arena, .caller = ""},
                               .worker_id = worker_id,
                               .device_id = "",
                               .max = LIMIT_CLAIM};
    enum err e = store_write_wait(s->store, op_task_claim, &op);
    if (e) {
        *fault = op.base.fault;
        return e;
    }
    if (op.out_count == 0)
        return ERR_OK;
    struct sim_job *jobs = realloc(b->jobs, (b->num_jobs + op.out_count) * sizeof *jobs);
    if (!jobs)
        return ERR_NO_MEMORY;
    b->jobs = jobs;
    for (size_t i = 0; i < op.out_count; i++)
        job_init(&jobs[b->num_jobs++], &op.out[i], worker_id);
    return ERR_OK;
}

/* -- the model ------------------------------------------------------------------------------------------- */

struct model_reading {
    struct sim *s;
    struct arena *arena;
    int64_t version;
    struct model_row model;
};

static enum err read_model(struct store_txn *txn, void *arg)
{
    struct model_reading *r = arg;
    record_init(RECORD_MODEL, &r->model);
    r->model.run_id = r->s->run_id;
    r->model.version = r->version;
    enum err e = store_get(txn, RECORD_MODEL, r->arena, &r->model);
    return !e && !r->s->arch ? core_run_arch(txn, r->s->run_id, r->arena, &r->s->arch) : e;
}

static enum err read_file(struct sim *s, int64_t version, struct buf *out)
{
    struct arena arena = ARENA_INIT(SIM_ARENA_MAX);
    struct model_reading r = {.s = s, .arena = &arena, .version = version};
    enum err e = s->store->ops->read(s->store, read_model, &r);
    size_t size = (size_t)r.model.size_bytes;
    if (!e)
        e = buf_reserve(out, size);
    if (!e)
        e = s->blobs->ops->read(s->blobs, r.model.blob_id, 0, out->data + out->len, size);
    if (!e)
        out->len += size;
    arena_release(&arena);
    return e;
}

static enum err alloc_params(struct sim *s)
{
    const struct tensor_table *t = &s->arch->tensors;
    if (!s->w_t)
        s->w_t = calloc(t->num_params > 0 ? (size_t)t->num_params : 1, sizeof *s->w_t);
    if (!s->carried)
        s->carried = calloc(t->carried_bytes > 0 ? (size_t)t->carried_bytes : 1, 1);
    return s->w_t && s->carried ? ERR_OK : ERR_NO_MEMORY;
}

enum err sim_load_model(struct sim *s, int64_t version, struct fault *fault)
{
    struct arena arena = ARENA_INIT(SIM_ARENA_MAX);
    struct buf file = BUF_INIT((size_t)LIMIT_MODEL_BYTES);
    enum err e = version == s->w_version ? ERR_OK : read_file(s, version, &file);
    if (!e && version != s->w_version) {
        e = alloc_params(s);
        if (!e)
            e = safetensors_decode(file.data, file.len, &s->arch->tensors, "", &arena, s->w_t, s->carried,
                                   NULL, fault);
        s->w_version = e ? -1 : version;
    }
    buf_release(&file);
    arena_release(&arena);
    return e;
}

enum err sim_model(struct sim *s, struct buf *out)
{
    struct arena arena = ARENA_INIT(SIM_ARENA_MAX);
    struct run_row run;
    enum err e = sim_run(s, &arena, &run);
    if (!e)
        e = read_file(s, run.model_version, out);
    arena_release(&arena);
    return e;
}

/* -- handing in ------------------------------------------------------------------------------------------ */

static enum err put_blob(struct blobs *blobs, const struct buf *file, int64_t *out_id)
{
    struct blob_put *put;
    enum err e = blobs->ops->put_begin(blobs, &put);
    if (e)
        return e;
    e = blobs->ops->put_write(put, file->data, file->len);
    if (!e)
        return blobs->ops->put_end(put, out_id);
    blobs->ops->put_abort(put);
    return e;
}

static enum err hand_in_update(struct sim *s, struct sim_job *job, struct op_task_update *op)
{
    enum err e = job->file.len > 0 ? put_blob(s->blobs, &job->file, &op->blob_id) : ERR_OK;
    if (e)
        return e;
    op->task_id = job->task.task_id;
    op->worker_id = job->worker_id;
    op->device_id = "";
    op->body_sha256 = ""; /* nothing is ever sent twice */
    op->size_bytes = (int64_t)job->file.len;
    op->received_at = s->clock.ms;
    e = store_write_wait(s->store, op_task_update, op);
    if (e && op->blob_id) {
        enum err removed = s->blobs->ops->remove(s->blobs, op->blob_id);
        return removed ? removed : e;
    }
    return e;
}

static enum err hand_in_failure(struct sim *s, struct sim_job *job, struct op_task_fail *op)
{
    op->task_id = job->task.task_id;
    op->worker_id = job->worker_id;
    op->device_id = "";
    op->code = job->code;
    op->detail = job->detail;
    op->received_at = s->clock.ms;
    return store_write_wait(s->store, op_task_fail, op);
}

static enum err hand_in(struct sim *s, struct sim_job *job, struct fault *fault)
{
    struct arena arena = ARENA_INIT(SIM_ARENA_MAX);
    const struct op_base base = {.core = s->core, .arena = &arena, .caller = ""};
    struct op_task_update update = {.base = base};
    struct op_task_fail failure = {.base = base};
    bool is_update = job->outcome == WORK_UPDATE;
    struct op_base *used = is_update ? &update.base : &failure.base;
    struct task_report *report = is_update ? &update.report : &failure.report;
    enum err e = job->err;
    if (!e)
        e = task_report_parse(job->metadata, job->num_metadata, true, &arena, report, &used->fault);
    if (!e)
        e = is_update ? hand_in_update(s, job, &update) : hand_in_failure(s, job, &failure);
    /* With over-selection the round may have gone on without this one; then it may even be forgotten. */
    if (e == ERR_STALE_ROUND || e == ERR_RUN_NOT_RUNNING || e == ERR_NOT_FOUND)
        e = ERR_OK;
    if (e && used->fault.err)
        *fault = used->fault;
    arena_release(&arena);
    return e;
}

static int ascending(const void *a, const void *b)
{
    const struct sim_job *x = a, *y = b;
    if (x->task.ordinal != y->task.ordinal)
        return x->task.ordinal < y->task.ordinal ? -1 : 1;
    return (int)x->task.type - (int)y->task.type;
}

/* What is handed in already is handed in while the crew still works on the rest. */
static enum err run_and_hand_in(struct sim *s, struct batch *b, struct fault *fault)
{
    qsort(b->jobs, b->num_jobs, sizeof *b->jobs, ascending);
    enum err e = sim_crew_begin(s->crew, b->jobs, b->num_jobs, s->w_t);
    while (!e && s->num_forgotten < b->jobs[0].task.round)
        e = sim_forget(s, s->num_forgotten++);
    for (size_t i = 0; i < b->num_jobs && !e; i++) {
        sim_crew_wait(s->crew, &b->jobs[i]);
        e = hand_in(s, &b->jobs[i], fault);
        sim_job_release(&b->jobs[i]);
    }
    sim_crew_end(s->crew);
    return e;
}

enum err sim_do_tasks(struct sim *s, size_t *out_num_tasks, struct fault *fault)
{
    struct batch b = {.arena = ARENA_INIT(SIM_ARENA_MAX)};
    enum err e = ERR_OK;
    for (size_t i = 0; i < s->num_workers && !e; i++)
        e = claim(s, s->worker_ids[i], &b, fault);
    /* All of one round, so all of one model. */
    if (!e && b.num_jobs > 0)
        e = sim_load_model(s, b.jobs[0].task.model_version, fault);
    if (!e && b.num_jobs > 0)
        e = run_and_hand_in(s, &b, fault);
    *out_num_tasks = b.num_jobs;
    batch_release(&b);
    return e;
}
