/* What the client sends, and what it refuses to send or to talk to. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/str.h"
#include "tests/support/unit.h"
#include "tests/unit/http/http_run.h"

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
    ck_assert(stub_has_header(got, "Authorization: Bearer " RUN_TOKEN));
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
    TCase *tc = run_case("http");
    tcase_add_test(tc, test_get);
    tcase_add_test(tc, test_connection_is_kept);
    tcase_add_test(tc, test_json_body_and_headers);
    tcase_add_test(tc, test_methods_without_body);
    tcase_add_test(tc, test_head);
    tcase_add_test(tc, test_large_upload);
    tcase_add_test(tc, test_tokens);
    tcase_add_test(tc, test_texts_that_would_break_the_request);
    tcase_add_test(tc, test_base_urls);
    tcase_add_test(tc, test_bad_config);
    tcase_add_test(tc, test_tls_to_a_plain_server);
    tcase_add_test(tc, test_not_an_http_server);
    return unit_run_case("http", tc);
}
