#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/api/api.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "common/json/json_num.h"
#include "common/json/json_spec.h"
#include "worker/agent_impl.h"

#define BEAT_TIMEOUT_MS 15000

/* -- directives ------------------------------------------------------------------------------------------ */

static void follow(struct agent *a, const json_t *directive)
{
    const char *type = json_string_value(json_object_get(directive, "type"));
    const char *task_id = json_string_value(json_object_get(directive, "task_id"));
    struct job *job = task_id ? agent_find_job(a, task_id, NULL) : NULL;
    /* One whose report is on its way may be closed by that very report. */
    if (!job || job->place == JOB_REPORTING)
        return;
    if (str_eq(type, "cancel")) {
        log_info("worker", "task %s: the server no longer wants it", task_id);
        if (job->place == JOB_WAITING)
            agent_drop_job(a, job);
        else
            pool_order(a->pool, job, ORDER_CANCEL, false);
    } else if (str_eq(type, "return_partial")) {
        log_info("worker", "task %s: the server asks for what there is", task_id);
        if (job->place == JOB_WAITING)
            job->order = ORDER_RETURN;
        else
            pool_order(a->pool, job, ORDER_RETURN, false);
    } else {
        log_warning("worker", "task %s: unknown directive \"%.60s\"; update the worker", task_id,
                    type ? type : "");
    }
}

static void take_reply(struct agent *a, const struct http_response *response)
{
    struct fault fault = FAULT_NONE;
    json_t *json = NULL, *directives;
    double next_s;
    if (json_text_parse(response->body.data ? response->body.data : "", response->body.len, &json, &fault) !=
        ERR_OK) {
        log_error("worker", "the reply to a heartbeat is no JSON: %s", fault.detail);
        return;
    }
    if (json_num_read(json_object_get(json, "next_heartbeat_s"), &next_s) == ERR_OK && next_s >= 0.01 &&
        next_s < 86400)
        a->beat_ms = (int64_t)(next_s * 1000);
    directives = json_object_get(json, "directives");
    for (size_t i = 0; i < json_array_size(directives); i++)
        follow(a, json_array_get(directives, i));
    json_decref(json);
}

/* -- the call -------------------------------------------------------------------------------------------- */

static void on_beat(void *ctx, enum err e, struct http_response *response, const struct fault *fault)
{
    struct agent *a = ctx;
    a->beat = NULL;
    free(a->beat_body);
    a->beat_body = NULL;
    if (e == ERR_CANCELLED || (e && agent_lost_token(a, e, fault, a->registration)))
        return;
    /* One that was lost is made good by the next. */
    if (e)
        log_info("worker", "heartbeat: %s", fault->detail);
    else
        take_reply(a, response);
    a->beat_at_ns = mono_ns() + a->beat_ms * 1000000;
}

static json_t *task_json(const struct agent *a, const struct job *job)
{
    int64_t steps_done = 0;
    double train_loss = NAN;
    if (job->place == JOB_IN_POOL)
        pool_progress(a->pool, job, &steps_done, &train_loss);
    /* After a step there is one, and NaN says that the model diverged. */
    if (steps_done <= 0)
        return json_pack("{s:s, s:I}", "task_id", job->task.task_id, "steps_done", (json_int_t)steps_done);
    return json_pack("{s:s, s:I, s:o}", "task_id", job->task.task_id, "steps_done", (json_int_t)steps_done,
                     "train_loss", json_num(train_loss));
}

/* What does not change from beat to beat: the server writes it down when it differs. */
static json_t *resources_json(const struct agent *a)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
    return json_pack("{s:i, s:I, s:I, s:f}", "threads", a->config.threads, "cpus", (json_int_t)cpus,
                     "memory_bytes", (json_int_t)pages * (json_int_t)page, "slowdown", a->config.slowdown);
}

static enum err body_text(const struct agent *a, char **out)
{
    json_t *tasks = json_array();
    bool ok = tasks != NULL;
    for (const struct job *job = a->held; job && ok; job = job->next_held) {
        if (job->place != JOB_REPORTING)
            ok = json_array_append_new(tasks, task_json(a, job)) == 0;
    }
    json_t *body = ok ? json_pack("{s:o, s:O}", "resources", resources_json(a), "tasks", tasks) : NULL;
    json_decref(tasks);
    enum err e = body ? json_text(body, out) : ERR_NO_MEMORY;
    json_decref(body);
    return e;
}

static enum err start(struct agent *a)
{
    char path[128];
    enum err e = body_text(a, &a->beat_body);
    if (e)
        return e;
    (void)snprintf(path, sizeof path, API_PREFIX "/workers/%s/heartbeat", a->worker_id);
    const struct http_request request = {.method = "POST",
                                         .path = path,
                                         .body = a->beat_body,
                                         .body_size = strlen(a->beat_body),
                                         .errors_are_problems = true,
                                         .timeout_ms = BEAT_TIMEOUT_MS};
    return http_loop_start(a->loop, &request, on_beat, a, &a->beat);
}

void agent_heartbeat_advance(struct agent *a, int64_t now_ns)
{
    if (a->beat || a->is_stopping || now_ns < a->beat_at_ns)
        return;
    if (start(a) != ERR_OK) {
        free(a->beat_body);
        a->beat_body = NULL;
        a->beat_at_ns = now_ns + a->beat_ms * 1000000;
    }
}
