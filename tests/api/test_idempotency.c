/* Idempotency-Key: the same request twice is one effect. */
#include <pthread.h>
#include <string.h>
#include "server/api/routes.h"
#include "tests/api/lab.h"

#define SPEC                                                                                                 \
    "{\"num_rounds\":3,\"name\":\"a\"," MODEL_PATCH                                                          \
    ",\"training\":{\"learning_rate\":0.1},\"autostart\":false}"

static struct http_answer post(const struct lab *lab, const char *token, const char *path, const char *key,
                               const char *body)
{
    return lab_do(lab, token, "POST", path, path_of("Idempotency-Key: %s\r\n", key), body);
}

static int64_t count(const struct lab *lab, const char *path)
{
    json_t *list = lab_ok(lab, lab->admin, "GET", path, NULL);
    int64_t n = (int64_t)json_array_size(json_at(list, "items"));
    json_decref(list);
    return n;
}

START_TEST(test_the_same_key_twice_is_one_run)
{
    struct lab lab;
    lab_open(&lab);
    struct http_answer first = post(&lab, lab.runner, "/api/v1/runs", "k1", SPEC);
    ck_assert_int_eq(first.status, 201);
    struct http_answer second = post(&lab, lab.runner, "/api/v1/runs", "k1", SPEC);
    ck_assert_int_eq(second.status, 201);
    ck_assert_str_eq(first.body, second.body);
    char location[256];
    (void)snprintf(location, sizeof location, "%s", http_answer_field(&first, "Location"));
    ck_assert_str_eq(location, http_answer_field(&second, "Location"));
    lab_done(&lab, lab.viewer, "GET", location, NULL);
    http_answer_release(&first);
    http_answer_release(&second);
    ck_assert_int_eq(count(&lab, "/api/v1/runs"), 1);
    lab_close(&lab);
}
END_TEST

START_TEST(test_another_body_is_a_conflict)
{
    struct lab lab;
    lab_open(&lab);
    struct http_answer a = post(&lab, lab.runner, "/api/v1/runs", "k1", SPEC);
    http_answer_release(&a);
    a = post(&lab, lab.runner, "/api/v1/runs", "k1", SPEC " ");
    answer_is_problem(&a, 409, "duplicate_conflict", "Idempotency-Key");
    ck_assert_int_eq(count(&lab, "/api/v1/runs"), 1);
    /* Another caller, another route: another key. */
    a = post(&lab, lab.admin, "/api/v1/runs", "k1", SPEC);
    ck_assert_int_eq(a.status, 201);
    http_answer_release(&a);
    a = post(&lab, lab.runner, "/api/v1/experiments", "k1", "{\"name\":\"x\"}");
    ck_assert_int_eq(a.status, 201);
    http_answer_release(&a);
    ck_assert_int_eq(count(&lab, "/api/v1/runs"), 2);
    lab_close(&lab);
}
END_TEST

START_TEST(test_what_failed_may_be_sent_again)
{
    struct lab lab;
    lab_open(&lab);
    struct http_answer a = post(&lab, lab.runner, "/api/v1/runs", "k1", "{}");
    answer_is_problem(&a, 400, "missing_field", NULL);
    a = post(&lab, lab.runner, "/api/v1/runs", "k1", SPEC);
    ck_assert_int_eq(a.status, 201);
    http_answer_release(&a);
    lab_close(&lab);
}
END_TEST

START_TEST(test_keys_that_are_none)
{
    struct lab lab;
    char header[512], value[300];
    lab_open(&lab);
    memset(value, 'k', 201);
    value[201] = '\0';
    const char *const bad[] = {value, "a b", "", "\xc3\xa4"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        (void)snprintf(header, sizeof header, "Idempotency-Key: %s\r\n", bad[i]);
        struct http_answer a = lab_do(&lab, lab.runner, "POST", "/api/v1/runs", header, SPEC);
        answer_is_problem(&a, 400, "invalid_field", "Idempotency-Key");
    }
    ck_assert_int_eq(count(&lab, "/api/v1/runs"), 0);
    lab_close(&lab);
}
END_TEST

START_TEST(test_kept_over_a_restart_and_for_a_day)
{
    struct lab lab;
    lab_open(&lab);
    struct http_answer a = post(&lab, lab.runner, "/api/v1/runs", "k1", SPEC);
    http_answer_release(&a);
    lab_stop(&lab);
    lab_start(&lab);
    a = post(&lab, lab.runner, "/api/v1/runs", "k1", SPEC);
    http_answer_release(&a);
    ck_assert_int_eq(count(&lab, "/api/v1/runs"), 1);
    lab_clock_add((int64_t)25 * 3600 * 1000);
    a = post(&lab, lab.runner, "/api/v1/runs", "k1", SPEC);
    ck_assert_int_eq(a.status, 201);
    http_answer_release(&a);
    ck_assert_int_eq(count(&lab, "/api/v1/runs"), 2);
    lab_close(&lab);
}
END_TEST

/* A reply that holds a secret is not kept: the same object comes back with a new secret, and the former ends.
 */
static void secret_is_renewed(const struct lab *lab, const char *caller, const char *path, const char *body,
                              const char *id_field, const char *probe)
{
    struct http_answer a = post(lab, caller, path, "s1", body);
    json_t *first = answer_json(&a, 201);
    a = post(lab, caller, path, "s1", body);
    json_t *second = answer_json(&a, 201);
    ck_assert_str_eq(text_at(first, id_field), text_at(second, id_field));
    ck_assert_str_ne(text_at(first, "token"), text_at(second, "token"));
    const char *probed = path_of("%s%s", probe, strchr(probe, '?') ? "" : text_at(first, id_field));
    lab_done(lab, text_at(second, "token"), "GET", probed, NULL);
    a = lab_do(lab, text_at(first, "token"), "GET", probed, NULL, NULL);
    ck_assert_msg(a.status == 401 || a.status == 409, "the former secret works: %d", a.status);
    http_answer_release(&a);
    json_decref(first);
    json_decref(second);
}

START_TEST(test_secrets_are_not_kept)
{
    struct lab lab;
    lab_open(&lab);
    secret_is_renewed(&lab, lab.admin, "/api/v1/tokens", "{\"name\":\"t\",\"role\":\"viewer\"}", "id",
                      "/api/v1/runs?limit=1");
    secret_is_renewed(&lab, lab.enrollment, "/api/v1/devices", "{\"dataset\":\"x\",\"num_examples\":1}",
                      "device_id", "/api/v1/devices/");
    secret_is_renewed(
        &lab, lab.enrollment, "/api/v1/workers",
        "{\"name\":\"w\",\"instance_id\":\"i\",\"devices\":[{\"dataset\":\"x\",\"num_examples\":1}]}",
        "worker_id", "/api/v1/workers/");
    ck_assert_int_eq(count(&lab, "/api/v1/devices"), 2);
    ck_assert_int_eq(count(&lab, "/api/v1/workers"), 1);
    lab_close(&lab);
}
END_TEST

START_TEST(test_a_secret_of_a_device_that_was_revoked_is_not_renewed)
{
    struct lab lab;
    lab_open(&lab);
    struct http_answer a =
        post(&lab, lab.enrollment, "/api/v1/devices", "s1", "{\"dataset\":\"x\",\"num_examples\":1}");
    json_t *device = answer_json(&a, 201);
    lab_done(&lab, lab.admin, "DELETE", path_of("/api/v1/devices/%s", text_at(device, "device_id")), NULL);
    a = post(&lab, lab.enrollment, "/api/v1/devices", "s1", "{\"dataset\":\"x\",\"num_examples\":1}");
    answer_is_problem(&a, 409, "conflict", NULL);
    json_decref(device);
    lab_close(&lab);
}
END_TEST

START_TEST(test_a_secret_of_the_callers_own)
{
    struct lab lab;
    char sha256[SHA256_HEX_SIZE];
    lab_open(&lab);
    ck_assert_int_eq(token_hash("my own secret, kept well", sha256), ERR_OK);
    const char *body = path_of("{\"dataset\":\"x\",\"num_examples\":1,\"token_sha256\":\"%s\"}", sha256);
    struct http_answer a = post(&lab, lab.enrollment, "/api/v1/devices", "s1", body);
    json_t *device = answer_json(&a, 201);
    ck_assert_ptr_null(json_object_get(device, "token"));
    const char *path = path_of("/api/v1/devices/%s", text_at(device, "device_id"));
    lab_done(&lab, "my own secret, kept well", "GET", path, NULL);
    a = post(&lab, lab.enrollment, "/api/v1/devices", "s1", body);
    ck_assert_int_eq(a.status, 201);
    http_answer_release(&a);
    lab_done(&lab, "my own secret, kept well", "GET", path, NULL);
    lab_refused(&lab, lab.admin, "POST", "/api/v1/tokens",
                path_of("{\"name\":\"t\",\"role\":\"viewer\",\"token_sha256\":\"%s\"}", sha256), 409,
                "conflict", "token_sha256");
    json_decref(device);
    lab_close(&lab);
}
END_TEST

/* ---- a registration whose answer was lost is sent again, without a key ---- */

static const char *sha256_of(const char *secret)
{
    char hex[SHA256_HEX_SIZE];
    ck_assert_int_eq(token_hash(secret, hex), ERR_OK);
    return path_of("%s", hex);
}

#define WORKER_PATH "/api/v1/workers"
static const char *worker_body(const char *instance, const char *secret)
{
    return path_of("{\"name\":\"w\",\"instance_id\":\"%s\",\"token_sha256\":\"%s\",\"devices\":[{"
                   "\"dataset\":\"%s\",\"num_examples\":1},{\"dataset\":\"%s\",\"num_examples\":2}]}",
                   instance, sha256_of(secret), instance, instance);
}

#define SECRET_ONE "the first secret of a worker"
#define SECRET_TWO "the second secret of a worker"

START_TEST(test_a_workers_registration_sent_again)
{
    struct lab lab;
    lab_open(&lab);
    json_t *first = lab_ok(&lab, lab.enrollment, "POST", WORKER_PATH, worker_body("i", SECRET_ONE));
    /* The server had it on disk when it was killed. */
    lab_stop(&lab);
    lab_start(&lab);
    for (int i = 0; i < 2; i++) {
        json_t *again = lab_ok(&lab, lab.enrollment, "POST", WORKER_PATH, worker_body("i", SECRET_ONE));
        ck_assert(json_equal(first, again));
        json_decref(again);
    }
    ck_assert_int_eq(count(&lab, WORKER_PATH), 1);
    ck_assert_int_eq(count(&lab, "/api/v1/devices"), 2);
    const char *path = path_of(WORKER_PATH "/%s", text_at(first, "worker_id"));
    lab_done(&lab, SECRET_ONE, "GET", path, NULL);
    /* The secret is nobody else's. */
    lab_refused(&lab, lab.enrollment, "POST", WORKER_PATH, worker_body("other", SECRET_ONE), 409, "conflict",
                "token_sha256");
    lab_refused(
        &lab, lab.enrollment, "POST", "/api/v1/devices",
        path_of("{\"dataset\":\"x\",\"num_examples\":1,\"token_sha256\":\"%s\"}", sha256_of(SECRET_ONE)), 409,
        "conflict", "token_sha256");
    lab_done(&lab, SECRET_ONE, "GET", path, NULL);
    ck_assert_int_eq(count(&lab, WORKER_PATH), 1);
    json_decref(first);
    lab_close(&lab);
}
END_TEST

START_TEST(test_a_workers_registration_sent_again_revives_no_token)
{
    struct lab lab;
    lab_open(&lab);
    json_t *worker = lab_ok(&lab, lab.enrollment, "POST", WORKER_PATH, worker_body("i", SECRET_ONE));
    const char *path = path_of(WORKER_PATH "/%s", text_at(worker, "worker_id"));
    lab_done(&lab, lab.enrollment, "POST", WORKER_PATH, worker_body("i", SECRET_TWO));
    /* A late copy of the first: another secret has taken its place. */
    lab_refused(&lab, lab.enrollment, "POST", WORKER_PATH, worker_body("i", SECRET_ONE), 409, "conflict",
                "token_sha256");
    lab_refused(&lab, SECRET_ONE, "GET", path, NULL, 409, "device_busy", NULL);
    lab_done(&lab, SECRET_TWO, "GET", path, NULL);
    lab_done(&lab, lab.admin, "DELETE", path, NULL);
    lab_refused(&lab, lab.enrollment, "POST", WORKER_PATH, worker_body("i", SECRET_TWO), 403, "forbidden",
                "instance_id");
    lab_refused(&lab, SECRET_TWO, "GET", path, NULL, 401, "token_revoked", NULL);
    json_decref(worker);
    lab_close(&lab);
}
END_TEST

/* The tokens of the list that bear this name. */
static size_t tokens_named(const struct lab *lab, const char *name, char out_id[ID_SIZE])
{
    json_t *list = lab_ok(lab, lab->admin, "GET", "/api/v1/tokens?limit=100", NULL), *token;
    size_t i, n = 0;
    json_array_foreach(json_object_get(list, "items"), i, token)
    {
        if (strcmp(text_at(token, "name"), name) != 0)
            continue;
        (void)snprintf(out_id, ID_SIZE, "%s", text_at(token, "id"));
        n++;
    }
    json_decref(list);
    return n;
}

START_TEST(test_a_workers_token_that_was_revoked_alone_stays_so)
{
    struct lab lab;
    char token_id[ID_SIZE];
    lab_open(&lab);
    json_t *worker = lab_ok(&lab, lab.enrollment, "POST", WORKER_PATH, worker_body("i", SECRET_ONE));
    lab_done(&lab, lab.enrollment, "POST", WORKER_PATH, worker_body("i", SECRET_ONE));
    ck_assert_uint_eq(tokens_named(&lab, "w", token_id), 1);
    lab_done(&lab, lab.admin, "DELETE", path_of("/api/v1/tokens/%s", token_id), NULL);
    lab_refused(&lab, lab.enrollment, "POST", WORKER_PATH, worker_body("i", SECRET_ONE), 409, "conflict",
                "token_sha256");
    lab_refused(&lab, SECRET_ONE, "GET", path_of(WORKER_PATH "/%s", text_at(worker, "worker_id")), NULL, 401,
                "token_revoked", NULL);
    json_decref(worker);
    lab_close(&lab);
}
END_TEST

#define DEVICE_PATH "/api/v1/devices"
static const char *device_body(const char *more)
{
    return path_of("{\"dataset\":\"x\",\"num_examples\":3,\"token_sha256\":\"%s\"%s}", sha256_of(SECRET_ONE),
                   more);
}

START_TEST(test_a_devices_registration_sent_again)
{
    struct lab lab;
    static const char labels[] = ",\"labels\":{\"b\":\"1\",\"a\":\"2\"},\"input\":[2],\"classes\":2";
    lab_open(&lab);
    json_t *first = lab_ok(&lab, lab.enrollment, "POST", DEVICE_PATH, device_body(labels));
    lab_stop(&lab);
    lab_start(&lab);
    json_t *again = lab_ok(&lab, lab.enrollment, "POST", DEVICE_PATH, device_body(labels));
    ck_assert(json_equal(first, again));
    ck_assert_int_eq(count(&lab, DEVICE_PATH), 1);
    const char *path = path_of(DEVICE_PATH "/%s", text_at(first, "device_id"));
    lab_done(&lab, SECRET_ONE, "GET", path, NULL);
    /* What differs is another registration. */
    static const char *const others[] = {
        "", ",\"labels\":{\"a\":\"2\"},\"input\":[2],\"classes\":2", ",\"ordinal\":7",
        ",\"name\":\"another\",\"labels\":{\"b\":\"1\",\"a\":\"2\"},\"input\":[2],\"classes\":2"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        lab_refused(&lab, lab.enrollment, "POST", DEVICE_PATH, device_body(others[i]), 409, "conflict",
                    "token_sha256");
    lab_refused(&lab, lab.enrollment, "POST", WORKER_PATH, worker_body("i", SECRET_ONE), 409, "conflict",
                "token_sha256");
    ck_assert_int_eq(count(&lab, DEVICE_PATH), 1);
    lab_done(&lab, SECRET_ONE, "GET", path, NULL);
    /* One that was revoked stays so. */
    lab_done(&lab, lab.admin, "DELETE", path, NULL);
    lab_refused(&lab, lab.enrollment, "POST", DEVICE_PATH, device_body(labels), 409, "conflict",
                "token_sha256");
    lab_refused(&lab, SECRET_ONE, "GET", path, NULL, 401, "token_revoked", NULL);
    json_decref(first);
    json_decref(again);
    lab_close(&lab);
}
END_TEST

START_TEST(test_actions_and_tasks_honour_it)
{
    struct lab lab;
    char run[ID_SIZE];
    lab_open(&lab);
    struct lab_device d = lab_device(&lab, 0);
    lab_run(&lab, 1, 1, "", run);
    json_t *task = lab_claim(&lab, &d);
    const char *release = path_of("/api/v1/tasks/%s/release", text_at(task, "task_id"));
    struct http_answer a = post(&lab, d.token, release, "r1", "{}");
    ck_assert_int_eq(a.status, 200);
    http_answer_release(&a);
    json_t *again = lab_claim(&lab, &d);
    ck_assert_int_eq(int_at(again, "attempt"), 2);
    /* The retry of the former release takes nothing away. */
    a = post(&lab, d.token, release, "r1", "{}");
    http_answer_release(&a);
    json_t *now = lab_ok(&lab, d.token, "GET", path_of("/api/v1/tasks/%s", text_at(task, "task_id")), NULL);
    ck_assert_str_eq(text_at(now, "status"), "claimed");
    a = post(&lab, lab.runner, path_of("/api/v1/runs/%s/pause", run), "p1", "");
    ck_assert_int_eq(a.status, 200);
    http_answer_release(&a);
    lab_done(&lab, lab.runner, "POST", path_of("/api/v1/runs/%s/resume", run), NULL);
    a = post(&lab, lab.runner, path_of("/api/v1/runs/%s/pause", run), "p1", "");
    http_answer_release(&a);
    json_t *state = lab_ok(&lab, lab.viewer, "GET", path_of("/api/v1/runs/%s", run), NULL);
    ck_assert_str_eq(text_at(state, "status"), "running");
    json_decref(state);
    json_decref(now);
    json_decref(again);
    json_decref(task);
    lab_close(&lab);
}
END_TEST

struct racer {
    const struct lab *lab;
    char id[ID_SIZE];
};

static void *race(void *arg)
{
    struct racer *r = arg;
    struct http_answer a = post(r->lab, r->lab->runner, "/api/v1/runs", "race", SPEC);
    json_t *run = json_loads(a.body, 0, NULL);
    const char *id = json_string_value(json_object_get(run, "id"));
    (void)snprintf(r->id, sizeof r->id, "%s", id ? id : "");
    json_decref(run);
    http_answer_release(&a);
    return NULL;
}

START_TEST(test_many_at_once_are_one)
{
    struct lab lab;
    pthread_t threads[16];
    struct racer racers[16];
    lab_open(&lab);
    for (size_t i = 0; i < 16; i++) {
        racers[i].lab = &lab;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
    }
    for (size_t i = 0; i < 16; i++)
        (void)pthread_join(threads[i], NULL);
    for (size_t i = 0; i < 16; i++)
        ck_assert_str_eq(racers[i].id, racers[0].id);
    ck_assert(id_is_valid(racers[0].id));
    ck_assert_int_eq(count(&lab, "/api/v1/runs"), 1);
    lab_close(&lab);
}
END_TEST

/* Rows that create or change something by POST honour the key; those that only report or take work do not,
 * nor does the login: its code works once. A second upload takes the place of the first. */
START_TEST(test_which_rows)
{
    static const char *const without[] = {"worker_heartbeat", "device_heartbeat", "worker_claim",
                                          "device_claim",     "task_progress",    "login",
                                          "upload_create"};
    for (size_t i = 0; i < api_num_routes; i++) {
        const struct route *r = &api_routes[i];
        bool expected = r->method == HTTP_POST;
        for (size_t k = 0; k < sizeof without / sizeof without[0]; k++)
            expected = expected && strcmp(without[k], r->operation_id) != 0;
        ck_assert_msg(r->is_idempotent == expected, "%s", r->operation_id);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_the_same_key_twice_is_one_run,
                                  test_another_body_is_a_conflict,
                                  test_what_failed_may_be_sent_again,
                                  test_keys_that_are_none,
                                  test_kept_over_a_restart_and_for_a_day,
                                  test_secrets_are_not_kept,
                                  test_a_secret_of_a_device_that_was_revoked_is_not_renewed,
                                  test_a_secret_of_the_callers_own,
                                  test_a_workers_registration_sent_again,
                                  test_a_workers_registration_sent_again_revives_no_token,
                                  test_a_workers_token_that_was_revoked_alone_stays_so,
                                  test_a_devices_registration_sent_again,
                                  test_actions_and_tasks_honour_it,
                                  test_many_at_once_are_one,
                                  test_which_rows};
    return unit_run("idempotency", tests, sizeof tests / sizeof tests[0]);
}
