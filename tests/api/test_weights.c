/* Weights over HTTP: what a run starts from is put, and every model can be read. */
#include <math.h>
#include <string.h>
#include "common/crypto/sha256.h"
#include "tests/api/lab.h"

static json_t *put_initial(const struct lab *lab, const char *run, const struct buf *file, int status)
{
    struct http_answer a =
        lab_put(lab, lab->runner, path_of("/api/v1/runs/%s/models/0/weights", run), NULL, file);
    return answer_json(&a, status);
}

START_TEST(test_weights_round_trip)
{
    struct lab lab;
    struct buf file;
    const float numbers[] = {1, 2, 3, 4, 5, 6};
    char run[ID_SIZE];
    lab_open(&lab);
    lab_run(&lab, 1, 1, ",\"autostart\":false", run);
    /* The other order and metadata: the canonical file is served. */
    file_of(&file,
            "{\"0.bias\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},\"__metadata__\":{"
            "\"format\":\"pt\"},"
            "\"0.weight\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[8,24]}}   ",
            numbers, sizeof numbers);
    json_t *stored = put_initial(&lab, run, &file, 200);
    const char *path = path_of("/api/v1/runs/%s/models/0/weights", run);
    struct http_answer a = lab_do(&lab, lab.viewer, "GET", path, NULL, NULL);
    ck_assert_int_eq(a.status, 200);
    ck_assert_str_eq(http_answer_field(&a, "Content-Type"), "application/vnd.safetensors");
    char hex[SHA256_HEX_SIZE];
    ck_assert_int_eq(sha256_hex(a.body, a.body_len, hex), ERR_OK);
    ck_assert_str_eq(hex, text_at(stored, "weights_sha256"));
    ck_assert_str_eq(http_answer_field(&a, "ETag"), path_of("\"%s\"", hex));
    ck_assert_ptr_nonnull(http_answer_field(&a, "Content-Digest"));
    ck_assert_str_eq(http_answer_field(&a, "Accept-Ranges"), "bytes");
    ck_assert_int_eq((int64_t)a.body_len, int_at(stored, "size_bytes"));
    const float expected[] = {3, 4, 5, 6, 1, 2}; /* weight before bias */
    ck_assert_mem_eq(a.body + a.body_len - sizeof expected, expected, sizeof expected);
    ck_assert_int_eq(sha256_hex(expected, sizeof expected, hex), ERR_OK);
    ck_assert_str_eq(hex, text_at(stored, "aggregate_sha256"));
    /* What came out goes in again, and is the same. */
    struct buf again = {.data = a.body, .len = a.body_len};
    json_t *second = put_initial(&lab, run, &again, 200);
    ck_assert_str_eq(text_at(second, "weights_sha256"), text_at(stored, "weights_sha256"));
    struct http_answer part = lab_do(&lab, lab.viewer, "GET", path, "Range: bytes=10-29\r\n", NULL);
    ck_assert_int_eq(part.status, 206);
    ck_assert_uint_eq(part.body_len, 20);
    ck_assert_mem_eq(part.body, a.body + 10, 20);
    http_answer_release(&part);
    part = lab_do(&lab, lab.viewer, "GET", path, "Range: bytes=999999-\r\n", NULL);
    answer_is_problem(&part, 416, "range_not_satisfiable", NULL);
    part = lab_do(&lab, lab.viewer, "GET", path,
                  path_of("If-None-Match: \"%s\"\r\n", text_at(stored, "weights_sha256")), NULL);
    ck_assert_int_eq(part.status, 304);
    http_answer_release(&part);
    json_t *model = lab_ok(&lab, lab.viewer, "GET", path_of("/api/v1/runs/%s/models/latest", run), NULL);
    ck_assert_str_eq(text_at(model, "weights_sha256"), text_at(stored, "weights_sha256"));
    json_decref(model);
    json_decref(second);
    json_decref(stored);
    http_answer_release(&a);
    buf_release(&file);
    lab_close(&lab);
}
END_TEST

START_TEST(test_weights_of_half_the_size)
{
    static const struct {
        const char *dtype;
        uint16_t one;
    } halves[] = {{"F16", 0x3c00}, {"BF16", 0x3f80}};
    struct lab lab;
    char run[ID_SIZE];
    lab_open(&lab);
    lab_run(&lab, 1, 1, ",\"autostart\":false", run);
    for (size_t i = 0; i < 2; i++) {
        struct buf file;
        uint16_t data[6];
        for (size_t k = 0; k < 6; k++)
            data[k] = halves[i].one;
        file_of(&file,
                path_of("{\"0.weight\":{\"dtype\":\"%s\",\"shape\":[2,2],\"data_offsets\":[0,8]},\"0.bias\":{"
                        "\"dtype\":\"%s\",\"shape\":[2],\"data_offsets\":[8,12]}}",
                        halves[i].dtype, halves[i].dtype),
                data, sizeof data);
        json_decref(put_initial(&lab, run, &file, 200));
        buf_release(&file);
        struct http_answer a =
            lab_do(&lab, lab.viewer, "GET", path_of("/api/v1/runs/%s/models/0/weights", run), NULL, NULL);
        float weights[6];
        memcpy(weights, a.body + a.body_len - sizeof weights, sizeof weights);
        for (size_t k = 0; k < 6; k++)
            ck_assert_float_eq(weights[k], 1);
        http_answer_release(&a);
    }
    lab_close(&lab);
}
END_TEST

/* The first model of a run that starts by itself is made in the background. */
static void wait_for_model(const struct lab *lab, const char *run)
{
    size_t num_models = 0;
    while (num_models == 0) {
        json_t *models = lab_ok(lab, lab->viewer, "GET", path_of("/api/v1/runs/%s/models", run), NULL);
        num_models = json_array_size(json_object_get(models, "items"));
        json_decref(models);
    }
}

START_TEST(test_initial_weights_that_are_refused)
{
    struct lab lab;
    struct buf file;
    char run[ID_SIZE], started[ID_SIZE];
    lab_open(&lab);
    lab_run(&lab, 1, 1, ",\"autostart\":false", run);
    lab_run(&lab, 1, 1, "", started);
    wait_for_model(&lab, started);
    int64_t before = lab_blob_bytes(&lab);
    ck_assert_int_gt(before, 0);
    file_of_model(&file, NAN, "");
    struct http_answer a =
        lab_put(&lab, lab.runner, path_of("/api/v1/runs/%s/models/0/weights", run), NULL, &file);
    answer_is_problem(&a, 422, "non_finite", NULL);
    buf_release(&file);
    file_of_model(&file, 1, "");
    a = lab_put(&lab, lab.runner, path_of("/api/v1/runs/%s/models/0/weights", started), NULL, &file);
    answer_is_problem(&a, 409, "conflict", NULL);
    a = lab_put(&lab, lab.runner, path_of("/api/v1/runs/%s/models/1/weights", run), NULL, &file);
    answer_is_problem(&a, 404, "not_found", NULL);
    a = lab_put(&lab, lab.runner, path_of("/api/v1/runs/%s/models/latest/weights", run), NULL, &file);
    answer_is_problem(&a, 404, "not_found", NULL);
    buf_release(&file);
    lab_await_blob_bytes(&lab, before);
    lab_close(&lab);
}
END_TEST

START_TEST(test_initial_weights_put_twice_take_the_place_once)
{
    struct lab lab;
    struct buf file;
    char run[ID_SIZE];
    lab_open(&lab);
    lab_run(&lab, 1, 1, ",\"autostart\":false", run);
    file_of_model(&file, 1, "");
    json_t *reply = put_initial(&lab, run, &file, 200);
    int64_t once = int_at(reply, "size_bytes");
    ck_assert_int_gt(once, 0);
    json_decref(reply);
    buf_release(&file);
    lab_await_blob_bytes(&lab, once);
    for (int i = 2; i < 5; i++) {
        file_of_model(&file, (float)i, "");
        json_decref(put_initial(&lab, run, &file, 200));
        buf_release(&file);
        lab_await_blob_bytes(&lab, once);
    }
    lab_close(&lab);
}
END_TEST

/* A model larger than one step of the conversion and than a chunk of the blob store. */
START_TEST(test_large_weights)
{
    enum { INPUTS = 3000, OUTPUTS = 1000 };
    struct lab lab;
    struct buf file;
    lab_open(&lab);
    json_t *run =
        lab_ok(&lab, lab.runner, "POST", "/api/v1/runs",
               "{\"num_rounds\":1,\"autostart\":false,\"model\":{\"input\":[3000],\"layers\":[{\"type\":"
               "\"dense\",\"units\":1000}]},\"training\":{\"learning_rate\":0.1}}");
    size_t n = (size_t)INPUTS * OUTPUTS + OUTPUTS;
    float *data = calloc(n, sizeof *data);
    ck_assert_ptr_nonnull(data);
    for (size_t i = 0; i < n; i++)
        data[i] = (float)i;
    const char *header =
        path_of("{\"0.bias\":{\"dtype\":\"F32\",\"shape\":[1000],\"data_offsets\":[0,4000]},"
                "\"0.weight\":{\"dtype\":\"F32\",\"shape\":[1000,3000],\"data_offsets\":[4000,%zu]}}",
                n * sizeof *data);
    buf_init(&file, 64 * MIB);
    struct buf head;
    file_of(&head, header, "", 0);
    ck_assert_int_eq(buf_append(&file, head.data, head.len), ERR_OK);
    ck_assert_int_eq(buf_append(&file, data, n * sizeof *data), ERR_OK);
    json_decref(put_initial(&lab, text_at(run, "id"), &file, 200));
    struct http_answer a = lab_do(
        &lab, lab.viewer, "GET", path_of("/api/v1/runs/%s/models/0/weights", text_at(run, "id")), NULL, NULL);
    ck_assert_int_eq(a.status, 200);
    size_t bias = OUTPUTS * sizeof *data, weight = n * sizeof *data - bias;
    ck_assert_mem_eq(a.body + a.body_len - bias, data, bias);
    ck_assert_mem_eq(a.body + a.body_len - bias - weight, data + OUTPUTS, weight);
    http_answer_release(&a);
    buf_release(&head);
    buf_release(&file);
    free(data);
    json_decref(run);
    lab_close(&lab);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_weights_round_trip, test_weights_of_half_the_size,
                                  test_initial_weights_that_are_refused,
                                  test_initial_weights_put_twice_take_the_place_once, test_large_weights};
    return unit_run("weights", tests, sizeof tests / sizeof tests[0]);
}
