/* Bad input is refused by the field's name, with a remedy, and changes nothing. */
#include <string.h>
#include "server/api/routes.h"
#include "tests/api/lab.h"

static int64_t num_events(const struct lab *lab)
{
    json_t *events = lab_ok(lab, lab->viewer, "GET", "/api/v1/events?since=0&limit=1000", NULL);
    int64_t n = (int64_t)json_array_size(json_at(events, "items"));
    json_decref(events);
    return n;
}

/* ---- every JSON route ---- */

static const struct {
    const char *method, *path; /* %s: the run, device, worker or task */
    const char *kind;
} json_routes[] = {
    {"POST", "/api/v1/tokens", NULL},
    {"POST", "/api/v1/login", NULL},
    {"POST", "/api/v1/workers", NULL},
    {"POST", "/api/v1/workers/%s/heartbeat", "worker"},
    {"POST", "/api/v1/workers/%s/tasks:claim", "worker"},
    {"POST", "/api/v1/devices", NULL},
    {"PATCH", "/api/v1/devices/%s", "device"},
    {"POST", "/api/v1/devices/%s/heartbeat", "device"},
    {"POST", "/api/v1/devices/%s/tasks:claim", "device"},
    {"POST", "/api/v1/tasks/%s/progress", "task"},
    {"POST", "/api/v1/tasks/%s/fail", "task"},
    {"POST", "/api/v1/tasks/%s/release", "task"},
    {"POST", "/api/v1/experiments", NULL},
    {"PATCH", "/api/v1/experiments/0", NULL},
    {"POST", "/api/v1/runs", NULL},
    {"POST", "/api/v1/runs/%s/start", "run"},
    {"POST", "/api/v1/runs/%s/pause", "run"},
    {"POST", "/api/v1/runs/%s/resume", "run"},
    {"POST", "/api/v1/runs/%s/stop", "run"},
    {"PATCH", "/api/v1/runs/%s/config", "run"},
};
#define NUM_JSON_ROUTES (sizeof json_routes / sizeof json_routes[0])

/* Bodies that are complete but for one field that nobody knows. */
static const char *with_unknown(const char *path)
{
    if (strstr(path, "/tokens"))
        return "{\"name\":\"t\",\"role\":\"viewer\",\"colour\":1}";
    if (strstr(path, "/login"))
        return "{\"code\":\"x\",\"colour\":1}";
    if (strcmp(path, "/api/v1/workers") == 0)
        return "{\"name\":\"w\",\"instance_id\":\"i\",\"devices\":[{\"dataset\":\"x\",\"num_examples\":1}],"
               "\"colour\":1}";
    if (strcmp(path, "/api/v1/devices") == 0)
        return "{\"dataset\":\"x\",\"num_examples\":1,\"colour\":1}";
    if (strstr(path, "/fail"))
        return "{\"code\":\"x\",\"colour\":1}";
    if (strcmp(path, "/api/v1/experiments") == 0)
        return "{\"name\":\"x\",\"colour\":1}";
    if (strcmp(path, "/api/v1/runs") == 0)
        return "{\"num_rounds\":1," MODEL_PATCH ",\"training\":{\"learning_rate\":1},\"colour\":1}";
    return "{\"colour\":1}";
}

struct ids {
    char run[ID_SIZE], task[ID_SIZE], worker[ID_SIZE], device[ID_SIZE];
};

static void make_ids(const struct lab *lab, struct ids *ids)
{
    struct lab_device d = lab_device(lab, 0);
    lab_run(lab, 1, 1, "", ids->run);
    json_t *task = lab_claim(lab, &d);
    json_t *worker = lab_ok(lab, lab->enrollment, "POST", "/api/v1/workers",
                            "{\"name\":\"w\",\"instance_id\":\"i\",\"devices\":[{\"dataset\":\"other\","
                            "\"num_examples\":1}]}");
    (void)snprintf(ids->device, ID_SIZE, "%s", d.id);
    (void)snprintf(ids->task, ID_SIZE, "%s", text_at(task, "task_id"));
    (void)snprintf(ids->worker, ID_SIZE, "%s", text_at(worker, "worker_id"));
    json_decref(task);
    json_decref(worker);
}

static const char *json_path(size_t i, const struct ids *ids)
{
    const char *kind = json_routes[i].kind, *hole = strstr(json_routes[i].path, "%s");
    const char *id = !kind                         ? ""
                     : strcmp(kind, "run") == 0    ? ids->run
                     : strcmp(kind, "task") == 0   ? ids->task
                     : strcmp(kind, "worker") == 0 ? ids->worker
                                                   : ids->device;
    if (!hole)
        return json_routes[i].path;
    return path_of("%.*s%s%s", (int)(hole - json_routes[i].path), json_routes[i].path, id, hole + 2);
}

START_TEST(test_the_list_is_complete)
{
    size_t rows = 0;
    for (size_t i = 0; i < api_num_routes; i++)
        rows += api_routes[i].body == BODY_JSON;
    ck_assert_uint_eq(rows, NUM_JSON_ROUTES);
}
END_TEST

START_TEST(test_every_json_route_names_an_unknown_field)
{
    struct lab lab;
    struct ids ids;
    lab_open(&lab);
    make_ids(&lab, &ids);
    int64_t before = num_events(&lab);
    for (size_t i = 0; i < NUM_JSON_ROUTES; i++) {
        const char *path = json_path(i, &ids);
        lab_refused(&lab, lab.admin, json_routes[i].method, path, with_unknown(json_routes[i].path), 400,
                    "unknown_field", "colour");
    }
    ck_assert_int_eq(num_events(&lab), before);
    lab_close(&lab);
}
END_TEST

START_TEST(test_every_json_route_refuses_what_is_no_object)
{
    struct lab lab;
    struct ids ids;
    lab_open(&lab);
    make_ids(&lab, &ids);
    int64_t before = num_events(&lab);
    for (size_t i = 0; i < NUM_JSON_ROUTES; i++) {
        const char *path = json_path(i, &ids), *method = json_routes[i].method;
        lab_refused(&lab, lab.admin, method, path, "[1]", 400, "invalid_field", NULL);
        lab_refused(&lab, lab.admin, method, path, "\"x\"", 400, "invalid_field", NULL);
        lab_refused(&lab, lab.admin, method, path, "{\"a\":", 400, "malformed_json", NULL);
        lab_refused(&lab, lab.admin, method, path, "{\"a\":1,\"a\":2}", 400, "malformed_json", NULL);
        lab_refused(&lab, lab.admin, method, path, "{} x", 400, "malformed_json", NULL);
        lab_refused(&lab, lab.admin, method, path, "{\"a\":NaN}", 400, "malformed_json", NULL);
        lab_refused(&lab, lab.admin, method, path, "{\"a\":\"\\ud800\"}", 400, "malformed_json", NULL);
        struct http_answer a = lab_send(&lab, lab.admin, method, path, NULL, "text/plain", "{}", 2);
        answer_is_problem(&a, 415, "unsupported_media_type", "Content-Type");
    }
    ck_assert_int_eq(num_events(&lab), before);
    lab_close(&lab);
}
END_TEST

/* ---- ids and paths ---- */

START_TEST(test_ids_that_are_none)
{
    struct lab lab;
    lab_open(&lab);
    static const char *const ids[] = {
        "nosuch", "00000000000000000000000000000000", "x%00y", "a%2Fb",       "..%2f..",
        "%41",    "0123456789ABCDEF0123456789ABCDEF", "-1",    "%F0%9F%98%80"};
    static const char *const kinds[] = {"runs", "devices", "workers", "tasks", "experiments"};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
            struct http_answer a =
                lab_do(&lab, lab.admin, "GET", path_of("/api/v1/%s/%s", kinds[k], ids[i]), NULL, NULL);
            bool is_bad_text = strcmp(ids[i], "x%00y") == 0;
            answer_is_problem(&a, is_bad_text ? 400 : 404, is_bad_text ? "invalid_field" : "not_found", NULL);
        }
    }
    lab_refused(&lab, lab.admin, "GET", "/api/v1/nosuch", NULL, 404, "not_found", NULL);
    lab_refused(&lab, lab.admin, "GET", "/api/v1/runs%2Fx", NULL, 404, "not_found", NULL);
    lab_refused(&lab, lab.admin, "DELETE", "/api/v1/runs", NULL, 405, "method_not_allowed", NULL);
    lab_refused(&lab, lab.admin, "DELETE", "/api/v1/tokens/x", NULL, 404, "not_found", NULL);
    lab_refused(&lab, lab.admin, "DELETE", "/api/v1/tokens/00000000000000000000000000000000", NULL, 404,
                "not_found", NULL);
    lab_refused(&lab, lab.admin, "DELETE", "/api/v1/devices/00000000000000000000000000000000", NULL, 404,
                "not_found", NULL);
    lab_close(&lab);
}
END_TEST

START_TEST(test_round_and_version_numbers)
{
    struct lab lab;
    struct ids ids;
    lab_open(&lab);
    make_ids(&lab, &ids);
    static const char *const numbers[] = {"-1", "x", "7", "99999999999999999999", "0x0", "%00", ""};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        static const char *const paths[] = {"rounds/%s", "rounds/%s/tasks", "models/%s", "models/%s/weights"};
        for (size_t k = 0; k < sizeof paths / sizeof paths[0]; k++) {
            const char *hole = strstr(paths[k], "%s");
            struct http_answer a = lab_do(&lab, lab.admin, "GET",
                                          path_of("/api/v1/runs/%s/%.*s%s%s", ids.run, (int)(hole - paths[k]),
                                                  paths[k], numbers[i], hole + 2),
                                          NULL, NULL);
            bool is_bad_text = strcmp(numbers[i], "%00") == 0;
            answer_is_problem(&a, is_bad_text ? 400 : 404, is_bad_text ? "invalid_field" : "not_found", NULL);
        }
    }
    lab_close(&lab);
}
END_TEST

/* ---- query parameters ---- */

START_TEST(test_lists_check_limit_cursor_and_filters)
{
    struct lab lab;
    struct ids ids;
    lab_open(&lab);
    make_ids(&lab, &ids);
    static const char *const lists[] = {
        "/tokens",         "/workers",       "/devices",       "/experiments",
        "/runs",           "/events",        "/runs/@/rounds", "/runs/@/rounds/0/tasks",
        "/runs/@/metrics", "/runs/@/models", "/runs/@/events"};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        char list[256];
        const char *hole = strchr(lists[i], '@');
        (void)snprintf(list, sizeof list, "/api/v1%.*s%s%s", hole ? (int)(hole - lists[i]) : 100, lists[i],
                       hole ? ids.run : "", hole ? hole + 1 : "");
        static const char *const limits[] = {"0", "1001", "-1", "x", "", "1.5", "99999999999999999999"};
        for (size_t k = 0; k < sizeof limits / sizeof limits[0]; k++)
            lab_refused(&lab, lab.admin, "GET", path_of("%s?limit=%s", list, limits[k]), NULL, 400,
                        "invalid_field", "limit");
        static const char *const cursors[] = {"x",  "",   "-1",  "%27", "99999999999999999999",
                                              "1.", ".1", "1.-1"};
        for (size_t k = 0; k < sizeof cursors / sizeof cursors[0]; k++)
            lab_refused(&lab, lab.admin, "GET", path_of("%s?cursor=%s", list, cursors[k]), NULL, 400,
                        "invalid_cursor", "cursor");
        lab_refused(&lab, lab.admin, "GET", path_of("%s?limti=5", list), NULL, 400, "unknown_field", "limti");
        lab_refused(&lab, lab.admin, "GET", path_of("%s?limit=5&limit=6", list), NULL, 400, "invalid_field",
                    "limit");
    }
    static const char *const filters[][2] = {
        {"/api/v1/runs", "status"}, {"/api/v1/devices", "status"}, {"/api/v1/tokens", "role"}};
    for (size_t i = 0; i < 3; i++)
        lab_refused(&lab, lab.admin, "GET", path_of("%s?%s=nosuch", filters[i][0], filters[i][1]), NULL, 400,
                    "invalid_field", filters[i][1]);
    const char *tasks = path_of("/api/v1/runs/%s/rounds/0/tasks", ids.run);
    lab_refused(&lab, lab.admin, "GET", path_of("%s?status=x", tasks), NULL, 400, "invalid_field", "status");
    lab_refused(&lab, lab.admin, "GET", path_of("%s?type=x", tasks), NULL, 400, "invalid_field", "type");
    const char *metrics = path_of("/api/v1/runs/%s/metrics", ids.run);
    lab_refused(&lab, lab.admin, "GET", path_of("%s?device=x", metrics), NULL, 400, "invalid_field",
                "device");
    lab_refused(&lab, lab.admin, "GET", path_of("%s?since_round=-1", metrics), NULL, 400, "invalid_field",
                "since_round");
    lab_refused(&lab, lab.admin, "GET", path_of("%s?max_points=1", metrics), NULL, 400, "invalid_field",
                "max_points");
    lab_refused(&lab, lab.admin, "GET", "/api/v1/events?since=x", NULL, 400, "invalid_field", "since");
    lab_close(&lab);
}
END_TEST

START_TEST(test_wait_is_bounded)
{
    struct lab lab;
    lab_open(&lab);
    struct lab_device d = lab_device(&lab, 0);
    static const char *const waits[] = {"61", "-1", "x", "", "nan", "1e400"};
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++)
        lab_refused(&lab, d.token, "POST", path_of("/api/v1/devices/%s/tasks:claim?wait=%s", d.id, waits[i]),
                    NULL, 400, "invalid_field", "wait");
    lab_done(&lab, d.token, "POST", path_of("/api/v1/devices/%s/tasks:claim?wait=0.01", d.id), "{}");
    lab_close(&lab);
}
END_TEST

/* ---- run specs ---- */

#define SPEC(more) "{\"num_rounds\":3," MODEL_PATCH ",\"training\":{\"learning_rate\":0.1}" more "}"

START_TEST(test_run_specs)
{
    static const struct {
        const char *body, *code, *field;
    } bad[] = {
        {"{}", "missing_field", "num_rounds"},
        {"{\"num_rounds\":3,\"training\":{\"learning_rate\":0.1}}", "missing_field", "model"},
        {"{\"num_rounds\":3," MODEL_PATCH "}", "missing_field", "training.learning_rate"},
        {"{\"num_rounds\":-1," MODEL_PATCH ",\"training\":{\"learning_rate\":0.1}}", "invalid_field",
         "num_rounds"},
        {"{\"num_rounds\":0," MODEL_PATCH ",\"training\":{\"learning_rate\":0.1}}", "invalid_field",
         "num_rounds"},
        {"{\"num_rounds\":\"3\"," MODEL_PATCH ",\"training\":{\"learning_rate\":0.1}}", "invalid_field",
         "num_rounds"},
        {"{\"num_rounds\":1.5," MODEL_PATCH ",\"training\":{\"learning_rate\":0.1}}", "invalid_field",
         "num_rounds"},
        {"{\"num_rounds\":3," MODEL_PATCH ",\"training\":{\"learning_rate\":\"NaN\"}}", "invalid_field",
         "training.learning_rate"},
        {"{\"num_rounds\":3," MODEL_PATCH ",\"training\":{\"learning_rate\":-0.1}}", "invalid_field",
         "training.learning_rate"},
        {"{\"num_rounds\":3," MODEL_PATCH ",\"training\":{\"learning_rate\":0.1,\"batch_sise\":1}}",
         "unknown_field", "training.batch_sise"},
        {SPEC(",\"seed\":-1"), "invalid_field", "seed"},
        {SPEC(",\"strategy\":{\"name\":\"fedprxo\"}"), "invalid_field", "strategy.name"},
        {SPEC(",\"strategy\":{\"params\":{\"proximal_um\":1}}"), "unknown_field",
         "strategy.params.proximal_um"},
        {SPEC(",\"strategy\":{\"params\":{\"proximal_mu\":-1}}"), "invalid_field",
         "strategy.params.proximal_mu"},
        {SPEC(",\"selection\":{\"devices_per_round\":5,\"population\":3}"), "invalid_field",
         "selection.devices_per_round"},
        {SPEC(",\"systems\":{\"straggler_fraction\":1.5}"), "invalid_field", "systems.straggler_fraction"},
        {SPEC(",\"evaluation\":{\"on\":\"some\"}"), "invalid_field", "evaluation.on"},
        {SPEC(",\"retention\":{\"keep_models\":\"last:0\"}"), "invalid_field", "retention.keep_models"},
        {SPEC(",\"reporting\":{\"on_too_few\":\"panic\"}"), "invalid_field", "reporting.on_too_few"},
        {"{\"num_rounds\":3,\"model\":{\"input\":[2],\"layers\":[{\"type\":\"dense\"}]},\"training\":{"
         "\"learning_rate\":0.1}}",
         "missing_field", "model.layers[0].units"},
        {"{\"num_rounds\":3,\"model\":{\"input\":[2],\"layers\":[{\"type\":\"desne\",\"units\":2}]},"
         "\"training\":{"
         "\"learning_rate\":0.1}}",
         "invalid_field", "model.layers[0].type"},
        {"{\"num_rounds\":3,\"model\":{\"input\":[2],\"layers\":[{\"type\":\"dense\",\"units\":2},{\"type\":"
         "\"relu\"}]},"
         "\"training\":{\"learning_rate\":0.1}}",
         "invalid_field", "model.layers"},
        {"{\"num_rounds\":3,\"model\":{\"tensors\":[{\"name\":\"w\",\"shape\":[-1]}]},\"training\":{"
         "\"learning_rate\":0.1}}",
         "invalid_field", NULL},
    };
    struct lab lab;
    lab_open(&lab);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        lab_refused(&lab, lab.runner, "POST", "/api/v1/runs", bad[i].body, 400, bad[i].code, bad[i].field);
    json_t *runs = lab_ok(&lab, lab.viewer, "GET", "/api/v1/runs", NULL);
    ck_assert_uint_eq(json_array_size(json_at(runs, "items")), 0);
    json_decref(runs);
    ck_assert_int_eq(num_events(&lab), 0);
    lab_close(&lab);
}
END_TEST

START_TEST(test_registrations)
{
    static const struct {
        const char *path, *body, *field;
    } bad[] = {
        {"devices", "{\"num_examples\":1}", "dataset"},
        {"devices", "{\"dataset\":\"x\"}", "num_examples"},
        {"devices", "{\"dataset\":\"x\",\"num_examples\":-1}", "num_examples"},
        {"devices", "{\"dataset\":\"x\",\"num_examples\":1,\"ordinal\":-1}", "ordinal"},
        {"devices", "{\"dataset\":\"x\",\"num_examples\":1,\"labels\":{\"a\":1}}", "labels"},
        {"devices", "{\"dataset\":\"x\",\"num_examples\":1,\"token_sha256\":\"abc\"}", "token_sha256"},
        {"devices", "{\"dataset\":\"x\",\"num_examples\":1,\"token_sha256\":5}", "token_sha256"},
        {"workers", "{\"name\":\"w\",\"devices\":[]}", "instance_id"},
        {"workers", "{\"name\":\"w\",\"instance_id\":\"i\",\"devices\":[]}", "devices"},
        {"workers", "{\"name\":\"w\",\"instance_id\":\"i\",\"devices\":[{\"dataset\":\"x\"}]}",
         "devices[0].num_examples"},
    };
    struct lab lab;
    lab_open(&lab);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct http_answer a =
            lab_do(&lab, lab.enrollment, "POST", path_of("/api/v1/%s", bad[i].path), NULL, bad[i].body);
        json_t *problem = json_loads(a.body, 0, NULL);
        ck_assert_msg(a.status == 400 && strcmp(text_at(problem, "field"), bad[i].field) == 0, "%s: %d %s",
                      bad[i].body, a.status, a.body);
        json_decref(problem);
        http_answer_release(&a);
    }
    json_t *devices = lab_ok(&lab, lab.viewer, "GET", "/api/v1/devices", NULL);
    ck_assert_uint_eq(json_array_size(json_at(devices, "items")), 0);
    json_decref(devices);
    (void)lab_device(&lab, 3);
    lab_refused(&lab, lab.enrollment, "POST", "/api/v1/devices",
                "{\"ordinal\":3,\"dataset\":\"hand\",\"num_examples\":1}", 409, "conflict", "ordinal");
    lab_close(&lab);
}
END_TEST

START_TEST(test_tokens)
{
    static const struct {
        const char *body, *code, *field;
    } bad[] = {
        {"{\"role\":\"viewer\"}", "missing_field", "name"},
        {"{\"name\":\"t\"}", "missing_field", "role"},
        {"{\"name\":\"t\",\"role\":\"worker\"}", "invalid_field", "role"},
        {"{\"name\":\"t\",\"role\":\"viewer\",\"expires_in_s\":0}", "invalid_field", "expires_in_s"},
        {"{\"name\":\"t\",\"role\":\"viewer\",\"expires_at\":\"tomorrow\"}", "invalid_field", "expires_at"},
        {"{\"name\":\"t\",\"role\":\"viewer\",\"expires_at\":\"2001-01-01T00:00:00Z\"}", "invalid_field",
         "expires_at"},
        {"{\"name\":\"t\",\"role\":\"viewer\",\"expires_at\":\"2099-01-01T00:00:00Z\",\"expires_in_s\":5}",
         "invalid_field", "expires_at"},
        {"{\"name\":\"\",\"role\":\"viewer\"}", "invalid_field", "name"},
        {"{\"name\":\"a\\u0000b\",\"role\":\"viewer\"}", "malformed_json", NULL},
    };
    struct lab lab;
    lab_open(&lab);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        lab_refused(&lab, lab.admin, "POST", "/api/v1/tokens", bad[i].body, 400, bad[i].code, bad[i].field);
    json_t *tokens = lab_ok(&lab, lab.admin, "GET", "/api/v1/tokens", NULL);
    ck_assert_uint_eq(json_array_size(json_at(tokens, "items")), 4);
    json_decref(tokens);
    lab_close(&lab);
}
END_TEST

START_TEST(test_heartbeats)
{
    static const struct {
        const char *body, *code, *field;
    } bad[] = {
        {"{\"tasks\":{}}", "invalid_field", "tasks"},
        {"{\"tasks\":[{\"steps_done\":1}]}", "missing_field", "tasks[0].task_id"},
        {"{\"tasks\":[{\"task_id\":\"00000000000000000000000000000000\",\"steps_done\":-1}]}",
         "invalid_field", "tasks[0].steps_done"},
        {"{\"tasks\":[{\"task_id\":\"00000000000000000000000000000000\",\"train_loss\":\"x\"}]}",
         "invalid_field", "tasks[0].train_loss"},
        {"{\"resources\":{}}", "unknown_field", "resources"},
    };
    struct lab lab;
    lab_open(&lab);
    struct lab_device d = lab_device(&lab, 0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        lab_refused(&lab, d.token, "POST", path_of("/api/v1/devices/%s/heartbeat", d.id), bad[i].body, 400,
                    bad[i].code, bad[i].field);
    lab_refused(&lab, d.token, "POST", path_of("/api/v1/devices/%s/tasks:claim", d.id),
                "{\"holding\":[\"x\"]}", 400, "invalid_field", "holding[0]");
    lab_close(&lab);
}
END_TEST

/* More than a connection's memory takes. */
START_TEST(test_large_headers_and_bodies)
{
    struct lab lab;
    struct http_client c;
    struct http_answer a;
    lab_open(&lab);
    char *large = malloc(2 * MIB + 1);
    ck_assert_ptr_nonnull(large);
    memset(large, 'x', 2 * MIB);
    large[2 * MIB] = '\0';
    ck_assert(http_client_open(&c, lab.port));
    ck_assert(http_client_print(&c, "GET /api/v1/runs HTTP/1.1\r\nHost: x\r\nX-Large: "));
    (void)http_client_send(&c, large, 60 * KIB);
    (void)http_client_print(&c, "\r\n\r\n");
    if (http_client_read(&c, false, &a)) {
        ck_assert_int_eq(a.status, 431);
        http_answer_release(&a);
    }
    http_client_close(&c);
    a = lab_do(&lab, lab.runner, "POST", "/api/v1/runs", NULL, large);
    answer_is_problem(&a, 413, "payload_too_large", NULL);
    free(large);
    lab_close(&lab);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_the_list_is_complete,
                                  test_every_json_route_names_an_unknown_field,
                                  test_every_json_route_refuses_what_is_no_object,
                                  test_ids_that_are_none,
                                  test_round_and_version_numbers,
                                  test_lists_check_limit_cursor_and_filters,
                                  test_wait_is_bounded,
                                  test_run_specs,
                                  test_registrations,
                                  test_tokens,
                                  test_heartbeats,
                                  test_large_headers_and_bodies};
    return unit_run("input", tests, sizeof tests / sizeof tests[0]);
}
