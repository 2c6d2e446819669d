/* Enrollment tokens that admit so many and no more. */
#include <pthread.h>
#include <string.h>
#include "tests/api/lab.h"

#define RACERS 8

static json_t *make_token(const struct lab *lab, const char *more)
{
    return lab_ok(lab, lab->admin, "POST", "/api/v1/tokens",
                  path_of("{\"name\":\"gate\",\"role\":\"enrollment\"%s}", more));
}

static int64_t uses(const struct lab *lab, const json_t *token)
{
    json_t *list = lab_ok(lab, lab->admin, "GET", "/api/v1/tokens?role=enrollment&limit=1000", NULL);
    int64_t found = -1;
    for (size_t i = 0; i < json_array_size(json_at(list, "items")); i++)
        if (strcmp(text_at(list, path_of("items.%zu.id", i)), text_at(token, "id")) == 0)
            found = int_at(list, path_of("items.%zu.uses", i));
    json_decref(list);
    return found;
}

static const char *device_body(int ordinal, const char *more)
{
    return path_of("{\"ordinal\":%d,\"dataset\":\"gate\",\"num_examples\":1%s}", ordinal, more);
}

static const char *worker_body(const char *instance, int ordinal)
{
    return path_of("{\"name\":\"w\",\"instance_id\":\"%s\",\"devices\":[{\"ordinal\":%d,\"dataset\":\"gate\","
                   "\"num_examples\":1},{\"ordinal\":%d,\"dataset\":\"gate\",\"num_examples\":1}]}",
                   instance, ordinal, ordinal + 1);
}

START_TEST(test_workers_and_devices_are_counted)
{
    struct lab lab;
    lab_open(&lab);
    json_t *token = make_token(&lab, ",\"max_uses\":2");
    const char *secret = text_at(token, "token");
    ck_assert_int_eq(int_at(token, "max_uses"), 2);
    ck_assert_int_eq(int_at(token, "uses"), 0);
    /* A worker is one, however many devices it is. */
    lab_done(&lab, secret, "POST", "/api/v1/workers", worker_body("one", 0));
    ck_assert_int_eq(uses(&lab, token), 1);
    lab_done(&lab, secret, "POST", "/api/v1/devices", device_body(10, ""));
    ck_assert_int_eq(uses(&lab, token), 2);
    lab_refused(&lab, secret, "POST", "/api/v1/devices", device_body(11, ""), 403, "forbidden", NULL);
    lab_refused(&lab, secret, "POST", "/api/v1/workers", worker_body("two", 20), 403, "forbidden", NULL);
    /* Who was admitted may come back. */
    lab_done(&lab, secret, "POST", "/api/v1/workers", worker_body("one", 0));
    ck_assert_int_eq(uses(&lab, token), 2);
    /* Another token is another count, and one without a bound has none. */
    lab_done(&lab, lab.enrollment, "POST", "/api/v1/devices", device_body(11, ""));
    json_decref(token);
    lab_close(&lab);
}
END_TEST

START_TEST(test_what_is_refused_or_sent_again_uses_nothing)
{
    struct lab lab;
    lab_open(&lab);
    json_t *token = make_token(&lab, ",\"max_uses\":1");
    const char *secret = text_at(token, "token");
    lab_refused(&lab, secret, "POST", "/api/v1/devices", device_body(0, ",\"typo\":1"), 400, "unknown_field",
                "typo");
    lab_done(&lab, lab.enrollment, "POST", "/api/v1/devices", device_body(0, ""));
    lab_refused(&lab, secret, "POST", "/api/v1/devices", device_body(0, ""), 409, "conflict", NULL);
    ck_assert_int_eq(uses(&lab, token), 0);
    for (int i = 0; i < 2; i++) {
        struct http_answer a =
            lab_do(&lab, secret, "POST", "/api/v1/devices", "Idempotency-Key: k\r\n", device_body(1, ""));
        json_decref(answer_json(&a, 201));
    }
    ck_assert_int_eq(uses(&lab, token), 1);
    json_decref(token);
    lab_close(&lab);
}
END_TEST

struct racer {
    const struct lab *lab;
    const char *secret;
    char body[256];
    int status;
    pthread_t thread;
};

static void *race(void *arg)
{
    struct racer *r = arg;
    struct http_answer a = lab_do(r->lab, r->secret, "POST", "/api/v1/devices", NULL, r->body);
    r->status = a.status;
    http_answer_release(&a);
    return NULL;
}

START_TEST(test_of_many_at_once_so_many_get_in)
{
    struct lab lab;
    struct racer racers[RACERS];
    int admitted = 0, refused = 0;
    lab_open(&lab);
    json_t *token = make_token(&lab, ",\"max_uses\":3");
    for (int i = 0; i < RACERS; i++) {
        racers[i] = (struct racer){.lab = &lab, .secret = text_at(token, "token")};
        (void)snprintf(racers[i].body, sizeof racers[i].body, "%s", device_body(i, ""));
    }
    for (int i = 0; i < RACERS; i++)
        ck_assert_int_eq(pthread_create(&racers[i].thread, NULL, race, &racers[i]), 0);
    for (int i = 0; i < RACERS; i++) {
        ck_assert_int_eq(pthread_join(racers[i].thread, NULL), 0);
        admitted += racers[i].status == 201;
        refused += racers[i].status == 403;
    }
    ck_assert_int_eq(admitted, 3);
    ck_assert_int_eq(refused, RACERS - 3);
    json_decref(token);
    lab_close(&lab);
}
END_TEST

START_TEST(test_it_ends_as_other_tokens_do)
{
    struct lab lab;
    lab_open(&lab);
    json_t *token = make_token(&lab, ",\"expires_in_s\":60");
    ck_assert(json_is_null(json_at(token, "max_uses")));
    lab_done(&lab, text_at(token, "token"), "POST", "/api/v1/devices", device_body(0, ""));
    lab_clock_add(61000);
    lab_refused(&lab, text_at(token, "token"), "POST", "/api/v1/devices", device_body(1, ""), 401,
                "token_expired", NULL);
    json_decref(token);
    lab_refused(&lab, lab.admin, "POST", "/api/v1/tokens",
                "{\"name\":\"x\",\"role\":\"viewer\",\"max_uses\":1}", 400, "invalid_field", "max_uses");
    lab_refused(&lab, lab.admin, "POST", "/api/v1/tokens",
                "{\"name\":\"x\",\"role\":\"enrollment\",\"max_uses\":0}", 400, "invalid_field", "max_uses");
    lab_close(&lab);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_workers_and_devices_are_counted,
                                  test_what_is_refused_or_sent_again_uses_nothing,
                                  test_of_many_at_once_so_many_get_in, test_it_ends_as_other_tokens_do};
    return unit_run("api_enrollment", tests, sizeof tests / sizeof tests[0]);
}
