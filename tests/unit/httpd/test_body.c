#include <string.h>
#include <sched.h>
#include "common/crypto/sha256.h"
#include "tests/unit/httpd/fixture.h"

#define SAFETENSORS "Content-Type: application/vnd.safetensors\r\n"

static char bytes[300000];

static void fill_bytes(void)
{
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = blob_byte(i);
}

static void digest_header(const void *data, size_t n, char out[CONTENT_DIGEST_SIZE])
{
    struct sha256 *h;
    uint8_t digest[SHA256_SIZE];
    ck_assert_int_eq(sha256_new(&h), ERR_OK);
    ck_assert_int_eq(sha256_update(h, data, n), ERR_OK);
    ck_assert_int_eq(sha256_final(h, digest), ERR_OK);
    sha256_free(h);
    content_digest_format(digest, out);
}

static void put_head(struct http_client *c, const char *path, const char *headers, size_t length)
{
    ck_assert(http_client_open(c, app.port));
    ck_assert(http_client_print(c, "PUT %s HTTP/1.1\r\nHost: test\r\n%sContent-Length: %zu\r\n\r\n", path,
                                headers, length));
}

static void expect_upload(struct http_client *c, size_t size)
{
    struct http_answer a;
    char text[64];
    ck_assert(http_client_read(c, false, &a));
    ck_assert_int_eq(a.status, 200);
    (void)snprintf(text, sizeof text, "\"size\":%zu,", size);
    ck_assert_msg(strstr(a.body, text), "%s has no %s", a.body, text);
    http_answer_release(&a);
}

START_TEST(a_body_streams_into_its_sink)
{
    app_start(1, 10, 60);
    struct http_client c;
    char digest[CONTENT_DIGEST_SIZE], headers[256];
    fill_bytes();
    digest_header(bytes, sizeof bytes, digest);
    (void)snprintf(headers, sizeof headers, SAFETENSORS "Content-Digest: %s\r\n", digest);
    put_head(&c, "/upload", headers, sizeof bytes);
    ck_assert(http_client_send(&c, bytes, sizeof bytes));
    expect_upload(&c, sizeof bytes);
    http_client_close(&c);
    /* An empty one, too. */
    put_head(&c, "/upload", SAFETENSORS, 0);
    expect_upload(&c, 0);
    http_client_close(&c);
    app_stop();
    ck_assert_int_eq(app.opened, 2);
    ck_assert_int_eq(app.aborted, 0);
}
END_TEST

START_TEST(a_chunked_body_streams_too)
{
    app_start(1, 10, 60);
    struct http_client c;
    fill_bytes();
    ck_assert(http_client_open(&c, app.port));
    ck_assert(http_client_print(&c, "PUT /upload HTTP/1.1\r\nHost: t\r\n" SAFETENSORS
                                    "Transfer-Encoding: chunked\r\n\r\n"));
    for (size_t at = 0, n = 1; at < 100000; at += n, n = n * 3 % 7001) {
        ck_assert(http_client_print(&c, "%zx\r\n", n));
        ck_assert(http_client_send(&c, bytes + at, n));
        ck_assert(http_client_print(&c, "\r\n"));
        if (at + n >= 100000) {
            ck_assert(http_client_print(&c, "0\r\n\r\n"));
            expect_upload(&c, at + n);
        }
    }
    http_client_close(&c);
    app_stop();
}
END_TEST

START_TEST(a_wrong_digest_is_422_and_releases_the_sink)
{
    app_start(1, 10, 60);
    struct http_client c;
    struct http_answer a;
    put_head(&c, "/upload",
             SAFETENSORS "Content-Digest: sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:\r\n", 5);
    ck_assert(http_client_print(&c, "hello"));
    ck_assert(http_client_read(&c, false, &a));
    expect_problem(&a, 422, "digest_mismatch", "Content-Digest");
    http_client_close(&c);
    app_stop();
    ck_assert_int_eq(app.aborted, 1);
}
END_TEST

START_TEST(a_fault_in_the_middle_is_answered_at_the_end)
{
    app_start(1, 10, 60);
    struct http_client c;
    struct http_answer a;
    fill_bytes();
    put_head(&c, "/upload?fail=1", SAFETENSORS, sizeof bytes);
    ck_assert(http_client_send(&c, bytes, 1000));
    while (!atomic_load(&app.aborted)) /* at once: what it holds is not needed any more */
        (void)sched_yield();
    ck_assert(http_client_send(&c, bytes + 1000, sizeof bytes - 1000));
    ck_assert(http_client_read(&c, false, &a));
    expect_problem(&a, 422, "invalid_safetensors", "header");
    /* The rest was drained, so the connection goes on. */
    a = http_client_do(&c, "GET", "/hello", "", NULL);
    ck_assert_int_eq(a.status, 200);
    http_answer_release(&a);
    http_client_close(&c);
    app_stop();
    ck_assert_int_eq(app.aborted, 1);
}
END_TEST

START_TEST(a_chunked_body_past_the_limit_is_413)
{
    app_start(1, 10, 60);
    struct http_client c;
    struct http_answer a;
    fill_bytes();
    ck_assert(http_client_open(&c, app.port));
    ck_assert(
        http_client_print(&c, "PUT /upload/small HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n"));
    for (int i = 0; i < 3; i++) {
        ck_assert(http_client_print(&c, "%x\r\n", 100000));
        ck_assert(http_client_send(&c, bytes, 100000));
        ck_assert(http_client_print(&c, "\r\n"));
    }
    ck_assert(http_client_print(&c, "0\r\n\r\n"));
    ck_assert(http_client_read(&c, false, &a));
    expect_problem(&a, 413, "payload_too_large", NULL);
    http_client_close(&c);
    app_stop();
    ck_assert_int_eq(app.aborted, 1);
}
END_TEST

START_TEST(a_client_that_leaves_in_the_middle_releases_the_sink)
{
    app_start(1, 10, 60);
    struct http_client c;
    put_head(&c, "/upload", SAFETENSORS, 1000000);
    ck_assert(http_client_print(&c, "some of it"));
    while (!atomic_load(&app.opened))
        (void)sched_yield();
    http_client_close(&c);
    while (!atomic_load(&app.observed))
        (void)sched_yield();
    app_stop();
    ck_assert_int_eq(app.aborted, 1);
    ck_assert_int_eq(app.last_status, 0);
}
END_TEST

/* The end arrives together with the last bytes, in one look of epoll: the only thread is held meanwhile. */
START_TEST(an_end_that_comes_with_the_last_bytes_is_noticed)
{
    static const char *const parts[] = {
        "Content-Length: 1000000\r\n\r\n", "Content-Length: 1000000\r\n\r\nsome of it",
        "Transfer-Encoding: chunked\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n4\r\nsome\r\n",
        "Transfer-Encoding: chunked\r\n\r\n400\r\nsome"};
    app_start(1, 10, 100000); /* no timeout ends it */
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct http_client blocking, c;
        atomic_store(&app.is_blocked, 1);
        atomic_store(&app.calls, 0);
        ck_assert(http_client_open(&blocking, app.port));
        ck_assert(http_client_print(&blocking, "GET /block HTTP/1.1\r\nHost: test\r\n\r\n"));
        while (!atomic_load(&app.calls))
            (void)sched_yield();
        ck_assert(http_client_open(&c, app.port));
        ck_assert(http_client_print(&c, "PUT /upload HTTP/1.1\r\nHost: test\r\n" SAFETENSORS "%s", parts[i]));
        http_client_close(&c);
        atomic_store(&app.is_blocked, 0);
        while (atomic_load(&app.observed) < 2 * ((int)i + 1)) /* both requests have ended */
            (void)sched_yield();
        http_client_close(&blocking);
        ck_assert_int_eq(app.aborted, (int)i + 1);
    }
    app_stop();
}
END_TEST

START_TEST(a_full_sink_holds_the_body_back)
{
    app_start(1, 10, 60);
    struct http_client c;
    fill_bytes();
    atomic_store(&app.is_sink_full, 1);
    put_head(&c, "/upload", SAFETENSORS, sizeof bytes);
    ck_assert(http_client_send(&c, bytes, 1000));
    while (!atomic_load(&app.opened))
        (void)sched_yield();
    /* Others are served meanwhile. */
    ck_assert_int_eq(status_of("GET", "/hello", "", NULL), 200);
    atomic_store(&app.is_sink_full, 0);
    request_resume(atomic_load(&app.uploading));
    ck_assert(http_client_send(&c, bytes + 1000, sizeof bytes - 1000));
    expect_upload(&c, sizeof bytes);
    http_client_close(&c);
    app_stop();
}
END_TEST

START_TEST(a_body_comes_byte_by_byte)
{
    app_start(1, 10, 60);
    struct http_client c;
    put_head(&c, "/upload", SAFETENSORS, 2000);
    for (int i = 0; i < 2000; i++)
        ck_assert(http_client_print(&c, "x"));
    expect_upload(&c, 2000);
    http_client_close(&c);
    app_stop();
}
END_TEST

START_TEST(expect_100_is_honoured)
{
    app_start(1, 10, 60);
    struct http_client c;
    struct http_answer a;
    put_head(&c, "/upload", SAFETENSORS "Expect: 100-continue\r\n", 5);
    ck_assert(http_client_read_head(&c, &a));
    ck_assert_int_eq(a.status, 100);
    ck_assert(http_client_print(&c, "hello"));
    expect_upload(&c, 5);
    http_client_close(&c);
    app_stop();
}
END_TEST

/* Both ends are cut after a second: headers that never end although bytes keep coming, and a body that
 * trickles. */
START_TEST(slow_clients_are_cut)
{
    app_start(1, 10, 1);
    struct http_client head, body;
    ck_assert(http_client_open(&head, app.port));
    ck_assert(http_client_print(&head, "GET /hello HTTP/1.1\r\nHost: test\r\nX-Slow: "));
    put_head(&body, "/upload", SAFETENSORS, 1000000);
    int alive = 2;
    const struct timespec pause = {.tv_nsec = 50 * 1000000};
    for (int i = 0; i < 400 && alive; i++) {
        (void)nanosleep(&pause, NULL);
        alive = http_client_print(&head, "x") + http_client_print(&body, "x");
    }
    ck_assert_int_eq(alive, 0);
    http_client_close(&head);
    http_client_close(&body);
    app_stop();
    ck_assert_int_eq(app.aborted, app.opened);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_body_streams_into_its_sink,
        a_chunked_body_streams_too,
        a_wrong_digest_is_422_and_releases_the_sink,
        a_fault_in_the_middle_is_answered_at_the_end,
        a_chunked_body_past_the_limit_is_413,
        a_client_that_leaves_in_the_middle_releases_the_sink,
        an_end_that_comes_with_the_last_bytes_is_noticed,
        a_full_sink_holds_the_body_back,
        a_body_comes_byte_by_byte,
        expect_100_is_honoured,
        slow_clients_are_cut,
    };
    return unit_run("body", tests, sizeof tests / sizeof *tests);
}
