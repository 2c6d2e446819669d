/* Updates that go in pieces. Each attempt begins by asking the server what it has of this very update, so
 * nothing needs to be remembered over a broken link, a killed server or a killed worker:
 *
 *     list -> the upload with our digest -> how far it is -> pieces -> the receipt
 *          -> none -> begin one ----------------------------^
 */
#include <limits.h>
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

#define CALL_TIMEOUT_MS 30000
/* Answers that the upload is elsewhere than we think, or no further than before. */
#define MAX_MOVES 3

struct upload {
    struct agent *agent;
    const struct report *report;
    http_done_fn *done;
    void *ctx;
    char id[ID_SIZE];
    int64_t offset, furthest, began_ns;
    int num_moves; /* since it was `furthest` */
};

static void finish(struct upload *u, enum err e, struct http_response *response, const struct fault *fault)
{
    response->duration_ms = (mono_ns() - u->began_ns) / 1000000;
    u->done(u->ctx, e, response, fault);
    free(u);
}

/* Not the server's last word: as if there had been no answer. */
static void finish_for_now(struct upload *u, enum err e, struct http_response *response,
                           const struct fault *fault)
{
    response->status = 0;
    finish(u, e, response, fault);
}

static void finish_unsent(struct upload *u, enum err e, struct http_response *response)
{
    struct fault fault = FAULT_NONE;
    (void)fault_set(&fault, e, NULL, "the update cannot be sent: %s", err_name(e));
    finish_for_now(u, e, response, &fault);
}

/* `below`: of the task's uploads; "" for the list. */
static enum err ask(struct upload *u, const char *method, const char *below, const struct http_request *more,
                    http_done_fn *done)
{
    char path[160];
    struct http_request request = *more;
    (void)snprintf(path, sizeof path, API_PREFIX "/tasks/%s/uploads%s", u->report->task_id, below);
    request.method = method;
    request.path = path;
    request.errors_are_problems = true;
    return http_loop_start(u->agent->loop, &request, done, u, NULL);
}

static const char *below_of(const struct upload *u, char out[ID_SIZE + 1])
{
    (void)snprintf(out, ID_SIZE + 1, "/%s", u->id);
    return out;
}

/* -- pieces ---------------------------------------------------------------------------------------------- */

static enum err send_piece(struct upload *u);

/* The server is elsewhere: another try of ours brought more than it could tell. */
static bool has_moved(struct upload *u, enum err e, const struct http_response *response)
{
    const char *text = http_response_header(response, HEADER_UPLOAD_OFFSET);
    int64_t offset;
    if (e != ERR_CONFLICT || !text || str_to_i64(text, &offset) != ERR_OK || offset < 0 ||
        offset > (int64_t)u->report->size || ++u->num_moves > MAX_MOVES)
        return false;
    u->offset = offset;
    return true;
}

/* The piece was taken. A server that says so each time, and of which nothing comes, is not sent to for ever.
 */
static bool was_taken(struct upload *u, enum err e, const struct http_response *response)
{
    const char *text = http_response_header(response, HEADER_UPLOAD_OFFSET);
    int64_t offset;
    if (e || response->status != 204 || !text || str_to_i64(text, &offset) != ERR_OK || offset < 0 ||
        offset > (int64_t)u->report->size)
        return false;
    if (offset > u->furthest) {
        u->furthest = offset;
        u->num_moves = 0;
        u->agent->send_failures = 0;
    } else if (offset <= u->offset && ++u->num_moves > MAX_MOVES) {
        return false;
    }
    u->offset = offset;
    return true;
}

static void on_piece(void *ctx, enum err e, struct http_response *response, const struct fault *fault)
{
    struct upload *u = ctx;
    bool goes_on = was_taken(u, e, response) || has_moved(u, e, response);
    enum err started = goes_on ? send_piece(u) : ERR_OK;
    if (started)
        finish_unsent(u, started, response);
    else if (!goes_on && (e == ERR_CONFLICT || e == ERR_NOT_FOUND || (!e && response->status != 200) ||
                          (e && retry_is_worth_it(e, response->status))))
        finish_for_now(u, e ? e : ERR_NETWORK, response, fault);
    else if (!goes_on)
        finish(u, e, response, fault);
}

static enum err send_piece(struct upload *u)
{
    const struct report *r = u->report;
    char below[ID_SIZE + 1], at[24];
    size_t left = r->size - (size_t)u->offset, most = u->agent->config.max_request_bytes;
    most = most < UPLOAD_PIECE ? most : UPLOAD_PIECE;
    (void)snprintf(at, sizeof at, "%lld", (long long)u->offset);
    const struct http_header header = {HEADER_UPLOAD_OFFSET, at};
    const struct http_request request = {.content_type = MEDIA_PART,
                                         .body = r->body + u->offset,
                                         .body_size = left < most ? left : most,
                                         .headers = &header,
                                         .num_headers = 1};
    return ask(u, "PATCH", below_of(u, below), &request, on_piece);
}

/* -- where it is ----------------------------------------------------------------------------------------- */

static enum err read_reply(const struct http_response *response, json_t **out)
{
    struct fault fault = FAULT_NONE;
    return json_text_parse(response->body.data ? response->body.data : "", response->body.len, out, &fault);
}

static enum err begin_new(struct upload *u);

static void on_begun(void *ctx, enum err e, struct http_response *response, const struct fault *fault)
{
    struct upload *u = ctx;
    json_t *json = NULL;
    if (e) {
        finish(u, e, response, fault);
        return;
    }
    e = read_reply(response, &json);
    const char *id = json_string_value(json_object_get(json, "upload_id"));
    if (!e)
        e = id ? str_copy(u->id, sizeof u->id, id) : ERR_NETWORK;
    json_decref(json);
    u->offset = 0;
    if (!e)
        e = send_piece(u);
    if (e)
        finish_unsent(u, e, response);
}

static enum err begin_new(struct upload *u)
{
    const struct report *r = u->report;
    uint8_t digest[SHA256_SIZE];
    char text[CONTENT_DIGEST_SIZE], length[24];
    enum err e = hex_decode(r->sha256, digest, sizeof digest);
    if (e)
        return e;
    content_digest_format(digest, text);
    (void)snprintf(length, sizeof length, "%zu", r->size);
    const struct http_header headers[] = {{HEADER_UPLOAD_LENGTH, length}, {HEADER_REPR_DIGEST, text}};
    const struct http_request request = {
        .headers = headers, .num_headers = 2, .timeout_ms = CALL_TIMEOUT_MS, .max_tries = INT_MAX};
    char query[40];
    (void)snprintf(query, sizeof query, "?attempt=%lld", (long long)r->attempt);
    return ask(u, "POST", query, &request, on_begun);
}

static void on_found(void *ctx, enum err e, struct http_response *response, const struct fault *fault)
{
    struct upload *u = ctx;
    json_t *json = NULL;
    if (e && e != ERR_NOT_FOUND) {
        finish(u, e, response, fault);
        return;
    }
    if (e == ERR_NOT_FOUND) { /* what came was refused and dropped */
        e = begin_new(u);
    } else {
        e = read_reply(response, &json);
        u->offset = json_integer_value(json_object_get(json, "offset"));
        json_decref(json);
        if (!e && (u->offset < 0 || u->offset > (int64_t)u->report->size))
            e = ERR_NETWORK;
        if (!e)
            log_info("worker", "task %s: the update goes on at %lld of %zu bytes", u->report->task_id,
                     (long long)u->offset, u->report->size);
        if (!e)
            e = send_piece(u);
    }
    if (e)
        finish_unsent(u, e, response);
}

/* The upload of these bytes, if there is one. */
static bool find_ours(struct upload *u, const json_t *list)
{
    const struct report *r = u->report;
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(list, "items"), i, item)
    {
        const char *id = json_string_value(json_object_get(item, "upload_id")),
                   *sha256 = json_string_value(json_object_get(item, "update_sha256"));
        if (id && sha256 && str_eq(sha256, r->sha256) &&
            json_integer_value(json_object_get(item, "attempt")) == r->attempt &&
            json_integer_value(json_object_get(item, "size_bytes")) == (json_int_t)r->size)
            return str_copy(u->id, sizeof u->id, id) == ERR_OK;
    }
    return false;
}

static void on_listed(void *ctx, enum err e, struct http_response *response, const struct fault *fault)
{
    struct upload *u = ctx;
    json_t *json = NULL;
    char below[ID_SIZE + 1];
    const struct http_request request = {.timeout_ms = CALL_TIMEOUT_MS, .max_tries = INT_MAX};
    if (e) {
        finish(u, e, response, fault);
        return;
    }
    e = read_reply(response, &json);
    if (!e)
        e = find_ours(u, json) ? ask(u, "GET", below_of(u, below), &request, on_found) : begin_new(u);
    json_decref(json);
    if (e)
        finish_unsent(u, e, response);
}

bool agent_upload_is_for(const struct agent *a, const struct report *r)
{
    return r->route == REPORT_UPDATE && str_eq(r->media_type, MEDIA_SAFETENSORS) && r->sha256[0] &&
           r->size > a->config.max_request_bytes;
}

enum err agent_upload_start(struct agent *a, const struct report *r, http_done_fn *done, void *ctx)
{
    struct upload *u = calloc(1, sizeof *u);
    if (!u)
        return ERR_NO_MEMORY;
    *u = (struct upload){.agent = a, .report = r, .done = done, .ctx = ctx, .began_ns = mono_ns()};
    const struct http_request request = {.timeout_ms = CALL_TIMEOUT_MS, .max_tries = INT_MAX};
    enum err e = ask(u, "GET", "?limit=1000", &request, on_listed);
    if (e)
        free(u);
    return e;
}
