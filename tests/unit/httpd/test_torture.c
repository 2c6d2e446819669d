#include <string.h>
#include "common/base/log.h"
#include "tests/support/alloc_fail.h"
#include "tests/unit/httpd/fixture.h"

/* For each n, the n-th allocation that the server makes for a request fails: the answer is the right one, a
 * 503, or a cut connection; nothing is lost or left over, and the next request is served. */
struct attempt {
    const char *method, *path, *headers, *body;
    int status;
};

/* True when the request was over before its n-th allocation. */
static bool try_once(const struct attempt *t, long n)
{
    struct http_client c;
    char arm[32];
    (void)snprintf(arm, sizeof arm, "/arm/%ld", n);
    ck_assert(http_client_open(&c, app.port));
    struct http_answer a = http_client_do(&c, "GET", arm, "", NULL);
    ck_assert_int_eq(a.status, 204);
    http_answer_release(&a);
    a = http_client_do(&c, t->method, t->path, t->headers, t->body);
    bool is_cut = a.status == 0;
    ck_assert_msg(is_cut || a.status == t->status || a.status == 503, "%s, allocation %ld: %d", t->path, n,
                  a.status);
    http_answer_release(&a);
    if (is_cut) {
        http_client_close(&c);
        ck_assert(http_client_open(&c, app.port));
    }
    /* When this one fails, it met the allocation that the request did not reach. */
    a = http_client_do(&c, "GET", "/disarm", "", NULL);
    bool is_over = a.status != 204 || !atomic_load(&app.calls);
    http_answer_release(&a);
    http_client_close(&c);
    return is_over;
}

static const struct attempt attempts[] = {
    {"GET", "/items/a%20b?limit=3&name=x", "", NULL, 200},
    {"GET", "/items/7?limt=3", "", NULL, 400},
    {"GET", "/files/a/b/c", "", NULL, 200},
    {"GET", "/nowhere", "", NULL, 404},
    {"PUT", "/hello", "", NULL, 405},
    {"OPTIONS", "/hello", "", NULL, 204},
    {"GET", "/secret", "Authorization: Bearer good\r\n", NULL, 200},
    {"POST", "/echo", "Content-Type: application/json\r\n", "{\"a\": [1, 2, {\"b\": null}]}", 200},
    {"POST", "/echo", "Content-Type: application/json\r\n", "{\"a\": ", 400},
    {"PUT", "/upload", "Content-Type: application/octet-stream\r\n", "some bytes", 200},
    {"PUT", "/upload?fail=1", "Content-Type: application/octet-stream\r\n", "some bytes", 422},
    {"GET", "/blob", "Range: bytes=5-9\r\n", NULL, 206},
    {"GET", "/blob", "If-None-Match: \"blob-1\"\r\n", NULL, 304},
    {"GET", "/blob", "Range: bytes=3000000-\r\n", NULL, 416},
    {"GET", "/wait?wait=0.001", "", NULL, 204},
    {"POST", "/tasks:claim?wait=0.001", "", NULL, 204},
    {"GET", "/failures/x", "", NULL, 409},
    {"GET", "/failures/io", "", NULL, 500},
};

static void torture(const struct attempt *t)
{
    for (long n = 0;; n++) {
        ck_assert_int_lt((int)n, 200);
        if (try_once(t, n))
            break;
    }
}

START_TEST(no_failed_allocation_hurts)
{
    app_start(1, 10, 60);
    app.arm = alloc_fail_at;
    app.disarm = alloc_fail_end;
    log_init(LOG_ERROR + 1, LOG_TEXT);
    for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++)
        torture(&attempts[i]);
    /* A stream that ends by itself. */
    atomic_store(&app.state, 100);
    torture(&(struct attempt){"GET", "/events", "", NULL, 200});
    app_stop();
    ck_assert_int_gt(app.aborted, 0);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {no_failed_allocation_hurts};
    return unit_run("torture", tests, sizeof tests / sizeof *tests);
}
