/* The record of who did what: a row for what changed something, in the order in which it happened, and for
 * nothing else. */
#include <string.h>
#include "server/api/routes.h"
#include "server/httpd/router.h"
#include "tests/api/lab.h"

static json_t *audit(const struct lab *lab, const char *query)
{
    return lab_ok(lab, lab->admin, "GET", path_of("/api/v1/audit%s", query), NULL);
}

static size_t num_rows(const struct lab *lab)
{
    json_t *page = audit(lab, "?limit=1000");
    size_t n = json_array_size(json_at(page, "items"));
    json_decref(page);
    return n;
}

static const char *latest(const struct lab *lab, const char *key)
{
    json_t *page = audit(lab, "?limit=1");
    const char *text = path_of("%s", text_at(page, path_of("items.0.%s", key)));
    json_decref(page);
    return text;
}

START_TEST(test_a_row_says_who_did_what)
{
    struct lab lab;
    char run[ID_SIZE];
    lab_open(&lab);
    json_t *self = lab_ok(&lab, lab.runner, "GET", "/api/v1/tokens/self", NULL);
    lab_run(&lab, 1, 1, "", run);
    ck_assert_str_eq(latest(&lab, "operation"), "run_create");
    ck_assert_str_eq(latest(&lab, "path"), "/api/v1/runs");
    ck_assert_str_eq(latest(&lab, "object"), path_of("/api/v1/runs/%s", run));
    ck_assert_str_eq(latest(&lab, "remote"), "127.0.0.1");
    struct http_answer a = lab_do(&lab, lab.runner, "POST", path_of("/api/v1/runs/%s/stop", run),
                                  "X-Request-Id: who-did-it\r\n", NULL);
    const char *id = path_of("%s", http_answer_field(&a, "X-Request-Id"));
    json_decref(answer_json(&a, 200));
    ck_assert_str_eq(latest(&lab, "operation"), "run_stop");
    ck_assert_str_eq(latest(&lab, "path"), path_of("/api/v1/runs/%s/stop", run));
    ck_assert_str_eq(latest(&lab, "request_id"), id);
    ck_assert_str_eq(latest(&lab, "token_id"), text_at(self, "id"));
    ck_assert_str_eq(latest(&lab, "token_name"), text_at(self, "name"));
    ck_assert_str_eq(latest(&lab, "role"), text_at(self, "role"));
    json_t *own = audit(&lab, path_of("?token=%s&limit=1", text_at(self, "id")));
    ck_assert_str_eq(text_at(own, "items.0.operation"), "run_stop");
    json_decref(own);
    json_decref(self);
    lab_close(&lab);
}
END_TEST

START_TEST(test_what_changed_nothing_leaves_no_row)
{
    struct lab lab;
    lab_open(&lab);
    size_t before = num_rows(&lab);
    lab_refused(&lab, lab.runner, "POST", "/api/v1/experiments", "{\"name\":\"Default\"}", 409, "conflict",
                NULL);
    lab_refused(&lab, lab.viewer, "POST", "/api/v1/experiments", "{\"name\":\"x\"}", 403, "forbidden", NULL);
    json_decref(lab_ok(&lab, lab.viewer, "GET", "/api/v1/runs", NULL));
    ck_assert_uint_eq(num_rows(&lab), before);
    /* Sent again under its key, it is done once. */
    for (int i = 0; i < 2; i++) {
        struct http_answer a = lab_do(&lab, lab.runner, "POST", "/api/v1/experiments",
                                      "Idempotency-Key: k\r\n", "{\"name\":\"once\"}");
        json_decref(answer_json(&a, 201));
    }
    ck_assert_uint_eq(num_rows(&lab), before + 1);
    lab_close(&lab);
}
END_TEST

START_TEST(test_the_work_of_devices_leaves_no_row)
{
    struct lab lab;
    char run[ID_SIZE];
    lab_open(&lab);
    struct lab_device device = lab_device(&lab, 0);
    ck_assert_str_eq(latest(&lab, "operation"), "device_register");
    lab_run(&lab, 1, 1, "", run);
    size_t before = num_rows(&lab);
    json_t *task = lab_claim(&lab, &device);
    struct http_answer a = lab_update(&lab, &device, task, 1);
    json_decref(answer_json(&a, 200));
    json_decref(task);
    lab_done(&lab, device.token, "POST", path_of("/api/v1/devices/%s/heartbeat", device.id), NULL);
    ck_assert_uint_eq(num_rows(&lab), before);
    lab_done(&lab, device.token, "PATCH", path_of("/api/v1/devices/%s", device.id), "{\"num_examples\":5}");
    ck_assert_str_eq(latest(&lab, "operation"), "device_patch");
    ck_assert_str_eq(latest(&lab, "role"), "worker");
    lab_close(&lab);
}
END_TEST

START_TEST(test_pages_go_back_in_time_and_survive_a_restart)
{
    struct lab lab;
    lab_open(&lab);
    for (int i = 0; i < 5; i++)
        lab_done(&lab, lab.runner, "POST", "/api/v1/experiments", path_of("{\"name\":\"e%d\"}", i));
    size_t all = num_rows(&lab), seen = 0;
    lab_stop(&lab);
    lab_start(&lab);
    char cursor[32] = "";
    int64_t last = INT64_MAX;
    do {
        json_t *page = audit(&lab, path_of("?limit=2%s%s", cursor[0] ? "&cursor=" : "", cursor));
        for (size_t i = 0; i < json_array_size(json_at(page, "items")); i++, seen++) {
            int64_t id = int_at(page, path_of("items.%zu.id", i));
            ck_assert_int_lt(id, last);
            last = id;
        }
        const char *next = json_string_value(json_at(page, "next_cursor"));
        (void)snprintf(cursor, sizeof cursor, "%s", next ? next : "");
        json_decref(page);
    } while (cursor[0]);
    ck_assert_uint_eq(seen, all);
    lab_refused(&lab, lab.admin, "GET", "/api/v1/audit?cursor=x", NULL, 400, "invalid_cursor", NULL);
    lab_refused(&lab, lab.runner, "GET", "/api/v1/audit", NULL, 403, "forbidden", NULL);
    lab_close(&lab);
}
END_TEST

/* Whatever changes something is on record, but what devices do all the time. */
START_TEST(test_every_route_that_changes_something_is_audited)
{
    static const char *const of_devices[] = {
        "worker_heartbeat", "worker_claim", "device_heartbeat", "device_claim",  "task_progress", "task_fail",
        "task_release",     "task_update",  "upload_create",    "upload_append", "upload_delete"};
    for (size_t i = 0; i < api_num_routes; i++) {
        const struct route *r = &api_routes[i];
        bool is_of_devices = false;
        for (size_t k = 0; k < sizeof of_devices / sizeof of_devices[0]; k++)
            is_of_devices = is_of_devices || strcmp(of_devices[k], r->operation_id) == 0;
        ck_assert_msg(r->is_audited == (r->method != HTTP_GET && !is_of_devices), "%s", r->operation_id);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_a_row_says_who_did_what, test_what_changed_nothing_leaves_no_row,
                                  test_the_work_of_devices_leaves_no_row,
                                  test_pages_go_back_in_time_and_survive_a_restart,
                                  test_every_route_that_changes_something_is_audited};
    return unit_run("api_audit", tests, sizeof tests / sizeof tests[0]);
}
