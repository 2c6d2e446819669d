/* Updates over HTTP: what is refused leaves nothing, what is accepted counts once. */
#include <math.h>
#include <string.h>
#include "common/crypto/sha256.h"
#include "common/base/str.h"
#include "tests/api/lab.h"

struct scene {
    struct lab lab;
    struct lab_device one, two;
    char run[ID_SIZE];
    json_t *task; /* of device one */
    char path[128];
};

static void scene_open(struct scene *s, const char *more)
{
    lab_open(&s->lab);
    s->one = lab_device(&s->lab, 0);
    s->two = lab_device(&s->lab, 1);
    lab_run(&s->lab, 2, 2, more, s->run);
    s->task = lab_claim(&s->lab, &s->one);
    (void)snprintf(s->path, sizeof s->path, "/api/v1/tasks/%s/update", text_at(s->task, "task_id"));
}

static void scene_close(struct scene *s)
{
    json_decref(s->task);
    lab_close(&s->lab);
}

static int64_t received(const struct scene *s)
{
    json_t *round = lab_ok(&s->lab, s->lab.viewer, "GET", path_of("/api/v1/runs/%s/rounds/0", s->run), NULL);
    int64_t n = int_at(round, "received");
    json_decref(round);
    return n;
}

static void refused_file(struct scene *s, struct buf *file, int status, const char *code, const char *says)
{
    struct http_answer a = lab_put(&s->lab, s->one.token, s->path, NULL, file);
    ck_assert_msg(!says || strstr(a.body, says), "no \"%s\" in %s", says, a.body);
    answer_is_problem(&a, status, code, NULL);
    buf_release(file);
}

static const float numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8};

#define META   "\"__metadata__\":{" META_WHOLE "},"
#define WEIGHT "\"0.weight\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]}"

START_TEST(test_files_that_are_wrong)
{
    static const struct {
        const char *header;
        size_t bytes;
        const char *code, *says;
    } bad[] = {
        {"{" META WEIGHT ",\"0.bais\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[16,24]}}", 24,
         "name_mismatch", "0.bias"},
        {"{" META WEIGHT "}", 16, "name_mismatch", "0.bias"},
        {"{" META WEIGHT ",\"0.bias\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[16,32]}}", 32,
         "shape_mismatch", "0.bias"},
        {"{" META WEIGHT ",\"0.bias\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[16,24]}}", 24,
         "shape_mismatch", "0.bias"},
        {"{" META WEIGHT ",\"0.bias\":{\"dtype\":\"I32\",\"shape\":[2],\"data_offsets\":[16,24]}}", 24,
         "dtype_mismatch", "0.bias"},
        {"{" META WEIGHT ",\"0.bias\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,16]}}", 16,
         "invalid_safetensors", NULL},
        {"{" META WEIGHT ",\"0.bias\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[20,28]}}", 28,
         "invalid_safetensors", NULL},
        {"{" META WEIGHT ",\"0.bias\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[16,24]}}", 23,
         "invalid_safetensors", NULL},
        {"{" META WEIGHT ",\"0.bias\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[16,24]}}", 25,
         "invalid_safetensors", NULL},
        {"{" META WEIGHT ",\"0.bias\":{\"dtype\":\"PY\",\"shape\":[2],\"data_offsets\":[16,24]}}", 24,
         "invalid_safetensors", NULL},
        {"[]", 0, "invalid_safetensors", NULL},
        {"{", 0, "invalid_safetensors", NULL},
    };
    struct scene s;
    scene_open(&s, "");
    int64_t before = lab_blob_bytes(&s.lab);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct buf file;
        file_of(&file, bad[i].header, numbers, bad[i].bytes);
        refused_file(&s, &file, 422, bad[i].code, bad[i].says);
    }
    ck_assert_int_eq(received(&s), 0);
    lab_await_blob_bytes(&s.lab, before);
    scene_close(&s);
}
END_TEST

START_TEST(test_numbers_that_are_none)
{
    struct scene s;
    scene_open(&s, "");
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        struct buf file;
        file_of_model(&file, bad[i], META_WHOLE);
        refused_file(&s, &file, 422, "non_finite", "0.weight");
    }
    ck_assert_int_eq(received(&s), 0);
    scene_close(&s);
}
END_TEST

START_TEST(test_cut_files)
{
    struct scene s;
    struct buf file;
    scene_open(&s, "");
    file_of_model(&file, 1, META_WHOLE);
    for (size_t n = 0; n < file.len; n += n < 10 ? 1 : 17) {
        struct http_answer a =
            lab_send(&s.lab, s.one.token, "PUT", s.path, NULL, "application/octet-stream", file.data, n);
        answer_is_problem(&a, 422, "invalid_safetensors", NULL);
    }
    /* The connection ends in the middle of the body. */
    struct http_client c;
    ck_assert(http_client_open(&c, s.lab.port));
    ck_assert(http_client_print(&c,
                                "PUT %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: "
                                "application/vnd.safetensors\r\nContent-Length: %zu\r\n\r\n",
                                s.path, s.one.token, file.len));
    ck_assert(http_client_send(&c, file.data, file.len - 5));
    http_client_close(&c);
    ck_assert_int_eq(received(&s), 0);
    struct http_answer a = lab_put(&s.lab, s.one.token, s.path, NULL, &file);
    ck_assert_int_eq(a.status, 200);
    http_answer_release(&a);
    buf_release(&file);
    scene_close(&s);
}
END_TEST

START_TEST(test_digests)
{
    struct scene s;
    struct buf file;
    char hex[SHA256_HEX_SIZE], header[CONTENT_DIGEST_SIZE];
    uint8_t digest[SHA256_SIZE];
    scene_open(&s, "");
    file_of_model(&file, 1, META_WHOLE);
    struct http_answer a =
        lab_put(&s.lab, s.one.token, s.path,
                "Content-Digest: sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:\r\n", &file);
    answer_is_problem(&a, 422, "digest_mismatch", NULL);
    ck_assert_int_eq(received(&s), 0);
    ck_assert_int_eq(sha256_hex(file.data, file.len, hex), ERR_OK);
    ck_assert_int_eq(hex_decode(hex, digest, sizeof digest), ERR_OK);
    content_digest_format(digest, header);
    a = lab_put(&s.lab, s.one.token, s.path, path_of("Content-Digest: %s\r\n", header), &file);
    ck_assert_int_eq(a.status, 200);
    http_answer_release(&a);
    buf_release(&file);
    scene_close(&s);
}
END_TEST

START_TEST(test_metadata_that_is_wrong)
{
    static const struct {
        const char *meta, *query;
        int status;
        const char *code, *field;
    } bad[] = {
        {"\"attempt\":\"1\",\"steps_done\":\"4\",\"num_examples\":\"5\"", "", 409, "config_mismatch",
         "num_examples"},
        {"\"attempt\":\"1\",\"steps_done\":\"4\",\"learning_rate\":\"0.2\"", "", 409, "config_mismatch",
         "learning_rate"},
        {"\"attempt\":\"1\",\"steps_done\":\"4\",\"proximal_mu\":\"0.25\"", "", 409, "config_mismatch",
         "proximal_mu"},
        {"\"attempt\":\"1\",\"steps_done\":\"5\"", "", 422, "invalid_update", "steps_done"},
        {"\"attempt\":\"1\"", "", 422, "invalid_update", "steps_done"},
        {"\"attempt\":\"7\",\"steps_done\":\"4\"", "", 422, "invalid_update", "attempt"},
        {"\"attempt\":\"1\",\"steps_doen\":\"4\"", "", 400, "unknown_field", "steps_doen"},
        {"\"attempt\":\"x\",\"steps_done\":\"4\"", "", 400, "invalid_field", "attempt"},
        {"\"attempt\":\"1\",\"steps_done\":\"4\",\"content\":\"gradient\"", "", 400, "invalid_field",
         "content"},
        {"\"attempt\":\"1\",\"steps_done\":\"4\",\"gamma\":\"-1\"", "", 400, "invalid_field", "gamma"},
        {"\"attempt\":\"1\",\"steps_done\":\"4\"", "?compute_ms=-1", 400, "invalid_field", "compute_ms"},
        {"\"attempt\":\"1\",\"steps_done\":\"4\"", "?steps_done=3", 400, "invalid_field", "steps_done"},
        {"\"attempt\":\"1\",\"steps_done\":\"4\"", "?steps=4", 400, "unknown_field", "steps"},
    };
    struct scene s;
    scene_open(&s, "");
    int64_t before = lab_blob_bytes(&s.lab);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct buf file;
        file_of_model(&file, 1, bad[i].meta);
        struct http_answer a =
            lab_put(&s.lab, s.one.token, path_of("%s%s", s.path, bad[i].query), NULL, &file);
        answer_is_problem(&a, bad[i].status, bad[i].code, bad[i].field);
        buf_release(&file);
    }
    ck_assert_int_eq(received(&s), 0);
    lab_await_blob_bytes(&s.lab, before);
    scene_close(&s);
}
END_TEST

START_TEST(test_metadata_in_the_query)
{
    struct scene s;
    struct buf file;
    scene_open(&s, "");
    file_of_model(&file, 1, "\"format\":\"pt\",\"steps_done\":\"3\"");
    struct http_answer a = lab_put(
        &s.lab, s.one.token,
        path_of("%s?attempt=1&steps_done=3&stop_reason=deadline&train_loss_end=NaN", s.path), NULL, &file);
    json_t *receipt = answer_json(&a, 200);
    ck_assert(json_is_true(json_at(receipt, "accepted")));
    ck_assert(json_is_true(json_at(receipt, "partial")));
    json_decref(receipt);
    /* The same bytes with another query are another update. */
    a = lab_put(&s.lab, s.one.token, path_of("%s?attempt=1&steps_done=3&stop_reason=asked", s.path), NULL,
                &file);
    answer_is_problem(&a, 409, "duplicate_conflict", NULL);
    buf_release(&file);
    json_t *task =
        lab_ok(&s.lab, s.one.token, "GET", path_of("/api/v1/tasks/%s", text_at(s.task, "task_id")), NULL);
    ck_assert_str_eq(text_at(task, "status"), "completed");
    ck_assert_str_eq(text_at(task, "stop_reason"), "deadline");
    ck_assert_int_eq(int_at(task, "steps_done"), 3);
    ck_assert(json_is_true(json_at(task, "partial")));
    ck_assert_ptr_nonnull(text_at(task, "uploaded_at"));
    json_decref(task);
    scene_close(&s);
}
END_TEST

START_TEST(test_media_types)
{
    struct scene s;
    struct buf file;
    scene_open(&s, "");
    file_of_model(&file, 1, META_WHOLE);
    static const char *const bad[] = {"application/json", "text/plain", "application/x-pickle"};
    for (size_t i = 0; i < 3; i++) {
        struct http_answer a =
            lab_send(&s.lab, s.one.token, "PUT", s.path, NULL, bad[i], file.data, file.len);
        answer_is_problem(&a, 415, "unsupported_media_type", "Content-Type");
    }
    struct http_answer a =
        lab_send(&s.lab, s.one.token, "PUT", s.path, NULL, "application/octet-stream", file.data, file.len);
    ck_assert_int_eq(a.status, 200);
    http_answer_release(&a);
    buf_release(&file);
    scene_close(&s);
}
END_TEST

START_TEST(test_twice_the_same_counts_once)
{
    struct scene s;
    scene_open(&s, "");
    struct http_answer a = lab_update(&s.lab, &s.one, s.task, 1);
    json_t *first = answer_json(&a, 200);
    int64_t bytes = lab_blob_bytes(&s.lab);
    a = lab_update(&s.lab, &s.one, s.task, 1);
    json_t *second = answer_json(&a, 200);
    ck_assert(json_is_true(json_at(first, "accepted")) && json_is_false(json_at(first, "duplicate")));
    ck_assert(json_is_true(json_at(second, "accepted")) && json_is_true(json_at(second, "duplicate")));
    ck_assert_str_eq(text_at(first, "update_id"), text_at(second, "update_id"));
    a = lab_update(&s.lab, &s.one, s.task, 2);
    answer_is_problem(&a, 409, "duplicate_conflict", NULL);
    ck_assert_int_eq(received(&s), 1);
    lab_await_blob_bytes(&s.lab, bytes);
    json_decref(first);
    json_decref(second);
    scene_close(&s);
}
END_TEST

START_TEST(test_too_late_and_superseded)
{
    struct scene s;
    scene_open(&s, ",\"reporting\":{\"deadline_s\":30,\"grace_s\":1,\"on_too_few\":\"skip\"}");
    json_t *again = lab_claim(&s.lab, &s.one);
    struct http_answer a = lab_update(&s.lab, &s.one, s.task, 1);
    answer_is_problem(&a, 409, "superseded", "attempt");
    lab_done(&s.lab, s.lab.runner, "POST", path_of("/api/v1/runs/%s/stop", s.run), NULL);
    a = lab_update(&s.lab, &s.one, again, 1);
    answer_is_problem(&a, 409, "run_not_running", NULL);
    json_decref(again);
    scene_close(&s);
}
END_TEST

/* A whole round, and the model that comes of it. */
START_TEST(test_the_average)
{
    struct scene s;
    scene_open(&s, "");
    json_t *other = lab_claim(&s.lab, &s.two);
    struct http_answer a = lab_update(&s.lab, &s.one, s.task, 1);
    http_answer_release(&a);
    a = lab_update(&s.lab, &s.two, other, 2);
    http_answer_release(&a);
    json_decref(lab_claim(&s.lab, &s.one)); /* waits for round 1 */
    a = lab_do(&s.lab, s.one.token, "GET", path_of("/api/v1/runs/%s/models/1/weights", s.run), NULL, NULL);
    ck_assert_int_eq(a.status, 200);
    float weights[6];
    memcpy(weights, a.body + a.body_len - sizeof weights, sizeof weights);
    for (size_t i = 0; i < 6; i++)
        ck_assert_float_eq(weights[i], 1.5F);
    http_answer_release(&a);
    json_decref(other);
    scene_close(&s);
}
END_TEST

/* ---- evaluate tasks ---- */

START_TEST(test_evaluations)
{
    struct lab lab;
    char run[ID_SIZE];
    lab_open(&lab);
    struct lab_device devices[] = {lab_device(&lab, 0), lab_device(&lab, 1)};
    json_t *created =
        lab_ok(&lab, lab.runner, "POST", "/api/v1/runs",
               "{\"num_rounds\":1,\"dataset\":\"hand\"," MODEL_PATCH
               ",\"training\":{\"batch_size\":1,\"learning_rate\":0.1},\"selection\":{"
               "\"devices_per_round\":1,\"population\":2},\"evaluation\":{\"on\":\"all_devices\"}}");
    (void)snprintf(run, sizeof run, "%s", text_at(created, "id"));
    json_decref(created);
    for (size_t i = 0; i < 2; i++) {
        json_t *task = lab_claim(&lab, &devices[i]);
        const char *path = path_of("/api/v1/tasks/%s/update", text_at(task, "task_id"));
        if (strcmp(text_at(task, "type"), "evaluate") == 0) {
            struct buf file;
            file_of_model(&file, 1, META_WHOLE);
            struct http_answer a = lab_put(&lab, devices[i].token, path, NULL, &file);
            answer_is_problem(&a, 415, "unsupported_media_type", "Content-Type");
            buf_release(&file);
            lab_refused(&lab, devices[i].token, "PUT", path, "{\"attempt\":1,\"colour\":1}", 400,
                        "unknown_field", "colour");
            lab_refused(&lab, devices[i].token, "PUT", path, "{\"attempt\":true}", 400, "invalid_field",
                        "attempt");
            lab_refused(&lab, devices[i].token, "PUT", path, "{\"attempt\":1}", 422, "invalid_update", NULL);
            lab_refused(&lab, devices[i].token, "PUT", path, "[]", 400, "invalid_field", NULL);
            lab_refused(&lab, devices[i].token, "PUT", path, "{", 400, "malformed_json", NULL);
            lab_refused(&lab, devices[i].token, "PUT", path, "", 400, "malformed_json", NULL);
            lab_done(
                &lab, devices[i].token, "PUT", path,
                "{\"attempt\":1,\"eval_train_loss\":0.5,\"eval_train_examples\":4,\"metrics\":[{\"name\":"
                "\"f1\",\"value\":0.75,\"weight\":2}]}");
        } else {
            struct buf file;
            file_of_model(&file, 1,
                          "\"attempt\":\"1\",\"steps_done\":\"4\",\"eval_train_loss\":\"1.5\","
                          "\"eval_train_examples\":\"4\"");
            struct http_answer a = lab_put(&lab, devices[i].token, path, NULL, &file);
            ck_assert_int_eq(a.status, 200);
            http_answer_release(&a);
            buf_release(&file);
        }
        json_decref(task);
    }
    json_decref(lab_claim(&lab, &devices[0])); /* the last evaluation: round 0 is closed */
    json_t *round = lab_ok(&lab, lab.viewer, "GET", path_of("/api/v1/runs/%s/rounds/0", run), NULL);
    ck_assert_double_eq(json_number_value(json_at(round, "metrics.train_loss")), 1.0);
    ck_assert_double_eq(json_number_value(json_at(round, "metrics.f1")), 0.75);
    json_decref(round);
    lab_close(&lab);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_files_that_are_wrong,
                                  test_numbers_that_are_none,
                                  test_cut_files,
                                  test_digests,
                                  test_metadata_that_is_wrong,
                                  test_metadata_in_the_query,
                                  test_media_types,
                                  test_twice_the_same_counts_once,
                                  test_too_late_and_superseded,
                                  test_the_average,
                                  test_evaluations};
    return unit_run("updates", tests, sizeof tests / sizeof tests[0]);
}
