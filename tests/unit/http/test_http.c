#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/base/clock.h"
#include "common/base/limits.h"
#include "common/base/str.h"
#include "common/http/http.h"
#include "tests/unit/http/stub_server.h"

#define TOKEN "fl_0123456789abcdef"

static struct http_client *client_of(const char *base_url)
{
    struct http_config config = {
        .base_url = base_url, .user_agent = "test/1", .token = TOKEN, .retry_seed = 7};
    struct http_client *c = NULL;
    struct fault fault = FAULT_NONE;
    ck_assert_msg(http_client_new(&config, &c, &fault) == ERR_OK, "%s", fault.detail);
    return c;
}

/* One server, one client, one request. */
struct run {
    struct stub *stub;
    struct http_client *client;
    struct http_request request;
    struct http_response response;
    struct fault fault;
};

static struct run run_start(stub_handler *handler, void *ctx)
{
    struct run r = {.stub = stub_start(handler, ctx), .request = {.path = "/x", .timeout_ms = 20000}};
    r.client = client_of(stub_url(r.stub));
    return r;
}

static enum err run_send(struct run *r)
{
    r->fault = FAULT_NONE;
    enum err e = http_request(r->client, &r->request, &r->response, &r->fault);
    ck_assert_int_eq(e, r->fault.err);
    ck_assert_msg(!strstr(r->fault.detail, TOKEN), "a fault tells the token: %s", r->fault.detail);
    return e;
}

static void run_end(struct run *r)
{
    http_response_release(&r->response);
    http_client_free(r->client);
    stub_stop(r->stub);
}

static bool answer_hello(struct stub *s, int fd, const struct stub_request *request)
{
    (void)s;
    (void)request;
    stub_reply(fd, 200, "ETag: \"abc\"\r\nX-Empty:\r\nContent-Type: text/plain\r\n", "hello");
    return true;
}

START_TEST(test_get)
{
    struct run r = run_start(answer_hello, NULL);
    ck_assert_int_eq(run_send(&r), ERR_OK);
    ck_assert_int_eq(r.response.status, 200);
    ck_assert_str_eq(r.response.body.data, "hello");
    ck_assert_str_eq(http_response_header(&r.response, "etag"), "\"abc\"");
    ck_assert_str_eq(http_response_header(&r.response, "X-EMPTY"), "");
    ck_assert_ptr_null(http_response_header(&r.response, "X-Other"));
    ck_assert_uint_eq(r.response.bytes_received, 5);
    ck_assert_int_eq(r.response.num_tries, 1);
    const struct stub_request *got = stub_request(r.stub, 0);
    ck_assert(str_has_prefix(got->head, "GET /x HTTP/1.1\r\n"));
    ck_assert(stub_has_header(got, "Authorization: Bearer " TOKEN));
    ck_assert(stub_has_header(got, "User-Agent: test/1"));
    ck_assert_ptr_null(strcasestr(got->head, "content-type"));
    run_end(&r);
}
END_TEST

START_TEST(test_connection_is_kept)
{
    struct run r = run_start(answer_hello, NULL);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(run_send(&r), ERR_OK);
    ck_assert_int_eq(stub_num_requests(r.stub), 5);
    ck_assert_int_eq(stub_num_connections(r.stub), 1);
    run_end(&r);
}
END_TEST

START_TEST(test_json_body_and_headers)
{
    struct run r = run_start(answer_hello, NULL);
    struct http_header headers[] = {{"Idempotency-Key", "k 1"}, {"X-Nothing", ""}};
    r.request.method = "POST";
    r.request.body = "{}";
    r.request.body_size = 2;
    r.request.headers = headers;
    r.request.num_headers = 2;
    ck_assert_int_eq(run_send(&r), ERR_OK);
    const struct stub_request *got = stub_request(r.stub, 0);
    ck_assert(str_has_prefix(got->head, "POST /x HTTP/1.1\r\n"));
    ck_assert(stub_has_header(got, "Content-Type: application/json"));
    ck_assert(stub_has_header(got, "Content-Length: 2"));
    ck_assert(stub_has_header(got, "Idempotency-Key: k 1"));
    ck_assert(stub_has_header(got, "X-Nothing:") || stub_has_header(got, "X-Nothing: "));
    ck_assert_str_eq(got->body, "{}");
    ck_assert_uint_eq(r.response.bytes_sent, 2);
    run_end(&r);
}
END_TEST

START_TEST(test_methods_without_body)
{
    static const char *const methods[] = {"POST", "PUT", "PATCH", "DELETE", "HEAD", "GET"};
    struct run r = run_start(answer_hello, NULL);
    for (int i = 0; i < 6; i++) {
        char line[32];
        r.request.method = methods[i];
        if (i == 4) /* the stub would send a body */
            continue;
        ck_assert_int_eq(run_send(&r), ERR_OK);
        const struct stub_request *got = stub_request(r.stub, stub_num_requests(r.stub) - 1);
        (void)snprintf(line, sizeof line, "%s /x HTTP/1.1\r\n", methods[i]);
        ck_assert(str_has_prefix(got->head, line));
        ck_assert_ptr_null(strcasestr(got->head, "content-type"));
        ck_assert_int_eq(strcasestr(got->head, "content-length: 0") != NULL, i < 3);
    }
    run_end(&r);
}
END_TEST

static bool answer_head(struct stub *s, int fd, const struct stub_request *request)
{
    static const char reply[] = "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n";
    (void)s;
    ck_assert(str_has_prefix(request->head, "HEAD "));
    stub_send(fd, reply, sizeof reply - 1);
    return true;
}

START_TEST(test_head)
{
    struct run r = run_start(answer_head, NULL);
    r.request.method = "HEAD";
    ck_assert_int_eq(run_send(&r), ERR_OK);
    ck_assert_str_eq(http_response_header(&r.response, "Content-Length"), "5000");
    ck_assert_uint_eq(r.response.body.len, 0);
    run_end(&r);
}
END_TEST

START_TEST(test_large_upload)
{
    enum { SIZE = 3 * 1024 * 1024 };
    char *body = malloc(SIZE);
    ck_assert_ptr_nonnull(body);
    for (size_t i = 0; i < SIZE; i++)
        body[i] = (char)(i * 2654435761U >> 11);
    struct run r = run_start(answer_hello, NULL);
    r.request.method = "PUT";
    r.request.content_type = "application/vnd.safetensors";
    r.request.body = body;
    r.request.body_size = SIZE;
    r.request.timeout_ms = 0;
    ck_assert_int_eq(run_send(&r), ERR_OK);
    const struct stub_request *got = stub_request(r.stub, 0);
    ck_assert_uint_eq(got->body_size, SIZE);
    ck_assert_int_eq(memcmp(got->body, body, SIZE), 0);
    ck_assert(stub_has_header(got, "Content-Type: application/vnd.safetensors"));
    ck_assert_ptr_null(strcasestr(got->head, "expect:"));
    ck_assert_uint_eq(r.response.bytes_sent, SIZE);
    free(body);
    run_end(&r);
}
END_TEST

START_TEST(test_tokens)
{
    struct run r = run_start(answer_hello, NULL);
    r.request.token = "enrolment";
    ck_assert_int_eq(run_send(&r), ERR_OK);
    r.request.token = NULL;
    ck_assert_int_eq(http_client_set_token(r.client, "another"), ERR_OK);
    ck_assert_int_eq(run_send(&r), ERR_OK);
    ck_assert_int_eq(http_client_set_token(r.client, NULL), ERR_OK);
    ck_assert_int_eq(run_send(&r), ERR_OK);
    ck_assert(stub_has_header(stub_request(r.stub, 0), "Authorization: Bearer enrolment"));
    ck_assert(stub_has_header(stub_request(r.stub, 1), "Authorization: Bearer another"));
    ck_assert_ptr_null(strcasestr(stub_request(r.stub, 2)->head, "authorization"));
    ck_assert_int_eq(http_client_set_token(r.client, "two words"), ERR_USAGE);
    ck_assert_int_eq(http_client_set_token(r.client, ""), ERR_USAGE);
    ck_assert_int_eq(http_client_set_token(r.client, "a\r\nX-Evil: 1"), ERR_USAGE);
    char long_token[1200];
    memset(long_token, 'a', sizeof long_token);
    long_token[sizeof long_token - 1] = '\0';
    ck_assert_int_eq(http_client_set_token(r.client, long_token), ERR_USAGE);
    run_end(&r);
}
END_TEST

START_TEST(test_texts_that_would_break_the_request)
{
    struct run r = run_start(answer_hello, NULL);
    struct http_header header = {"X-Name", "a\r\nX-Evil: 1"};
    r.request.headers = &header;
    r.request.num_headers = 1;
    ck_assert_int_eq(run_send(&r), ERR_USAGE);
    header = (struct http_header){"X Name", "a"};
    ck_assert_int_eq(run_send(&r), ERR_USAGE);
    r.request.num_headers = 0;
    static const char *const paths[] = {"x", "", "/a b", "/a\r\nHost: b", NULL};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        r.request.path = paths[i];
        ck_assert_int_eq(run_send(&r), ERR_USAGE);
    }
    r.request.path = "/x";
    r.request.method = "GET /y";
    ck_assert_int_eq(run_send(&r), ERR_USAGE);
    r.request.method = NULL;
    r.request.token = "a\nb";
    ck_assert_int_eq(run_send(&r), ERR_USAGE);
    r.request.token = NULL;
    r.request.content_type = "a\nb";
    ck_assert_int_eq(run_send(&r), ERR_USAGE);
    ck_assert_int_eq(stub_num_requests(r.stub), 0);
    run_end(&r);
}
END_TEST

/* The handler's context is the reply: status, headers, body. */
struct fixed_reply {
    int status;
    const char *headers, *body;
};

static bool answer_fixed(struct stub *s, int fd, const struct stub_request *request)
{
    const struct fixed_reply *reply = stub_ctx(s);
    (void)request;
    stub_reply(fd, reply->status, reply->headers, reply->body);
    return true;
}

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
    ck_assert_str_eq(r.fault.detail, "round 3 is closed");
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

/* 503, a closed connection, then a proper reply. Each on a connection of its own: curl itself repeats what a
 * kept one did not answer at all. */
static bool answer_third_time(struct stub *s, int fd, const struct stub_request *request)
{
    if (request->number == 0)
        stub_reply(fd, 503, "X-First: 1\r\nConnection: close\r\n", "busy");
    else if (request->number == 2)
        return answer_hello(s, fd, request);
    return false;
}

START_TEST(test_tries_again)
{
    struct run r = run_start(answer_third_time, NULL);
    r.request.method = "PUT";
    r.request.body = "body";
    r.request.body_size = 4;
    r.request.max_tries = 5;
    ck_assert_int_eq(run_send(&r), ERR_OK);
    ck_assert_int_eq(r.response.num_tries, 3);
    ck_assert_str_eq(r.response.body.data, "hello");
    ck_assert_ptr_null(http_response_header(&r.response, "X-First"));
    for (int i = 0; i < 3; i++)
        ck_assert_str_eq(stub_request(r.stub, i)->body, "body");
    run_end(&r);
}
END_TEST

START_TEST(test_gives_up)
{
    struct fixed_reply reply = {429, "Content-Type: text/plain\r\n", "slow down"};
    struct run r = run_start(answer_fixed, &reply);
    r.request.max_tries = 3;
    ck_assert_int_eq(run_send(&r), ERR_RATE_LIMITED);
    ck_assert_int_eq(r.response.num_tries, 3);
    ck_assert_int_eq(stub_num_requests(r.stub), 3);
    run_end(&r);
}
END_TEST

START_TEST(test_client_errors_are_final)
{
    struct fixed_reply reply = {409, "", ""};
    struct run r = run_start(answer_fixed, &reply);
    r.request.max_tries = 3;
    ck_assert_int_eq(run_send(&r), ERR_CONFLICT);
    ck_assert_int_eq(stub_num_requests(r.stub), 1);
    run_end(&r);
}
END_TEST

START_TEST(test_retry_after)
{
    struct fixed_reply reply = {503, "Retry-After: 17\r\n", ""};
    struct run r = run_start(answer_fixed, &reply);
    ck_assert_int_eq(run_send(&r), ERR_UNAVAILABLE);
    ck_assert_int_eq(r.response.retry_after_ms, 17000);
    reply.headers = "Retry-After: 99999999\r\n";
    ck_assert_int_eq(run_send(&r), ERR_UNAVAILABLE);
    ck_assert_int_eq(r.response.retry_after_ms, 600000);
    run_end(&r);
}
END_TEST

/* The first reply asks for a second's patience. */
static bool answer_after_a_second(struct stub *s, int fd, const struct stub_request *request)
{
    int64_t *came_ns = stub_ctx(s);
    came_ns[request->number] = mono_ns();
    stub_reply(fd, request->number == 0 ? 503 : 200, request->number == 0 ? "Retry-After: 1\r\n" : "", "");
    return true;
}

START_TEST(test_retry_after_is_honoured)
{
    int64_t came_ns[2] = {0, 0};
    struct run r = run_start(answer_after_a_second, came_ns);
    r.request.max_tries = 2;
    ck_assert_int_eq(run_send(&r), ERR_OK);
    ck_assert_int_ge(came_ns[1] - came_ns[0], 999000000);
    run_end(&r);
}
END_TEST

START_TEST(test_connection_refused)
{
    struct stub *stub = stub_start(answer_hello, NULL);
    struct http_client *c = client_of(stub_url(stub));
    struct http_response response = HTTP_RESPONSE_INIT;
    struct fault fault = FAULT_NONE;
    char url[64];
    (void)snprintf(url, sizeof url, "%s", stub_url(stub));
    stub_stop(stub);
    struct http_request request = {.path = "/x", .max_tries = 2, .timeout_ms = 20000};
    ck_assert_int_eq(http_request(c, &request, &response, &fault), ERR_NETWORK);
    ck_assert_int_eq(response.num_tries, 2);
    ck_assert_ptr_nonnull(strstr(fault.detail, url));
    ck_assert_ptr_nonnull(strstr(fault.detail, "refused"));
    ck_assert_ptr_nonnull(strstr(fault.detail, "check that the server runs"));
    http_response_release(&response);
    http_client_free(c);
}
END_TEST

static bool answer_never(struct stub *s, int fd, const struct stub_request *request)
{
    (void)fd;
    (void)request;
    stub_hang(s);
    return false;
}

START_TEST(test_timeout)
{
    struct run r = run_start(answer_never, NULL);
    r.request.timeout_ms = 50;
    ck_assert_int_eq(run_send(&r), ERR_TIMEOUT);
    ck_assert_int_eq(r.response.status, 0);
    ck_assert_ptr_nonnull(strstr(r.fault.detail, stub_url(r.stub)));
    run_end(&r);
}
END_TEST

static void *cancel_when_asked(void *arg)
{
    struct run *r = arg;
    stub_wait_requests(r->stub, 1);
    http_client_cancel(r->client);
    return NULL;
}

START_TEST(test_cancel)
{
    struct run r = run_start(answer_never, NULL);
    pthread_t thread;
    r.request.timeout_ms = HTTP_NO_TIMEOUT;
    r.request.max_tries = 9;
    ck_assert_int_eq(pthread_create(&thread, NULL, cancel_when_asked, &r), 0);
    ck_assert_int_eq(run_send(&r), ERR_CANCELLED);
    pthread_join(thread, NULL);
    ck_assert_int_eq(run_send(&r), ERR_CANCELLED); /* it stays */
    ck_assert_int_eq(stub_num_requests(r.stub), 1);
    ck_assert_int_eq(http_client_sleep(r.client, 1000000), ERR_CANCELLED);
    run_end(&r);
}
END_TEST

static struct http_client *signalled_client;

static void on_signal(int number)
{
    (void)number;
    http_client_cancel(signalled_client);
}

static void *raise_when_asked(void *arg)
{
    stub_wait_requests(arg, 1);
    (void)kill(getpid(), SIGUSR1);
    return NULL;
}

START_TEST(test_cancel_from_signal_handler)
{
    struct run r = run_start(answer_never, NULL);
    pthread_t thread;
    signalled_client = r.client;
    ck_assert(signal(SIGUSR1, on_signal) != SIG_ERR);
    r.request.timeout_ms = HTTP_NO_TIMEOUT;
    ck_assert_int_eq(pthread_create(&thread, NULL, raise_when_asked, r.stub), 0);
    ck_assert_int_eq(run_send(&r), ERR_CANCELLED);
    pthread_join(thread, NULL);
    run_end(&r);
}
END_TEST

START_TEST(test_sleep)
{
    struct http_client *c = client_of("http://127.0.0.1:1");
    int64_t start_ns = mono_ns();
    ck_assert_int_eq(http_client_sleep(c, 30), ERR_OK);
    ck_assert_int_ge(mono_ns() - start_ns, 30000000);
    ck_assert_int_eq(http_client_sleep(c, -5), ERR_OK);
    http_client_free(c);
}
END_TEST

START_TEST(test_base_urls)
{
    static const struct {
        const char *url, *text; /* text: NULL when it is fine */
    } rows[] = {
        {"http://127.0.0.1:8080", NULL},
        {"https://[::1]:8443/prefix/", NULL},
        {"127.0.0.1:8080", "write http://HOST:PORT"},
        {"localhost:8080", "write http://HOST:PORT"},
        {"", "write http://HOST:PORT"},
        {"http://", "write http://HOST:PORT"},
        {"http://a b/", "write http://HOST:PORT"},
        {"ftp://host", "write http://HOST:PORT"},
        {"http://user:secret@host/", "user or a password"},
        {"ftp://user:secret@host/ x", "'@'"},
        {"http://host/?a=b", "must end before"},
        {"http://host/#a", "must end before"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct http_config config = {.base_url = rows[i].url};
        struct http_client *c = NULL;
        struct fault fault = FAULT_NONE;
        enum err e = http_client_new(&config, &c, &fault);
        ck_assert_msg(e == (rows[i].text ? ERR_USAGE : ERR_OK), "%s: %s", rows[i].url, fault.detail);
        ck_assert_int_eq(fault.err, e);
        if (rows[i].text)
            ck_assert_msg(strstr(fault.detail, rows[i].text) != NULL, "%s", fault.detail);
        ck_assert_ptr_null(strstr(fault.detail, "secret"));
        if (!rows[i].text && i == 1)
            ck_assert_str_eq(http_client_base_url(c), "https://[::1]:8443/prefix");
        http_client_free(c);
    }
}
END_TEST

START_TEST(test_bad_config)
{
    struct http_client *c = NULL;
    struct fault fault = FAULT_NONE;
    struct http_config config = {.base_url = "https://host", .ca_file = "/nonexistent/ca.pem"};
    ck_assert_int_eq(http_client_new(&config, &c, &fault), ERR_USAGE);
    ck_assert_ptr_nonnull(strstr(fault.detail, "/nonexistent/ca.pem"));
    config = (struct http_config){.base_url = "http://host", .token = "bad secret"};
    ck_assert_int_eq(http_client_new(&config, &c, &fault), ERR_USAGE);
    ck_assert_ptr_null(strstr(fault.detail, "secret"));
    ck_assert_ptr_null(c);
}
END_TEST

START_TEST(test_tls_to_a_plain_server)
{
    struct stub *stub = stub_start(answer_hello, NULL);
    char url[64];
    struct http_response response = HTTP_RESPONSE_INIT;
    struct fault fault = FAULT_NONE;
    (void)snprintf(url, sizeof url, "https%s", stub_url(stub) + strlen("http"));
    struct http_client *c = client_of(url);
    struct http_request request = {.path = "/x", .timeout_ms = 2000};
    enum err e = http_request(c, &request, &response, &fault);
    ck_assert_msg(e == ERR_NETWORK || e == ERR_TIMEOUT, "%s", fault.detail);
    ck_assert_ptr_nonnull(strstr(fault.detail, url));
    http_response_release(&response);
    http_client_free(c);
    stub_stop(stub);
}
END_TEST

static bool answer_not_http(struct stub *s, int fd, const struct stub_request *request)
{
    (void)s;
    (void)request;
    stub_send(fd, "\x15\x03\x01\x00\x02\x02\x46 not http\r\n\r\n", 20);
    return false;
}

START_TEST(test_not_an_http_server)
{
    struct run r = run_start(answer_not_http, NULL);
    ck_assert_int_eq(run_send(&r), ERR_NETWORK);
    ck_assert_msg(strstr(r.fault.detail, "https://") != NULL, "%s", r.fault.detail);
    run_end(&r);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("http");
    TCase *tc = tcase_create("http");
    (void)unsetenv("http_proxy");
    (void)unsetenv("all_proxy");
    (void)unsetenv("ALL_PROXY");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, test_get);
    tcase_add_test(tc, test_connection_is_kept);
    tcase_add_test(tc, test_json_body_and_headers);
    tcase_add_test(tc, test_methods_without_body);
    tcase_add_test(tc, test_head);
    tcase_add_test(tc, test_large_upload);
    tcase_add_test(tc, test_tokens);
    tcase_add_test(tc, test_texts_that_would_break_the_request);
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
    tcase_add_test(tc, test_tries_again);
    tcase_add_test(tc, test_gives_up);
    tcase_add_test(tc, test_client_errors_are_final);
    tcase_add_test(tc, test_retry_after);
    tcase_add_test(tc, test_retry_after_is_honoured);
    tcase_add_test(tc, test_connection_refused);
    tcase_add_test(tc, test_timeout);
    tcase_add_test(tc, test_cancel);
    tcase_add_test(tc, test_cancel_from_signal_handler);
    tcase_add_test(tc, test_sleep);
    tcase_add_test(tc, test_base_urls);
    tcase_add_test(tc, test_bad_config);
    tcase_add_test(tc, test_tls_to_a_plain_server);
    tcase_add_test(tc, test_not_an_http_server);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
