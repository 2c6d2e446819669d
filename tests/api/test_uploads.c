/* Updates in pieces: what is acknowledged stays, whoever is cut off goes on, and the whole counts like a PUT.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/crypto/sha256.h"
#include "tests/api/lab.h"

struct scene {
    struct lab lab;
    struct lab_device one, two;
    char run[ID_SIZE];
    json_t *task; /* of device one */
    char uploads[128], upload[256];
    struct buf file;
};

static void scene_open(struct scene *s)
{
    lab_open(&s->lab);
    s->one = lab_device(&s->lab, 0);
    s->two = lab_device(&s->lab, 1);
    lab_run(&s->lab, 2, 2, "", s->run);
    s->task = lab_claim(&s->lab, &s->one);
    (void)snprintf(s->uploads, sizeof s->uploads, "/api/v1/tasks/%s/uploads", text_at(s->task, "task_id"));
    file_of_model(&s->file, 1, META_WHOLE);
}

static void scene_close(struct scene *s)
{
    buf_release(&s->file);
    json_decref(s->task);
    lab_close(&s->lab);
}

static int64_t offset_of(const struct http_answer *a)
{
    const char *text = http_answer_field(a, "Upload-Offset");
    ck_assert_msg(text != NULL, "no Upload-Offset in %s", a->head);
    return strtoll(text, NULL, 10);
}

/* POST; s->upload is where it is. */
static void begin(struct scene *s, const char *query, const char *headers)
{
    struct http_answer a = lab_do(&s->lab, s->one.token, "POST", path_of("%s%s", s->uploads, query),
                                  path_of("Upload-Length: %zu\r\n%s", s->file.len, headers), NULL);
    ck_assert_int_eq(offset_of(&a), 0);
    ck_assert_str_eq(http_answer_field(&a, "Upload-Length"), path_of("%zu", s->file.len));
    (void)snprintf(s->upload, sizeof s->upload, "%s", http_answer_field(&a, "Location"));
    json_t *made = answer_json(&a, 201);
    ck_assert_str_eq(s->upload, path_of("%s/%s", s->uploads, text_at(made, "upload_id")));
    ck_assert_int_eq(int_at(made, "offset"), 0);
    ck_assert_int_eq(int_at(made, "size_bytes"), (int64_t)s->file.len);
    json_decref(made);
}

static struct http_answer patch(const struct scene *s, size_t offset, const void *bytes, size_t n)
{
    return lab_send(&s->lab, s->one.token, "PATCH", s->upload, path_of("Upload-Offset: %zu\r\n", offset),
                    "application/partial-upload", bytes, n);
}

static struct http_answer patch_to(const struct scene *s, size_t from, size_t to)
{
    return patch(s, from, s->file.data + from, to - from);
}

static void acknowledged(const struct scene *s, size_t from, size_t to)
{
    struct http_answer a = patch_to(s, from, to);
    ck_assert_msg(a.status == 204, "%s%s", a.head, a.body ? a.body : "");
    ck_assert_int_eq(offset_of(&a), (int64_t)to);
    ck_assert_str_eq(http_answer_field(&a, "Upload-Complete"), "?0");
    http_answer_release(&a);
}

static int64_t head(const struct scene *s)
{
    struct http_answer a = lab_do(&s->lab, s->one.token, "HEAD", s->upload, NULL, NULL);
    ck_assert_int_eq(a.status, 200);
    int64_t offset = offset_of(&a);
    http_answer_release(&a);
    return offset;
}

static void receipt_is(struct http_answer a, bool is_duplicate, char id[ID_SIZE])
{
    json_t *receipt = answer_json(&a, 200);
    ck_assert(json_is_true(json_at(receipt, "accepted")));
    ck_assert(json_is_true(json_at(receipt, "duplicate")) == is_duplicate);
    if (is_duplicate)
        ck_assert_str_eq(text_at(receipt, "update_id"), id);
    else
        (void)snprintf(id, ID_SIZE, "%s", text_at(receipt, "update_id"));
    json_decref(receipt);
}

static int64_t received(const struct scene *s)
{
    json_t *round = lab_ok(&s->lab, s->lab.viewer, "GET", path_of("/api/v1/runs/%s/rounds/0", s->run), NULL);
    int64_t n = int_at(round, "received");
    json_decref(round);
    return n;
}

static void is_conflict(const struct scene *s, size_t offset, size_t from, size_t to)
{
    struct http_answer a = patch_to(s, from, to);
    ck_assert_int_eq(offset_of(&a), (int64_t)offset);
    ck_assert_ptr_nonnull(strstr(a.body, path_of("at offset %zu", offset)));
    answer_is_problem(&a, 409, "conflict", "Upload-Offset");
}

/* Of a length that nobody knows before its end. */
static struct http_answer patch_chunk(const struct scene *s, size_t offset, const char *bytes)
{
    struct http_client c;
    struct http_answer a;
    ck_assert(http_client_open(&c, s->lab.port));
    ck_assert(http_client_print(&c,
                                "PATCH %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
                                "Content-Type: application/partial-upload\r\nUpload-Offset: %zu\r\n"
                                "Transfer-Encoding: chunked\r\n\r\n%zx\r\n%s\r\n0\r\n\r\n",
                                s->upload, s->one.token, offset, strlen(bytes), bytes));
    ck_assert(http_client_read(&c, false, &a));
    http_client_close(&c);
    return a;
}

START_TEST(test_in_pieces)
{
    struct scene s;
    char id[ID_SIZE];
    scene_open(&s);
    int64_t before = lab_blob_bytes(&s.lab);
    begin(&s, "", "");
    is_conflict(&s, 0, 10, 20);
    acknowledged(&s, 0, 1);
    acknowledged(&s, 1, 100);
    is_conflict(&s, 100, 1, 100);
    is_conflict(&s, 100, 101, s.file.len);
    acknowledged(&s, 100, 100);
    ck_assert_int_eq(head(&s), 100);
    json_t *seen = lab_ok(&s.lab, s.lab.viewer, "GET", s.upload, NULL);
    ck_assert_int_eq(int_at(seen, "offset"), 100);
    ck_assert(json_is_false(json_at(seen, "accepted")));
    json_decref(seen);
    ck_assert_int_eq(received(&s), 0);
    ck_assert_int_eq(lab_blob_bytes(&s.lab), before);
    receipt_is(patch_to(&s, 100, s.file.len), false, id);
    /* Whoever lost the answer asks again, in any way. */
    receipt_is(patch_to(&s, 100, s.file.len), true, id);
    receipt_is(patch_to(&s, 0, s.file.len), true, id);
    receipt_is(patch_to(&s, s.file.len, s.file.len), true, id);
    receipt_is(lab_put(&s.lab, s.one.token, path_of("/api/v1/tasks/%s/update", text_at(s.task, "task_id")),
                       NULL, &s.file),
               true, id);
    is_conflict(&s, s.file.len, 0, 5);
    struct http_answer a = patch_chunk(&s, s.file.len, "more");
    answer_is_problem(&a, 413, "payload_too_large", NULL);
    s.file.data[s.file.len - 1] ^= 1;
    a = patch_to(&s, 100, s.file.len);
    answer_is_problem(&a, 409, "duplicate_conflict", NULL);
    ck_assert_int_eq(head(&s), (int64_t)s.file.len);
    lab_refused(&s.lab, s.one.token, "DELETE", s.upload, NULL, 409, "conflict", NULL);
    lab_refused(&s.lab, s.one.token, "POST", s.uploads, NULL, 400, "missing_field", "Upload-Length");
    ck_assert_int_eq(received(&s), 1);
    lab_await_blob_bytes(&s.lab, before + (int64_t)s.file.len);
    scene_close(&s);
}
END_TEST

/* The last answer is lost, and meanwhile the round closes and the update's bytes are removed. */
START_TEST(test_the_receipt_outlives_the_round)
{
    struct scene s;
    char id[ID_SIZE];
    scene_open(&s);
    int64_t model = lab_blob_bytes(&s.lab);
    begin(&s, "", "");
    acknowledged(&s, 0, 100);
    receipt_is(patch_to(&s, 100, s.file.len), false, id);
    json_t *other = lab_claim(&s.lab, &s.two);
    receipt_is(lab_update(&s.lab, &s.two, other, 2), false, (char[ID_SIZE]){0});
    json_decref(other);
    json_decref(lab_claim(&s.lab, &s.one)); /* of the next round */
    lab_await_blob_bytes(&s.lab, 2 * model);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(head(&s), (int64_t)s.file.len);
        receipt_is(patch_to(&s, 100, s.file.len), true, id);
        receipt_is(patch_to(&s, s.file.len, s.file.len), true, id);
        ck_assert_int_eq(received(&s), 2);
        lab_refused(&s.lab, s.one.token, "DELETE", s.upload, NULL, 409, "conflict", NULL);
        lab_stop(&s.lab);
        lab_start(&s.lab);
    }
    ck_assert_int_eq(lab_blob_bytes(&s.lab), 2 * model);
    scene_close(&s);
}
END_TEST

START_TEST(test_a_restart_between_pieces)
{
    struct scene s;
    char id[ID_SIZE];
    scene_open(&s);
    begin(&s, "?stop_reason=deadline", "");
    for (size_t at = 0; at < s.file.len; at += 50) {
        lab_stop(&s.lab);
        lab_start(&s.lab);
        ck_assert_int_eq(head(&s), (int64_t)at);
        if (at + 50 < s.file.len)
            acknowledged(&s, at, at + 50);
        else
            receipt_is(patch_to(&s, at, s.file.len), false, id);
    }
    lab_stop(&s.lab);
    lab_start(&s.lab);
    receipt_is(patch_to(&s, s.file.len, s.file.len), true, id);
    json_t *task =
        lab_ok(&s.lab, s.one.token, "GET", path_of("/api/v1/tasks/%s", text_at(s.task, "task_id")), NULL);
    ck_assert_str_eq(text_at(task, "stop_reason"), "deadline");
    ck_assert_int_eq(int_at(task, "steps_done"), 4);
    json_decref(task);
    scene_close(&s);
}
END_TEST

/* Once the server says 100, the upload is this request's. */
static void send_some(const struct scene *s, struct http_client *c, size_t from, size_t to)
{
    struct http_answer a;
    ck_assert(http_client_open(c, s->lab.port));
    ck_assert(http_client_print(c,
                                "PATCH %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: "
                                "application/octet-stream\r\n"
                                "Expect: 100-continue\r\nUpload-Offset: %zu\r\nContent-Length: %zu\r\n\r\n",
                                s->upload, s->one.token, from, s->file.len - from));
    ck_assert(http_client_read_head(c, &a));
    ck_assert_int_eq(a.status, 100);
    ck_assert(http_client_send(c, s->file.data + from, to - from));
}

/* The server may not have read all that was sent when HEAD asks; what it then says holds. */
START_TEST(test_links_that_break)
{
    struct scene s;
    struct http_client c;
    char id[ID_SIZE];
    scene_open(&s);
    begin(&s, "", "");
    size_t at = 0;
    for (int i = 0; i < 20; i++) {
        size_t to = at + 9 < s.file.len ? at + 9 : s.file.len - 1;
        send_some(&s, &c, at, to);
        if (i % 2)
            http_client_close(&c);
        int64_t offset = head(&s);
        ck_assert_int_ge(offset, (int64_t)at);
        ck_assert_int_le(offset, (int64_t)to);
        at = (size_t)offset;
        if (i % 2)
            continue;
        /* The request that lost the upload cannot go on. */
        if (http_client_send(&c, s.file.data + to, s.file.len - to)) {
            struct http_answer a = {.status = 0};
            (void)http_client_read(&c, false, &a);
            ck_assert(a.status == 409 || a.status == 0);
            http_answer_release(&a);
        }
        http_client_close(&c);
        ck_assert_int_eq(head(&s), offset);
    }
    receipt_is(patch_to(&s, at, s.file.len), false, id);
    ck_assert_int_eq(received(&s), 1);
    scene_close(&s);
}
END_TEST

START_TEST(test_begins_that_are_refused)
{
    static const struct {
        const char *query, *headers;
        int status;
        const char *code, *field;
    } bad[] = {
        {"", "", 400, "missing_field", "Upload-Length"},
        {"", "Upload-Length: 0\r\n", 400, "invalid_field", "Upload-Length"},
        {"", "Upload-Length: -1\r\n", 400, "invalid_field", "Upload-Length"},
        {"", "Upload-Length: many\r\n", 400, "invalid_field", "Upload-Length"},
        {"", "Upload-Length: 100000000\r\n", 413, "payload_too_large", "Upload-Length"},
        {"", "Upload-Length: 9223372036854775807\r\n", 413, "payload_too_large", "Upload-Length"},
        {"", "Upload-Length: 9223372036854775808\r\n", 400, "invalid_field", "Upload-Length"},
        {"", "Upload-Length: 9\r\nRepr-Digest: sha-256=x\r\n", 400, "invalid_field", "Repr-Digest"},
        {"?steps=1", "Upload-Length: 9\r\n", 400, "unknown_field", "steps"},
        {"?gamma=-1", "Upload-Length: 9\r\n", 400, "invalid_field", "gamma"},
        {"?attempt=2", "Upload-Length: 9\r\n", 422, "invalid_update", "attempt"},
        {"?attempt=0", "Upload-Length: 9\r\n", 409, "superseded", "attempt"},
    };
    struct scene s;
    scene_open(&s);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct http_answer a = lab_do(&s.lab, s.one.token, "POST", path_of("%s%s", s.uploads, bad[i].query),
                                      bad[i].headers, NULL);
        answer_is_problem(&a, bad[i].status, bad[i].code, bad[i].field);
    }
    struct http_answer body = lab_send(&s.lab, s.one.token, "POST", s.uploads, "Upload-Length: 9\r\n",
                                       "application/octet-stream", "abc", 3);
    answer_is_problem(&body, 413, "payload_too_large", NULL);
    const char *const others[] = {s.two.token, s.lab.viewer, s.lab.runner, s.lab.admin};
    for (size_t i = 0; i < 4; i++) {
        struct http_answer a = lab_do(&s.lab, others[i], "POST", s.uploads, "Upload-Length: 9\r\n", NULL);
        answer_is_problem(&a, 403, "forbidden", NULL);
    }
    json_t *list = lab_ok(&s.lab, s.one.token, "GET", s.uploads, NULL);
    ck_assert_uint_eq(json_array_size(json_at(list, "items")), 0);
    json_decref(list);
    scene_close(&s);
}
END_TEST

START_TEST(test_pieces_that_are_refused)
{
    struct scene s;
    scene_open(&s);
    begin(&s, "", "");
    acknowledged(&s, 0, 10);
    static const struct {
        const char *headers, *media;
        size_t n;
        int status;
        const char *code, *field;
    } bad[] = {
        {"", "application/partial-upload", 5, 400, "missing_field", "Upload-Offset"},
        {"Upload-Offset: -1\r\n", "application/partial-upload", 5, 400, "invalid_field", "Upload-Offset"},
        {"Upload-Offset: ten\r\n", "application/partial-upload", 5, 400, "invalid_field", "Upload-Offset"},
        {"Upload-Offset: 10\r\n", "application/json", 5, 415, "unsupported_media_type", "Content-Type"},
        {"Upload-Offset: 10\r\n", "application/offset+octet-stream", 5000, 413, "payload_too_large", NULL},
        {"Upload-Offset: 10\r\nContent-Encoding: gzip\r\n", "application/octet-stream", 5, 415,
         "unsupported_media_type", "Content-Encoding"},
    };
    static const char zeros[5000];
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct http_answer a =
            lab_send(&s.lab, s.one.token, "PATCH", s.upload, bad[i].headers, bad[i].media, zeros, bad[i].n);
        answer_is_problem(&a, bad[i].status, bad[i].code, bad[i].field);
        ck_assert_int_eq(head(&s), 10);
    }
    const char *const others[] = {s.two.token, s.lab.viewer};
    for (size_t i = 0; i < 2; i++) {
        struct http_answer a = lab_send(&s.lab, others[i], "PATCH", s.upload, "Upload-Offset: 10\r\n",
                                        "application/octet-stream", zeros, 5);
        answer_is_problem(&a, 403, "forbidden", NULL);
        lab_refused(&s.lab, others[i], "DELETE", s.upload, NULL, 403, "forbidden", NULL);
    }
    lab_refused(&s.lab, s.two.token, "GET", s.upload, NULL, 403, "forbidden", NULL);
    lab_refused(&s.lab, s.two.token, "GET", s.uploads, NULL, 403, "forbidden", NULL);
    ck_assert_int_eq(head(&s), 10);
    lab_done(&s.lab, s.one.token, "DELETE", s.upload, NULL);
    lab_refused(&s.lab, s.one.token, "GET", s.upload, NULL, 404, "not_found", NULL);
    lab_refused(&s.lab, s.one.token, "DELETE", s.upload, NULL, 404, "not_found", NULL);
    struct http_answer a = patch_to(&s, 10, 20);
    answer_is_problem(&a, 404, "not_found", NULL);
    ck_assert_int_eq(received(&s), 0);
    scene_close(&s);
}
END_TEST

#define NO_DIGEST "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:\r\n"

/* What can never become an update is dropped. */
START_TEST(test_bytes_that_are_refused)
{
    struct scene s;
    scene_open(&s);
    int64_t before = lab_blob_bytes(&s.lab);
    begin(&s, "", "Repr-Digest: " NO_DIGEST);
    struct http_answer a = patch_to(&s, 0, s.file.len);
    answer_is_problem(&a, 422, "digest_mismatch", "Repr-Digest");
    lab_refused(&s.lab, s.one.token, "GET", s.upload, NULL, 404, "not_found", NULL);
    begin(&s, "", "");
    acknowledged(&s, 0, 10);
    a = lab_send(&s.lab, s.one.token, "PATCH", s.upload, "Upload-Offset: 10\r\nContent-Digest: " NO_DIGEST,
                 "application/octet-stream", s.file.data + 10, 20);
    answer_is_problem(&a, 422, "digest_mismatch", "Content-Digest");
    a = patch_to(&s, 10, 20);
    answer_is_problem(&a, 404, "not_found", NULL);
    begin(&s, "?steps_done=9", "");
    a = patch_to(&s, 0, s.file.len);
    answer_is_problem(&a, 400, "invalid_field", "steps_done");
    begin(&s, "?learning_rate=9", "");
    a = patch_to(&s, 0, s.file.len);
    answer_is_problem(&a, 409, "config_mismatch", "learning_rate");
    a = patch_to(&s, s.file.len, s.file.len);
    answer_is_problem(&a, 404, "not_found", NULL);
    buf_release(&s.file);
    file_of_model(&s.file, NAN, META_WHOLE);
    begin(&s, "", "");
    a = patch_to(&s, 0, s.file.len);
    answer_is_problem(&a, 422, "non_finite", NULL);
    a = patch_to(&s, 0, s.file.len);
    answer_is_problem(&a, 404, "not_found", NULL);
    ck_assert_int_eq(received(&s), 0);
    lab_await_blob_bytes(&s.lab, before);
    scene_close(&s);
}
END_TEST

START_TEST(test_superseded_replaced_and_too_late)
{
    struct scene s;
    char id[ID_SIZE], first[sizeof s.upload];
    scene_open(&s);
    begin(&s, "", "");
    acknowledged(&s, 0, 10);
    (void)memcpy(first, s.upload, sizeof first);
    begin(&s, "", ""); /* the same attempt: in the place of the first */
    lab_refused(&s.lab, s.one.token, "GET", first, NULL, 404, "not_found", NULL);
    acknowledged(&s, 0, 20);
    (void)memcpy(first, s.upload, sizeof first);
    json_t *again = lab_claim(&s.lab, &s.one);
    struct http_answer a = patch_to(&s, 20, s.file.len);
    answer_is_problem(&a, 409, "superseded", "attempt");
    buf_release(&s.file);
    file_of_model(&s.file, 1, "\"attempt\":\"2\",\"steps_done\":\"4\"");
    begin(&s, "?attempt=2", "");
    acknowledged(&s, 0, 30);
    lab_refused(&s.lab, s.one.token, "GET", first, NULL, 409, "superseded", "attempt");
    /* Sent in one piece by a second connection: the upload is a repeat of it then. */
    int64_t before = lab_blob_bytes(&s.lab);
    receipt_is(lab_put(&s.lab, s.one.token,
                       path_of("/api/v1/tasks/%s/update?attempt=2", text_at(again, "task_id")), NULL,
                       &s.file),
               false, id);
    receipt_is(patch_to(&s, 30, s.file.len), true, id);
    receipt_is(patch_to(&s, 30, s.file.len), true, id);
    lab_await_blob_bytes(&s.lab, before + (int64_t)s.file.len);
    ck_assert_int_eq(received(&s), 1);
    json_decref(again);

    /* The other device's upload is not done when the run stops. */
    json_t *other = lab_claim(&s.lab, &s.two);
    struct scene late = s;
    (void)snprintf(late.uploads, sizeof late.uploads, "/api/v1/tasks/%s/uploads", text_at(other, "task_id"));
    late.one = s.two;
    begin(&late, "", "");
    acknowledged(&late, 0, 10);
    struct http_client slow; /* its piece is under way */
    send_some(&late, &slow, 10, 20);
    lab_done(&s.lab, s.lab.runner, "POST", path_of("/api/v1/runs/%s/stop", s.run), NULL);
    a = patch_to(&late, 10, late.file.len);
    answer_is_problem(&a, 409, "run_not_running", NULL);
    lab_await_blob_bytes(&s.lab, before);
    ck_assert(http_client_send(&slow, late.file.data + 20, late.file.len - 20));
    ck_assert(http_client_read(&slow, false, &a));
    answer_is_problem(&a, 409, "run_not_running", NULL);
    http_client_close(&slow);
    struct http_answer gone = lab_do(&s.lab, s.lab.viewer, "GET", late.upload, NULL, NULL);
    answer_is_problem(&gone, 409, "run_not_running", NULL);
    json_decref(other);
    scene_close(&s);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_in_pieces,
                                  test_the_receipt_outlives_the_round,
                                  test_a_restart_between_pieces,
                                  test_links_that_break,
                                  test_begins_that_are_refused,
                                  test_pieces_that_are_refused,
                                  test_bytes_that_are_refused,
                                  test_superseded_replaced_and_too_late};
    return unit_run("uploads", tests, sizeof tests / sizeof tests[0]);
}
