#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/api/api.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "worker/agent_impl.h"
#include "worker/job_run.h"
#include "worker/upload_time.h"

/* On their way at the same time. */
#define MAX_ACTIVE       16
#define MAX_ACTIVE_BYTES (64 * MIB)
/* Bodies kept in memory while they wait; the others are read from the outbox when their turn comes. */
#define MAX_KEPT_BYTES  (64 * MIB)
#define CALL_TIMEOUT_MS 30000
/* How long a former process's reports hold back the first claim: one that the server cannot answer must not
 * keep all devices idle. */
#define LEFTOVERS_FIRST_MS 2000

struct sending {
    struct agent *agent;
    struct report report;
    struct job *job; /* NULL: of a former process, or never taken up */
    bool is_stored, is_leftover, is_active;
    size_t active_bytes;
    int registration; /* of the agent when the call went out */
    struct sending *next;
};

static struct sending *append(struct agent *a)
{
    struct sending *s = calloc(1, sizeof *s);
    struct sending **link = &a->sendings;
    if (!s)
        return NULL;
    while (*link)
        link = &(*link)->next;
    *link = s;
    s->agent = a;
    return s;
}

static void sending_free(struct sending *s)
{
    struct agent *a = s->agent;
    if (s->report.body && !s->is_active)
        a->kept_bytes -= s->report.size;
    a->num_leftovers -= s->is_leftover;
    report_release(&s->report);
    free(s);
}

static void unlink_and_free(struct sending *s)
{
    struct sending **link = &s->agent->sendings;
    while (*link != s)
        link = &(*link)->next;
    *link = s->next;
    sending_free(s);
}

/* The server has the last word on this report: nothing of it is needed any more. */
static void finish(struct sending *s)
{
    struct agent *a = s->agent;
    struct job *job = s->job;
    const struct job *other = agent_find_job(a, s->report.task_id, job);
    /* A newer attempt of the task may have its own report there. */
    if (s->is_stored && !(other && other->task.attempt > s->report.attempt))
        outbox_remove(a->outbox, s->report.task_id);
    unlink_and_free(s);
    if (job)
        agent_drop_job(a, job);
}

/* What went wrong was not the server's answer: none of these reports is tried again at once. */
static void wait_before_sending(struct agent *a)
{
    a->send_at_ns = agent_retry_at_ns(a, a->send_failures++, 0);
}

/* Back into the queue, with its body in memory if there is room for it. */
static void keep(struct sending *s)
{
    struct agent *a = s->agent;
    s->is_active = false;
    if (s->is_stored && a->kept_bytes + s->report.size > MAX_KEPT_BYTES)
        report_release(&s->report);
    else if (s->report.body)
        a->kept_bytes += s->report.size;
}

void agent_send(struct agent *a, struct report *report, bool is_stored, struct job *job)
{
    struct sending *s = append(a);
    if (!s) {
        log_error(
            "worker",
            "task %s: not enough memory to send its report; it stays in the outbox until the next start",
            report->task_id);
        report_release(report);
        if (job)
            agent_drop_job(a, job);
        return;
    }
    s->report = *report;
    report->body = NULL;
    s->is_stored = is_stored;
    s->job = job;
    keep(s);
}

enum err agent_send_leftovers(struct agent *a, struct fault *fault)
{
    struct arena arena = ARENA_INIT(LIMIT_JSON_REPLY);
    char(*ids)[ID_SIZE] = NULL;
    size_t count = 0;
    enum err e = outbox_list(a->outbox, &arena, &ids, &count, fault);
    for (size_t i = 0; i < count && !e; i++) {
        struct sending *s = append(a);
        if (!s)
            e = fault_set(fault, ERR_NO_MEMORY, NULL, "not enough memory for the outbox");
        else {
            memcpy(s->report.task_id, ids[i], ID_SIZE);
            s->is_stored = s->is_leftover = true;
            a->num_leftovers++;
            a->leftovers_until_ns = mono_ns() + (int64_t)LEFTOVERS_FIRST_MS * 1000000;
        }
    }
    if (!e && count > 0)
        log_info("worker", "%zu reports of a former process are sent first", count);
    arena_release(&arena);
    return e;
}

enum err agent_send_add_ids(const struct agent *a, json_t *ids)
{
    for (const struct sending *s = a->sendings; s; s = s->next) {
        if (json_array_append_new(ids, json_string(s->report.task_id)) != 0)
            return ERR_NO_MEMORY;
    }
    return ERR_OK;
}

/* -- the answer ------------------------------------------------------------------------------------------ */

/* The task or the run is over for us; nothing to complain about. */
static bool is_over(enum err e)
{
    return e == ERR_STALE_ROUND || e == ERR_SUPERSEDED || e == ERR_RUN_NOT_RUNNING || e == ERR_NOT_FOUND ||
           e == ERR_DUPLICATE_CONFLICT;
}

/* An update that the server will never take is a failed task: said at once, or the round would wait for it.
 */
static void report_refusal(struct sending *s, enum err e, const struct fault *why)
{
    struct agent *a = s->agent;
    struct report *old = &s->report, fresh;
    struct fault fault = FAULT_NONE;
    if (job_report_failure(old->task_id, old->attempt, err_code(e), why->detail, &fresh) != ERR_OK) {
        finish(s);
        return;
    }
    fresh.round = old->round;
    fresh.ordinal = old->ordinal;
    report_release(old);
    *old = fresh;
    if (outbox_store(a->outbox, old, &fault) == ERR_OK)
        s->is_stored = true;
    keep(s);
}

static void note_receipt(struct agent *a, const struct sending *s, const struct http_response *response)
{
    const struct report *r = &s->report;
    if (r->route == REPORT_UPDATE && str_eq(r->media_type, MEDIA_SAFETENSORS))
        a->upload_ms = upload_ms_next(a->upload_ms, (double)response->duration_ms);
    log_debug("worker", "task %s: round %lld, device %lld: %s of %zu bytes taken, %lld ms", r->task_id,
              (long long)r->round, (long long)r->ordinal, r->route == REPORT_FAIL ? "failure" : "update",
              r->size, (long long)response->duration_ms);
}

static void on_sent(void *ctx, enum err e, struct http_response *response, const struct fault *fault)
{
    struct sending *s = ctx;
    struct agent *a = s->agent;
    const struct report *r = &s->report;
    a->num_active--;
    a->active_bytes -= s->active_bytes;
    if (e == ERR_CANCELLED || (e && agent_lost_token(a, e, fault, s->registration))) {
        keep(s);
        return;
    }
    if (e && response->status == 0) {
        log_warning("worker", "task %s: the report could not be sent, going on trying: %s", r->task_id,
                    fault->detail);
        wait_before_sending(a);
        keep(s);
        return;
    }
    a->send_failures = 0;
    if (!e)
        note_receipt(a, s, response);
    else if (is_over(e))
        log_info("worker", "task %s: round %lld, device %lld: the report came too late (%s): %s", r->task_id,
                 (long long)r->round, (long long)r->ordinal, err_code(e), fault->detail);
    else
        log_warning("worker", "task %s: round %lld, device %lld: the server refuses the %s (%s%s%s): %s",
                    r->task_id, (long long)r->round, (long long)r->ordinal,
                    r->route == REPORT_FAIL ? "failure" : "update", err_code(e),
                    fault->field[0] ? ", field " : "", fault->field, fault->detail);
    /* The server may have handed out a newer attempt to a claim that never reached us. */
    if (e == ERR_SUPERSEDED)
        agent_claim_restart(a);
    if (e && !is_over(e) && r->route == REPORT_UPDATE)
        report_refusal(s, e, fault);
    else
        finish(s);
}

/* -- the call -------------------------------------------------------------------------------------------- */

/* Content-Digest of the body from the hex digest that stands in the outbox. */
static enum err digest_header(const struct report *r, char out[CONTENT_DIGEST_SIZE])
{
    uint8_t digest[SHA256_SIZE];
    char hex[SHA256_HEX_SIZE];
    enum err e = r->sha256[0] ? str_copy(hex, sizeof hex, r->sha256) : sha256_hex(r->body, r->size, hex);
    if (!e)
        e = hex_decode(hex, digest, sizeof digest);
    if (!e)
        content_digest_format(digest, out);
    return e;
}

static enum err call(struct agent *a, struct sending *s)
{
    const struct report *r = &s->report;
    bool is_update = r->route == REPORT_UPDATE;
    if (agent_upload_is_for(a, r))
        return agent_upload_start(a, r, on_sent, s);
    char path[128], key[96], digest[CONTENT_DIGEST_SIZE];
    enum err e = digest_header(r, digest);
    if (e)
        return e;
    (void)snprintf(path, sizeof path, API_PREFIX "/tasks/%s/%s", r->task_id, is_update ? "update" : "fail");
    (void)snprintf(key, sizeof key, "%s-%lld-fail", r->task_id, (long long)r->attempt);
    const struct http_header headers[] = {{HEADER_CONTENT_DIGEST, digest}, {HEADER_IDEMPOTENCY_KEY, key}};
    const struct http_request request = {.method = is_update ? "PUT" : "POST",
                                         .path = path,
                                         .content_type = r->media_type,
                                         .body = r->body,
                                         .body_size = r->size,
                                         .headers = headers,
                                         .num_headers = is_update ? 1 : 2, /* an update's key is its task */
                                         .errors_are_problems = true,
                                         .timeout_ms = is_update ? 0 : CALL_TIMEOUT_MS,
                                         .max_tries = INT_MAX};
    return http_loop_start(a->loop, &request, on_sent, s, NULL);
}

/* False: the report is gone. */
static bool load(struct agent *a, struct sending *s)
{
    struct fault fault = FAULT_NONE;
    struct report loaded;
    enum err e = outbox_load(a->outbox, s->report.task_id, &loaded, &fault);
    if (e == ERR_BAD_FILE || e == ERR_NOT_FOUND) {
        log_error("worker", "task %s: %s", s->report.task_id, fault.detail);
        finish(s);
        return false;
    }
    if (e) {
        log_warning("worker", "task %s: going on trying: %s", s->report.task_id, fault.detail);
        wait_before_sending(a);
        return true;
    }
    s->report = loaded;
    a->kept_bytes += loaded.size;
    return true;
}

void agent_send_advance(struct agent *a, int64_t now_ns)
{
    if (now_ns < a->send_at_ns)
        return;
    for (struct sending *s = a->sendings, *next; s && !a->must_register; s = next) {
        next = s->next;
        if (s->is_active)
            continue;
        if (a->num_active >= MAX_ACTIVE ||
            (a->num_active > 0 && a->active_bytes + s->report.size > MAX_ACTIVE_BYTES))
            break;
        if (!s->report.body && !load(a, s))
            continue;
        if (!s->report.body || call(a, s) != ERR_OK)
            break;
        s->is_active = true;
        s->registration = a->registration;
        s->active_bytes = s->report.size;
        a->num_active++;
        a->active_bytes += s->report.size;
        a->kept_bytes -= s->report.size;
    }
}

/* -- release --------------------------------------------------------------------------------------------- */

static void on_released(void *ctx, enum err e, struct http_response *response, const struct fault *fault)
{
    struct agent *a = ctx;
    (void)response;
    a->num_releases--;
    /* The server also notices by itself, when the worker comes back. */
    if (e && e != ERR_CANCELLED)
        log_info("worker", "a task could not be given back: %s", fault->detail);
}

void agent_send_release(struct agent *a, struct job *job)
{
    char path[128], key[96];
    const struct worker_task *t = &job->task;
    (void)snprintf(path, sizeof path, API_PREFIX "/tasks/%s/release", t->task_id);
    (void)snprintf(key, sizeof key, "%s-%lld-release", t->task_id, (long long)t->attempt);
    const struct http_header header = {HEADER_IDEMPOTENCY_KEY, key};
    static const char body[] = "{}";
    const struct http_request request = {.method = "POST",
                                         .path = path,
                                         .body = body,
                                         .body_size = sizeof body - 1,
                                         .headers = &header,
                                         .num_headers = 1,
                                         .errors_are_problems = true,
                                         .timeout_ms = CALL_TIMEOUT_MS};
    if (http_loop_start(a->loop, &request, on_released, a, NULL) == ERR_OK)
        a->num_releases++;
    agent_drop_job(a, job);
}

void agent_send_free(struct agent *a)
{
    for (struct sending *s = a->sendings, *next; s; s = next) {
        next = s->next;
        sending_free(s);
    }
    a->sendings = NULL;
}
