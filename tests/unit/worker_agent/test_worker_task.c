#include <check.h>
#include <math.h>
#include <string.h>
#include "common/base/limits.h"
#include "common/json/json_spec.h"
#include "tests/support/unit.h"
#include "worker/worker_task.h"

#define ID_A "0123456789abcdef0123456789abcdef"
#define SHA  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/* As the server writes it. */
static const char whole[] =
    "{\"task_id\": \"" ID_A "\", \"run_id\": \"" ID_A "\", \"device_id\": \"" ID_A
    "\", \"round\": 3, \"ordinal\": 7,"
    " \"attempt\": 2, \"type\": \"train\", \"dataset\": \"fashion\", \"num_examples\": 63, "
    "\"num_test_examples\": 7,"
    " \"model_version\": 3, \"weights_url\": \"/api/v1/runs/" ID_A
    "/models/3/weights\", \"weights_sha256\": \"" SHA "\","
    " \"model\": {\"layers\": [{\"units\": 10, \"type\": \"dense\"}], \"input\": [784]},"
    " \"config\": {\"local_epochs\": 20, \"local_steps\": 0, \"batch_size\": 10, \"learning_rate\": 0.03,"
    " \"proximal_mu\": 1, \"optimizer\": \"sgd\", \"seed\": 6, \"round\": 3, \"ordinal\": 7, "
    "\"accept_partial\": false},"
    " \"steps_assigned\": 140, \"budget\": {\"max_steps\": 49, \"max_seconds\": 2.5},"
    " \"want\": [\"evaluation\", \"gamma\"], \"deadline_at\": \"2026-01-02T03:04:05.678Z\", "
    "\"time_left_ms\": 59999}";

static json_t *document(void)
{
    json_t *json = NULL;
    struct fault fault = FAULT_NONE;
    ck_assert_msg(json_text_parse(whole, strlen(whole), &json, &fault) == ERR_OK, "%s", fault.detail);
    return json;
}

START_TEST(everything_is_taken)
{
    struct arena arena = ARENA_INIT(64 * KIB);
    struct worker_task t;
    struct fault fault = FAULT_NONE;
    json_t *json = document();
    ck_assert_msg(worker_task_parse(json, &arena, &t, &fault) == ERR_OK, "%s: %s", fault.field, fault.detail);
    json_decref(json);
    ck_assert_str_eq(t.task_id, ID_A);
    ck_assert_str_eq(t.run_id, ID_A);
    ck_assert_str_eq(t.device_id, ID_A);
    ck_assert_int_eq(t.type, WORK_TRAIN);
    ck_assert_int_eq(t.round, 3);
    ck_assert_int_eq(t.attempt, 2);
    ck_assert_int_eq(t.model_version, 3);
    ck_assert_str_eq(t.weights_url, "/api/v1/runs/" ID_A "/models/3/weights");
    ck_assert_str_eq(t.weights_sha256, SHA);
    ck_assert_str_eq(t.model, "{\"input\":[784],\"layers\":[{\"type\":\"dense\",\"units\":10}]}");
    ck_assert_str_eq(t.dataset, "fashion");
    ck_assert_int_eq(t.ordinal, 7);
    ck_assert_int_eq(t.seed, 6);
    ck_assert_int_eq(t.local_epochs, 20);
    ck_assert_int_eq(t.local_steps, 0);
    ck_assert_int_eq(t.batch_size, 10);
    ck_assert_double_eq(t.learning_rate, 0.03);
    ck_assert_double_eq(t.proximal_mu, 1);
    ck_assert_str_eq(t.optimizer, "sgd");
    ck_assert_int_eq(t.max_steps, 49);
    ck_assert_double_eq(t.max_seconds, 2.5);
    ck_assert(!t.accept_partial);
    ck_assert_int_eq(t.time_left_ms, 59999);
    ck_assert(t.wants_evaluation && t.wants_gamma && !t.wants_gradient);
    arena_release(&arena);
}
END_TEST

START_TEST(what_is_null_is_no_bound)
{
    struct arena arena = ARENA_INIT(64 * KIB);
    struct worker_task t;
    struct fault fault = FAULT_NONE;
    json_t *json = document();
    json_object_set_new(json_object_get(json, "budget"), "max_steps", json_null());
    json_object_set_new(json_object_get(json, "budget"), "max_seconds", json_null());
    json_object_set_new(json, "time_left_ms", json_null());
    json_object_set_new(json, "want", json_null());
    json_object_set_new(json, "some_later_field", json_string("is ignored"));
    ck_assert_msg(worker_task_parse(json, &arena, &t, &fault) == ERR_OK, "%s: %s", fault.field, fault.detail);
    json_decref(json);
    ck_assert_int_eq(t.max_steps, -1);
    ck_assert(isnan(t.max_seconds));
    ck_assert_int_eq(t.time_left_ms, -1);
    ck_assert(!t.wants_evaluation && !t.wants_gamma && !t.wants_gradient);
    arena_release(&arena);
}
END_TEST

/* One change to the whole document, and the field that the fault must name. `inner`: the object that holds
 * the field, or NULL. `value`: its new JSON, or NULL to take it away. */
static const struct {
    const char *inner, *key, *value, *field;
} bad[] = {
    {NULL, "task_id", NULL, "task_id"},
    {NULL, "task_id", "\"0123456789ABCDEF0123456789ABCDEF\"", "task_id"},
    {NULL, "task_id", "\"../../../../../../../../etc/passwd\"", "task_id"},
    {NULL, "run_id", "7", "run_id"},
    {NULL, "round", "-1", "round"},
    {NULL, "attempt", "\"2\"", "attempt"},
    {NULL, "type", "\"tune\"", "type"},
    {NULL, "type", NULL, "type"},
    {NULL, "model", "[]", "model"},
    {NULL, "config", NULL, "config"},
    {NULL, "weights_url", "\"http://elsewhere/weights\"", "weights_url"},
    {NULL, "weights_url", "\"//elsewhere/weights\"", "weights_url"},
    {NULL, "weights_sha256", "\"e3b0\"", "weights_sha256"},
    {NULL, "want", "[\"evaluation\", \"hessian\"]", "want"},
    {NULL, "want", "[7]", "want"},
    {NULL, "want", "\"gamma\"", "want"},
    {NULL, "time_left_ms", "1.5", "time_left_ms"},
    {"config", "ordinal", NULL, "config.ordinal"},
    {"config", "batch_size", "0", "config.batch_size"},
    {"config", "batch_size", NULL, "config.batch_size"},
    {"config", "seed", "\"6\"", "config.seed"},
    {"config", "learning_rate", "\"NaN\"", "config.learning_rate"},
    {"config", "momentum", "\"much\"", "config.momentum"},
    {"config", "clip_norm", "\"NaN\"", "config.clip_norm"},
    {"config", "local_epochs", "0", "config.local_epochs"},
    {"config", "accept_partial", "1", "config.accept_partial"},
    {"budget", "max_steps", "-1", "budget.max_steps"},
    {"budget", "max_seconds", "\"soon\"", "budget.max_seconds"},
};

/* Where nothing is said, and where null is, an optimizer's own defaults stand. */
START_TEST(settings_of_optimizers)
{
    struct arena arena = ARENA_INIT(64 * KIB);
    struct worker_task t;
    struct fault fault = FAULT_NONE;
    json_t *json = document(), *config = json_object_get(json, "config");
    ck_assert_int_eq(worker_task_parse(json, &arena, &t, &fault), ERR_OK);
    ck_assert(t.settings.momentum == 0.9 && t.settings.beta1 == 0.9 && t.settings.beta2 == 0.999);
    ck_assert(t.settings.epsilon == 1e-8 && !(t.settings.weight_decay > 0) && !(t.settings.clip_norm > 0));
    json_t *more = json_pack("{s:s, s:n, s:f, s:f, s:f, s:f, s:f}", "optimizer", "adam", "momentum", "beta1",
                             0.5, "beta2", 0.75, "epsilon", 0.125, "weight_decay", 0.25, "clip_norm", 2.0);
    ck_assert_int_eq(json_object_update(config, more), 0);
    ck_assert_int_eq(worker_task_parse(json, &arena, &t, &fault), ERR_OK);
    ck_assert_str_eq(t.optimizer, "adam");
    ck_assert(t.settings.momentum == 0.9 && t.settings.beta1 == 0.5 && t.settings.beta2 == 0.75);
    ck_assert(t.settings.epsilon == 0.125 && t.settings.weight_decay == 0.25 && t.settings.clip_norm == 2);
    json_decref(more);
    json_decref(json);
    arena_release(&arena);
}
END_TEST

START_TEST(bad_fields_are_named)
{
    struct arena arena = ARENA_INIT(64 * KIB);
    struct worker_task t;
    struct fault fault = FAULT_NONE;
    json_t *json = document();
    json_t *object = bad[_i].inner ? json_object_get(json, bad[_i].inner) : json;
    if (bad[_i].value)
        json_object_set_new(object, bad[_i].key, json_loads(bad[_i].value, JSON_DECODE_ANY, NULL));
    else
        json_object_del(object, bad[_i].key);
    ck_assert_msg(worker_task_parse(json, &arena, &t, &fault) != ERR_OK, "%s was taken", bad[_i].field);
    ck_assert_str_eq(fault.field, bad[_i].field);
    ck_assert_uint_gt(strlen(fault.detail), 0);
    json_decref(json);
    arena_release(&arena);
}
END_TEST

START_TEST(an_address_has_so_many_bytes)
{
    struct arena arena = ARENA_INIT(64 * KIB);
    struct worker_task t;
    struct fault fault = FAULT_NONE;
    char url[LIMIT_URL + 2] = "/";
    json_t *json = document();
    memset(url + 1, 'a', LIMIT_URL - 1);
    json_object_set_new(json, "weights_url", json_string(url));
    ck_assert_msg(worker_task_parse(json, &arena, &t, &fault) == ERR_OK, "%s: %s", fault.field, fault.detail);
    url[LIMIT_URL] = 'a';
    json_object_set_new(json, "weights_url", json_string(url));
    ck_assert_int_eq(worker_task_parse(json, &arena, &t, &fault), ERR_INVALID_FIELD);
    ck_assert_str_eq(fault.field, "weights_url");
    json_decref(json);
    arena_release(&arena);
}
END_TEST

START_TEST(what_is_no_object_is_refused)
{
    struct arena arena = ARENA_INIT(64 * KIB);
    struct worker_task t;
    struct fault fault = FAULT_NONE;
    json_t *json = json_array();
    ck_assert_int_eq(worker_task_parse(json, &arena, &t, &fault), ERR_INVALID_FIELD);
    ck_assert_int_eq(worker_task_parse(NULL, &arena, &t, &fault), ERR_INVALID_FIELD);
    json_decref(json);
    arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("worker_task");
    TCase *tc = unit_case("worker_task");
    tcase_add_test(tc, everything_is_taken);
    tcase_add_test(tc, what_is_null_is_no_bound);
    tcase_add_test(tc, settings_of_optimizers);
    tcase_add_loop_test(tc, bad_fields_are_named, 0, sizeof bad / sizeof *bad);
    tcase_add_test(tc, an_address_has_so_many_bytes);
    tcase_add_test(tc, what_is_no_object_is_refused);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
