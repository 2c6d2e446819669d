/* What becomes of a reply: problems, bodies and headers that are too large, callbacks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/limits.h"
#include "tests/support/unit.h"
#include "tests/unit/http/http_run.h"

START_TEST(test_problem_json)
{
    struct fixed_reply reply = {
        409, "Content-Type: application/problem+json; charset=utf-8\r\n",
        "{\"type\": \"about:blank\", \"title\": \"Conflict\", \"status\": 409, \"code\": "
        "\"stale_round\", \"detail\": \"round 3 is closed\", \"field\": \"round\", "
        "\"request_id\": \"r1\", \"more\": [1]}"};
    struct run r = run_start(answer_fixed, &reply);
    ck_assert_int_eq(run_send(&r), ERR_STALE_ROUND);
    ck_assert_int_eq(r.response.status, 409);
    ck_assert_str_eq(r.fault.field, "round");
    ck_assert_str_eq(r.fault.detail, "round 3 is closed (request r1)");
    ck_assert_ptr_nonnull(strstr(r.response.body.data, "stale_round"));
    run_end(&r);
}
END_TEST

static const struct problem_row {
    int status;
    const char *type, *body;
    enum err err;
    const char *detail;
} problem_rows[] = {
    {503, "application/problem+json",
     "{\"code\": \"unavailable\", \"detail\": \"later\", \"request_id\": \"r9\"}", ERR_UNAVAILABLE,
     "later (request r9)"},
    {400, "application/json", "{\"code\": \"missing_field\", \"title\": \"no x\"}", ERR_MISSING_FIELD,
     "no x"},
    {409, "application/problem+json", "{\"code\": \"from_the_future\", \"detail\": \"d\"}", ERR_CONFLICT,
     "d"},
    {409, "application/problem+json", "{\"code\": \"ok\", \"detail\": \"d\"}", ERR_CONFLICT, "d"},
    {409, "application/problem+json", "{\"code\": \"conflict\", \"detail\": \"\"}", ERR_CONFLICT, "conflict"},
    {409, "application/problem+json", "{\"code\": \"\", \"detail\": \"\"}", ERR_CONFLICT, "409: {"},
    {404, "application/problem+json", "{\"code\": 5}", ERR_NOT_FOUND, "404: {\"code\": 5}"},
    {404, "application/problem+json", "{\"code\"", ERR_NOT_FOUND, "404"},
    {404, "application/problem+json", "", ERR_NOT_FOUND, "404"},
    {502, "text/html", "<h1>Bad\n\n\n Gateway</h1>", ERR_UNAVAILABLE, "502: <h1>Bad Gateway</h1>"},
    {401, "text/plain", "", ERR_UNAUTHORIZED, "401"},
    {403, "text/plain", "", ERR_FORBIDDEN, "403"},
    {405, "text/plain", "", ERR_METHOD_NOT_ALLOWED, "405"},
    {408, "text/plain", "", ERR_TIMEOUT, "408"},
    {413, "text/plain", "", ERR_PAYLOAD_TOO_LARGE, "413"},
    {415, "text/plain", "", ERR_UNSUPPORTED_MEDIA_TYPE, "415"},
    {418, "text/plain", "", ERR_INVALID_FIELD, "418"},
    {422, "text/plain", "", ERR_INVALID_UPDATE, "422"},
    {429, "text/plain", "", ERR_RATE_LIMITED, "429"},
    {500, "text/plain", "", ERR_INTERNAL, "500"},
    {507, "text/plain", "", ERR_STORAGE_FULL, "507"},
};

START_TEST(test_error_replies)
{
    const struct problem_row *row = &problem_rows[_i];
    char headers[128];
    (void)snprintf(headers, sizeof headers, "Content-Type: %s\r\n", row->type);
    struct fixed_reply reply = {row->status, headers, row->body};
    struct run r = run_start(answer_fixed, &reply);
    ck_assert_int_eq(run_send(&r), row->err);
    ck_assert_int_eq(r.response.status, row->status);
    ck_assert_msg(strstr(r.fault.detail, row->detail) != NULL, "%s", r.fault.detail);
    run_end(&r);
}
END_TEST

START_TEST(test_redirect_is_not_followed)
{
    struct fixed_reply reply = {302, "Location: http://127.0.0.1:1/other\r\n", ""};
    struct run r = run_start(answer_fixed, &reply);
    ck_assert_int_eq(run_send(&r), ERR_NOT_FOUND);
    ck_assert_int_eq(r.response.status, 302);
    ck_assert_ptr_nonnull(strstr(r.fault.detail, "http://127.0.0.1:1/other"));
    ck_assert_int_eq(stub_num_requests(r.stub), 1);
    run_end(&r);
}
END_TEST

START_TEST(test_not_modified_and_no_content)
{
    struct fixed_reply reply = {304, "", ""};
    struct run r = run_start(answer_fixed, &reply);
    ck_assert_int_eq(run_send(&r), ERR_OK);
    ck_assert_int_eq(r.response.status, 304);
    run_end(&r);
    reply.status = 204;
    r = run_start(answer_fixed, &reply);
    ck_assert_int_eq(run_send(&r), ERR_OK);
    ck_assert_int_eq(r.response.status, 204);
    ck_assert_uint_eq(r.response.body.len, 0);
    run_end(&r);
}
END_TEST

START_TEST(test_reply_too_large)
{
    struct run r = run_start(answer_hello, NULL);
    r.request.max_reply_bytes = 5;
    ck_assert_int_eq(run_send(&r), ERR_OK);
    r.request.max_reply_bytes = 4;
    r.request.max_tries = 3;
    ck_assert_int_eq(run_send(&r), ERR_PAYLOAD_TOO_LARGE);
    ck_assert_int_eq(r.response.num_tries, 1);
    ck_assert_ptr_nonnull(strstr(r.fault.detail, "larger than 4 bytes"));
    run_end(&r);
}
END_TEST

START_TEST(test_large_error_body_is_cut)
{
    char *page = calloc(1, 200000);
    ck_assert_ptr_nonnull(page);
    memset(page, 'x', 199999);
    struct fixed_reply reply = {404, "Content-Type: text/html\r\n", page};
    struct run r = run_start(answer_fixed, &reply);
    ck_assert_int_eq(run_send(&r), ERR_NOT_FOUND);
    ck_assert_uint_eq(r.response.body.len, 64 * KIB);
    run_end(&r);
    free(page);
}
END_TEST

static bool answer_continue_first(struct stub *s, int fd, const struct stub_request *request)
{
    static const char interim[] = "HTTP/1.1 100 Continue\r\nX-Interim: 1\r\n\r\n";
    stub_send(fd, interim, sizeof interim - 1);
    return answer_hello(s, fd, request);
}

START_TEST(test_headers_of_the_last_reply_count)
{
    struct run r = run_start(answer_continue_first, NULL);
    ck_assert_int_eq(run_send(&r), ERR_OK);
    ck_assert_ptr_null(http_response_header(&r.response, "X-Interim"));
    ck_assert_str_eq(http_response_header(&r.response, "ETag"), "\"abc\"");
    run_end(&r);
}
END_TEST

static bool answer_long_headers(struct stub *s, int fd, const struct stub_request *request)
{
    (void)s;
    (void)request;
    stub_send(fd, "HTTP/1.1 200 OK\r\n", 17);
    for (int i = 0; i < 1000; i++) {
        char line[128];
        int n = snprintf(line, sizeof line, "X-Header-%d: %0100d\r\n", i, i);
        stub_send(fd, line, (size_t)n);
    }
    stub_send(fd, "Content-Length: 0\r\n\r\n", 21);
    return true;
}

START_TEST(test_endless_headers)
{
    struct run r = run_start(answer_long_headers, NULL);
    ck_assert_int_eq(run_send(&r), ERR_PAYLOAD_TOO_LARGE);
    run_end(&r);
}
END_TEST

struct pieces {
    char text[64];
    size_t len;
    enum err answer;
};

static enum err take_piece(void *ctx, const void *bytes, size_t n)
{
    struct pieces *p = ctx;
    ck_assert_uint_lt(p->len + n, sizeof p->text);
    memcpy(p->text + p->len, bytes, n);
    p->len += n;
    return p->answer;
}

static bool answer_chunks(struct stub *s, int fd, const struct stub_request *request)
{
    static const char reply[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    (void)s;
    (void)request;
    stub_send(fd, reply, sizeof reply - 1);
    return true;
}

START_TEST(test_body_to_callback)
{
    struct pieces pieces = {.answer = ERR_OK};
    struct run r = run_start(answer_chunks, NULL);
    r.request.on_body = take_piece;
    r.request.on_body_ctx = &pieces;
    r.request.timeout_ms = HTTP_NO_TIMEOUT;
    ck_assert_int_eq(run_send(&r), ERR_OK);
    ck_assert_str_eq(pieces.text, "abcde");
    ck_assert_uint_eq(r.response.body.len, 0);
    run_end(&r);
}
END_TEST

START_TEST(test_callback_ends_the_request)
{
    struct pieces pieces = {.answer = ERR_DIGEST_MISMATCH};
    struct run r = run_start(answer_chunks, NULL);
    r.request.on_body = take_piece;
    r.request.on_body_ctx = &pieces;
    r.request.max_tries = 5;
    ck_assert_int_eq(run_send(&r), ERR_DIGEST_MISMATCH);
    ck_assert_int_eq(stub_num_requests(r.stub), 1);
    run_end(&r);
}
END_TEST

START_TEST(test_callback_sees_no_error_reply)
{
    struct pieces pieces = {.answer = ERR_OK};
    struct fixed_reply reply = {404, "Content-Type: application/problem+json\r\n",
                                "{\"code\": \"not_found\", \"detail\": \"gone\"}"};
    struct run r = run_start(answer_fixed, &reply);
    r.request.on_body = take_piece;
    r.request.on_body_ctx = &pieces;
    ck_assert_int_eq(run_send(&r), ERR_NOT_FOUND);
    ck_assert_str_eq(r.fault.detail, "gone");
    ck_assert_uint_eq(pieces.len, 0);
    run_end(&r);
}
END_TEST

/* Breaks off inside the body on every try. */
static bool answer_half(struct stub *s, int fd, const struct stub_request *request)
{
    static const char reply[] = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc";
    (void)s;
    (void)request;
    stub_send(fd, reply, sizeof reply - 1);
    return false;
}

START_TEST(test_half_a_reply)
{
    struct pieces pieces = {.answer = ERR_OK};
    struct run r = run_start(answer_half, NULL);
    r.request.max_tries = 2;
    ck_assert_int_eq(run_send(&r), ERR_NETWORK);
    ck_assert_int_eq(r.response.status, 0);
    ck_assert_int_eq(r.response.num_tries, 2);
    ck_assert_ptr_nonnull(strstr(r.fault.detail, stub_url(r.stub)));
    r.request.on_body = take_piece;
    r.request.on_body_ctx = &pieces;
    ck_assert_int_eq(run_send(&r), ERR_NETWORK);
    ck_assert_int_eq(r.response.num_tries, 1); /* the callback has seen bytes already */
    ck_assert_str_eq(pieces.text, "abc");
    run_end(&r);
}
END_TEST

int main(void)
{
    TCase *tc = run_case("http_replies");
    tcase_add_test(tc, test_problem_json);
    tcase_add_loop_test(tc, test_error_replies, 0, (int)(sizeof problem_rows / sizeof *problem_rows));
    tcase_add_test(tc, test_redirect_is_not_followed);
    tcase_add_test(tc, test_not_modified_and_no_content);
    tcase_add_test(tc, test_reply_too_large);
    tcase_add_test(tc, test_large_error_body_is_cut);
    tcase_add_test(tc, test_headers_of_the_last_reply_count);
    tcase_add_test(tc, test_endless_headers);
    tcase_add_test(tc, test_body_to_callback);
    tcase_add_test(tc, test_callback_ends_the_request);
    tcase_add_test(tc, test_callback_sees_no_error_reply);
    tcase_add_test(tc, test_half_a_reply);
    return unit_run_case("http_replies", tc);
}
