#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/api/api.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "common/http/retry.h"
#include "common/json/json_spec.h"
#include "worker/agent_impl.h"
#include "worker/job_run.h"
#include "worker/upload_time.h"

#define WAIT_S 30
/* The reply comes a little after the wait. */
#define CLAIM_TIMEOUT_MS ((WAIT_S + 15) * 1000)

/* -- what comes in --------------------------------------------------------------------------------------- */

/* The work ends so long before the deadline that the report arrives in time. */
static int64_t deadline_of(const struct agent *a, const struct job *job)
{
    if (job->task.time_left_ms < 0)
        return INT64_MAX;
    double work_ms = upload_work_ms((double)job->task.time_left_ms, a->upload_ms);
    return job->received_ns + (int64_t)(work_ms * 1e6);
}

/* The server thinks that we lost the task we already hold: its new attempt takes the place of the old one. */
static void supersede(struct agent *a, const struct job *job)
{
    struct job *old = agent_find_job(a, job->task.task_id, job);
    if (!old || old->place == JOB_REPORTING)
        return;
    log_info("worker", "task %s: attempt %lld takes the place of attempt %lld", job->task.task_id,
             (long long)job->task.attempt, (long long)old->task.attempt);
    if (old->place == JOB_WAITING)
        agent_drop_job(a, old);
    else
        pool_order(a->pool, old, ORDER_CANCEL, false);
}

static void admit(struct agent *a, struct job *job)
{
    const struct worker_task *t = &job->task;
    job->weights = weights_get(&a->weights, t->weights_sha256, t->model, t->weights_url);
    if (!job->weights) {
        log_error("worker", "task %s: not enough memory to take it; the server will offer it again",
                  t->task_id);
        job_free(job);
        return;
    }
    job->wants_weights = true;
    job->deadline_ns = deadline_of(a, job);
    struct job **link = &a->held;
    while (*link)
        link = &(*link)->next_held;
    *link = job;
    a->num_held++;
    supersede(a, job);
    agent_submit_ready(a, job->weights);
}

/* A task we cannot read is failed, so that the round need not wait for its deadline. */
static void refuse(struct agent *a, const json_t *item, const struct fault *why)
{
    const char *task_id = json_string_value(json_object_get(item, "task_id"));
    int64_t attempt = json_integer_value(json_object_get(item, "attempt"));
    char detail[700];
    struct report report;
    (void)snprintf(detail, sizeof detail, "the worker does not understand the task: %s %s", why->field,
                   why->detail);
    log_error("worker", "task %s: %s", task_id ? task_id : "(without an id)", detail);
    if (task_id && id_is_valid(task_id) &&
        job_report_failure(task_id, attempt, "task_not_understood", detail, &report) == ERR_OK)
        agent_send(a, &report, false, NULL);
}

static void take_items(struct agent *a, const struct http_response *response)
{
    struct fault fault = FAULT_NONE;
    json_t *json = NULL;
    int64_t now_ns = mono_ns();
    enum err e =
        json_text_parse(response->body.data ? response->body.data : "", response->body.len, &json, &fault);
    const json_t *items = json_object_get(json, "items");
    if (e || !json_is_array(items))
        log_error("worker", "the reply to a claim is not what it should be: %s",
                  e ? fault.detail : "it has no items");
    for (size_t i = 0; i < json_array_size(items); i++) {
        struct job *job = NULL;
        e = job_new(json_array_get(items, i), now_ns, &job, &fault);
        if (e)
            refuse(a, json_array_get(items, i), &fault);
        else
            admit(a, job);
    }
    log_debug("worker", "claimed %zu tasks; %zu held", json_array_size(items), a->num_held);
    json_decref(json);
}

/* -- the call -------------------------------------------------------------------------------------------- */

static void on_claim(void *ctx, enum err e, struct http_response *response, const struct fault *fault)
{
    struct agent *a = ctx;
    a->claim = NULL;
    free(a->claim_body);
    a->claim_body = NULL;
    if (e == ERR_CANCELLED || (e && agent_lost_token(a, e, fault, a->registration)))
        return;
    if (!e) {
        if (a->claim_failures > 0)
            log_info("worker", "%s answers again", http_client_base_url(a->client));
        a->claim_failures = 0;
        a->num_registrations = 0;
        if (response->status == 200)
            take_items(a, response);
    } else if (response->status == 0 || retry_is_worth_it(e, response->status)) {
        a->claim_at_ns = agent_retry_at_ns(a, a->claim_failures, response->retry_after_ms);
        if (a->claim_failures++ == 0)
            log_warning("worker", "cannot ask for tasks, going on trying: %s", fault->detail);
    } else {
        agent_give_up(a, e, fault);
    }
}

static enum err body_text(const struct agent *a, char **out)
{
    json_t *holding = json_array();
    enum err e = holding ? agent_send_add_ids(a, holding) : ERR_NO_MEMORY;
    for (const struct job *job = a->held; job && !e; job = job->next_held) {
        if (job->place != JOB_REPORTING &&
            json_array_append_new(holding, json_string(job->task.task_id)) != 0)
            e = ERR_NO_MEMORY;
    }
    json_t *body =
        e ? NULL
          : json_pack("{s:I, s:O}", "max", (json_int_t)(AGENT_MAX_HELD - a->num_held), "holding", holding);
    json_decref(holding);
    e = body ? json_text(body, out) : ERR_NO_MEMORY;
    json_decref(body);
    return e;
}

static enum err start(struct agent *a)
{
    char path[128];
    enum err e = body_text(a, &a->claim_body);
    if (e)
        return e;
    (void)snprintf(path, sizeof path, API_PREFIX "/workers/%s/tasks:claim?wait=%d", a->worker_id, WAIT_S);
    const struct http_request request = {.method = "POST",
                                         .path = path,
                                         .body = a->claim_body,
                                         .body_size = strlen(a->claim_body),
                                         .errors_are_problems = true,
                                         .timeout_ms = CLAIM_TIMEOUT_MS};
    return http_loop_start(a->loop, &request, on_claim, a, &a->claim);
}

void agent_claim_advance(struct agent *a, int64_t now_ns)
{
    /* Leftovers first, for a while: the server may still want what a former process finished. Then in gulps,
     * not task by task. */
    bool is_leftovers_turn = a->num_leftovers > 0 && now_ns < a->leftovers_until_ns;
    if (a->claim || a->is_stopping || is_leftovers_turn || a->num_held > AGENT_MAX_HELD / 2 ||
        now_ns < a->claim_at_ns)
        return;
    if (start(a) != ERR_OK) {
        free(a->claim_body);
        a->claim_body = NULL;
        a->claim_at_ns = agent_retry_at_ns(a, a->claim_failures++, 0);
        log_error("worker", "not enough memory to ask for tasks; trying again");
    }
}

void agent_claim_restart(struct agent *a)
{
    if (a->claim)
        http_loop_cancel(a->loop, a->claim);
}
