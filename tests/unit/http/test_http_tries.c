/* Tries: again, in vain, too long, and those that are called off. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "common/base/clock.h"
#include "tests/support/unit.h"
#include "tests/unit/http/http_run.h"

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

int main(void)
{
    TCase *tc = run_case("http_tries");
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
    return unit_run_case("http_tries", tc);
}
