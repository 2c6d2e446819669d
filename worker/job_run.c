#include "worker/job_run.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/api/api.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "common/json/json_spec.h"

/* Steals the JSON. */
static enum err report_json(struct report *r, json_t *json)
{
    enum err e = json_text(json, &r->body);
    json_decref(json);
    if (!e) {
        r->size = strlen(r->body);
        r->media_type = MEDIA_JSON;
    }
    return e;
}

enum err job_report_failure(const char *task_id, int64_t attempt, const char *code, const char *detail,
                            struct report *out)
{
    *out = (struct report){.route = REPORT_FAIL, .attempt = attempt};
    json_t *json =
        json_pack("{s:s, s:s, s:I}", "code", code, "detail", detail, "attempt", (json_int_t)attempt);
    enum err e = json ? report_json(out, json) : ERR_NO_MEMORY;
    return e ? e : str_copy(out->task_id, sizeof out->task_id, task_id);
}

/* Tensors become a file, all else JSON. */
static enum err make_report(const struct job *job, struct task_result *result, struct report *r)
{
    if (result->values) {
        r->media_type = MEDIA_SAFETENSORS;
        return task_result_file(&job->task, result, &r->body, &r->size);
    }
    json_t *json = NULL;
    enum err e = task_result_json(&job->task, result, &json);
    return e ? e : report_json(r, json);
}

/* An answer that says nothing fails the task with the least that is needed. */
static void report_no_memory(const struct job *job, struct report *r)
{
    static const char body[] = "{\"code\":\"out_of_memory\",\"detail\":\"not enough memory for the report\"}";
    *r = (struct report){.route = REPORT_FAIL, .attempt = job->task.attempt, .media_type = MEDIA_JSON};
    r->body = strdup(body);
    r->size = r->body ? strlen(body) : 0;
}

static void note(const struct job *job, const struct task_result *result)
{
    const struct worker_task *t = &job->task;
    if (result->outcome == WORK_FAILED)
        log_warning("worker", "task %s: round %lld, device %lld: failed (%s): %s", t->task_id,
                    (long long)t->round, (long long)t->ordinal, result->code, result->detail);
    else if (t->type == WORK_TRAIN)
        log_info("worker", "task %s: round %lld, device %lld: %lld of %lld steps (%s), loss %.6g, %.0f ms",
                 t->task_id, (long long)t->round, (long long)t->ordinal,
                 (long long)result->progress.steps_done, (long long)result->progress.steps_assigned,
                 work_stop_name(result->stop), result->progress.train_loss_end, result->compute_ms);
    else
        log_debug("worker", "task %s: round %lld, device %lld: evaluated, train loss %.6g, %.0f ms",
                  t->task_id, (long long)t->round, (long long)t->ordinal, result->eval.train.loss,
                  result->compute_ms);
}

static void run(struct job *job, struct task_runner *runner, const struct task_control *control,
                struct task_result *result)
{
    const float *w_t = NULL;
    struct fault fault = FAULT_NONE;
    const double download_ms = job->weights->download_ms; /* others may have them fetched again meanwhile */
    if (job->weights->state == WEIGHTS_FAILED) {
        task_result_fail(result, job->weights->code, job->weights->fault.detail);
        return;
    }
    enum err e = weights_params(job->weights, &w_t, &fault);
    if (e)
        task_result_fail(result, e == ERR_NO_MEMORY ? "out_of_memory" : err_code(e), fault.detail);
    else
        task_run(runner, &job->task, w_t, control, result);
    result->download_ms = download_ms;
}

void job_run(struct job *job, struct task_runner *runner, const struct task_control *control,
             const char *outbox)
{
    struct task_result result;
    struct report *r = &job->report;
    struct fault fault = FAULT_NONE;
    run(job, runner, control, &result);
    job_done_with_weights(job, false);
    job->outcome = result.outcome;
    job->ns_per_step = result.progress.steps_done > 0
                           ? result.compute_ms * 1e6 / (double)result.progress.steps_done
                           : (double)NAN;
    if (result.outcome == WORK_CANCELLED)
        return;
    note(job, &result);
    *r = (struct report){.route = result.outcome == WORK_UPDATE ? REPORT_UPDATE : REPORT_FAIL,
                         .attempt = job->task.attempt};
    if (make_report(job, &result, r) != ERR_OK)
        report_no_memory(job, r);
    r->round = job->task.round;
    r->ordinal = job->task.ordinal;
    (void)snprintf(r->task_id, sizeof r->task_id, "%s", job->task.task_id);
    job->is_stored = r->body && outbox_store(outbox, r, &fault) == ERR_OK;
    if (!job->is_stored)
        log_warning("worker", "task %s: the report is not on disk and would be lost with this process: %s",
                    r->task_id, fault.detail);
}
