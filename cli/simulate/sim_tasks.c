/* Tasks on their way: claimed, begun, run and handed in, each at its time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "cli/simulate/sim_impl.h"
#include "worker/upload_time.h"

/* -- claiming -------------------------------------------------------------------------------------------- */

static void job_init(struct sim_job *job, const struct task_offer *offer, const char *worker_id)
{
    const struct task_row *t = &offer->task;
    *job = (struct sim_job){
        .worker_id = worker_id,
        .timing = {.steps = t->max_steps,
                   .steps_assigned = t->steps_assigned,
                   .accept_partial = offer->accept_partial,
                   .deadline_steps = -1,
                   .download_ms = NAN,
                   .compute_ms = NAN},
    };
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
    task->settings = offer->settings;
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

/* An evaluation is the experimenter's measurement: it takes no time and needs nobody online. */
static void place_in_time(struct sim *s, struct sim_job *job)
{
    struct sim_timing *t = &job->timing;
    bool takes_time = s->systems.is_timed && job->task.type == WORK_TRAIN;
    t->has_started = !takes_time;
    t->next_ns = takes_time ? sim_online_from(sim_systems_device(&s->systems, job->task.ordinal), s->now_ns)
                            : s->now_ns;
}

static enum err claim(struct sim *s, const char *worker_id, struct fault *fault)
{
    struct op_task_claim op = {.base = {.core = s->core, .arena = &s->offers, .caller = ""},
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
    struct sim_job *jobs = realloc(s->jobs, (s->num_jobs + op.out_count) * sizeof *jobs);
    if (!jobs)
        return ERR_NO_MEMORY;
    s->jobs = jobs;
    for (size_t i = 0; i < op.out_count; i++) {
        struct sim_job *job = &jobs[s->num_jobs++];
        job_init(job, &op.out[i], worker_id);
        place_in_time(s, job);
    }
    return ERR_OK;
}

/* What belongs to a round that is over; its devices learn of it at once. */
static void drop_old(struct sim *s, int64_t round)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->num_jobs; i++) {
        if (s->jobs[i].task.round == round)
            s->jobs[kept++] = s->jobs[i];
        else
            sim_job_release(&s->jobs[i]);
    }
    s->num_jobs = kept;
    if (kept == 0)
        arena_release(&s->offers);
}

void sim_drop_tasks(struct sim *s)
{
    drop_old(s, -1);
    free(s->jobs);
    s->jobs = NULL;
}

enum err sim_claim_tasks(struct sim *s, int64_t round, struct fault *fault)
{
    enum err e = ERR_OK;
    drop_old(s, round);
    for (size_t i = 0; i < s->num_workers && !e; i++)
        e = claim(s, s->worker_ids[i], fault);
    return e;
}

/* -- time ------------------------------------------------------------------------------------------------ */

int64_t sim_next_ns(const struct sim *s)
{
    int64_t next_ns = SIM_NEVER;
    for (size_t i = 0; i < s->num_jobs; i++)
        if (s->jobs[i].timing.next_ns < next_ns)
            next_ns = s->jobs[i].timing.next_ns;
    return next_ns;
}

static int64_t moment(int64_t core_ms)
{
    return core_ms ? (core_ms - SIM_START_MS) * SIM_MS_NS : SIM_NEVER;
}

static enum err begin_tasks(struct sim *s, const struct round_row *round, struct fault *fault)
{
    for (size_t i = 0; i < s->num_jobs; i++) {
        struct sim_job *job = &s->jobs[i];
        if (job->timing.has_started || job->timing.next_ns > s->now_ns)
            continue;
        enum err e = sim_load_model(s, job->task.model_version, fault);
        if (e)
            return e;
        job->timing.model_bytes = s->w_bytes;
        job->timing.deadline_ns = moment(round->deadline_at);
        sim_timing_start(&job->timing, sim_systems_device(&s->systems, job->task.ordinal), s->now_ns);
    }
    return ERR_OK;
}

static int ascending(const void *a, const void *b)
{
    const struct sim_job *x = a, *y = b;
    if (x->task.ordinal != y->task.ordinal)
        return x->task.ordinal < y->task.ordinal ? -1 : 1;
    return (int)x->task.type - (int)y->task.type;
}

static bool is_due(const struct sim_job *job, int64_t ns)
{
    return job->timing.has_started && job->timing.next_ns <= ns;
}

/* Brings the jobs that are due by then and have not run to the end of the list. Returns where they begin. */
static size_t choose(struct sim *s, int64_t ns)
{
    size_t first = s->num_jobs;
    for (size_t i = s->num_jobs; i-- > 0;) {
        if (s->jobs[i].is_done || !is_due(&s->jobs[i], ns))
            continue;
        if (i == --first)
            continue;
        struct sim_job job = s->jobs[i];
        s->jobs[i] = s->jobs[first];
        s->jobs[first] = job;
    }
    bool is_sorted = true;
    for (size_t i = first + 1; i < s->num_jobs; i++)
        is_sorted = is_sorted && ascending(&s->jobs[i - 1], &s->jobs[i]) < 0;
    if (!is_sorted)
        qsort(&s->jobs[first], s->num_jobs - first, sizeof *s->jobs, ascending);
    return first;
}

/* Starts the crew where something that is due has not run. Not only on that, so that all threads have work:
 * what the devices do does not depend on each other. But not on what comes too late. */
static enum err run_tasks(struct sim *s, const struct round_row *round, struct fault *fault)
{
    if (choose(s, s->now_ns) == s->num_jobs)
        return ERR_OK;
    int64_t end_ns = moment(round->grace_until);
    if (end_ns == SIM_NEVER)
        end_ns--; /* whose answer never comes needs no run */
    size_t first = choose(s, end_ns > s->now_ns ? end_ns : s->now_ns);
    /* All of one round, so all of one model. */
    enum err e = sim_load_model(s, s->jobs[first].task.model_version, fault);
    return e ? e : sim_crew_begin(s->crew, &s->jobs[first], s->num_jobs - first, s->w_t);
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
    struct arena *arena = &s->scratch;
    const struct op_base base = {.core = s->core, .arena = arena, .caller = ""};
    struct op_task_update update = {.base = base};
    struct op_task_fail failure = {.base = base};
    bool is_update = job->outcome == WORK_UPDATE;
    struct op_base *used = is_update ? &update.base : &failure.base;
    struct task_report *report = is_update ? &update.report : &failure.report;
    enum err e = job->err;
    if (!e)
        e = task_report_parse(job->metadata, job->num_metadata, true, arena, report, &used->fault);
    if (!e)
        e = is_update ? hand_in_update(s, job, &update) : hand_in_failure(s, job, &failure);
    if (!e && is_update && s->systems.is_timed && job->task.type == WORK_TRAIN) {
        struct sim_device *d = sim_systems_device(&s->systems, job->task.ordinal);
        d->upload_ms = upload_ms_next(d->upload_ms, job->timing.upload_ms);
    }
    /* With over-selection the round may have gone on without this one; then it may even be forgotten. */
    if (e == ERR_STALE_ROUND || e == ERR_RUN_NOT_RUNNING || e == ERR_NOT_FOUND)
        e = ERR_OK;
    if (e && used->fault.err)
        *fault = used->fault;
    arena_clear(arena);
    return e;
}

static int ascending_due(const void *a, const void *b)
{
    return ascending(*(struct sim_job *const *)a, *(struct sim_job *const *)b);
}

/* The crew still works on the rest meanwhile, so no job changes its place. */
static enum err hand_in_due(struct sim *s, size_t *out_count, struct fault *fault)
{
    struct sim_job **due = calloc(s->num_jobs ? s->num_jobs : 1, sizeof(struct sim_job *));
    enum err e = due ? ERR_OK : ERR_NO_MEMORY;
    size_t count = 0;
    for (size_t i = 0; i < s->num_jobs && due; i++)
        if (is_due(&s->jobs[i], s->now_ns))
            due[count++] = &s->jobs[i];
    if (count > 0)
        qsort(due, count, sizeof(struct sim_job *), ascending_due);
    for (size_t i = 0; i < count && !e; i++) {
        sim_crew_wait(s->crew, due[i]);
        e = hand_in(s, due[i], fault);
        sim_job_release(due[i]);
        due[i]->is_over = true;
    }
    free(due);
    *out_count = count;
    return e;
}

static void drop_over(struct sim *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->num_jobs; i++)
        if (!s->jobs[i].is_over)
            s->jobs[kept++] = s->jobs[i];
    s->num_jobs = kept;
}

enum err sim_do_tasks(struct sim *s, const struct round_row *round, size_t *out_count, struct fault *fault)
{
    *out_count = 0;
    enum err e = begin_tasks(s, round, fault);
    if (!e)
        e = run_tasks(s, round, fault);
    while (!e && s->num_forgotten < round->n)
        e = sim_forget(s, s->num_forgotten++);
    if (!e)
        e = hand_in_due(s, out_count, fault);
    sim_crew_end(s->crew);
    drop_over(s);
    return e;
}
