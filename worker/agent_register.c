#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/api/api.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "common/crypto/token.h"
#include "common/http/retry.h"
#include "common/json/json_spec.h"
#include "worker/agent_impl.h"
#include "worker/device_entry.h"

#define REQUEST_TIMEOUT_MS 30000

static bool add_device(json_t *devices, const struct agent_config *c, int64_t ordinal)
{
    const struct device_data *d = dataset_find(c->data, ordinal);
    json_t *entry = d ? device_entry(c->name, c->data, d) : NULL;
    bool ok = entry && (c->withholds_label_counts || device_entry_count_labels(entry, c->data, d));
    ok = ok && json_array_append(devices, entry) == 0;
    json_decref(entry);
    return ok;
}

static enum err body_text(const struct agent *a, const char *token_sha256, char **out)
{
    const struct agent_config *c = &a->config;
    json_t *devices = json_array();
    bool ok = devices != NULL;
    for (size_t i = 0; ok && i < c->num_ordinals; i++)
        ok = add_device(devices, c, c->ordinals[i]);
    json_t *body = ok ? json_pack("{s:s, s:s, s:s, s:{s:s}, s:s, s:O}", "name", c->name, "instance_id",
                                  c->state->instance_id, "version", c->version, "capabilities", "trainer",
                                  c->ops->name, "token_sha256", token_sha256, "devices", devices)
                      : NULL;
    json_decref(devices);
    enum err e = body ? json_text(body, out) : ERR_NO_MEMORY;
    json_decref(body);
    return e;
}

struct registered {
    const char *worker_id;
    double next_heartbeat_s;
};

static const struct json_field reply_fields[] = {
    JSON_FIELD(struct registered, worker_id, JSON_FIELD_TEXT, .is_required = true, .min = 32, .max = 32),
    JSON_FIELD(struct registered, next_heartbeat_s, JSON_FIELD_DOUBLE, .min = 0.01, .max = 86400),
};

static enum err read_reply(struct agent *a, const struct http_response *response, struct fault *fault)
{
    struct arena arena = ARENA_INIT(64 * KIB);
    struct registered r = {.next_heartbeat_s = 10};
    struct fault inner = FAULT_NONE;
    json_t *json = NULL;
    enum err e =
        json_text_parse(response->body.data ? response->body.data : "", response->body.len, &json, &inner);
    if (!e)
        e = json_spec_parse(json, reply_fields, sizeof reply_fields / sizeof *reply_fields,
                            JSON_IGNORE_UNKNOWN, "", &arena, &r, &inner);
    if (!e)
        e = str_copy(a->worker_id, sizeof a->worker_id, r.worker_id);
    a->beat_ms = (int64_t)(r.next_heartbeat_s * 1000);
    json_decref(json);
    arena_release(&arena);
    if (e)
        return fault_set(fault, e, NULL,
                         "%s: answered the registration with something else: %s %s; is it a Fedlane server?",
                         http_client_base_url(a->client), inner.field, inner.detail);
    return ERR_OK;
}

/* What to do about a refusal, beside what the server says. */
static enum err refused(const struct agent *a, const struct fault *why, struct fault *fault)
{
    const char *url = http_client_base_url(a->client);
    switch (why->err) {
    case ERR_UNAUTHORIZED:
    case ERR_TOKEN_REVOKED:
    case ERR_TOKEN_EXPIRED:
    case ERR_FORBIDDEN:
        return fault_set(
            fault, why->err, NULL,
            "%s refuses the enrollment token in %s (%s): %s --enroll-token-file must name a file with an "
            "enrollment token of this server; the first one is enrollment.token in its data directory.",
            url, a->config.enroll_token_file, err_code(why->err), why->detail);
    case ERR_CONFLICT:
        return fault_set(
            fault, why->err, NULL,
            "%s refuses the devices (%s): %s; choose others with --devices, or revoke the worker that has "
            "them: fedlane worker revoke",
            url, err_code(why->err), why->detail);
    default:
        return fault_set(fault, why->err, NULL, "%s refuses the registration (%s%s%s): %s", url,
                         err_code(why->err), why->field[0] ? ", field " : "", why->field, why->detail);
    }
}

static enum err try_once(struct agent *a, const char *body, const char *enroll_token,
                         struct http_response *response, struct fault *fault)
{
    const struct http_request request = {.method = "POST",
                                         .path = API_PREFIX "/workers",
                                         .token = enroll_token,
                                         .body = body,
                                         .body_size = strlen(body),
                                         /* At the first one a stranger's page may mean a wrong address. */
                                         .errors_are_problems = a->registration > 0,
                                         .timeout_ms = REQUEST_TIMEOUT_MS};
    return http_request(a->client, &request, response, fault);
}

/* A server that is not up yet is normal: says so, and goes on trying. */
static enum err try_until_answered(struct agent *a, const char *body, const char *enroll_token,
                                   struct fault *fault)
{
    struct http_response response = HTTP_RESPONSE_INIT;
    enum err e;
    for (int failures = 0;; failures++) {
        struct fault why = FAULT_NONE;
        e = try_once(a, body, enroll_token, &response, &why);
        if (!e) {
            e = read_reply(a, &response, fault);
            break;
        }
        if (e == ERR_CANCELLED || !retry_is_worth_it(e, response.status)) {
            why.err = e;
            e = e == ERR_CANCELLED ? e : refused(a, &why, fault);
            break;
        }
        log_request_id_set(response.request_id);
        int64_t wait_ms = (agent_retry_at_ns(a, failures, response.retry_after_ms) - mono_ns()) / 1000000;
        log_warning("worker", "cannot register with %s yet, trying again in %.1f s: %s",
                    http_client_base_url(a->client), (double)wait_ms / 1000, why.detail);
        log_request_id_set("");
        e = http_client_sleep(a->client, wait_ms);
        if (e)
            break;
    }
    http_response_release(&response);
    return e;
}

enum err agent_register(struct agent *a, struct fault *fault)
{
    char enroll_token[512], token[TOKEN_SIZE], token_sha256[SHA256_HEX_SIZE];
    char *body = NULL;
    if (token_file_read(a->config.enroll_token_file, enroll_token, sizeof enroll_token, fault) != ERR_OK)
        return fault->err = ERR_BAD_FILE;
    enum err e = state_dir_new_token(a->config.state, token, token_sha256, fault);
    if (e)
        return e;
    e = body_text(a, token_sha256, &body);
    if (e)
        e = fault_set(fault, e, NULL, "not enough memory for the registration");
    else
        e = try_until_answered(a, body, enroll_token, fault);
    if (!e)
        e = http_client_set_token(a->client, token);
    if (!e) {
        a->must_register = false;
        a->num_registrations++;
        a->registration++;
        log_info("worker", "registered with %s as worker %s \"%s\": %zu devices of %s",
                 http_client_base_url(a->client), a->worker_id, a->config.name, a->config.num_ordinals,
                 dataset_name(a->config.data));
    }
    free(body);
    return e;
}
