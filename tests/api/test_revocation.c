/* A token that ends takes effect at once: on who waits, on who listens, and on what is under way. */
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include "tests/api/lab.h"

static void await_waiters(const struct lab *lab, int wanted)
{
    for (int waiting = -1; waiting != wanted;) {
        struct http_answer a = lab_do(lab, lab->viewer, "GET", "/metrics", NULL, NULL);
        const char *at = strstr(a.body, "\nfedlane_waiters ");
        ck_assert_ptr_nonnull(at);
        waiting = (int)strtol(at + 17, NULL, 10);
        http_answer_release(&a);
    }
}

static void park(const struct lab *lab, struct http_client *c, const char *token, const char *path)
{
    ck_assert(http_client_open(c, lab->port));
    ck_assert(http_client_print(
        c, "POST %s/tasks:claim?wait=60 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", path,
        token));
}

static void ended_with(struct http_client *c, int status, const char *code)
{
    struct http_answer a;
    ck_assert_msg(http_client_read(c, false, &a), "no answer");
    answer_is_problem(&a, status, code, NULL);
    http_client_close(c);
}

static json_t *worker_new(const struct lab *lab, const char *instance)
{
    return lab_ok(lab, lab->enrollment, "POST", "/api/v1/workers",
                  path_of("{\"name\":\"w\",\"instance_id\":\"%s\",\"devices\":[{\"dataset\":\"hand\","
                          "\"num_examples\":4,\"ordinal\":7,\"input\":[2],\"classes\":2}]}",
                          instance));
}

/* The id of the only token of a device or a worker. */
static const char *token_of(const struct lab *lab, const char *key, const char *owner)
{
    json_t *list = lab_ok(lab, lab->admin, "GET", "/api/v1/tokens?role=worker&limit=1000", NULL), *token;
    const char *found = NULL;
    size_t i;
    json_array_foreach(json_object_get(list, "items"), i, token)
    {
        const char *of = json_string_value(json_object_get(token, key));
        if (of && strcmp(of, owner) == 0)
            found = path_of("%s", text_at(token, "id"));
    }
    json_decref(list);
    ck_assert_ptr_nonnull(found);
    return found;
}

static void revoke_token(const struct lab *lab, const char *id)
{
    lab_done(lab, lab->admin, "DELETE", path_of("/api/v1/tokens/%s", id), NULL);
}

#define LARGE_PARAMS 8000000 /* more bytes than sockets hold on their way */

static void large_file(struct buf *out)
{
    const char *header = path_of("{\"w\":{\"dtype\":\"F32\",\"shape\":[%d],\"data_offsets\":[0,%d]}}",
                                 LARGE_PARAMS, LARGE_PARAMS * 4);
    uint64_t len = strlen(header);
    uint8_t size[8];
    static const char zeros[MIB];
    for (size_t i = 0; i < sizeof size; i++)
        size[i] = (uint8_t)(len >> (8 * i));
    buf_init(out, 64 * MIB);
    ck_assert_int_eq(buf_append(out, size, sizeof size), ERR_OK);
    ck_assert_int_eq(buf_append(out, header, len), ERR_OK);
    for (size_t left = LARGE_PARAMS * 4, n; left > 0; left -= n) {
        n = left < sizeof zeros ? left : sizeof zeros;
        ck_assert_int_eq(buf_append(out, zeros, n), ERR_OK);
    }
}

/* ---- who waits ---- */

START_TEST(test_a_parked_claim_ends_with_its_token)
{
    struct lab lab;
    struct http_client by_token, by_device, by_worker, by_workers_token;
    lab_open(&lab);
    struct lab_device one = lab_device(&lab, 0), two = lab_device(&lab, 1);
    json_t *first = worker_new(&lab, "first");
    park(&lab, &by_token, one.token, path_of("/api/v1/devices/%s", one.id));
    park(&lab, &by_device, two.token, path_of("/api/v1/devices/%s", two.id));
    park(&lab, &by_worker, text_at(first, "token"),
         path_of("/api/v1/workers/%s", text_at(first, "worker_id")));
    await_waiters(&lab, 3);
    revoke_token(&lab, token_of(&lab, "device_id", one.id));
    ended_with(&by_token, 401, "token_revoked");
    lab_done(&lab, lab.admin, "DELETE", path_of("/api/v1/devices/%s", two.id), NULL);
    ended_with(&by_device, 401, "token_revoked");
    lab_done(&lab, lab.admin, "DELETE", path_of("/api/v1/workers/%s", text_at(first, "worker_id")), NULL);
    ended_with(&by_worker, 401, "token_revoked");
    json_t *second = worker_new(&lab, "second");
    park(&lab, &by_workers_token, text_at(second, "token"),
         path_of("/api/v1/workers/%s", text_at(second, "worker_id")));
    await_waiters(&lab, 1);
    revoke_token(&lab, token_of(&lab, "worker_id", text_at(second, "worker_id")));
    ended_with(&by_workers_token, 401, "token_revoked");
    await_waiters(&lab, 0);
    json_decref(first);
    json_decref(second);
    lab_close(&lab);
}
END_TEST

START_TEST(test_a_parked_claim_of_a_replaced_worker_is_busy)
{
    struct lab lab;
    struct http_client c;
    lab_open(&lab);
    json_t *former = worker_new(&lab, "i");
    park(&lab, &c, text_at(former, "token"), path_of("/api/v1/workers/%s", text_at(former, "worker_id")));
    await_waiters(&lab, 1);
    json_decref(worker_new(&lab, "i"));
    ended_with(&c, 409, "device_busy");
    json_decref(former);
    lab_close(&lab);
}
END_TEST

/* The run that would have given it work opens its round after the revocation. */
START_TEST(test_a_revoked_claim_is_never_given_a_task)
{
    struct lab lab;
    struct http_client c;
    char run[ID_SIZE];
    lab_open(&lab);
    struct lab_device d = lab_device(&lab, 0);
    park(&lab, &c, d.token, path_of("/api/v1/devices/%s", d.id));
    await_waiters(&lab, 1);
    revoke_token(&lab, token_of(&lab, "device_id", d.id));
    lab_run(&lab, 1, 1, "", run);
    ended_with(&c, 401, "token_revoked");
    json_t *task = NULL;
    while (!task) {
        json_t *tasks = lab_ok(&lab, lab.viewer, "GET", path_of("/api/v1/devices/%s/tasks", d.id), NULL);
        task = json_incref(json_array_get(json_object_get(tasks, "items"), 0));
        json_decref(tasks);
    }
    ck_assert_str_eq(text_at(task, "status"), "ready");
    ck_assert_int_eq(int_at(task, "attempt"), 0);
    json_decref(task);
    lab_close(&lab);
}
END_TEST

START_TEST(test_a_wait_ends_when_its_token_expires)
{
    struct lab lab;
    struct http_client c;
    lab_open(&lab);
    struct lab_device d = lab_device(&lab, 0);
    json_t *token = lab_ok(&lab, lab.admin, "POST", "/api/v1/tokens",
                           "{\"name\":\"t\",\"role\":\"admin\",\"expires_in_s\":1}");
    park(&lab, &c, text_at(token, "token"), path_of("/api/v1/devices/%s", d.id));
    ended_with(&c, 401, "token_expired");
    json_decref(token);
    lab_close(&lab);
}
END_TEST

/* ---- who listens ---- */

static void listen_as(const struct lab *lab, struct http_client *c, const char *token, const char *path)
{
    struct http_answer a;
    char piece[4096];
    ck_assert(http_client_open(c, lab->port));
    ck_assert(http_client_print(
        c, "GET %s HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nAuthorization: Bearer %s\r\n\r\n",
        path, token));
    ck_assert(http_client_read_head(c, &a));
    ck_assert_int_eq(a.status, 200);
    ck_assert_uint_gt(http_client_read_chunk(c, piece, sizeof piece), 0); /* the comment at the beginning */
}

/* It says nothing more; and it ends before another that opened earlier has anything to say, which is the
 * comment of a quiet stream. */
static void ends_first(struct http_client *ending, const struct http_client *quiet)
{
    char piece[4096];
    struct pollfd fds[] = {{.fd = ending->fd, .events = POLLIN}, {.fd = quiet->fd, .events = POLLIN}};
    ck_assert_int_gt(poll(fds, 2, -1), 0);
    ck_assert_msg(fds[0].revents, "the stream of a token that ended goes on");
    ck_assert_uint_eq(http_client_read_chunk(ending, piece, sizeof piece), 0);
    http_client_close(ending);
}

START_TEST(test_a_quiet_stream_ends_with_its_token)
{
    struct lab lab;
    struct http_client good, of_all, of_run, expiring;
    char run[ID_SIZE];
    lab_open(&lab);
    lab_run(&lab, 1, 1, ",\"autostart\":false", run);
    const char *now = "/api/v1/events?since=latest";
    json_t *token = lab_ok(&lab, lab.admin, "POST", "/api/v1/tokens", "{\"name\":\"t\",\"role\":\"viewer\"}");
    json_t *brief = lab_ok(&lab, lab.admin, "POST", "/api/v1/tokens",
                           "{\"name\":\"t\",\"role\":\"viewer\",\"expires_in_s\":1}");
    listen_as(&lab, &good, lab.viewer, now);
    listen_as(&lab, &of_all, text_at(token, "token"), now);
    listen_as(&lab, &of_run, text_at(token, "token"), path_of("/api/v1/runs/%s/events?since=latest", run));
    listen_as(&lab, &expiring, text_at(brief, "token"), now);
    await_waiters(&lab, 4);
    revoke_token(&lab, text_at(token, "id"));
    ends_first(&of_all, &good);
    ends_first(&of_run, &good);
    ends_first(&expiring, &good);
    await_waiters(&lab, 1);
    http_client_close(&good);
    json_decref(token);
    json_decref(brief);
    lab_close(&lab);
}
END_TEST

/* The secret that a lost reply held is not that of the token any more, whose row is the same. */
START_TEST(test_a_stream_ends_with_its_secret)
{
    struct lab lab;
    struct http_client good, c;
    static const char body[] = "{\"name\":\"t\",\"role\":\"viewer\"}";
    const char *now = "/api/v1/events?since=latest";
    json_t *made[2];
    lab_open(&lab);
    listen_as(&lab, &good, lab.viewer, now);
    for (int i = 0; i < 2; i++) {
        struct http_answer a =
            lab_do(&lab, lab.admin, "POST", "/api/v1/tokens", "Idempotency-Key: k\r\n", body);
        made[i] = answer_json(&a, 201);
        if (i == 0)
            listen_as(&lab, &c, text_at(made[0], "token"), now);
    }
    ck_assert_str_eq(text_at(made[0], "id"), text_at(made[1], "id"));
    ends_first(&c, &good);
    http_client_close(&good);
    json_decref(made[0]);
    json_decref(made[1]);
    lab_close(&lab);
}
END_TEST

/* ---- who downloads ---- */

START_TEST(test_a_download_ends_with_its_token)
{
    struct lab lab;
    struct http_client c;
    struct http_answer a;
    static char piece[256 * KIB];
    struct buf file;
    size_t total = 0;
    lab_open(&lab);
    json_t *run =
        lab_ok(&lab, lab.runner, "POST", "/api/v1/runs",
               path_of("{\"num_rounds\":1,\"autostart\":false,\"training\":{\"learning_rate\":1},"
                       "\"model\":{\"tensors\":[{\"name\":\"w\",\"shape\":[%d],\"dtype\":\"F32\"}]}}",
                       LARGE_PARAMS));
    const char *path = path_of("/api/v1/runs/%s/models/0/weights", text_at(run, "id"));
    large_file(&file);
    a = lab_put(&lab, lab.runner, path, NULL, &file);
    json_decref(answer_json(&a, 200));
    json_t *token = lab_ok(&lab, lab.admin, "POST", "/api/v1/tokens", "{\"name\":\"t\",\"role\":\"viewer\"}");
    ck_assert(http_client_open(&c, lab.port));
    ck_assert(http_client_print(&c, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", path,
                                text_at(token, "token")));
    ck_assert(http_client_read_head(&c, &a));
    ck_assert_int_eq(a.status, 200);
    revoke_token(&lab, text_at(token, "id"));
    for (ssize_t n; (n = recv(c.fd, piece, sizeof piece, 0)) > 0;)
        total += (size_t)n;
    ck_assert_uint_lt(total, file.len - c.end);
    http_client_close(&c);
    buf_release(&file);
    json_decref(token);
    json_decref(run);
    lab_close(&lab);
}
END_TEST

/* ---- what is under way ---- */

struct upload {
    struct http_client c;
    struct buf body;
};

/* Sends all but the last byte, and waits until the server has begun to take it. */
static void upload_begin(struct upload *u, const struct lab *lab, const char *token, const char *method,
                         const char *path, const char *media)
{
    ck_assert(http_client_open(&u->c, lab->port));
    ck_assert(
        http_client_print(&u->c,
                          "%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\n"
                          "Content-Length: %zu\r\nExpect: 100-continue\r\n\r\n",
                          method, path, token, media, u->body.len));
    struct http_answer a;
    ck_assert(http_client_read_head(&u->c, &a)); /* it was let in */
    ck_assert_int_eq(a.status, 100);
    ck_assert(http_client_send(&u->c, u->body.data, u->body.len - 1));
}

static void upload_end(struct upload *u, const char *code)
{
    ck_assert(http_client_send(&u->c, u->body.data + u->body.len - 1, 1));
    ended_with(&u->c, 401, code);
    buf_release(&u->body);
}

static void begin_update(struct upload *u, const struct lab *lab, const struct lab_device *d,
                         const json_t *task)
{
    file_of_model(&u->body, 1, META_WHOLE);
    upload_begin(u, lab, d->token, "PUT", path_of("/api/v1/tasks/%s/update", text_at(task, "task_id")),
                 "application/vnd.safetensors");
}

static void nothing_was_received(const struct lab *lab, const char *run, int64_t blob_bytes)
{
    json_t *round = lab_ok(lab, lab->viewer, "GET", path_of("/api/v1/runs/%s/rounds/0", run), NULL);
    ck_assert_int_eq(int_at(round, "received"), 0);
    json_decref(round);
    lab_await_blob_bytes(lab, blob_bytes);
}

START_TEST(test_an_upload_of_a_token_that_ended_is_not_accepted)
{
    struct lab lab;
    struct upload one = {.body = BUF_INIT(0)}, two = {.body = BUF_INIT(0)};
    char run[ID_SIZE];
    lab_open(&lab);
    struct lab_device d = lab_device(&lab, 0), gone = lab_device(&lab, 1);
    lab_run(&lab, 2, 1, "", run);
    json_t *task = lab_claim(&lab, &d), *lost = lab_claim(&lab, &gone);
    int64_t blob_bytes = lab_blob_bytes(&lab);
    begin_update(&one, &lab, &d, task);
    begin_update(&two, &lab, &gone, lost);
    revoke_token(&lab, token_of(&lab, "device_id", d.id));
    upload_end(&one, "token_revoked");
    nothing_was_received(&lab, run, blob_bytes);
    json_t *now =
        lab_ok(&lab, lab.viewer, "GET", path_of("/api/v1/tasks/%s", text_at(task, "task_id")), NULL);
    ck_assert_str_eq(text_at(now, "status"), "claimed");
    json_decref(now);
    lab_done(&lab, lab.admin, "DELETE", path_of("/api/v1/devices/%s", gone.id), NULL);
    upload_end(&two, "token_revoked");
    nothing_was_received(&lab, run, blob_bytes);
    json_decref(task);
    json_decref(lost);
    lab_close(&lab);
}
END_TEST

START_TEST(test_a_change_of_a_token_that_ended_is_not_made)
{
    struct lab lab;
    struct upload u = {.body = BUF_INIT(0)};
    char run[ID_SIZE];
    lab_open(&lab);
    lab_run(&lab, 1, 1, ",\"autostart\":false", run);
    const char *const more[] = {"", ",\"expires_in_s\":60"}, *const codes[] = {"token_revoked",
                                                                               "token_expired"};
    for (int i = 0; i < 2; i++) {
        json_t *token = lab_ok(&lab, lab.admin, "POST", "/api/v1/tokens",
                               path_of("{\"name\":\"t\",\"role\":\"operator\"%s}", more[i]));
        struct upload weights = {.body = BUF_INIT(0)};
        buf_init(&u.body, KIB);
        ck_assert_int_eq(buf_puts(&u.body, "{\"name\":\"late\"}"), ERR_OK);
        upload_begin(&u, &lab, text_at(token, "token"), "POST", "/api/v1/experiments", "application/json");
        file_of_model(&weights.body, 1, "");
        upload_begin(&weights, &lab, text_at(token, "token"), "PUT",
                     path_of("/api/v1/runs/%s/models/0/weights", run), "application/vnd.safetensors");
        if (i == 0)
            revoke_token(&lab, text_at(token, "id"));
        else
            lab_clock_add(61000);
        upload_end(&u, codes[i]);
        upload_end(&weights, codes[i]);
        json_decref(token);
    }
    json_t *list = lab_ok(&lab, lab.viewer, "GET", "/api/v1/experiments", NULL);
    ck_assert_uint_eq(json_array_size(json_at(list, "items")), 1);
    json_decref(list);
    json_t *models = lab_ok(&lab, lab.viewer, "GET", path_of("/api/v1/runs/%s/models", run), NULL);
    ck_assert_uint_eq(json_array_size(json_at(models, "items")), 0);
    json_decref(models);
    lab_await_blob_bytes(&lab, 0);
    lab_close(&lab);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_a_parked_claim_ends_with_its_token,
                                  test_a_parked_claim_of_a_replaced_worker_is_busy,
                                  test_a_revoked_claim_is_never_given_a_task,
                                  test_a_wait_ends_when_its_token_expires,
                                  test_a_quiet_stream_ends_with_its_token,
                                  test_a_stream_ends_with_its_secret,
                                  test_a_download_ends_with_its_token,
                                  test_an_upload_of_a_token_that_ended_is_not_accepted,
                                  test_a_change_of_a_token_that_ended_is_not_made};
    return unit_run("api_revocation", tests, sizeof tests / sizeof tests[0]);
}
