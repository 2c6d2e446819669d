/* Who may do what: every row of the route table with no token, a wrong one, an ended one, a foreign role, and
 * with another device's token. */
#include <string.h>
#include "server/api/routes.h"
#include "server/store/records.h"
#include "tests/api/lab.h"

/* A lab with one of everything, so that paths name what exists. */
struct scene {
    struct lab lab;
    struct lab_device device, stranger;
    char run[ID_SIZE], task[ID_SIZE], worker[ID_SIZE], worker_token[TOKEN_SIZE], token_id[ID_SIZE];
    char upload[ID_SIZE];
};

static void scene_open(struct scene *s)
{
    lab_open(&s->lab);
    s->device = lab_device(&s->lab, 0);
    s->stranger = lab_device(&s->lab, 1);
    lab_run(&s->lab, 1, 1, "", s->run);
    json_t *task = lab_claim(&s->lab, &s->device);
    (void)snprintf(s->task, sizeof s->task, "%s", text_at(task, "task_id"));
    json_decref(task);
    struct http_answer begun =
        lab_do(&s->lab, s->device.token, "POST", path_of("/api/v1/tasks/%s/uploads", s->task),
               "Upload-Length: 100\r\n", NULL);
    json_t *upload = answer_json(&begun, 201);
    (void)snprintf(s->upload, sizeof s->upload, "%s", text_at(upload, "upload_id"));
    json_decref(upload);
    json_t *worker = lab_ok(&s->lab, s->lab.enrollment, "POST", "/api/v1/workers",
                            "{\"name\":\"w\",\"instance_id\":\"i\",\"devices\":[{\"dataset\":\"other\","
                            "\"num_examples\":1}]}");
    (void)snprintf(s->worker, sizeof s->worker, "%s", text_at(worker, "worker_id"));
    (void)snprintf(s->worker_token, sizeof s->worker_token, "%s", text_at(worker, "token"));
    json_decref(worker);
    json_t *token =
        lab_ok(&s->lab, s->lab.admin, "POST", "/api/v1/tokens", "{\"name\":\"t\",\"role\":\"viewer\"}");
    (void)snprintf(s->token_id, sizeof s->token_id, "%s", text_at(token, "id"));
    json_decref(token);
}

/* The row's path with the scene's ids. */
static const char *path_in(const struct scene *s, const struct route *r)
{
    const struct {
        const char *name, *value;
    } params[] = {{"{run}", s->run},       {"{task}", s->task}, {"{device}", s->device.id},
                  {"{worker}", s->worker}, {"{round}", "0"},    {"{token}", s->token_id},
                  {"{experiment}", "0"},   {"{version}", "0"},  {"{file}", "app.js"},
                  {"{upload}", s->upload}};
    char *out = path_of("%s", r->path);
    for (size_t i = 0; i < sizeof params / sizeof params[0]; i++) {
        char *at = strstr(out, params[i].name);
        if (at)
            out = path_of("%.*s%s%s", (int)(at - out), out, params[i].value, at + strlen(params[i].name));
    }
    ck_assert_msg(!strchr(out, '{'), "no value for a parameter of %s", r->path);
    return out;
}

/* What the row would take, were it allowed; it must be refused before anybody looks at it. */
static struct http_answer ask(const struct scene *s, const struct route *r, const char *token)
{
    const char *method = http_method_name(r->method), *path = path_in(s, r);
    if (r->body == BODY_STREAM) {
        struct buf file;
        file_of_model(&file, 1, META_WHOLE);
        struct http_answer a =
            lab_send(&s->lab, token, method, path, NULL, "application/octet-stream", file.data, file.len);
        buf_release(&file);
        return a;
    }
    return lab_do(&s->lab, token, method, path, NULL, r->body == BODY_JSON ? "{}" : NULL);
}

static void all_refused(const struct scene *s, const char *token, int status, const char *code)
{
    for (size_t i = 0; i < api_num_routes; i++) {
        if (api_routes[i].roles == 0)
            continue;
        struct http_answer a = ask(s, &api_routes[i], token);
        if (a.status != status)
            (void)fprintf(stderr, "%s: ", api_routes[i].operation_id);
        answer_is_problem(&a, status, code, NULL);
    }
}

START_TEST(test_every_row_wants_a_token)
{
    struct scene s;
    scene_open(&s);
    all_refused(&s, NULL, 401, "unauthorized");
    all_refused(&s, "fl_0000000000000000000000000000000000000000000000000000000000000000", 401,
                "unauthorized");
    all_refused(&s, "garbage", 401, "unauthorized");
    lab_close(&s.lab);
}
END_TEST

START_TEST(test_open_rows_need_none_and_mind_no_wrong_one)
{
    struct scene s = {0};
    lab_open(&s.lab);
    for (size_t i = 0; i < api_num_routes; i++) {
        if (api_routes[i].roles != 0)
            continue;
        for (int k = 0; k < 2; k++) {
            struct http_answer a = ask(&s, &api_routes[i], k ? "garbage" : NULL);
            /* Its body is empty: that is judged, so the request was let in. */
            int status = api_routes[i].body == BODY_JSON ? 400 : 200;
            ck_assert_msg(a.status == status, "%s: %d", api_routes[i].operation_id, a.status);
            http_answer_release(&a);
        }
    }
    lab_close(&s.lab);
}
END_TEST

START_TEST(test_a_malformed_authorization_is_unauthorized)
{
    struct scene s;
    scene_open(&s);
    /* %s: a token that is good */
    static const char *const headers[] = {"Basic YTpi",  "Bearer",   "Bearer  ",    "",
                                          "%s",          "Bearer%s", "Bearer x %s", "Bearer \"%s\"",
                                          "Bearer %s x", "Token %s", "%s Bearer"};
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        for (size_t k = 0; k < api_num_routes; k++) {
            const struct route *r = &api_routes[k];
            const char *hole = strstr(headers[i], "%s");
            int before = (int)(hole ? (size_t)(hole - headers[i]) : strlen(headers[i]));
            if (r->roles == 0)
                continue;
            struct http_answer a = lab_do(&s.lab, NULL, http_method_name(r->method), path_in(&s, r),
                                          path_of("Authorization: %.*s%s%s\r\n", before, headers[i],
                                                  hole ? s.lab.admin : "", hole ? hole + 2 : ""),
                                          NULL);
            answer_is_problem(&a, 401, "unauthorized", NULL);
        }
    struct http_answer a = lab_do(&s.lab, NULL, "GET", "/api/v1/runs",
                                  path_of("Authorization: bEARER %s\r\n", s.lab.viewer), NULL);
    ck_assert_int_eq(a.status, 200);
    http_answer_release(&a);
    lab_close(&s.lab);
}
END_TEST

/* Every row with every role that it does not list. */
START_TEST(test_foreign_roles)
{
    struct scene s;
    scene_open(&s);
    const struct {
        uint32_t role;
        const char *token;
    } callers[] = {{ROLE_OPERATOR, s.lab.runner},
                   {ROLE_VIEWER, s.lab.viewer},
                   {ROLE_WORKER, s.device.token},
                   {ROLE_WORKER, s.worker_token},
                   {ROLE_ENROLLMENT, s.lab.enrollment}};
    size_t refused = 0;
    for (size_t i = 0; i < api_num_routes; i++) {
        const struct route *r = &api_routes[i];
        if (r->roles)
            ck_assert_msg(r->roles & ROLE_ADMIN, "%s: an administrator may everything", r->operation_id);
        for (size_t k = 0; k < sizeof callers / sizeof callers[0]; k++) {
            if (r->roles == 0 || (r->roles & callers[k].role))
                continue;
            struct http_answer a = ask(&s, r, callers[k].token);
            answer_is_problem(&a, 403, "forbidden", NULL);
            refused++;
        }
    }
    ck_assert_uint_gt(refused, 60);
    lab_close(&s.lab);
}
END_TEST

/* Every row where a worker may: not with what is another's. */
START_TEST(test_what_is_anothers)
{
    struct scene s;
    scene_open(&s);
    size_t walked = 0;
    for (size_t i = 0; i < api_num_routes; i++) {
        const struct route *r = &api_routes[i];
        if (!(r->roles & ROLE_WORKER) || !strchr(r->path, '{'))
            continue;
        bool of_run = strstr(r->path, "{run}") != NULL, of_worker = strstr(r->path, "{worker}") != NULL;
        const char *code = of_run ? "not_selected" : "forbidden";
        struct http_answer a = ask(&s, r, s.stranger.token);
        answer_is_problem(&a, 403, code, NULL);
        if (!of_worker) {
            a = ask(&s, r, s.worker_token);
            answer_is_problem(&a, 403, code, NULL);
        }
        walked++;
    }
    ck_assert_uint_ge(walked, 12);
    /* Nothing of it counted. */
    json_t *task = lab_ok(&s.lab, s.lab.viewer, "GET", path_of("/api/v1/tasks/%s", s.task), NULL);
    ck_assert_str_eq(text_at(task, "status"), "claimed");
    ck_assert_int_eq(int_at(task, "steps_done"), 0);
    json_decref(task);
    lab_close(&s.lab);
}
END_TEST

START_TEST(test_revoked_tokens)
{
    struct scene s;
    scene_open(&s);
    json_t *token =
        lab_ok(&s.lab, s.lab.admin, "POST", "/api/v1/tokens", "{\"name\":\"t\",\"role\":\"admin\"}");
    lab_done(&s.lab, text_at(token, "token"), "GET", "/api/v1/runs", NULL);
    lab_done(&s.lab, s.lab.admin, "DELETE", path_of("/api/v1/tokens/%s", text_at(token, "id")), NULL);
    all_refused(&s, text_at(token, "token"), 401, "token_revoked");
    json_decref(token);
    lab_done(&s.lab, s.lab.admin, "DELETE", path_of("/api/v1/devices/%s", s.device.id), NULL);
    all_refused(&s, s.device.token, 401, "token_revoked");
    lab_done(&s.lab, s.lab.admin, "DELETE", path_of("/api/v1/workers/%s", s.worker), NULL);
    all_refused(&s, s.worker_token, 401, "token_revoked");
    lab_close(&s.lab);
}
END_TEST

START_TEST(test_expired_tokens)
{
    struct scene s;
    scene_open(&s);
    json_t *token = lab_ok(&s.lab, s.lab.admin, "POST", "/api/v1/tokens",
                           "{\"name\":\"t\",\"role\":\"admin\",\"expires_in_s\":60}");
    lab_done(&s.lab, text_at(token, "token"), "GET", "/api/v1/runs", NULL);
    lab_clock_add(61000);
    all_refused(&s, text_at(token, "token"), 401, "token_expired");
    json_decref(token);
    lab_close(&s.lab);
}
END_TEST

/* A second process with the same identity: the one that came last has it, the other is told. */
START_TEST(test_a_replaced_worker_is_busy)
{
    struct scene s;
    scene_open(&s);
    json_t *again = lab_ok(&s.lab, s.lab.enrollment, "POST", "/api/v1/workers",
                           "{\"name\":\"w\",\"instance_id\":\"i\",\"devices\":[{\"dataset\":\"other\","
                           "\"num_examples\":1}]}");
    ck_assert_str_eq(text_at(again, "worker_id"), s.worker);
    all_refused(&s, s.worker_token, 409, "device_busy");
    lab_done(&s.lab, text_at(again, "token"), "GET", path_of("/api/v1/workers/%s", s.worker), NULL);
    json_decref(again);
    lab_close(&s.lab);
}
END_TEST

/* The body of a stranger is not read: a request that announces a huge one is answered at once. */
START_TEST(test_refused_before_the_body)
{
    struct scene s;
    struct http_client c;
    struct http_answer a;
    scene_open(&s);
    ck_assert(http_client_open(&c, s.lab.port));
    ck_assert(
        http_client_print(&c,
                          "PUT /api/v1/tasks/%s/update HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
                          "Content-Type: application/octet-stream\r\nContent-Length: 8000000000\r\n\r\n",
                          s.task, s.stranger.token));
    ck_assert(http_client_read(&c, false, &a));
    answer_is_problem(&a, 403, "forbidden", NULL);
    http_client_close(&c);
    ck_assert(http_client_open(&c, s.lab.port));
    ck_assert(
        http_client_print(&c,
                          "PUT /api/v1/tasks/%s/update HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
                          "Content-Type: application/octet-stream\r\nContent-Length: 8000000000\r\n\r\n",
                          s.task, s.device.token));
    ck_assert(http_client_read(&c, false, &a));
    answer_is_problem(&a, 413, "payload_too_large", NULL);
    http_client_close(&c);
    lab_close(&s.lab);
}
END_TEST

/* No reply and no log names a secret, its hash or a worker's instance. */
START_TEST(test_no_reply_shows_secrets)
{
    struct scene s;
    scene_open(&s);
    for (size_t i = 0; i < api_num_routes; i++) {
        const struct route *r = &api_routes[i];
        if (r->method != HTTP_GET || strstr(r->path, "events") || strstr(r->path, "openapi") ||
            strstr(r->path, "/assets/"))
            continue;
        struct http_answer a = ask(&s, r, s.lab.admin);
        ck_assert_msg(a.status == 200, "%s: %d %s", r->operation_id, a.status, a.body);
        ck_assert_msg(!strstr(a.body, "fl_") && !strstr(a.body, "instance") && !strstr(a.body, "\"sha256"),
                      "%s: %s", r->operation_id, a.body);
        http_answer_release(&a);
    }
    lab_close(&s.lab);
}
END_TEST

START_TEST(test_who_fails_too_often_waits_and_nobody_else)
{
    struct lab lab;
    lab_open(&lab);
    lab_stop(&lab);
    lab.auth_failures = 60;
    lab_start(&lab);
    for (int i = 0; i < 60; i++)
        lab_refused(&lab, i % 2 ? "garbage" : NULL, "GET", "/api/v1/runs", NULL, 401, "unauthorized", NULL);
    struct http_answer a = lab_do(&lab, "garbage", "GET", "/api/v1/runs", NULL, NULL);
    ck_assert_ptr_nonnull(http_answer_field(&a, "Retry-After"));
    answer_is_problem(&a, 429, "rate_limited", NULL);
    lab_refused(&lab, NULL, "POST", "/api/v1/login", "{\"code\":\"guess\"}", 429, "rate_limited", NULL);
    json_decref(lab_ok(&lab, lab.viewer, "GET", "/api/v1/runs", NULL));
    lab_clock_add(2000);
    lab_refused(&lab, "garbage", "GET", "/api/v1/runs", NULL, 401, "unauthorized", NULL);
    lab_close(&lab);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_every_row_wants_a_token,
                                  test_open_rows_need_none_and_mind_no_wrong_one,
                                  test_a_malformed_authorization_is_unauthorized,
                                  test_foreign_roles,
                                  test_what_is_anothers,
                                  test_revoked_tokens,
                                  test_expired_tokens,
                                  test_a_replaced_worker_is_busy,
                                  test_refused_before_the_body,
                                  test_who_fails_too_often_waits_and_nobody_else,
                                  test_no_reply_shows_secrets};
    return unit_run("access", tests, sizeof tests / sizeof tests[0]);
}
