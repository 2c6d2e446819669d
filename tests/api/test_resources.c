/* Each resource as people and programs read it: tokens, experiments, workers, devices, runs. */
#include <string.h>
#include "tests/api/pages.h"

START_TEST(test_open_routes)
{
    struct lab lab;
    lab_open(&lab);
    json_t *version = lab_ok(&lab, NULL, "GET", "/api/v1/version", NULL);
    ck_assert_str_eq(text_at(version, "name"), "fedlane-server");
    json_decref(version);
    json_t *health = lab_ok(&lab, NULL, "GET", "/healthz", NULL);
    ck_assert_str_eq(text_at(health, "status"), "ok");
    json_decref(health);
    json_t *ready = lab_ok(&lab, NULL, "GET", "/readyz", NULL);
    ck_assert_str_eq(text_at(ready, "status"), "ready");
    json_decref(ready);
    struct http_answer a = lab_do(&lab, NULL, "GET", "/api/v1/openapi.json", NULL, NULL);
    char *etag = path_of("If-None-Match: %s\r\n", http_answer_field(&a, "ETag"));
    json_t *openapi = answer_json(&a, 200);
    ck_assert_str_eq(text_at(openapi, "openapi"), "3.1.0");
    json_decref(openapi);
    a = lab_do(&lab, NULL, "GET", "/api/v1/openapi.json", etag, NULL);
    ck_assert_int_eq(a.status, 304);
    http_answer_release(&a);
    a = lab_do(&lab, NULL, "HEAD", "/healthz", NULL, NULL);
    ck_assert_int_eq(a.status, 200);
    http_answer_release(&a);
    a = lab_do(&lab, NULL, "OPTIONS", "/api/v1/runs", NULL, NULL);
    ck_assert_int_eq(a.status, 204);
    ck_assert_ptr_nonnull(strstr(http_answer_field(&a, "Allow"), "POST"));
    ck_assert_ptr_null(http_answer_field(&a, "Access-Control-Allow-Origin"));
    http_answer_release(&a);
    json_t *strategies = lab_ok(&lab, lab.enrollment, "GET", "/api/v1/strategies", NULL);
    ck_assert_str_eq(text_at(strategies, "items.0.name"), "fedprox");
    ck_assert_str_eq(text_at(strategies, "items.0.params.type"), "object");
    json_decref(strategies);
    lab_close(&lab);
}
END_TEST

START_TEST(test_prometheus)
{
    static const char *const lines[] = {
        "\nfedlane_http_requests_total{route=\"run_list\",status=\"200\"} 1\n",
        "\nfedlane_http_requests_total{route=\"none\",status=\"404\"} 1\n",
        "\nfedlane_http_request_duration_seconds_count{route=\"run_list\"} 1\n",
        "\nfedlane_devices{status=\"online\"} 1\n",
        "\nfedlane_runs{status=\"waiting_for_devices\"} 1\n",
        "\nfedlane_rounds_total 0\n",
        "\nfedlane_waiters 0\n",
        "\nfedlane_store_queue ",
        "\nfedlane_store_commits_total ",
        "\nfedlane_store_bytes ",
        "\nfedlane_blob_bytes ",
        "\nfedlane_http_connections ",
        "\nprocess_resident_memory_bytes ",
        "\nfedlane_build_info{version=\""};
    struct lab lab;
    char run[ID_SIZE];
    lab_open(&lab);
    (void)lab_device(&lab, 5);
    lab_run(&lab, 2, 1, "", run);
    lab_done(&lab, lab.viewer, "GET", "/api/v1/runs", NULL);
    lab_refused(&lab, lab.viewer, "GET", "/nosuch", NULL, 404, "not_found", NULL);
    /* The count comes after the reply: it may take a moment. */
    struct http_answer a = {0};
    do {
        http_answer_release(&a);
        a = lab_do(&lab, lab.viewer, "GET", "/metrics", NULL, NULL);
    } while (!strstr(a.body, lines[0]) || !strstr(a.body, lines[1]));
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        ck_assert_msg(strstr(a.body, lines[i]) != NULL, "no %s in\n%s", lines[i], a.body);
    ck_assert_ptr_nonnull(strstr(http_answer_field(&a, "Content-Type"), "version=0.0.4"));
    /* Every line is a comment, or a name with its value. */
    for (const char *line = a.body; *line; line = strchr(line, '\n') + 1) {
        const char *end = strchr(line, '\n'), *blank = strchr(line, ' ');
        ck_assert_ptr_nonnull(end);
        ck_assert_msg(blank && blank < end, "%.60s", line);
    }
    http_answer_release(&a);
    lab_close(&lab);
}
END_TEST

START_TEST(test_the_own_token)
{
    struct lab lab;
    lab_open(&lab);
    struct lab_device device = lab_device(&lab, 0);
    const struct {
        const char *token, *role;
    } callers[] = {{lab.admin, "admin"},
                   {lab.runner, "operator"},
                   {lab.viewer, "viewer"},
                   {lab.enrollment, "enrollment"},
                   {device.token, "worker"}};
    for (size_t i = 0; i < sizeof callers / sizeof callers[0]; i++) {
        json_t *self = lab_ok(&lab, callers[i].token, "GET", "/api/v1/tokens/self", NULL);
        ck_assert_str_eq(text_at(self, "role"), callers[i].role);
        ck_assert_ptr_null(json_at(self, "token"));
        ck_assert_ptr_null(json_at(self, "sha256"));
        json_t *made = NULL;
        if (i == 4)
            ck_assert_str_eq(text_at(self, "device_id"), device.id);
        else
            made = lab_ok(&lab, lab.admin, "GET", path_of("/api/v1/tokens?role=%s", callers[i].role), NULL);
        if (made)
            ck_assert(json_equal(json_at(made, "items.0"), self));
        json_decref(made);
        json_decref(self);
    }
    lab_close(&lab);
}
END_TEST

START_TEST(test_tokens)
{
    struct lab lab;
    lab_open(&lab);
    json_t *t = lab_ok(&lab, lab.admin, "POST", "/api/v1/tokens",
                       "{\"name\":\"dash\",\"role\":\"viewer\",\"expires_at\":\"2099-01-31T12:00:00Z\"}");
    ck_assert_str_eq(text_at(t, "role"), "viewer");
    ck_assert_str_eq(text_at(t, "expires_at"), "2099-01-31T12:00:00.000Z");
    ck_assert_ptr_nonnull(text_at(t, "created_by"));
    lab_done(&lab, text_at(t, "token"), "GET", "/api/v1/runs", NULL);
    json_t *list = lab_ok(&lab, lab.admin, "GET", "/api/v1/tokens?role=viewer", NULL);
    ck_assert_uint_eq(json_array_size(json_at(list, "items")), 2);
    ck_assert_ptr_null(json_at(list, "items.1.token"));
    json_decref(list);
    const char *path = path_of("/api/v1/tokens/%s", text_at(t, "id"));
    struct http_answer a = lab_do(&lab, lab.admin, "DELETE", path, NULL, NULL);
    ck_assert_int_eq(a.status, 204);
    ck_assert_uint_eq(a.body_len, 0);
    http_answer_release(&a);
    lab_done(&lab, lab.admin, "DELETE", path, NULL); /* once more is no error */
    list = lab_ok(&lab, lab.admin, "GET", "/api/v1/tokens?role=viewer", NULL);
    /* Ids of one millisecond sort by chance. */
    size_t at = strcmp(text_at(list, "items.0.id"), text_at(t, "id")) == 0 ? 0 : 1;
    ck_assert_str_eq(text_at(list, path_of("items.%zu.id", at)), text_at(t, "id"));
    ck_assert_ptr_nonnull(text_at(list, path_of("items.%zu.revoked_at", at)));
    json_decref(list);
    json_decref(t);
    pages_agree(&lab, "/api/v1/tokens", 5);
    lab_close(&lab);
}
END_TEST

START_TEST(test_experiments)
{
    struct lab lab;
    lab_open(&lab);
    json_t *x = lab_ok(&lab, lab.runner, "POST", "/api/v1/experiments", "{\"name\":\"fashion\"}");
    ck_assert_str_eq(text_at(x, "id"), "1");
    lab_refused(&lab, lab.runner, "POST", "/api/v1/experiments", "{\"name\":\"fashion\"}", 409, "conflict",
                "name");
    json_t *patched =
        lab_ok(&lab, lab.runner, "PATCH", "/api/v1/experiments/1", "{\"description\":\"clothes \\u00e4\"}");
    ck_assert_str_eq(text_at(patched, "description"), "clothes \xc3\xa4");
    ck_assert_str_eq(text_at(patched, "name"), "fashion");
    json_decref(patched);
    lab_refused(&lab, lab.runner, "PATCH", "/api/v1/experiments/1", "{\"name\":\"Default\"}", 409, "conflict",
                "name");
    lab_refused(&lab, lab.runner, "PATCH", "/api/v1/experiments/7", "{}", 404, "not_found", NULL);
    json_t *zero = lab_ok(&lab, lab.viewer, "GET", "/api/v1/experiments/0", NULL);
    ck_assert_str_eq(text_at(zero, "name"), "Default");
    json_decref(zero);
    for (int i = 0; i < 12; i++)
        lab_done(&lab, lab.runner, "POST", "/api/v1/experiments", path_of("{\"name\":\"x%d\"}", i));
    pages_agree(&lab, "/api/v1/experiments", 14);
    json_decref(x);
    lab_close(&lab);
}
END_TEST

START_TEST(test_workers_and_devices)
{
    struct lab lab;
    lab_open(&lab);
    json_t *w =
        lab_ok(&lab, lab.enrollment, "POST", "/api/v1/workers",
               "{\"name\":\"lab\",\"instance_id\":\"i\",\"version\":\"1\",\"capabilities\":{\"threads\":2},"
               "\"devices\":[{\"dataset\":\"a\",\"num_examples\":1,\"labels\":{\"site\":\"north\"}},"
               "{\"dataset\":\"a\",\"num_examples\":2,\"labels\":{\"site\":\"south\"}},"
               "{\"dataset\":\"b\",\"num_examples\":3,\"ordinal\":9,\"input\":[2,3],\"classes\":4}]}");
    ck_assert_int_eq(int_at(w, "devices.0.ordinal"), 0);
    ck_assert_int_eq(int_at(w, "devices.1.ordinal"), 1);
    ck_assert_int_eq(int_at(w, "devices.2.ordinal"), 9);
    const char *worker = text_at(w, "worker_id"), *third = text_at(w, "devices.2.device_id");
    for (int i = 10; i < 15; i++)
        (void)lab_device(&lab, i);
    json_t *shown = lab_ok(&lab, lab.viewer, "GET", path_of("/api/v1/workers/%s", worker), NULL);
    ck_assert_str_eq(text_at(shown, "status"), "online");
    ck_assert_int_eq(int_at(shown, "num_devices"), 3);
    ck_assert_int_eq(int_at(shown, "capabilities.threads"), 2);
    ck_assert_str_eq(text_at(shown, "devices.2.device_id"), third);
    json_decref(shown);
    json_t *device = lab_ok(&lab, text_at(w, "token"), "GET", path_of("/api/v1/devices/%s", third), NULL);
    ck_assert_str_eq(text_at(device, "worker_id"), worker);
    ck_assert_str_eq(text_at(device, "status"), "online");
    ck_assert_int_eq(int_at(device, "input.1"), 3);
    ck_assert_int_eq(int_at(device, "classes"), 4);
    json_decref(device);
    device = lab_ok(&lab, text_at(w, "token"), "PATCH", path_of("/api/v1/devices/%s", third),
                    "{\"num_examples\":5,\"labels\":{\"site\":\"east\"},\"name\":\"third\"}");
    ck_assert_int_eq(int_at(device, "num_examples"), 5);
    ck_assert_str_eq(text_at(device, "labels.site"), "east");
    json_decref(device);
    pages_agree(&lab, "/api/v1/devices", 8);
    pages_agree(&lab, "/api/v1/devices?dataset=hand", 5);
    pages_agree(&lab, path_of("/api/v1/devices?worker=%s", worker), 3);
    pages_agree(&lab, "/api/v1/devices?label=site", 3);
    pages_agree(&lab, "/api/v1/devices?label=site=south", 1);
    pages_agree(&lab, "/api/v1/devices?status=online", 8);
    pages_agree(&lab, "/api/v1/devices?status=revoked", 0);
    pages_agree(&lab, "/api/v1/workers", 1);
    lab_done(&lab, lab.admin, "DELETE", path_of("/api/v1/workers/%s", worker), NULL);
    pages_agree(&lab, "/api/v1/devices?status=revoked", 3);
    json_decref(w);
    lab_close(&lab);
}
END_TEST

START_TEST(test_a_runs_spec_makes_another_like_it)
{
    struct lab lab;
    char id[ID_SIZE];
    lab_open(&lab);
    lab_run(&lab, 1, 5, ",\"autostart\":false,\"name\":\"r\"", id);
    json_t *run = lab_ok(&lab, lab.viewer, "GET", path_of("/api/v1/runs/%s", id), NULL);
    json_t *spec = lab_ok(&lab, lab.viewer, "GET", path_of("/api/v1/runs/%s/spec", id), NULL);
    ck_assert(json_equal(spec, json_at(run, "spec")));
    char *text = json_dumps(spec, JSON_COMPACT);
    json_t *twin = lab_ok(&lab, lab.runner, "POST", "/api/v1/runs", text);
    ck_assert(json_equal(spec, json_at(twin, "spec")));
    free(text);
    json_decref(twin);
    json_decref(spec);
    json_decref(run);
    lab_close(&lab);
}
END_TEST

START_TEST(test_runs_and_their_actions)
{
    struct lab lab;
    char run[ID_SIZE];
    lab_open(&lab);
    struct lab_device d = lab_device(&lab, 0);
    lab_run(&lab, 1, 5, ",\"autostart\":false,\"experiment\":\"fashion\",\"name\":\"r\"", run);
    const char *path = path_of("/api/v1/runs/%s", run);
    json_t *r = lab_ok(&lab, lab.viewer, "GET", path, NULL);
    ck_assert_str_eq(text_at(r, "status"), "pending");
    ck_assert_str_eq(text_at(r, "experiment_id"), "1");
    ck_assert_str_eq(text_at(r, "spec.strategy.name"), "fedprox");
    ck_assert_str_eq(text_at(r, "config.training.optimizer"), "sgd");
    ck_assert(json_is_true(json_at(r, "deterministic")) && json_is_null(json_at(r, "metrics")));
    json_decref(r);
    lab_refused(&lab, lab.runner, "POST", path_of("%s/pause", path), NULL, 409, "conflict", NULL);
    static const struct {
        const char *action, *status;
    } steps[] = {{"start", "waiting_for_devices"},
                 {"pause", "paused"},
                 {"pause", "paused"},
                 {"resume", "running"},
                 {"stop", "finished"},
                 {"stop", "finished"}};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        r = lab_ok(&lab, lab.runner, "POST", path_of("%s/%s", path, steps[i].action), i % 2 ? "{}" : NULL);
        ck_assert_str_eq(text_at(r, "status"), steps[i].status);
        json_decref(r);
        if (i == 0)
            json_decref(lab_claim(&lab, &d));
        if (i == 3) {
            r = lab_ok(&lab, lab.runner, "PATCH", path_of("%s/config", path),
                       "{\"training\":{\"learning_rate\":0.25}}");
            ck_assert_double_eq(json_number_value(json_at(r, "config.training.learning_rate")), 0.25);
            json_decref(r);
            lab_refused(&lab, lab.runner, "PATCH", path_of("%s/config", path), "{\"seed\":1}", 400,
                        "unknown_field", "seed");
        }
    }
    r = lab_ok(&lab, lab.viewer, "GET", path, NULL);
    ck_assert_str_eq(text_at(r, "outcome"), "stopped");
    ck_assert_uint_gt(strlen(text_at(r, "status_reason")), 3);
    ck_assert_ptr_nonnull(text_at(r, "finished_at"));
    json_decref(r);
    lab_refused(&lab, lab.runner, "POST", path_of("%s/start", path), NULL, 409, "conflict", NULL);
    for (int i = 0; i < 5; i++)
        lab_run(&lab, 1, 1, ",\"autostart\":false", run);
    pages_agree(&lab, "/api/v1/runs", 6);
    pages_agree(&lab, "/api/v1/runs?status=pending", 5);
    pages_agree(&lab, "/api/v1/runs?experiment=1", 1);
    pages_agree(&lab, "/api/v1/runs?experiment=fashion", 1);
    pages_agree(&lab, "/api/v1/runs?experiment=nosuch", 0);
    pages_agree(&lab, "/api/v1/runs?experiment=0&status=pending", 5);
    lab_close(&lab);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_open_routes,
                                  test_prometheus,
                                  test_tokens,
                                  test_the_own_token,
                                  test_experiments,
                                  test_workers_and_devices,
                                  test_runs_and_their_actions,
                                  test_a_runs_spec_makes_another_like_it};
    return unit_run("resources", tests, sizeof tests / sizeof tests[0]);
}
