#include <sched.h>
#include <string.h>
#include "tests/unit/httpd/fixture.h"

static void ask(struct http_client *c, const char *method, const char *path)
{
    ck_assert(http_client_open(c, app.port));
    ck_assert(http_client_print(c, "%s %s HTTP/1.1\r\nHost: test\r\n\r\n", method, path));
}

static void expect_status(struct http_client *c, int status)
{
    struct http_answer a;
    (void)http_client_read(c, false, &a);
    ck_assert_int_eq(a.status, status);
    http_answer_release(&a);
    http_client_close(c);
}

static void change(int state)
{
    atomic_store(&app.state, state);
    waiters_notify(app.hub, topic_of("state", NULL));
}

START_TEST(a_notify_ends_the_wait)
{
    app_start(2, 100, 60);
    struct http_client c[20];
    for (size_t i = 0; i < 20; i++)
        ask(&c[i], "GET", "/wait?wait=60");
    app_await_waiters(20);
    waiters_notify(app.hub, topic_of("nobody", NULL)); /* another topic: nobody looks */
    change(1);
    for (size_t i = 0; i < 20; i++)
        expect_status(&c[i], 200);
    app_stop();
    ck_assert_int_eq(app.looks, 40);
}
END_TEST

START_TEST(what_is_there_already_is_answered_at_once)
{
    app_start(1, 100, 60);
    change(1);
    ck_assert_int_eq(status_of("GET", "/wait?wait=60", "", NULL), 200);
    ck_assert_int_eq(status_of("GET", "/wait", "", NULL), 200);
    ck_assert_int_eq(app.looks, 2);
    app_stop();
}
END_TEST

START_TEST(a_wait_ends_with_204)
{
    app_start(1, 100, 60);
    ck_assert_int_eq(status_of("GET", "/wait", "", NULL), 204); /* no wait: one look */
    ck_assert_int_eq(app.looks, 1);
    ck_assert_int_eq(status_of("GET", "/wait?wait=0.2", "", NULL), 204);
    ck_assert_int_eq(app.looks, 3); /* at its begin and at its end */
    app_stop();
}
END_TEST

START_TEST(a_wait_is_bounded)
{
    app_start(1, 100, 60);
    static const char *const paths[] = {"/wait?wait=61", "/wait?wait=-1", "/wait?wait=x", "/wait?wait="};
    for (size_t i = 0; i < 4; i++) {
        struct http_answer a = http_do(app.port, "GET", paths[i], "", NULL);
        expect_problem(&a, 400, "invalid_field", "wait");
    }
    app_stop();
}
END_TEST

START_TEST(a_look_that_finds_nothing_goes_on_waiting)
{
    app_start(1, 100, 60);
    struct http_client c;
    ask(&c, "GET", "/wait?wait=60");
    app_await_waiters(1);
    for (int i = 2; i < 20; i++) {
        change(0);
        while (atomic_load(&app.looks) < i)
            (void)sched_yield();
    }
    change(1);
    expect_status(&c, 200);
    app_stop();
}
END_TEST

START_TEST(waiters_are_capped)
{
    app_start(2, 3, 60);
    struct http_client c[3];
    for (size_t i = 0; i < 3; i++)
        ask(&c[i], "GET", "/wait?wait=60");
    app_await_waiters(3);
    struct http_answer a = http_do(app.port, "GET", "/wait?wait=60", "", NULL);
    ck_assert_ptr_nonnull(http_answer_field(&a, "Retry-After"));
    expect_problem(&a, 503, "too_many_waiters", NULL);
    a = http_do(app.port, "GET", "/events", "", NULL);
    expect_problem(&a, 503, "too_many_waiters", NULL);
    /* Who does not wait is not counted. */
    ck_assert_int_eq(status_of("GET", "/wait", "", NULL), 204);
    change(1);
    for (size_t i = 0; i < 3; i++)
        expect_status(&c[i], 200);
    app_await_waiters(0);
    app_stop();
}
END_TEST

static atomic_int round_done;

/* Changes the state exactly once per round, as close to the subscription as it gets. */
static void *race(void *arg)
{
    const int rounds = *(int *)arg;
    for (int i = 1; i <= rounds; i++) {
        while (atomic_load(&round_done) < i - 1)
            (void)sched_yield();
        for (int spin = 0; spin < i * 37 % 2000; spin++)
            atomic_signal_fence(memory_order_seq_cst);
        change(1);
    }
    return NULL;
}

/* The wait is longer than the test may run: a wake-up that is lost is a test that never ends. */
START_TEST(no_wake_up_is_lost)
{
    app_start(2, 100, 60);
    int rounds = 2000;
    pthread_t thread;
    struct http_client c;
    ck_assert_int_eq(pthread_create(&thread, NULL, race, &rounds), 0);
    ck_assert(http_client_open(&c, app.port));
    for (int i = 1; i <= rounds; i++) {
        struct http_answer a = http_client_do(&c, "GET", "/wait?wait=60", "", NULL);
        ck_assert_int_eq(a.status, 200);
        http_answer_release(&a);
        atomic_store(&app.state, 0);
        atomic_store(&round_done, i);
    }
    (void)pthread_join(thread, NULL);
    http_client_close(&c);
    app_stop();
}
END_TEST

START_TEST(a_client_that_left_is_not_looked_for)
{
    app_start(1, 100, 60);
    struct http_client gone, there;
    ask(&gone, "GET", "/wait?wait=60");
    ask(&there, "GET", "/wait?wait=60");
    app_await_waiters(2);
    while (atomic_load(&app.looks) < 2)
        (void)sched_yield();
    http_client_close(&gone);
    change(1);
    expect_status(&there, 200);
    app_await_waiters(0);
    app_stop();
    ck_assert_int_eq(app.looks, 3);
    ck_assert_int_eq(app.observed, 2);
}
END_TEST

START_TEST(a_look_may_be_a_write)
{
    app_start(1, 100, 60);
    struct http_client c;
    ask(&c, "POST", "/tasks:claim?wait=60");
    while (atomic_load(&app.looks) < 1)
        (void)sched_yield();
    /* A notify that comes while the write runs is not lost. */
    answerer_hold(true);
    change(0);
    app_await_held(1);
    change(0);
    change(0);
    answerer_hold(false);
    while (atomic_load(&app.looks) < 3)
        (void)sched_yield();
    change(1);
    expect_status(&c, 200);
    ck_assert_int_eq(status_of("POST", "/tasks:claim", "", NULL), 200);
    app_stop();
}
END_TEST

/* A write's end and a notify that reach the server's thread together. */
START_TEST(two_things_at_once_are_both_seen)
{
    app_start(1, 100, 60);
    struct http_client c, blocking;
    answerer_hold(true);
    ask(&c, "POST", "/tasks:claim?wait=60");
    app_await_held(1);
    atomic_store(&app.is_blocked, 1);
    ask(&blocking, "GET", "/block");
    while (!atomic_load(&app.calls))
        (void)sched_yield();
    change(0);
    answerer_hold(false);
    app_await_held(0);
    change(0);
    atomic_store(&app.is_blocked, 0);
    expect_status(&blocking, 204);
    while (atomic_load(&app.looks) < 2)
        (void)sched_yield();
    change(1);
    expect_status(&c, 200);
    app_stop();
}
END_TEST

START_TEST(a_write_that_finds_nothing_in_time_is_204)
{
    app_start(1, 100, 60);
    ck_assert_int_eq(status_of("POST", "/tasks:claim", "", NULL), 204);
    ck_assert_int_eq(status_of("POST", "/tasks:claim?wait=0.05", "", NULL), 204);
    /* The deadline passes while the write runs: one last look, then the end. */
    struct http_client c;
    answerer_hold(true);
    ask(&c, "POST", "/tasks:claim?wait=0.01");
    app_await_held(1);
    const struct timespec longer = {.tv_nsec = 30 * 1000000};
    (void)nanosleep(&longer, NULL);
    answerer_hold(false);
    expect_status(&c, 204);
    app_stop();
}
END_TEST

START_TEST(deferred_requests_are_answered_from_another_thread)
{
    app_start(2, 100, 60);
    struct http_client c[50];
    for (size_t i = 0; i < 50; i++)
        ask(&c[i], "GET", "/later");
    for (size_t i = 0; i < 50; i++)
        expect_status(&c[i], 200);
    app_stop();
    ck_assert_int_eq(app.observed, 50);
}
END_TEST

START_TEST(a_deferred_request_outlives_its_client)
{
    app_start(1, 100, 60);
    struct http_client c;
    answerer_hold(true);
    ask(&c, "GET", "/later");
    app_await_held(1);
    http_client_close(&c);
    ck_assert_int_eq(status_of("GET", "/hello", "", NULL), 200);
    answerer_hold(false);
    while (atomic_load(&app.observed) < 2)
        (void)sched_yield();
    app_stop();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_notify_ends_the_wait,
        what_is_there_already_is_answered_at_once,
        a_wait_ends_with_204,
        a_wait_is_bounded,
        a_look_that_finds_nothing_goes_on_waiting,
        waiters_are_capped,
        no_wake_up_is_lost,
        a_client_that_left_is_not_looked_for,
        a_look_may_be_a_write,
        two_things_at_once_are_both_seen,
        a_write_that_finds_nothing_in_time_is_204,
        deferred_requests_are_answered_from_another_thread,
        a_deferred_request_outlives_its_client,
    };
    return unit_run("wait", tests, sizeof tests / sizeof *tests);
}
