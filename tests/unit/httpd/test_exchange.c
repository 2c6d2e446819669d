#include <string.h>
#include "common/base/buf.h"
#include "common/base/limits.h"
#include "tests/unit/httpd/fixture.h"

#define JSON_TYPE "Content-Type: application/json\r\n"

static struct http_answer get(const char *path)
{
    return http_do(app.port, "GET", path, "", NULL);
}

static void expect_text(struct http_answer answer, int status, const char *part)
{
    ck_assert_int_eq(answer.status, status);
    ck_assert_msg(strstr(answer.body, part), "%s has no %s", answer.body, part);
    http_answer_release(&answer);
}

static void expect(struct http_answer answer, int status, const char *code, const char *field)
{
    expect_problem(&answer, status, code, field);
}

START_TEST(routes_by_path_and_method)
{
    app_start(2, 10, 60);
    expect_text(get("/hello"), 200, "\"hello\":\"world\"");
    expect_text(get("/hello"), 200, "\"remote\":\"127.0.0.1\"");
    expect_text(get("/items/42"), 200, "\"item\":\"42\"");
    expect_text(get("/items/latest"), 200, "\"literal\"");
    expect_text(get("/items/7:replay"), 200, "\"item\":\"7:replay\"");
    expect_text(http_do(app.port, "POST", "/items/7:replay", "", NULL), 202, "\"replayed\":\"7\"");
    expect_text(http_do(app.port, "DELETE", "/items/latest", "", NULL), 200, "literal");
    expect_text(http_do(app.port, "POST", "/items/7%3Areplay", "", NULL), 202, "\"replayed\":\"7\"");
    expect_text(get("/files/a/b%20c/d.js"), 200, "\"path\":\"a/b c/d.js\"");
    expect_text(get("/files"), 200, "\"path\":\"\"");
    expect_text(get("http://somewhere/hello"), 200, "world");
    app_stop();
}
END_TEST

START_TEST(unknown_paths_are_404)
{
    app_start(1, 10, 60);
    expect(get("/"), 404, "not_found", NULL);
    expect(get("/hello/"), 404, "not_found", NULL);
    expect(get("//hello"), 404, "not_found", NULL);
    expect(get("/items/"), 404, "not_found", NULL);
    expect(get("/items/a/b"), 404, "not_found", NULL);
    expect(http_do(app.port, "POST", "/nowhere", "Content-Type: text/plain\r\n", "some body"), 404,
           "not_found", NULL);
    app_stop();
}
END_TEST

START_TEST(other_methods_are_405_with_allow)
{
    app_start(1, 10, 60);
    struct http_answer a = http_do(app.port, "PUT", "/hello", "", NULL);
    ck_assert_str_eq(http_answer_field(&a, "Allow"), "GET, HEAD, OPTIONS");
    expect_problem(&a, 405, "method_not_allowed", NULL);
    a = http_do(app.port, "BREW", "/items/1", "", NULL);
    ck_assert_str_eq(http_answer_field(&a, "Allow"), "GET, HEAD, DELETE, OPTIONS");
    expect_problem(&a, 405, "method_not_allowed", NULL);
    a = http_do(app.port, "OPTIONS", "/echo", "", NULL);
    ck_assert_int_eq(a.status, 204);
    ck_assert_str_eq(http_answer_field(&a, "Allow"), "POST, OPTIONS");
    http_answer_release(&a);
    app_stop();
}
END_TEST

START_TEST(head_is_get_without_a_body)
{
    app_start(1, 10, 60);
    struct http_client c;
    ck_assert(http_client_open(&c, app.port));
    struct http_answer a = http_client_do(&c, "HEAD", "/blob", "", NULL);
    ck_assert_int_eq(a.status, 200);
    ck_assert_str_eq(http_answer_field(&a, "Content-Length"), "3000000");
    http_answer_release(&a);
    /* Nothing of a body stands in the way of the next answer. */
    expect_text(http_client_do(&c, "GET", "/hello", "", NULL), 200, "world");
    http_client_close(&c);
    app_stop();
    ck_assert_int_eq(app.released, 1);
    ck_assert_uint_eq(app.largest_pull, 0);
}
END_TEST

START_TEST(paths_are_decoded_by_segment)
{
    app_start(1, 10, 60);
    expect_text(get("/items/a%2Fb"), 200, "\"item\":\"a/b\"");
    expect_text(get("/items/a%2fb"), 200, "\"item\":\"a/b\"");
    expect_text(get("/items/%C3%A9+x"), 200, "\"item\":\"\xc3\xa9+x\"");
    expect_text(get("/items/%2e%2E"), 200, "\"item\":\"..\"");
    expect_text(get("/h%65llo"), 200, "world");
    expect(get("/items/a%00b"), 400, "invalid_field", "path");
    expect(get("/items/%ff"), 400, "invalid_field", "path");
    expect(get("/items/%c0%af"), 400, "invalid_field", "path");
    expect(get("/items/100%"), 400, "invalid_field", "path");
    expect(get("/items/%4"), 400, "invalid_field", "path");
    expect(get("/items/%zz"), 400, "invalid_field", "path");
    expect(get("/files/a%2Fb"), 400, "invalid_field", "path");
    expect(get("/files/../x"), 400, "invalid_field", "path");
    expect(get("/files/%2e%2e/x"), 400, "invalid_field", "path");
    expect(get("/files/a//b"), 400, "invalid_field", "path");
    app_stop();
}
END_TEST

START_TEST(queries_are_decoded_and_known)
{
    app_start(1, 10, 60);
    expect_text(get("/items/1?limit=7&name=a+b%2Bc%26d"), 200, "\"name\":\"a b+c&d\"");
    expect_text(get("/items/1?limit=7"), 200, "\"limit\":7");
    expect_text(get("/items/1"), 200, "\"limit\":5");
    expect_text(get("/items/1?n%61me=x"), 200, "\"name\":\"x\"");
    expect_text(get("/items/1?name"), 200, "\"name\":\"\"");
    expect(get("/items/1?limt=7"), 400, "unknown_field", "limt");
    expect(get("/hello?x=1"), 400, "unknown_field", "x");
    expect(get("/items/1?name=a&name=b"), 400, "invalid_field", "name");
    expect(get("/items/1?limit=11"), 400, "invalid_field", "limit");
    expect(get("/items/1?limit=-"), 400, "invalid_field", "limit");
    expect(get("/items/1?name=%00"), 400, "invalid_field", "name");
    expect(get("/items/1?name=%fe"), 400, "invalid_field", "name");
    expect_text(get("/lax/1?limt=7&name=y"), 200, "\"name\":\"y\"");
    app_stop();
}
END_TEST

START_TEST(a_query_has_at_most_so_many_parameters)
{
    struct buf path = BUF_INIT(KIB);
    app_start(1, 10, 60);
    ck_assert_int_eq(buf_puts(&path, "/many?q0=a"), ERR_OK);
    for (int i = 1; i < LIMIT_QUERY_PARAMS; i++)
        ck_assert_int_eq(buf_printf(&path, "&q%d=%d", i, i), ERR_OK);
    expect_text(get(path.data), 200, "\"q31\":\"31\"");
    ck_assert_int_eq(buf_printf(&path, "&q%d=x", LIMIT_QUERY_PARAMS), ERR_OK);
    expect(get(path.data), 400, "invalid_field", "query");
    expect_text(get("/hello"), 200, "world");
    buf_release(&path);
    app_stop();
}
END_TEST

START_TEST(a_request_has_so_much_memory)
{
    char path[32];
    app_start(1, 10, 60);
    (void)snprintf(path, sizeof path, "/hungry/%zu", LIMIT_REQUEST_ARENA / MIB - 1); /* blocks have heads */
    ck_assert_int_eq(status_of("GET", path, "", NULL), 204);
    (void)snprintf(path, sizeof path, "/hungry/%zu", LIMIT_REQUEST_ARENA / MIB + 1);
    struct http_answer a = get(path);
    ck_assert_ptr_nonnull(http_answer_field(&a, "Retry-After"));
    expect(a, 503, "unavailable", NULL);
    expect_text(get("/hello"), 200, "world");
    app_stop();
}
END_TEST

START_TEST(who_asks_is_settled_first)
{
    app_start(1, 10, 60);
    struct http_answer a = get("/secret?unknown=1");
    ck_assert_str_eq(http_answer_field(&a, "WWW-Authenticate"), "Bearer");
    expect_problem(&a, 401, "unauthorized", NULL);
    expect(http_do(app.port, "GET", "/secret", "Authorization: Bearer bad\r\n", NULL), 403, "forbidden",
           NULL);
    expect_text(http_do(app.port, "GET", "/secret", "Authorization: Bearer good\r\n", NULL), 200,
                "\"caller\":\"a caller\"");
    app_stop();
}
END_TEST

START_TEST(refusals_come_before_the_body)
{
    app_start(1, 10, 60);
    struct http_client c;
    struct http_answer a;
    static const char *const tries[][2] = {
        {"PUT /secret", "Authorization: Bearer bad\r\nContent-Length: 1000000\r\n"},
        {"PUT /upload", "Content-Type: text/plain\r\nContent-Length: 1000000\r\n"},
        {"PUT /upload/small", "Content-Length: 1000000\r\n"},
        {"POST /hello", "Content-Length: 1000000\r\n"},
        {"POST /nowhere", "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n"},
        {"PUT /upload?refuse=1", "Content-Type: application/octet-stream\r\nContent-Length: 1000000\r\n"},
    };
    static const int statuses[] = {403, 415, 413, 405, 404, 409};
    for (size_t i = 0; i < 6; i++) {
        ck_assert(http_client_open(&c, app.port));
        ck_assert(http_client_print(&c, "%s HTTP/1.1\r\nHost: test\r\n%s\r\n", tries[i][0], tries[i][1]));
        ck_assert(http_client_read(&c, false, &a)); /* no byte of the body was sent */
        ck_assert_int_eq(a.status, statuses[i]);
        http_answer_release(&a);
        ck_assert(http_client_read_end(&c));
        http_client_close(&c);
    }
    app_stop();
    ck_assert_int_eq(app.opened, 0);
}
END_TEST

START_TEST(a_short_refused_body_keeps_the_connection)
{
    app_start(1, 10, 60);
    struct http_client c;
    ck_assert(http_client_open(&c, app.port));
    expect(http_client_do(&c, "POST", "/small", "Content-Type: application/json\r\n",
                          "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22]"),
           413, "payload_too_large", NULL);
    expect(http_client_do(&c, "GET", "/hello", "", "unwanted"), 413, "payload_too_large", NULL);
    expect(http_client_do(&c, "POST", "/echo", "Content-Type: text/plain\r\n", "{}"), 415,
           "unsupported_media_type", "Content-Type");
    expect(http_client_do(&c, "POST", "/echo", "", "{}"), 415, "unsupported_media_type", "Content-Type");
    expect(http_client_do(&c, "POST", "/echo", "Content-Type: application/json\r\nContent-Encoding: gzip\r\n",
                          "{}"),
           415, "unsupported_media_type", "Content-Encoding");
    expect_text(http_client_do(&c, "GET", "/hello", "", NULL), 200, "world");
    http_client_close(&c);
    app_stop();
}
END_TEST

START_TEST(json_bodies_are_parsed)
{
    app_start(1, 10, 60);
    const char *type = "Content-Type: Application/JSON ; charset=utf-8\r\n";
    expect_text(http_do(app.port, "POST", "/echo", type, "{\"a\": [1, 2.5]}"), 200,
                "\"got\":{\"a\":[1,2.5]}");
    struct http_answer a = http_do(app.port, "POST", "/echo", type, "{\"a\": 1,\n \"b\": }");
    ck_assert(strstr(a.body, "line 2, column"));
    expect_problem(&a, 400, "malformed_json", NULL);
    expect(http_do(app.port, "POST", "/echo", type, "{\"a\":1,\"a\":2}"), 400, "malformed_json", NULL);
    expect(http_do(app.port, "POST", "/echo", type, "{} x"), 400, "malformed_json", NULL);
    expect(http_do(app.port, "POST", "/echo", type, ""), 400, "malformed_json", NULL);
    expect(http_do(app.port, "POST", "/echo", type, NULL), 400, "malformed_json", NULL);
    expect_text(http_do(app.port, "POST", "/optional", "", NULL), 200, "\"got\":null");
    expect_text(http_do(app.port, "POST", "/optional", type, "{}"), 200, "\"got\":{}");
    app_stop();
}
END_TEST

/* POST /echo of "{}" with this Content-Digest. */
static struct http_answer echo_with_digest(const char *digest)
{
    char headers[256];
    (void)snprintf(headers, sizeof headers, "Content-Type: application/json\r\nContent-Digest: %s\r\n",
                   digest);
    return http_do(app.port, "POST", "/echo", headers, "{}");
}

START_TEST(json_digests_are_verified)
{
    app_start(1, 10, 60);
    /* Of "{}" and of "". */
    expect_text(echo_with_digest("sha-256=:RBNvo1WzZ4oRRq0W9+hknpT7T8If536DEMBg9hyq/4o=:"), 200,
                "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
    expect(echo_with_digest("sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"), 422, "digest_mismatch",
           "Content-Digest");
    expect(echo_with_digest("sha-256=nonsense"), 400, "invalid_field", "Content-Digest");
    expect_text(echo_with_digest("sha-512=:AAAA:"), 200, "\"got\":{}");
    app_stop();
}
END_TEST

START_TEST(faults_become_problems)
{
    app_start(1, 10, 60);
    expect(get("/failures/x"), 409, "conflict", "name");
    struct http_answer a = get("/failures/x");
    ck_assert_ptr_null(http_answer_field(&a, "X-Never"));
    http_answer_release(&a);
    expect(get("/failures/bare"), 409, "stale_round", NULL);
    a = get("/failures/io");
    ck_assert_ptr_null(strstr(a.body, "secret"));
    expect_problem(&a, 500, "internal", NULL);
    expect(get("/failures/nothing"), 500, "internal", NULL);
    a = get("/failures/busy");
    ck_assert_ptr_nonnull(http_answer_field(&a, "Retry-After"));
    expect_problem(&a, 503, "unavailable", NULL);
    expect_text(get("/own/x"), 409, "OWN_FACE");
    app_stop();
}
END_TEST

/* 65 characters: one too many. */
#define LONG_ID "X-Request-Id: 01234567890123456789012345678901234567890123456789012345678901234\r\n"

START_TEST(request_ids_are_taken_or_made)
{
    app_start(1, 10, 60);
    struct http_answer a = http_do(app.port, "GET", "/hello", "X-Request-Id: my.id_1-x\r\n", NULL);
    ck_assert_str_eq(http_answer_field(&a, "X-Request-Id"), "my.id_1-x");
    http_answer_release(&a);
    static const char *const bad[] = {"X-Request-Id: a b\r\n", "X-Request-Id: \r\n", "X-Request-Id: a\"b\r\n",
                                      LONG_ID};
    char former[64] = "";
    for (size_t i = 0; i < 4; i++) {
        a = http_do(app.port, "GET", "/hello", bad[i], NULL);
        const char *id = http_answer_field(&a, "X-Request-Id");
        ck_assert_uint_eq(strspn(id, "0123456789abcdef"), 32);
        ck_assert_uint_eq(strlen(id), 32);
        ck_assert_str_ne(id, former);
        (void)snprintf(former, sizeof former, "%s", id);
        http_answer_release(&a);
    }
    app_stop();
}
END_TEST

START_TEST(every_exchange_is_observed)
{
    app_start(1, 10, 60);
    ck_assert_int_eq(status_of("POST", "/echo", "Content-Type: application/json\r\n", "{ }"), 200);
    app_stop();
    ck_assert_int_eq(app.observed, 1);
    ck_assert_int_eq(app.last_status, 200);
    ck_assert_uint_eq(app.last_bytes_in, 3);
    ck_assert_uint_eq(app.last_bytes_out, strlen("{\"got\":{},\"sha256\":\"\"}") + 64);
}
END_TEST

#define BROKEN_CHUNK "POST /echo HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n" JSON_TYPE "\r\nzz\r\n"

START_TEST(nonsense_ends_the_connection_and_nothing_else)
{
    app_start(1, 10, 60);
    static const char *const texts[] = {"\r\n\r\n\r\nxx\r\n\r\n", "GET /hello\r\n\r\n",
                                        "GET /hello HTTP/9.9\r\n\r\n", BROKEN_CHUNK,
                                        "GET /hello HTTP/1.1\r\n\r\n"};
    struct http_client c;
    struct http_answer a;
    for (size_t i = 0; i < 5; i++) {
        ck_assert(http_client_open(&c, app.port));
        ck_assert(http_client_print(&c, "%s", texts[i]));
        (void)http_client_read(&c, false, &a); /* an error of libmicrohttpd's own, or the end */
        ck_assert_int_ne(a.status, 200);
        http_answer_release(&a);
        http_client_close(&c);
    }
    /* More headers than a connection has memory for. */
    ck_assert(http_client_open(&c, app.port));
    ck_assert(http_client_print(&c, "GET /hello HTTP/1.1\r\nHost: test\r\n"));
    for (int i = 0; i < 2000; i++)
        (void)http_client_print(&c, "X-%d: %060d\r\n", i, i);
    (void)http_client_read(&c, false, &a);
    ck_assert(a.status == 431 || a.status == 0);
    http_answer_release(&a);
    http_client_close(&c);
    ck_assert_int_eq(status_of("GET", "/hello", "", NULL), 200);
    app_stop();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        routes_by_path_and_method,
        unknown_paths_are_404,
        other_methods_are_405_with_allow,
        head_is_get_without_a_body,
        paths_are_decoded_by_segment,
        queries_are_decoded_and_known,
        a_query_has_at_most_so_many_parameters,
        a_request_has_so_much_memory,
        who_asks_is_settled_first,
        refusals_come_before_the_body,
        a_short_refused_body_keeps_the_connection,
        json_bodies_are_parsed,
        json_digests_are_verified,
        faults_become_problems,
        request_ids_are_taken_or_made,
        every_exchange_is_observed,
        nonsense_ends_the_connection_and_nothing_else,
    };
    return unit_run("exchange", tests, sizeof tests / sizeof *tests);
}
