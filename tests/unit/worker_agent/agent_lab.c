#include "tests/unit/worker_agent/agent_lab.h"
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/str.h"
#include "common/json/json_spec.h"
#include "worker/outbox.h"
#include "worker/weights.h"

/* -- the server's side
 * ------------------------------------------------------------------------------------------ */

static struct rule *take_rule(struct agent_lab *lab, const struct stub_request *request)
{
    for (size_t i = 0; i < lab->num_rules; i++) {
        struct rule *r = &lab->rules[i];
        if (!r->is_used && str_has_prefix(request->head, r->request)) {
            r->is_used = true;
            return r;
        }
    }
    return NULL;
}

static void send_weights(struct agent_lab *lab, int fd, const struct stub_request *request, size_t most)
{
    const char *range = strcasestr(request->head, "\r\nrange: bytes=");
    size_t from = range ? strtoul(range + strlen("\r\nrange: bytes="), NULL, 10) : 0;
    char head[200];
    size_t size = lab->weights.len - from;
    int n =
        snprintf(head, sizeof head, "HTTP/1.1 %d X\r\nContent-Length: %zu\r\n\r\n", range ? 206 : 200, size);
    stub_send(fd, head, (size_t)n);
    stub_send(fd, lab->weights.data + from, size < most ? size : most);
}

/* A claim that nothing answers waits, as long as there is no rule for it. */
static struct rule *find_rule(struct agent_lab *lab, const struct stub_request *request)
{
    (void)pthread_mutex_lock(&lab->lock);
    struct rule *r = take_rule(lab, request);
    while (!r && str_has_prefix(request->head, LAB_CLAIM) && !lab->is_ending) {
        (void)pthread_cond_wait(&lab->changed, &lab->lock);
        r = take_rule(lab, request);
    }
    (void)pthread_mutex_unlock(&lab->lock);
    return r;
}

static bool answer_by_default(struct agent_lab *lab, int fd, const struct stub_request *request)
{
    char body[200];
    if (str_has_prefix(request->head, LAB_WEIGHTS)) {
        send_weights(lab, fd, request, SIZE_MAX);
        return true;
    }
    if (str_has_prefix(request->head, LAB_CLAIM))
        return false;
    if (str_has_prefix(request->head, LAB_REGISTER))
        (void)snprintf(body, sizeof body,
                       "{\"worker_id\": \"" LAB_WORKER "\", \"devices\": [], \"next_heartbeat_s\": %g}",
                       lab->heartbeat_s);
    else if (str_has_prefix(request->head, LAB_HEARTBEAT))
        (void)snprintf(body, sizeof body, "{\"next_heartbeat_s\": %g, \"directives\": []}", lab->heartbeat_s);
    else
        (void)snprintf(body, sizeof body, "{\"accepted\": true}");
    stub_reply(fd, 200, "X-Request-Id: r1\r\n", body);
    return true;
}

/* By the order in which they came: an update that is sent again may overtake the answers to the first. */
static bool answer_unauthorized(struct agent_lab *lab, int fd, const struct stub_request *request)
{
    int last = lab->updates_unauthorized - 1;
    if (last < 0 || !str_has_prefix(request->head, LAB_UPDATE) ||
        lab_wait(lab, LAB_UPDATE, last)->number < request->number)
        return false;
    stub_reply(fd, 401, "Content-Type: application/problem+json\r\n", "{\"code\": \"unauthorized\"}");
    return true;
}

static bool handle(struct stub *s, int fd, const struct stub_request *request)
{
    struct agent_lab *lab = stub_ctx(s);
    if (answer_unauthorized(lab, fd, request))
        return true;
    const struct rule *r = find_rule(lab, request);
    if (!r)
        return answer_by_default(lab, fd, request);
    if (r->status == RULE_CUT)
        send_weights(lab, fd, request, 1000);
    else if (r->status != RULE_CLOSE)
        stub_reply(fd, r->status,
                   r->status >= 400   ? "Content-Type: application/problem+json\r\n"
                   : r->status == 204 ? "Upload-Offset: 0\r\n"
                                      : "",
                   r->body);
    return r->status != RULE_CLOSE && r->status != RULE_CUT;
}

/* -- the script
 * --------------------------------------------------------------------------------------------------- */

void lab_rule(struct agent_lab *lab, const char *request, int status, const char *body)
{
    (void)pthread_mutex_lock(&lab->lock);
    ck_assert_uint_lt(lab->num_rules, sizeof lab->rules / sizeof *lab->rules);
    struct rule *r = &lab->rules[lab->num_rules++];
    *r = (struct rule){.status = status, .body = strdup(body)};
    ck_assert_ptr_nonnull(r->body);
    ck_assert_int_eq(str_copy(r->request, sizeof r->request, request), ERR_OK);
    (void)pthread_cond_broadcast(&lab->changed);
    (void)pthread_mutex_unlock(&lab->lock);
}

static void add_task(struct buf *out, const struct agent_lab *lab, const char *digits, int attempt,
                     const char *member)
{
    ck_assert_int_eq(buf_printf(out,
                                "%s{\"task_id\": \"" LAB_TASK(
                                    "%.3s") "\", \"run_id\": \"" SUPPORT_RUN_ID "\", \"round\": 1, "
                                            "\"attempt\": %d, \"type\": \"train\", \"model_version\": 1, "
                                            "\"weights_url\": \"/weights\", "
                                            "\"weights_sha256\": \"%s\", \"model\": " SUPPORT_MODEL
                                            ", \"config\": {\"ordinal\": 0, \"seed\": 6, "
                                            "\"local_steps\": 100, \"batch_size\": 10, \"learning_rate\": "
                                            "0.01, \"proximal_mu\": 1}, "
                                            "\"budget\": {\"max_steps\": 100}, %s}",
                                out->len ? ", " : "{\"items\": [", digits, attempt, lab->weights_sha256,
                                member),
                     ERR_OK);
}

void lab_tasks_with(struct agent_lab *lab, const char *digits, int attempt, const char *member)
{
    struct buf body = BUF_INIT(MIB);
    for (const char *p = digits; *p; p += p[3] ? 4 : 3)
        add_task(&body, lab, p, attempt, member);
    ck_assert_int_eq(buf_puts(&body, "]}"), ERR_OK);
    lab_rule(lab, LAB_CLAIM, 200, body.data);
    buf_release(&body);
}

void lab_tasks(struct agent_lab *lab, const char *digits)
{
    lab_tasks_with(lab, digits, 1, "\"want\": []");
}

const struct stub_request *lab_wait(struct agent_lab *lab, const char *request, int nth)
{
    for (int i = 0;; i++) {
        stub_wait_requests(lab->stub, i + 1);
        const struct stub_request *r = stub_request(lab->stub, i);
        if (str_has_prefix(r->head, request) && nth-- == 0)
            return r;
    }
}

int lab_count(struct agent_lab *lab, const char *request)
{
    int count = 0, n = stub_num_requests(lab->stub);
    for (int i = 0; i < n; i++)
        count += str_has_prefix(stub_request(lab->stub, i)->head, request);
    return count;
}

json_t *lab_body_of(const struct stub_request *r)
{
    json_t *json = NULL;
    struct fault fault = FAULT_NONE;
    ck_assert_msg(json_text_parse(r->body, r->body_size, &json, &fault) == ERR_OK, "%s: %s", fault.detail,
                  r->body);
    return json;
}

size_t lab_reports_on_disk(const struct agent_lab *lab)
{
    struct arena arena = ARENA_INIT(MIB);
    struct fault fault = FAULT_NONE;
    char(*ids)[ID_SIZE], *outbox = NULL;
    size_t count = 0;
    ck_assert_int_eq(outbox_open(lab->dir, &outbox, &fault), ERR_OK);
    ck_assert_int_eq(outbox_list(outbox, &arena, &ids, &count, &fault), ERR_OK);
    arena_release(&arena);
    free(outbox);
    return count;
}

/* -- life
 * ------------------------------------------------------------------------------------------------------------
 */

static void make_weights(struct agent_lab *lab)
{
    static const float zeros[SUPPORT_NUM_PARAMS];
    struct weights_cache cache = {0};
    struct weights *w = weights_get(&cache, "0", SUPPORT_MODEL, "/w");
    buf_init(&lab->weights, MIB);
    ck_assert_int_eq(safetensors_encode(&w->arch->tensors, "", zeros, NULL, NULL, 0, &lab->weights), ERR_OK);
    ck_assert_int_eq(sha256_hex(lab->weights.data, lab->weights.len, lab->weights_sha256), ERR_OK);
    weights_put(&cache, w);
    weights_cache_release(&cache);
}

void lab_init(struct agent_lab *lab)
{
    struct fault fault = FAULT_NONE;
    *lab = (struct agent_lab){.data = support_data(), .dir = support_dir_new(), .heartbeat_s = 1000};
    fake_reset();
    ck_assert_int_eq(pthread_mutex_init(&lab->lock, NULL), 0);
    ck_assert_int_eq(pthread_cond_init(&lab->changed, NULL), 0);
    make_weights(lab);
    ck_assert_int_eq(state_dir_open(lab->dir, &lab->state, &fault), ERR_OK);
    ck_assert_int_gt(asprintf(&lab->token_file, "%s/enroll", lab->dir), 0);
    ck_assert_int_eq(token_file_write(lab->token_file, "the-enrollment-token", &fault), ERR_OK);
    lab->stub = stub_start(handle, lab);
}

static void *run(void *ctx)
{
    struct agent_lab *lab = ctx;
    lab->result = agent_run(lab->agent, &lab->fault);
    return NULL;
}

void lab_start(struct agent_lab *lab)
{
    static const int64_t ordinals[] = {0, 7};
    struct fault fault = FAULT_NONE;
    const struct agent_config config = {.server_url = stub_url(lab->stub),
                                        .enroll_token_file = lab->token_file,
                                        .name = "lab",
                                        .version = "1.2.3",
                                        .data = lab->data,
                                        .ordinals = ordinals,
                                        .num_ordinals = 2,
                                        .state = &lab->state,
                                        .ops = &fake_trainer,
                                        .threads = 2,
                                        .slowdown = 1,
                                        .max_request_bytes = lab->max_request_bytes,
                                        .withholds_label_counts = lab->withholds_label_counts};
    ck_assert_msg(agent_new(&config, &lab->agent, &fault) == ERR_OK, "%s", fault.detail);
    ck_assert_int_eq(pthread_create(&lab->thread, NULL, run, lab), 0);
    lab->is_running = true;
}

enum err lab_join(struct agent_lab *lab)
{
    ck_assert_int_eq(pthread_join(lab->thread, NULL), 0);
    lab->is_running = false;
    return lab->result;
}

enum err lab_stop(struct agent_lab *lab)
{
    agent_stop(lab->agent);
    return lab_join(lab);
}

void lab_release(struct agent_lab *lab)
{
    if (lab->is_running)
        ck_assert_msg(lab_stop(lab) == ERR_OK, "%s", lab->fault.detail);
    agent_free(lab->agent);
    (void)pthread_mutex_lock(&lab->lock);
    lab->is_ending = true;
    (void)pthread_cond_broadcast(&lab->changed);
    (void)pthread_mutex_unlock(&lab->lock);
    stub_stop(lab->stub);
    for (size_t i = 0; i < lab->num_rules; i++)
        free(lab->rules[i].body);
    buf_release(&lab->weights);
    state_dir_close(&lab->state);
    (void)pthread_cond_destroy(&lab->changed);
    (void)pthread_mutex_destroy(&lab->lock);
    free(lab->token_file);
    support_dir_free(lab->dir);
    dataset_free(lab->data);
}
