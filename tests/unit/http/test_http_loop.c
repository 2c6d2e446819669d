#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/clock.h"
#include "common/base/str.h"
#include "common/http/http_loop.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/unit.h"
#include "tests/unit/http/stub_server.h"

static struct http_client *client_new(const char *base_url, long max_connections)
{
    struct http_config config = {.base_url = base_url, .token = "t", .max_connections = max_connections};
    struct http_client *c = NULL;
    struct fault fault = FAULT_NONE;
    ck_assert_msg(http_client_new(&config, &c, &fault) == ERR_OK, "%s", fault.detail);
    return c;
}

/* One server, one client, one loop, and what came of the calls. */
struct bench {
    struct stub *stub;
    struct http_client *client;
    struct http_loop *loop;
    int num_done, num_ok;
    enum err last_err;
    char last_body[64];
    struct http_call *to_cancel; /* by the next callback */
    int num_to_start;            /* by the next callbacks, one each */
};

static struct bench bench_start(stub_handler *handler, void *ctx, long max_connections)
{
    struct bench b = {.stub = stub_start(handler, ctx)};
    b.client = client_new(stub_url(b.stub), max_connections);
    ck_assert_int_eq(http_loop_new(b.client, &b.loop), ERR_OK);
    return b;
}

static void bench_end(struct bench *b)
{
    http_loop_free(b->loop);
    http_client_free(b->client);
    stub_stop(b->stub);
}

static void on_done(void *ctx, enum err e, struct http_response *response, const struct fault *fault);

static struct http_call *start(struct bench *b, const char *path)
{
    struct http_request request = {.path = path, .timeout_ms = 30000};
    struct http_call *call = NULL;
    ck_assert_int_eq(http_loop_start(b->loop, &request, on_done, b, &call), ERR_OK);
    return call;
}

static void on_done(void *ctx, enum err e, struct http_response *response, const struct fault *fault)
{
    struct bench *b = ctx;
    b->num_done++;
    b->num_ok += e == ERR_OK;
    b->last_err = e;
    ck_assert_int_eq(fault->err, e);
    (void)snprintf(b->last_body, sizeof b->last_body, "%s", response->body.data ? response->body.data : "");
    if (b->to_cancel) {
        http_loop_cancel(b->loop, b->to_cancel);
        b->to_cancel = NULL;
    }
    if (b->num_to_start > 0) {
        b->num_to_start--;
        (void)start(b, "/more");
    }
}

static void run_until_done(struct bench *b, int num_done)
{
    while (b->num_done < num_done)
        ck_assert_int_eq(http_loop_run_once(b->loop, -1), ERR_OK);
}

static bool answer_path(struct stub *s, int fd, const struct stub_request *request)
{
    char path[32] = "";
    (void)s;
    (void)sscanf(request->head, "%*s %31s", path);
    stub_reply(fd, 200, "", path);
    return true;
}

START_TEST(test_many_over_few_connections)
{
    struct bench b = bench_start(answer_path, NULL, 4);
    for (int i = 0; i < 300; i++)
        (void)start(&b, "/x");
    ck_assert_uint_eq(http_loop_num_calls(b.loop), 300);
    run_until_done(&b, 300);
    ck_assert_int_eq(b.num_ok, 300);
    ck_assert_uint_eq(http_loop_num_calls(b.loop), 0);
    ck_assert_int_le(stub_num_connections(b.stub), 4);
    bench_end(&b);
}
END_TEST

static bool answer_when_eight_are_there(struct stub *s, int fd, const struct stub_request *request)
{
    stub_wait_requests(s, 8);
    return answer_path(s, fd, request);
}

START_TEST(test_at_the_same_time)
{
    struct bench b = bench_start(answer_when_eight_are_there, NULL, 8);
    for (int i = 0; i < 8; i++)
        (void)start(&b, "/x");
    run_until_done(&b, 8); /* would hang if one waited for another */
    ck_assert_int_eq(b.num_ok, 8);
    ck_assert_int_eq(stub_num_connections(b.stub), 8);
    bench_end(&b);
}
END_TEST

START_TEST(test_callbacks_start_more)
{
    struct bench b = bench_start(answer_path, NULL, 0);
    b.num_to_start = 20;
    (void)start(&b, "/first");
    run_until_done(&b, 21);
    ck_assert_int_eq(b.num_ok, 21);
    ck_assert_str_eq(b.last_body, "/more");
    ck_assert_int_eq(stub_num_connections(b.stub), 1);
    bench_end(&b);
}
END_TEST

static bool answer_or_hang(struct stub *s, int fd, const struct stub_request *request)
{
    if (!str_has_prefix(request->head, "GET /hang"))
        return answer_path(s, fd, request);
    stub_hang(s);
    return false;
}

START_TEST(test_cancel_running)
{
    struct bench b = bench_start(answer_or_hang, NULL, 0);
    struct http_call *call = start(&b, "/hang");
    while (stub_num_requests(b.stub) == 0)
        ck_assert_int_eq(http_loop_run_once(b.loop, 10), ERR_OK);
    http_loop_cancel(b.loop, call);
    http_loop_cancel(b.loop, call);
    ck_assert_int_eq(b.num_done, 0);
    ck_assert_int_eq(http_loop_run_once(b.loop, -1), ERR_OK); /* does not wait */
    ck_assert_int_eq(b.num_done, 1);
    ck_assert_int_eq(b.last_err, ERR_CANCELLED);
    (void)start(&b, "/x");
    run_until_done(&b, 2);
    ck_assert_int_eq(b.num_ok, 1);
    bench_end(&b);
}
END_TEST

START_TEST(test_cancel_before_it_began)
{
    struct bench b = bench_start(answer_path, NULL, 0);
    http_loop_cancel(b.loop, start(&b, "/x"));
    run_until_done(&b, 1);
    ck_assert_int_eq(b.last_err, ERR_CANCELLED);
    ck_assert_int_eq(stub_num_requests(b.stub), 0);
    bench_end(&b);
}
END_TEST

START_TEST(test_cancel_from_a_callback)
{
    struct bench b = bench_start(answer_or_hang, NULL, 0);
    b.to_cancel = start(&b, "/hang");
    (void)start(&b, "/x");
    run_until_done(&b, 2);
    ck_assert_int_eq(b.num_ok, 1);
    ck_assert_int_eq(b.last_err, ERR_CANCELLED);
    bench_end(&b);
}
END_TEST

static void cancels_itself(void *ctx, enum err e, struct http_response *response, const struct fault *fault)
{
    struct bench *b = ctx;
    struct http_call *self = b->to_cancel;
    b->to_cancel = NULL;
    http_loop_cancel(b->loop, self);
    on_done(ctx, e, response, fault);
}

START_TEST(test_cancel_of_what_is_done)
{
    struct bench b = bench_start(answer_path, NULL, 0);
    struct http_request request = {.path = "/x", .timeout_ms = 30000};
    ck_assert_int_eq(http_loop_start(b.loop, &request, cancels_itself, &b, &b.to_cancel), ERR_OK);
    run_until_done(&b, 1);
    ck_assert_int_eq(b.last_err, ERR_OK);
    ck_assert_int_eq(http_loop_run_once(b.loop, 0), ERR_OK);
    ck_assert_int_eq(b.num_done, 1);
    bench_end(&b);
}
END_TEST

START_TEST(test_free_ends_all)
{
    struct bench b = bench_start(answer_or_hang, NULL, 2);
    for (int i = 0; i < 5; i++)
        (void)start(&b, "/hang");
    while (stub_num_requests(b.stub) < 2)
        ck_assert_int_eq(http_loop_run_once(b.loop, 10), ERR_OK);
    bench_end(&b);
    ck_assert_int_eq(b.num_done, 5);
    ck_assert_int_eq(b.num_ok, 0);
    ck_assert_int_eq(b.last_err, ERR_CANCELLED);
}
END_TEST

static void *wake(void *arg)
{
    http_loop_wakeup(arg);
    return NULL;
}

START_TEST(test_wakeup)
{
    struct bench b = bench_start(answer_path, NULL, 0);
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, wake, b.loop), 0);
    ck_assert_int_eq(http_loop_run_once(b.loop, -1), ERR_OK); /* would wait for an hour */
    pthread_join(thread, NULL);
    http_loop_wakeup(b.loop); /* before the wait: not lost */
    ck_assert_int_eq(http_loop_run_once(b.loop, -1), ERR_OK);
    bench_end(&b);
}
END_TEST

START_TEST(test_wait_has_an_end)
{
    struct bench b = bench_start(answer_or_hang, NULL, 0);
    int64_t start_ns = mono_ns();
    ck_assert_int_eq(http_loop_run_once(b.loop, 30), ERR_OK);
    ck_assert_int_ge(mono_ns() - start_ns, 29000000);
    bench_end(&b);
}
END_TEST

/* Every second request of a path is answered. */
static bool answer_second_time(struct stub *s, int fd, const struct stub_request *request)
{
    stub_reply(fd, request->number < 6 ? 503 : 200, "", "x");
    (void)s;
    return true;
}

START_TEST(test_tries_again_beside_others)
{
    struct bench b = bench_start(answer_second_time, NULL, 2);
    struct http_request request = {.path = "/x", .timeout_ms = 30000, .max_tries = 10};
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(http_loop_start(b.loop, &request, on_done, &b, NULL), ERR_OK);
    run_until_done(&b, 6);
    ck_assert_int_eq(b.num_ok, 6);
    ck_assert_int_eq(stub_num_requests(b.stub), 12);
    bench_end(&b);
}
END_TEST

static bool answer_come_again(struct stub *s, int fd, const struct stub_request *request)
{
    (void)s;
    (void)request;
    stub_reply(fd, 503, "Retry-After: 600\r\n", "");
    return true;
}

START_TEST(test_cancel_between_tries)
{
    struct bench b = bench_start(answer_come_again, NULL, 0);
    struct http_request request = {.path = "/x", .timeout_ms = 30000, .max_tries = 10};
    struct http_call *call = NULL;
    ck_assert_int_eq(http_loop_start(b.loop, &request, on_done, &b, &call), ERR_OK);
    while (stub_num_requests(b.stub) == 0)
        ck_assert_int_eq(http_loop_run_once(b.loop, 10), ERR_OK);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(http_loop_run_once(b.loop, 10), ERR_OK);
    ck_assert_int_eq(b.num_done, 0);
    http_loop_cancel(b.loop, call);
    ck_assert_int_eq(http_loop_run_once(b.loop, -1), ERR_OK);
    ck_assert_int_eq(b.num_done, 1);
    ck_assert_int_eq(b.last_err, ERR_CANCELLED);
    bench_end(&b);
}
END_TEST

static void takes_the_body(void *ctx, enum err e, struct http_response *response, const struct fault *fault)
{
    char **out = ctx;
    size_t len;
    (void)fault;
    ck_assert_int_eq(e, ERR_OK);
    ck_assert_int_eq(buf_take(&response->body, out, &len), ERR_OK);
}

START_TEST(test_body_can_be_moved_out)
{
    struct bench b = bench_start(answer_path, NULL, 0);
    char *body = NULL;
    struct http_request request = {.path = "/kept", .timeout_ms = 30000};
    ck_assert_int_eq(http_loop_start(b.loop, &request, takes_the_body, &body, NULL), ERR_OK);
    while (http_loop_num_calls(b.loop) > 0)
        ck_assert_int_eq(http_loop_run_once(b.loop, -1), ERR_OK);
    ck_assert_str_eq(body, "/kept");
    free(body);
    bench_end(&b);
}
END_TEST

START_TEST(test_texts_are_copied)
{
    struct bench b = bench_start(answer_path, NULL, 0);
    char path[] = "/abc", name[] = "X-Name", value[] = "value", method[] = "PUT", token[] = "own";
    struct http_header header = {name, value};
    struct http_request request = {
        .method = method, .path = path, .token = token, .headers = &header, .num_headers = 1};
    ck_assert_int_eq(http_loop_start(b.loop, &request, on_done, &b, NULL), ERR_OK);
    path[1] = name[2] = value[0] = method[0] = token[0] = 'Z';
    run_until_done(&b, 1);
    ck_assert_str_eq(b.last_body, "/abc");
    const struct stub_request *got = stub_request(b.stub, 0);
    ck_assert(str_has_prefix(got->head, "PUT "));
    ck_assert(stub_has_header(got, "X-Name: value"));
    ck_assert(stub_has_header(got, "Authorization: Bearer own"));
    bench_end(&b);
}
END_TEST

START_TEST(test_bad_request_is_refused_at_once)
{
    struct bench b = bench_start(answer_path, NULL, 0);
    struct http_request request = {.path = "no slash"};
    ck_assert_int_eq(http_loop_start(b.loop, &request, on_done, &b, NULL), ERR_USAGE);
    ck_assert_int_eq(http_loop_run_once(b.loop, 0), ERR_OK);
    ck_assert_int_eq(b.num_done, 0);
    bench_end(&b);
}
END_TEST

/* One request with a body, headers and a reply, its n-th allocation failing. False: it has fewer. */
static bool request_fails_at(const char *url, long n)
{
    struct http_config config = {
        .base_url = url, .user_agent = "test/1", .token = "t", .ca_file = "/dev/null"};
    struct http_header headers[] = {{"X-A", "1"}, {"X-B", ""}};
    struct http_request request = {.method = "POST",
                                   .path = "/x",
                                   .token = "other",
                                   .body = "{}",
                                   .body_size = 2,
                                   .headers = headers,
                                   .num_headers = 2,
                                   .timeout_ms = 30000,
                                   .max_tries = 2};
    struct http_response response = HTTP_RESPONSE_INIT;
    struct http_client *c = NULL;
    struct fault fault = FAULT_NONE;
    alloc_fail_at(n);
    enum err e = http_client_new(&config, &c, &fault);
    if (!e)
        e = http_request(c, &request, &response, &fault);
    bool has_failed = alloc_fail_end();
    ck_assert_int_eq(e, fault.err);
    ck_assert_int_eq(e, has_failed ? ERR_NO_MEMORY : ERR_OK);
    if (!e)
        ck_assert_str_eq(response.body.data, "/x");
    http_response_release(&response);
    http_client_free(c);
    return has_failed;
}

START_TEST(test_no_memory)
{
    struct stub *stub = stub_start(answer_path, NULL);
    long n = 0;
    while (request_fails_at(stub_url(stub), n))
        n++;
    ck_assert_int_ge(n, 8); /* client, loop, texts, call, its arena, headers, body */
    stub_stop(stub);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("http_loop");
    TCase *tc = unit_case("http_loop");
    (void)unsetenv("http_proxy");
    (void)unsetenv("all_proxy");
    (void)unsetenv("ALL_PROXY");
    tcase_add_test(tc, test_many_over_few_connections);
    tcase_add_test(tc, test_at_the_same_time);
    tcase_add_test(tc, test_callbacks_start_more);
    tcase_add_test(tc, test_cancel_running);
    tcase_add_test(tc, test_cancel_before_it_began);
    tcase_add_test(tc, test_cancel_from_a_callback);
    tcase_add_test(tc, test_cancel_of_what_is_done);
    tcase_add_test(tc, test_free_ends_all);
    tcase_add_test(tc, test_wakeup);
    tcase_add_test(tc, test_wait_has_an_end);
    tcase_add_test(tc, test_tries_again_beside_others);
    tcase_add_test(tc, test_cancel_between_tries);
    tcase_add_test(tc, test_body_can_be_moved_out);
    tcase_add_test(tc, test_texts_are_copied);
    tcase_add_test(tc, test_bad_request_is_refused_at_once);
    tcase_add_test(tc, test_no_memory);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
