/* Each resource as people and programs read it: tokens, experiments, workers, devices, runs, rounds, tasks,
 * models, metrics. */
#include <string.h>
#include "tests/api/lab.h"

/* The ids of all pages, joined; asserts that each page but the last is full. */
static size_t walk(const struct lab *lab, const char *list, size_t limit, char *out_ids, size_t size)
{
    size_t count = 0, len = 0;
    char cursor[80] = "";
    do {
        json_t *page = lab_ok(lab, lab->admin, "GET",
                              path_of("%s%climit=%zu%s%s", list, strchr(list, '?') ? '&' : '?', limit,
                                      cursor[0] ? "&cursor=" : "", cursor),
                              NULL);
        const json_t *items = json_at(page, "items");
        size_t i;
        json_t *item;
        json_array_foreach((json_t *)items, i, item)
        {
            const char *id = json_string_value(json_object_get(item, "id"));
            int n = snprintf(out_ids + len, size - len, "%s ", id ? id : "");
            ck_assert(n >= 0 && (size_t)n < size - len);
            len += (size_t)n;
        }
        count += json_array_size(items);
        const char *next = json_string_value(json_at(page, "next_cursor"));
        (void)snprintf(cursor, sizeof cursor, "%s", next ? next : "");
        ck_assert(!next || json_array_size(items) == limit);
        json_decref(page);
    } while (cursor[0]);
    return count;
}

static void pages_agree(const struct lab *lab, const char *list, size_t expected)
{
    char whole[8192] = "", parts[8192] = "";
    ck_assert_uint_eq(walk(lab, list, 1000, whole, sizeof whole), expected);
    for (size_t limit = 1; limit <= 3; limit++) {
        ck_assert_uint_eq(walk(lab, list, limit, parts, sizeof parts), expected);
        ck_assert_str_eq(whole, parts);
    }
}

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

/* ---- after two rounds ---- */

static void update(const struct lab *lab, const struct lab_device *d, float value, double loss)
{
    struct buf file;
    json_t *task = lab_claim(lab, d);
    file_of_model(
        &file, value,
        path_of("\"attempt\":\"1\",\"steps_done\":\"4\",\"eval_train_loss\":\"%g\",\"eval_train_examples\":"
                "\"4\",\"compute_ms\":\"2.5\"",
                loss));
    struct http_answer a =
        lab_put(lab, d->token, path_of("/api/v1/tasks/%s/update", text_at(task, "task_id")), NULL, &file);
    ck_assert_msg(a.status == 200, "%s", a.body);
    http_answer_release(&a);
    buf_release(&file);
    json_decref(task);
}

static void two_rounds(struct lab *lab, struct lab_device devices[3], char run[ID_SIZE])
{
    lab_open(lab);
    for (int i = 0; i < 3; i++)
        devices[i] = lab_device(lab, i);
    lab_run(lab, 3, 3, ",\"evaluation\":{\"on\":\"selected\"}", run);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++)
            update(lab, &devices[i], (float)i, (double)(i + 10 * round));
    }
    json_decref(lab_claim(lab, &devices[0])); /* round 2 is open */
}

START_TEST(test_rounds_tasks_and_models)
{
    struct lab lab;
    struct lab_device devices[3];
    char run[ID_SIZE];
    two_rounds(&lab, devices, run);
    json_t *round = lab_ok(&lab, lab.viewer, "GET", path_of("/api/v1/runs/%s/rounds/1", run), NULL);
    ck_assert_str_eq(text_at(round, "status"), "closed");
    ck_assert_str_eq(text_at(round, "outcome"), "completed");
    ck_assert_int_eq(int_at(round, "selected"), 3);
    ck_assert_int_eq(int_at(round, "received"), 3);
    ck_assert_int_eq(int_at(round, "steps_assigned"), 12);
    ck_assert_int_eq(int_at(round, "steps_done"), 12);
    ck_assert_int_eq(int_at(round, "model_version_in"), 1);
    ck_assert_int_eq(int_at(round, "model_version_out"), 2);
    ck_assert_double_eq(json_number_value(json_at(round, "metrics.train_loss")), 11);
    ck_assert_uint_eq(strlen(text_at(round, "aggregate_sha256")), 64);
    ck_assert_int_ge(int_at(round, "duration_ms"), 0);
    ck_assert_str_eq(text_at(round, "config.training.optimizer"), "sgd");
    json_decref(round);
    char *list = path_of("/api/v1/runs/%s/rounds", run);
    json_t *rounds = lab_ok(&lab, lab.viewer, "GET", path_of("%s?limit=2", list), NULL);
    ck_assert_uint_eq(json_array_size(json_at(rounds, "items")), 2);
    json_t *rest =
        lab_ok(&lab, lab.viewer, "GET", path_of("%s?cursor=%s", list, text_at(rounds, "next_cursor")), NULL);
    ck_assert_int_eq(int_at(rest, "items.0.round"), 2);
    ck_assert(json_is_null(json_at(rest, "items.0.model_version_out")));
    ck_assert(json_is_null(json_at(rest, "next_cursor")));
    json_decref(rounds);
    json_decref(rest);
    pages_agree(&lab, path_of("/api/v1/runs/%s/rounds/0/tasks", run), 3);
    pages_agree(&lab, path_of("/api/v1/runs/%s/rounds/0/tasks?status=completed&type=train", run), 3);
    pages_agree(&lab, path_of("/api/v1/runs/%s/rounds/2/tasks?status=claimed", run), 1);
    json_t *tasks = lab_ok(&lab, lab.viewer, "GET", path_of("/api/v1/runs/%s/rounds/1/tasks", run), NULL);
    ck_assert_str_eq(text_at(tasks, "items.1.device_id"), devices[1].id);
    ck_assert_double_eq(json_number_value(json_at(tasks, "items.1.report.compute_ms")), 2.5);
    static const char *const times[] = {"created_at", "claimed_at", "downloaded_at", "trained_at",
                                        "uploaded_at"};
    for (size_t i = 0; i < 5; i++)
        ck_assert_ptr_nonnull(text_at(tasks, path_of("items.1.%s", times[i])));
    json_decref(tasks);
    json_t *models = lab_ok(&lab, lab.viewer, "GET", path_of("/api/v1/runs/%s/models", run), NULL);
    ck_assert_int_eq(int_at(models, "items.0.version"), 2);
    ck_assert_int_eq(int_at(models, "items.2.version"), 0);
    json_decref(models);
    json_t *latest = lab_ok(&lab, lab.viewer, "GET", path_of("/api/v1/runs/%s/models/latest", run), NULL);
    ck_assert_int_eq(int_at(latest, "version"), 2);
    ck_assert(json_is_true(json_at(latest, "available")));
    json_decref(latest);
    json_t *r = lab_ok(&lab, lab.viewer, "GET", path_of("/api/v1/runs/%s", run), NULL);
    ck_assert_int_eq(int_at(r, "round"), 2);
    ck_assert_int_eq(int_at(r, "metrics.round"), 1);
    ck_assert_double_eq(json_number_value(json_at(r, "metrics.values.train_loss")), 11);
    json_decref(r);
    pages_agree(&lab, path_of("/api/v1/devices?run=%s", run), 3);
    lab_close(&lab);
}
END_TEST

/* A device's tasks of all runs or of one, newest first; and its open ones beside itself. */
START_TEST(test_history_of_a_device)
{
    struct lab lab;
    struct lab_device devices[3];
    char run[ID_SIZE];
    two_rounds(&lab, devices, run);
    const char *list = path_of("/api/v1/devices/%s/tasks", devices[1].id);
    pages_agree(&lab, list, 3);
    pages_agree(&lab, path_of("%s?run=%s&type=train", list, run), 3);
    pages_agree(&lab, path_of("%s?type=evaluate", list), 0);
    pages_agree(&lab, path_of("%s?run=%s", list, devices[0].id), 0);
    json_t *tasks = lab_ok(&lab, lab.viewer, "GET", list, NULL);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(int_at(tasks, path_of("items.%d.round", i)), 2 - i);
        ck_assert_str_eq(text_at(tasks, path_of("items.%d.device_id", i)), devices[1].id);
        ck_assert_str_eq(text_at(tasks, path_of("items.%d.run_id", i)), run);
    }
    ck_assert_str_eq(text_at(tasks, "items.2.status"), "completed");
    ck_assert_int_eq(int_at(tasks, "items.2.steps_done"), 4);
    json_t *device = lab_ok(&lab, lab.viewer, "GET", path_of("/api/v1/devices/%s", devices[1].id), NULL);
    ck_assert_uint_eq(json_array_size(json_at(device, "open_tasks")), 1);
    ck_assert_str_eq(text_at(device, "open_tasks.0.id"), text_at(tasks, "items.0.id"));
    ck_assert_str_eq(text_at(device, "open_tasks.0.id"), text_at(device, "task_ids.0"));
    ck_assert_str_eq(text_at(device, "open_tasks.0.run_id"), run);
    ck_assert_int_eq(int_at(device, "open_tasks.0.round"), 2);
    ck_assert_str_eq(text_at(device, "open_tasks.0.type"), "train");
    ck_assert_str_eq(text_at(device, "open_tasks.0.status"), text_at(tasks, "items.0.status"));
    json_decref(device);
    json_decref(tasks);
    lab_done(&lab, devices[1].token, "GET", list, NULL);
    lab_refused(&lab, devices[0].token, "GET", list, NULL, 403, "forbidden", NULL);
    lab_refused(&lab, lab.viewer, "GET", path_of("%s?type=x", list), NULL, 400, "invalid_field", "type");
    lab_refused(&lab, lab.viewer, "GET", path_of("%s?status=ready", list), NULL, 400, "unknown_field",
                "status");
    lab_refused(&lab, lab.viewer, "GET", path_of("%s?cursor=1", list), NULL, 400, "invalid_cursor", "cursor");
    lab_refused(&lab, lab.viewer, "GET", path_of("/api/v1/devices/%s/tasks", run), NULL, 404, "not_found",
                NULL);
    lab_close(&lab);
}
END_TEST

START_TEST(test_weights_that_retention_removed)
{
    struct lab lab;
    struct lab_device d;
    char run[ID_SIZE];
    lab_open(&lab);
    d = lab_device(&lab, 0);
    lab_run(&lab, 1, 4, ",\"retention\":{\"keep_models\":\"last:1\"},\"evaluation\":{\"on\":\"none\"}", run);
    for (int i = 0; i < 3; i++)
        update(&lab, &d, 1, 1);
    json_decref(lab_claim(&lab, &d));
    const char *path = path_of("/api/v1/runs/%s/models/0", run);
    json_t *model = NULL;
    do { /* removed in the background, soon after the round */
        json_decref(model);
        model = lab_ok(&lab, lab.viewer, "GET", path, NULL);
    } while (json_is_true(json_at(model, "available")));
    json_decref(model);
    lab_refused(&lab, lab.viewer, "GET", path_of("%s/weights", path), NULL, 404, "not_found", NULL);
    lab_close(&lab);
}
END_TEST

/* Pages of any size hold the points of all that have this name (NULL: any) and ordinal (-1: of all devices,
 * -2: any), in the order of the whole list. */
static void metric_pages_agree(const struct lab *lab, const char *run, const char *query, const char *name,
                               int64_t ordinal)
{
    char list[128]; /* path_of() has only so many buffers */
    (void)snprintf(list, sizeof list, "/api/v1/runs/%s/metrics", run);
    json_t *whole = lab_ok(lab, lab->viewer, "GET", list, NULL), *wanted = json_array(), *point;
    size_t i;
    json_array_foreach(json_at(whole, "items"), i, point)
    {
        const json_t *its = json_at(point, "ordinal");
        bool is_one = ordinal == -2 || (json_is_null(its) ? -1 : json_integer_value(its)) == ordinal;
        if (is_one && (!name || strcmp(text_at(point, "name"), name) == 0))
            ck_assert_int_eq(json_array_append(wanted, point), 0);
    }
    for (size_t limit = 1; limit < 6; limit++) {
        char cursor[64] = "";
        size_t at = 0;
        do {
            json_t *page = lab_ok(
                lab, lab->viewer, "GET",
                path_of("%s?limit=%zu&%s%s%s", list, limit, query, cursor[0] ? "&cursor=" : "", cursor),
                NULL);
            json_array_foreach(json_at(page, "items"), i, point)
                ck_assert(json_equal(point, json_array_get(wanted, at++)));
            const char *next = json_string_value(json_at(page, "next_cursor"));
            (void)snprintf(cursor, sizeof cursor, "%s", next ? next : "");
            json_decref(page);
        } while (cursor[0]);
        ck_assert_uint_eq(at, json_array_size(wanted));
    }
    json_decref(wanted);
    json_decref(whole);
}

START_TEST(test_metrics)
{
    struct lab lab;
    struct lab_device devices[3];
    char run[ID_SIZE];
    two_rounds(&lab, devices, run);
    char list[128];
    (void)snprintf(list, sizeof list, "/api/v1/runs/%s/metrics", run);
    json_t *m = lab_ok(&lab, lab.viewer, "GET", path_of("%s?name=train_loss", list), NULL);
    ck_assert_uint_eq(json_array_size(json_at(m, "items")), 8); /* 3 devices and their mean, 2 rounds */
    ck_assert(json_is_null(json_at(m, "items.0.ordinal")) && json_is_null(json_at(m, "items.0.device_id")));
    ck_assert_double_eq(json_number_value(json_at(m, "items.0.value")), 1);
    ck_assert_str_eq(text_at(m, "items.3.device_id"), devices[2].id);
    json_decref(m);
    const char *const filters[] = {devices[2].id, "2"};
    for (size_t i = 0; i < 2; i++) {
        m = lab_ok(&lab, lab.viewer, "GET",
                   path_of("%s?name=train_loss&device=%s&since_round=1", list, filters[i]), NULL);
        ck_assert_uint_eq(json_array_size(json_at(m, "items")), 1);
        ck_assert_double_eq(json_number_value(json_at(m, "items.0.value")), 12);
        json_decref(m);
    }
    m = lab_ok(&lab, lab.viewer, "GET", path_of("%s?device=aggregate", list), NULL);
    ck_assert_uint_ge(json_array_size(json_at(m, "items")), 2);
    json_decref(m);
    metric_pages_agree(&lab, run, "since_round=0", NULL, -2);
    metric_pages_agree(&lab, run, "name=train_loss", "train_loss", -2);
    metric_pages_agree(&lab, run, "device=aggregate", NULL, -1);
    metric_pages_agree(&lab, run, "name=train_loss&device=aggregate", "train_loss", -1);
    metric_pages_agree(&lab, run, "name=train_loss&device=1", "train_loss", 1);
    metric_pages_agree(&lab, run, "name=nothing&device=1", "nothing", 1);
    struct http_answer a =
        lab_do(&lab, lab.viewer, "GET", path_of("%s?name=train_loss", list), "Accept: text/csv\r\n", NULL);
    ck_assert_int_eq(a.status, 200);
    ck_assert_ptr_nonnull(strstr(http_answer_field(&a, "Content-Type"), "text/csv"));
    ck_assert_ptr_nonnull(
        strstr(a.body, "round,name,ordinal,device_id,value,weight,at\r\n0,train_loss,,,1,12,"));
    ck_assert_ptr_nonnull(strstr(a.body, path_of("\r\n1,train_loss,2,%s,12,4,", devices[2].id)));
    http_answer_release(&a);
    m = lab_ok(&lab, lab.viewer, "GET", path_of("%s?name=train_loss&max_points=2", list), NULL);
    ck_assert_uint_eq(json_array_size(json_at(m, "items")), 8); /* no curve has more than two */
    ck_assert_int_eq(int_at(m, "items.1.round"), 1);            /* by curve */
    json_decref(m);
    /* Steps before the round: each of the three devices does 4 in a round. */
    m = lab_ok(&lab, lab.viewer, "GET",
               path_of("%s?name=train_loss&device=aggregate&total_steps=true&max_points=2", list), NULL);
    ck_assert_int_eq(int_at(m, "items.0.total_steps"), 0);
    ck_assert_int_eq(int_at(m, "items.1.total_steps"), 12);
    json_decref(m);
    a = lab_do(&lab, lab.viewer, "GET", path_of("%s?name=train_loss&total_steps=true", list),
               "Accept: text/csv\r\n", NULL);
    ck_assert_ptr_nonnull(strstr(a.body, "value,weight,at,total_steps\r\n0,train_loss,,,1,12,"));
    ck_assert_ptr_nonnull(strstr(a.body, path_of("Z,%d\r\n", 12)));
    http_answer_release(&a);
    lab_refused(&lab, lab.viewer, "GET", path_of("%s?total_steps=1", list), NULL, 400, "invalid_field",
                "total_steps");
    lab_refused(&lab, lab.viewer, "GET", path_of("%s?max_points=2&cursor=0.1", list), NULL, 400,
                "invalid_field", "cursor");
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
                                  test_rounds_tasks_and_models,
                                  test_history_of_a_device,
                                  test_weights_that_retention_removed,
                                  test_metrics};
    return unit_run("resources", tests, sizeof tests / sizeof tests[0]);
}
