#include <sched.h>
#include <string.h>
#include "tests/unit/httpd/fixture.h"

static void change(int state)
{
    atomic_store(&app.state, state);
    waiters_notify(app.hub, topic_of("state", NULL));
}

static void follow(struct http_client *c, const char *headers)
{
    struct http_answer a;
    ck_assert(http_client_open(c, app.port));
    ck_assert(http_client_print(c, "GET /events HTTP/1.1\r\nHost: test\r\n%s\r\n", headers));
    ck_assert(http_client_read_head(c, &a)); /* comes before the first event */
    ck_assert_int_eq(a.status, 200);
    ck_assert_str_eq(http_answer_field(&a, "Content-Type"), "text/event-stream");
    ck_assert_str_eq(http_answer_field(&a, "Cache-Control"), "no-store");
}

/* Nothing has happened yet, and still the stream begins. */
static void begun(struct http_client *c)
{
    char text[4096];
    ck_assert_uint_gt(http_client_read_chunk(c, text, sizeof text), 0);
    ck_assert_str_eq(text, ":\n\n");
}

#define EVENT(id) "id: " id "\nevent: number\ndata: line one\ndata: line two\n\n"

START_TEST(events_come_as_they_happen)
{
    app_start(1, 10, 60);
    struct http_client c;
    char text[4096];
    follow(&c, "");
    begun(&c);
    app_await_waiters(1);
    change(1);
    ck_assert_uint_gt(http_client_read_chunk(&c, text, sizeof text), 0);
    ck_assert_str_eq(text, EVENT("1"));
    change(3);
    ck_assert_uint_gt(http_client_read_chunk(&c, text, sizeof text), 0);
    ck_assert_str_eq(text, EVENT("2") EVENT("3"));
    http_client_close(&c);
    /* The next event finds nobody; the one after that ends the stream. */
    for (int i = 4; !atomic_load(&app.released); i++) {
        change(i % 90);
        (void)sched_yield();
    }
    app_await_waiters(0);
    app_stop();
}
END_TEST

START_TEST(a_stream_is_resumed_where_it_broke)
{
    app_start(1, 10, 60);
    struct http_client c;
    char text[4096];
    change(12);
    follow(&c, "Last-Event-ID: 10\r\n");
    ck_assert_uint_gt(http_client_read_chunk(&c, text, sizeof text), 0);
    ck_assert_str_eq(text, EVENT("11") EVENT("12"));
    http_client_close(&c);
    app_stop();
    ck_assert_int_eq(app.released, 1);
}
END_TEST

START_TEST(a_stream_can_end)
{
    app_start(1, 10, 60);
    struct http_client c;
    struct http_answer a;
    change(100);
    ck_assert(http_client_open(&c, app.port));
    ck_assert(http_client_print(&c, "GET /events HTTP/1.1\r\nHost: test\r\n\r\n"));
    ck_assert(http_client_read(&c, false, &a)); /* many chunks, then its end */
    const char *last = strstr(a.body, EVENT("100"));
    ck_assert_ptr_nonnull(last);
    ck_assert_str_eq(last, EVENT("100"));
    http_answer_release(&a);
    /* The connection lives on. */
    a = http_client_do(&c, "GET", "/hello", "", NULL);
    ck_assert_int_eq(a.status, 200);
    http_answer_release(&a);
    http_client_close(&c);
    app_stop();
}
END_TEST

START_TEST(streams_end_with_the_server)
{
    app_start(2, 10, 60);
    struct http_client c[4];
    char text[4096];
    for (size_t i = 0; i < 4; i++) {
        follow(&c[i], "");
        begun(&c[i]);
    }
    app_await_waiters(4);
    ck_assert(httpd_drain(app.httpd, 10000));
    for (size_t i = 0; i < 4; i++) {
        ck_assert_uint_eq(http_client_read_chunk(&c[i], text, sizeof text), 0); /* a proper end */
        http_client_close(&c[i]);
    }
    app_stop();
    ck_assert_int_eq(app.released, 4);
}
END_TEST

START_TEST(no_event_is_lost_between_looking_and_waiting)
{
    app_start(2, 10, 60);
    struct http_client c;
    char text[65536];
    follow(&c, "");
    int seen = 0;
    for (int i = 1; i <= 99; i++) {
        change(i);
        if (i % 3)
            continue; /* some notifies fall together */
        char last[32];
        (void)snprintf(last, sizeof last, "id: %d\n", i);
        do {
            ck_assert_uint_gt(http_client_read_chunk(&c, text, sizeof text), 0);
        } while (!strstr(text, last));
        seen = i;
    }
    ck_assert_int_eq(seen, 99);
    http_client_close(&c);
    app_stop();
}
END_TEST

/* An exchange after each change lets the thread see every one of them by itself. */
START_TEST(events_that_come_close_together_are_sent_together)
{
    app_start(1, 10, 60);
    struct http_client c, other;
    char text[65536], whole[65536] = "";
    follow(&c, "");
    begun(&c);
    app_await_waiters(1);
    change(1);
    ck_assert_uint_gt(http_client_read_chunk(&c, text, sizeof text), 0);
    ck_assert_str_eq(text, EVENT("1"));
    int before = atomic_load(&app.looks);
    ck_assert(http_client_open(&other, app.port));
    for (int i = 2; i <= 61; i++) {
        change(i);
        struct http_answer a = http_client_do(&other, "GET", "/hello", "", NULL);
        ck_assert_int_eq(a.status, 200);
        http_answer_release(&a);
    }
    http_client_close(&other);
    while (!strstr(whole, "id: 61\n")) {
        ck_assert_uint_gt(http_client_read_chunk(&c, text, sizeof text), 0);
        ck_assert_uint_lt(strlen(whole) + strlen(text), sizeof whole);
        (void)snprintf(whole + strlen(whole), sizeof whole - strlen(whole), "%s", text);
    }
    ck_assert_int_lt(atomic_load(&app.looks) - before, 50);
    const char *at = whole;
    for (int i = 2; i <= 61; i++) {
        char id[32];
        (void)snprintf(id, sizeof id, "id: %d\n", i);
        at = strstr(at, id);
        ck_assert_msg(at != NULL, "event %d is missing, or not in its place", i);
    }
    http_client_close(&c);
    app_stop();
}
END_TEST

START_TEST(an_event_is_written_as_the_standard_says)
{
    struct buf out = BUF_INIT(1000);
    ck_assert_int_eq(sse_event(&out, "7", "round", "a\r\nb\rc\n"), ERR_OK);
    ck_assert_str_eq(out.data, "id: 7\nevent: round\ndata: a\ndata: b\ndata: c\ndata: \n\n");
    buf_clear(&out);
    ck_assert_int_eq(sse_event(&out, NULL, NULL, ""), ERR_OK);
    ck_assert_str_eq(out.data, "data: \n\n");
    ck_assert_int_eq(sse_event(&out, "7\nevent: x", NULL, ""), ERR_INVALID_FIELD);
    ck_assert_int_eq(sse_event(&out, NULL, "x\r", ""), ERR_INVALID_FIELD);
    buf_release(&out);
}
END_TEST

/* At every place where the room may end. */
START_TEST(an_event_that_does_not_fit_leaves_nothing)
{
    static const char first[] = "id: 1\ndata: x\n\n";
    for (size_t room = 0;; room++) {
        struct buf out = BUF_INIT(sizeof first - 1 + room);
        ck_assert_int_eq(sse_event(&out, "1", NULL, "x"), ERR_OK);
        enum err e = sse_event(&out, "2", "round", "a\nb");
        if (e == ERR_OK) {
            ck_assert_str_eq(out.data, "id: 1\ndata: x\n\nid: 2\nevent: round\ndata: a\ndata: b\n\n");
            buf_release(&out);
            break;
        }
        ck_assert_int_eq(e, ERR_PAYLOAD_TOO_LARGE);
        ck_assert_uint_eq(out.len, sizeof first - 1);
        ck_assert_str_eq(out.data, first);
        buf_release(&out);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        events_come_as_they_happen,
        a_stream_is_resumed_where_it_broke,
        a_stream_can_end,
        streams_end_with_the_server,
        no_event_is_lost_between_looking_and_waiting,
        events_that_come_close_together_are_sent_together,
        an_event_is_written_as_the_standard_says,
        an_event_that_does_not_fit_leaves_nothing,
    };
    return unit_run("events", tests, sizeof tests / sizeof *tests);
}
