#include <sched.h>
#include <string.h>
#include "tests/unit/httpd/fixture.h"

static void expect_part(const struct http_answer *a, uint64_t offset, uint64_t length)
{
    ck_assert_uint_eq(a->body_len, length);
    for (uint64_t i = 0; i < length; i++)
        if (a->body[i] != blob_byte(offset + i))
            ck_abort_msg("byte %llu differs", (unsigned long long)(offset + i));
}

static struct http_answer get_blob(const char *headers)
{
    return http_do(app.port, "GET", "/blob", headers, NULL);
}

START_TEST(a_source_is_sent_whole)
{
    app_start(2, 10, 60);
    struct http_answer a = get_blob("");
    ck_assert_int_eq(a.status, 200);
    expect_part(&a, 0, BLOB_SIZE);
    ck_assert_str_eq(http_answer_field(&a, "Accept-Ranges"), "bytes");
    ck_assert_str_eq(http_answer_field(&a, "ETag"), "\"blob-1\"");
    ck_assert_str_eq(http_answer_field(&a, "Content-Digest"),
                     "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:");
    http_answer_release(&a);
    a = http_do(app.port, "GET", "/blob?empty=1", "Range: bytes=0-\r\n", NULL);
    ck_assert_int_eq(a.status, 416);
    http_answer_release(&a);
    a = http_do(app.port, "GET", "/blob?empty=1", "", NULL);
    ck_assert_int_eq(a.status, 200);
    ck_assert_uint_eq(a.body_len, 0);
    http_answer_release(&a);
    app_stop();
    ck_assert_int_eq(app.released, 3);
    /* It is never held whole. */
    ck_assert_uint_le(app.largest_pull, 65536);
}
END_TEST

START_TEST(a_range_is_sent_alone)
{
    app_start(1, 10, 60);
    static const struct {
        const char *range;
        uint64_t offset, length;
    } parts[] = {
        {"bytes=0-0", 0, 1},
        {"bytes=1000000-1999999", 1000000, 1000000},
        {"bytes=2999999-", 2999999, 1},
        {"bytes=-5", 2999995, 5},
        {"bytes=2999990-99999999999999999999", 2999990, 10},
        {"bytes=-99999999999999999999", 0, BLOB_SIZE},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char header[128], expected[128];
        (void)snprintf(header, sizeof header, "Range: %s\r\n", parts[i].range);
        struct http_answer a = get_blob(header);
        ck_assert_int_eq(a.status, 206);
        expect_part(&a, parts[i].offset, parts[i].length);
        (void)snprintf(expected, sizeof expected, "bytes %llu-%llu/3000000",
                       (unsigned long long)parts[i].offset,
                       (unsigned long long)(parts[i].offset + parts[i].length - 1));
        ck_assert_str_eq(http_answer_field(&a, "Content-Range"), expected);
        /* The digest of the whole is no digest of this content. */
        ck_assert_ptr_null(http_answer_field(&a, "Content-Digest"));
        ck_assert_ptr_nonnull(http_answer_field(&a, "Repr-Digest"));
        http_answer_release(&a);
    }
    app_stop();
}
END_TEST

START_TEST(a_range_past_the_end_is_416)
{
    app_start(1, 10, 60);
    struct http_answer a = get_blob("Range: bytes=3000000-\r\n");
    ck_assert_str_eq(http_answer_field(&a, "Content-Range"), "bytes */3000000");
    expect_problem(&a, 416, "range_not_satisfiable", "Range");
    a = get_blob("Range: bytes=-0\r\n");
    expect_problem(&a, 416, "range_not_satisfiable", "Range");
    app_stop();
    ck_assert_int_eq(app.released, 2);
}
END_TEST

START_TEST(what_is_no_range_gets_the_whole)
{
    app_start(1, 10, 60);
    static const char *const headers[] = {"Range: bytes=5-3\r\n",
                                          "Range: lines=1-2\r\n",
                                          "Range: bytes=1-2,5-6\r\n",
                                          "Range: bytes=-\r\n",
                                          "Range: bytes=1-2\r\nIf-Range: \"other\"\r\n",
                                          "Range: bytes=1-2\r\nIf-Range: W/\"blob-1\"\r\n"};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        struct http_answer a = get_blob(headers[i]);
        ck_assert_int_eq(a.status, 200);
        ck_assert_uint_eq(a.body_len, BLOB_SIZE);
        http_answer_release(&a);
    }
    struct http_answer a = get_blob("Range: bytes=1-2\r\nIf-Range: \"blob-1\"\r\n");
    ck_assert_int_eq(a.status, 206);
    http_answer_release(&a);
    app_stop();
}
END_TEST

START_TEST(a_known_etag_is_304)
{
    app_start(1, 10, 60);
    struct http_client c;
    ck_assert(http_client_open(&c, app.port));
    static const char *const known[] = {"If-None-Match: \"blob-1\"\r\n", "If-None-Match: W/\"blob-1\"\r\n",
                                        "If-None-Match: \"x\", \"blob-1\"\r\n", "If-None-Match: *\r\n"};
    for (size_t i = 0; i < 4; i++) {
        struct http_answer a = http_client_do(&c, "GET", "/blob", known[i], NULL);
        ck_assert_int_eq(a.status, 304);
        ck_assert_str_eq(http_answer_field(&a, "ETag"), "\"blob-1\"");
        http_answer_release(&a);
    }
    struct http_answer a = http_client_do(&c, "GET", "/blob", "If-None-Match: \"blob-12\"\r\n", NULL);
    ck_assert_int_eq(a.status, 200);
    http_answer_release(&a);
    a = http_client_do(&c, "GET", "/static", "If-None-Match: \"v1\"\r\n", NULL);
    ck_assert_int_eq(a.status, 304);
    http_answer_release(&a);
    a = http_client_do(&c, "GET", "/static", "", NULL);
    ck_assert_str_eq(a.body, "<p>hi</p>");
    ck_assert_str_eq(http_answer_field(&a, "Content-Type"), "text/html");
    http_answer_release(&a);
    http_client_close(&c);
    app_stop();
    ck_assert_int_eq(app.released, 5);
}
END_TEST

START_TEST(a_source_can_wait_for_its_bytes)
{
    app_start(1, 10, 60);
    struct http_client c;
    struct http_answer a;
    ck_assert(http_client_open(&c, app.port));
    ck_assert(http_client_print(&c, "GET /blob?wait=1 HTTP/1.1\r\nHost: test\r\n\r\n"));
    while (!atomic_load(&app.pulling))
        (void)sched_yield();
    ck_assert_int_eq(status_of("GET", "/hello", "", NULL), 200);
    atomic_store(&app.state, 1);
    request_resume(atomic_load(&app.pulling));
    ck_assert(http_client_read(&c, false, &a));
    expect_part(&a, 0, BLOB_SIZE);
    http_answer_release(&a);
    http_client_close(&c);
    app_stop();
}
END_TEST

START_TEST(a_failing_source_cuts_the_connection)
{
    app_start(1, 10, 60);
    struct http_answer a = http_do(app.port, "GET", "/blob?fail=1", "", NULL);
    ck_assert_int_eq(a.status, 0); /* shorter than it said */
    http_answer_release(&a);
    app_stop();
    ck_assert_int_eq(app.released, 1);
}
END_TEST

START_TEST(a_client_that_leaves_releases_the_source)
{
    app_start(1, 10, 60);
    struct http_client c;
    struct http_answer a;
    ck_assert(http_client_open(&c, app.port));
    ck_assert(http_client_print(&c, "GET /blob HTTP/1.1\r\nHost: test\r\n\r\n"));
    ck_assert(http_client_read_head(&c, &a));
    http_client_close(&c);
    while (!atomic_load(&app.released))
        (void)sched_yield();
    app_stop();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_source_is_sent_whole,
        a_range_is_sent_alone,
        a_range_past_the_end_is_416,
        what_is_no_range_gets_the_whole,
        a_known_etag_is_304,
        a_source_can_wait_for_its_bytes,
        a_failing_source_cuts_the_connection,
        a_client_that_leaves_releases_the_source,
    };
    return unit_run("reply", tests, sizeof tests / sizeof *tests);
}
