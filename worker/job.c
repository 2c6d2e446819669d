#include "worker/job.h"
#include <math.h>
#include <stdlib.h>

enum err job_new(const json_t *json, int64_t received_ns, struct job **out_job, struct fault *fault)
{
    struct job *job = calloc(1, sizeof *job);
    *out_job = NULL;
    if (!job)
        return fault_set(fault, ERR_NO_MEMORY, NULL, "not enough memory for a task");
    arena_init(&job->arena, 2 * LIMIT_JSON_BODY);
    job->received_ns = received_ns;
    job->deadline_ns = job->stop_ns = INT64_MAX;
    job->train_loss = NAN;
    enum err e = worker_task_parse(json, &job->arena, &job->task, fault);
    if (e)
        job_free(job);
    else
        *out_job = job;
    return e;
}

void job_done_with_weights(struct job *job, bool was_trained)
{
    if (job->wants_weights)
        weights_done(job->weights, was_trained);
    job->wants_weights = false;
}

void job_free(struct job *job)
{
    if (!job)
        return;
    report_release(&job->report);
    arena_release(&job->arena);
    free(job);
}
