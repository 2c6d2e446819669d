/* Events: a stream that resumes, and pages. */
#include <string.h>
#include "tests/api/lab.h"

/* Reads the stream until `wanted` stands in it; everything read so far lies in `text`. */
static void read_until(struct http_client *c, struct buf *text, const char *wanted)
{
    char piece[65536];
    while (!text->data || !strstr(text->data, wanted)) {
        size_t n = http_client_read_chunk(c, piece, sizeof piece);
        ck_assert_msg(n > 0, "the stream ended before %s:\n%s", wanted, text->data ? text->data : "");
        ck_assert_int_eq(buf_append(text, piece, n), ERR_OK);
    }
}

static void stream_open_as(const struct lab *lab, struct http_client *c, const char *token, const char *path,
                           const char *headers)
{
    struct http_answer a;
    ck_assert(http_client_open(c, lab->port));
    ck_assert(http_client_print(c, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n%s\r\n", path,
                                token, headers));
    ck_assert(http_client_read_head(c, &a));
    ck_assert_int_eq(a.status, 200);
    ck_assert_str_eq(http_answer_field(&a, "Content-Type"), "text/event-stream");
}

static void stream_open(const struct lab *lab, struct http_client *c, const char *path, const char *headers)
{
    stream_open_as(lab, c, lab->viewer, path, headers);
}

START_TEST(test_a_stream_tells_what_happens_and_resumes)
{
    struct lab lab;
    struct http_client c;
    struct buf text = BUF_INIT(MIB);
    char run[ID_SIZE];
    lab_open(&lab);
    struct lab_device d = lab_device(&lab, 0);
    lab_run(&lab, 1, 1, ",\"autostart\":false", run);
    char *path = path_of("/api/v1/runs/%s/events", run);
    stream_open(&lab, &c, path, "");
    read_until(&c, &text, "event: run_created\n");
    ck_assert_ptr_nonnull(strstr(text.data, "id: 1\n"));
    lab_done(&lab, lab.runner, "POST", path_of("/api/v1/runs/%s/start", run), NULL);
    read_until(&c, &text, "event: round_opened\n");
    http_client_close(&c);
    buf_clear(&text);
    json_decref(lab_claim(&lab, &d));
    /* From the second one on, nothing twice and nothing left out. */
    stream_open(&lab, &c, path, "Last-Event-ID: 1\r\nAccept: text/event-stream\r\n");
    read_until(&c, &text, "event: round_opened\n");
    ck_assert_ptr_null(strstr(text.data, "run_created"));
    ck_assert_ptr_nonnull(strstr(text.data, "id: 2\n"));
    ck_assert_ptr_nonnull(strstr(text.data, "event: run_started\n"));
    http_client_close(&c);
    buf_clear(&text);
    stream_open(&lab, &c, path_of("%s?since=2", path), "Accept: text/event-stream\r\n");
    read_until(&c, &text, "id: 3\n");
    ck_assert_ptr_null(strstr(text.data, "id: 2\n"));
    http_client_close(&c);
    buf_release(&text);
    lab_close(&lab);
}
END_TEST

/* Of the run, and of all: only what comes after the stream was opened. */
START_TEST(test_a_stream_can_begin_now)
{
    struct lab lab;
    struct http_client of_run, of_all;
    struct buf text = BUF_INIT(MIB);
    char run[ID_SIZE];
    lab_open(&lab);
    (void)lab_device(&lab, 0);
    lab_run(&lab, 1, 1, ",\"autostart\":false", run);
    const char *accept = "Accept: text/event-stream\r\n";
    stream_open(&lab, &of_run, path_of("/api/v1/runs/%s/events?since=latest", run), accept);
    stream_open(&lab, &of_all, "/api/v1/events?since=latest", accept);
    json_t *page = lab_ok(&lab, lab.viewer, "GET", "/api/v1/events?since=latest", NULL);
    ck_assert_int_eq((int)json_array_size(json_at(page, "items")), 0);
    json_decref(page);
    lab_done(&lab, lab.runner, "POST", path_of("/api/v1/runs/%s/start", run), NULL);
    read_until(&of_run, &text, "event: round_opened\n");
    ck_assert_ptr_null(strstr(text.data, "run_created"));
    ck_assert_ptr_nonnull(strstr(text.data, "id: 2\nevent: run_started\n"));
    buf_clear(&text);
    read_until(&of_all, &text, "event: round_opened\n");
    ck_assert_ptr_null(strstr(text.data, "run_created"));
    ck_assert_ptr_nonnull(strstr(text.data, "event: run_started\n"));
    http_client_close(&of_run);
    http_client_close(&of_all);
    buf_clear(&text);
    /* What was received counts, whatever else is asked. */
    stream_open(&lab, &of_run, path_of("/api/v1/runs/%s/events?since=latest", run),
                "Last-Event-ID: 1\r\nAccept: text/event-stream\r\n");
    read_until(&of_run, &text, "id: 2\nevent: run_started\n");
    http_client_close(&of_run);
    buf_release(&text);
    lab_close(&lab);
}
END_TEST

START_TEST(test_every_event_has_its_number)
{
    struct lab lab;
    struct http_client c;
    struct buf text = BUF_INIT(MIB);
    char run[ID_SIZE];
    lab_open(&lab);
    struct lab_device d = lab_device(&lab, 0);
    lab_run(&lab, 1, 60, ",\"evaluation\":{\"on\":\"none\"}", run);
    stream_open(&lab, &c, path_of("/api/v1/runs/%s/events", run), "Accept: text/event-stream\r\n");
    for (int i = 0; i < 60; i++) {
        json_t *task = lab_claim(&lab, &d);
        struct http_answer a = lab_update(&lab, &d, task, (float)i);
        ck_assert_int_eq(a.status, 200);
        http_answer_release(&a);
        json_decref(task);
    }
    read_until(&c, &text, "event: run_finished\n");
    http_client_close(&c);
    const char *at = text.data;
    int64_t expected = 1;
    while ((at = strstr(at, "id: ")) != NULL) {
        ck_assert_int_eq(strtoll(at + 4, NULL, 10), expected);
        expected++;
        at += 4;
    }
    ck_assert_int_gt(expected, 240);
    /* The pages say the same. */
    int64_t seen = 0, since = 0;
    for (bool more = true; more;) {
        json_t *page =
            lab_ok(&lab, lab.viewer, "GET",
                   path_of("/api/v1/runs/%s/events?since=%lld&limit=100", run, (long long)since), NULL);
        size_t n = json_array_size(json_at(page, "items"));
        for (size_t i = 0; i < n; i++)
            ck_assert_int_eq(int_at(page, path_of("items.%zu.seq", i)), ++seen);
        more = json_is_string(json_at(page, "next_cursor"));
        if (more)
            since = strtoll(text_at(page, "next_cursor"), NULL, 10);
        json_decref(page);
    }
    ck_assert_int_eq(seen, expected - 1);
    buf_release(&text);
    lab_close(&lab);
}
END_TEST

START_TEST(test_events_of_everything)
{
    struct lab lab;
    struct http_client c;
    struct buf text = BUF_INIT(MIB);
    char run[ID_SIZE];
    lab_open(&lab);
    stream_open(&lab, &c, "/api/v1/events", "Accept: text/event-stream\r\n");
    struct lab_device d = lab_device(&lab, 0);
    read_until(&c, &text, "event: device_registered\n");
    ck_assert_ptr_nonnull(strstr(text.data, d.id));
    ck_assert_ptr_null(strstr(text.data, d.token));
    lab_run(&lab, 2, 1, "", run);
    read_until(&c, &text, "event: run_created\n");
    ck_assert_ptr_nonnull(strstr(text.data, run));
    http_client_close(&c);
    json_t *page = lab_ok(&lab, lab.viewer, "GET", "/api/v1/events?limit=1", NULL);
    ck_assert_str_eq(text_at(page, "items.0.type"), "device_registered");
    ck_assert(json_is_null(json_at(page, "items.0.run_id")));
    ck_assert_str_eq(text_at(page, "items.0.data.device_id"), d.id);
    json_t *next = lab_ok(&lab, lab.viewer, "GET",
                          path_of("/api/v1/events?cursor=%s", text_at(page, "next_cursor")), NULL);
    ck_assert_str_eq(text_at(next, "items.0.type"), "run_created");
    json_decref(page);
    json_decref(next);
    buf_release(&text);
    lab_close(&lab);
}
END_TEST

/* Whatever was sent before the connection ends. */
static void read_to_the_end(struct http_client *c, struct buf *text)
{
    char piece[4096];
    for (size_t n; (n = http_client_read_chunk(c, piece, sizeof piece)) > 0;)
        ck_assert_int_eq(buf_append(text, piece, n), ERR_OK);
}

START_TEST(test_a_stream_ends_with_its_token)
{
    struct lab lab;
    struct http_client revoked, expired, good;
    struct buf text = BUF_INIT(MIB);
    lab_open(&lab);
    json_t *first = lab_ok(&lab, lab.admin, "POST", "/api/v1/tokens", "{\"name\":\"t\",\"role\":\"viewer\"}");
    json_t *second = lab_ok(&lab, lab.admin, "POST", "/api/v1/tokens",
                            "{\"name\":\"t\",\"role\":\"viewer\",\"expires_in_s\":60}");
    stream_open(&lab, &good, "/api/v1/events", "");
    stream_open_as(&lab, &revoked, text_at(first, "token"), "/api/v1/events", "");
    stream_open_as(&lab, &expired, text_at(second, "token"), "/api/v1/events", "");
    lab_done(&lab, lab.admin, "DELETE", path_of("/api/v1/tokens/%s", text_at(first, "id")), NULL);
    lab_clock_add(61000);
    (void)lab_device(&lab, 0);
    read_until(&good, &text, "event: device_registered\n");
    buf_clear(&text);
    read_to_the_end(&revoked, &text);
    read_to_the_end(&expired, &text);
    ck_assert_msg(!text.data || !strstr(text.data, "device_registered"), "told to a stranger: %s", text.data);
    http_client_close(&good);
    http_client_close(&revoked);
    http_client_close(&expired);
    json_decref(first);
    json_decref(second);
    buf_release(&text);
    lab_close(&lab);
}
END_TEST

START_TEST(test_a_place_that_is_not_here)
{
    struct lab lab;
    char run[ID_SIZE];
    lab_open(&lab);
    lab_run(&lab, 1, 1, ",\"autostart\":false", run);
    const char *const paths[] = {"/api/v1/events", path_of("/api/v1/runs/%s/events", run)};
    for (size_t i = 0; i < 2; i++) {
        struct http_answer a = lab_do(&lab, lab.viewer, "GET", paths[i],
                                      "Last-Event-ID: 1000000\r\nAccept: text/event-stream\r\n", NULL);
        answer_is_problem(&a, 400, "invalid_field", "Last-Event-ID");
    }
    lab_close(&lab);
}
END_TEST

START_TEST(test_which_of_the_two)
{
    struct lab lab;
    char run[ID_SIZE];
    lab_open(&lab);
    lab_run(&lab, 1, 1, "", run);
    struct http_answer a =
        lab_do(&lab, lab.viewer, "GET", "/api/v1/events", "Accept: application/json\r\n", NULL);
    json_decref(answer_json(&a, 200));
    a = lab_do(&lab, lab.viewer, "GET", "/api/v1/events", "Last-Event-ID: x\r\n", NULL);
    answer_is_problem(&a, 400, "invalid_field", "Last-Event-ID");
    lab_refused(&lab, lab.viewer, "GET", "/api/v1/runs/00000000000000000000000000000000/events", NULL, 404,
                "not_found", NULL);
    lab_close(&lab);
}
END_TEST

/* Events larger than anybody would make them, as many as no request's memory holds: all of them come, whole.
 */
#define LARGE_EVENTS 40
#define LARGE_BYTES  MIB
#define HUGE_EVENTS  2 /* the first of them: a patch of a device may grow when it is written out */
#define HUGE_BYTES   (5 * MIB)

static enum err insert_large(struct store_txn *txn, void *arg)
{
    static int64_t seq;
    char *data = malloc(HUGE_BYTES + 1);
    struct event_row row;
    enum err e = ERR_OK;
    (void)arg;
    ck_assert_ptr_nonnull(data);
    for (int i = 0; i < LARGE_EVENTS && !e; i++) {
        size_t n = i < HUGE_EVENTS ? HUGE_BYTES : LARGE_BYTES;
        memset(data, 'x', n);
        memcpy(data, "{\"text\":\"", 9);
        memcpy(data + n - 2, "\"}", 3);
        record_init(RECORD_EVENT, &row);
        row.seq = ++seq;
        row.type = "large";
        row.data = data;
        e = store_insert(txn, RECORD_EVENT, &row);
    }
    free(data);
    return e ? e : store_notify(txn, "events");
}

/* The stream's next event, taken out of `text`: its lines. The caller frees them. Comments are no events. */
static char *next_event(struct http_client *c, struct buf *text)
{
    char piece[65536];
    size_t looked = 0;
    for (;;) {
        const char *end = text->len > looked ? strstr(text->data + looked, "\n\n") : NULL;
        if (end) {
            size_t n = (size_t)(end - text->data) + 2;
            char *event = strndup(text->data, n);
            ck_assert_ptr_nonnull(event);
            text->len -= n;
            memmove(text->data, text->data + n, text->len + 1);
            if (event[0] != ':')
                return event;
            free(event);
            looked = 0;
            continue;
        }
        looked = text->len > 0 ? text->len - 1 : 0;
        size_t n = http_client_read_chunk(c, piece, sizeof piece);
        ck_assert_msg(n > 0, "the stream ended");
        ck_assert_int_eq(buf_append(text, piece, n), ERR_OK);
    }
}

/* Each with all that belongs to it, and none left out. */
static void read_large_events(struct http_client *c, int64_t id)
{
    struct buf text = BUF_INIT(64 * MIB);
    char wanted[80];
    for (int seen = 0; seen < LARGE_EVENTS; id++) {
        char *event = next_event(c, &text);
        int n = snprintf(wanted, sizeof wanted, "id: %lld\nevent: ", (long long)id);
        ck_assert_msg(strncmp(event, wanted, (size_t)n) == 0, "not %s but %.60s", wanted, event);
        if (strncmp(event + n, "large\ndata: {", 13) == 0) {
            size_t len = strlen(event), data = seen++ < HUGE_EVENTS ? HUGE_BYTES : LARGE_BYTES;
            ck_assert_uint_gt(len, data);
            ck_assert_uint_lt(len, data + 300);
            ck_assert_str_eq(event + len - 7, "xx\"}}\n\n");
        }
        free(event);
    }
    buf_release(&text);
}

START_TEST(test_events_of_any_size_come_whole)
{
    struct lab lab;
    struct http_client c;
    lab_open(&lab);
    (void)lab_device(&lab, 0);
    json_t *page = lab_ok(&lab, lab.viewer, "GET", "/api/v1/events?limit=1", NULL);
    int64_t last = int_at(page, "items.0.id"), next = last + 1;
    int seen = 0;
    json_decref(page);
    struct store *store = service_store(lab.service);
    ck_assert_int_eq(store_write_wait(store, insert_large, NULL), ERR_OK);
    stream_open(&lab, &c, "/api/v1/events", path_of("Last-Event-ID: %lld\r\n", (long long)last));
    read_large_events(&c, next);
    http_client_close(&c);
    for (bool more = true; more;) {
        page = lab_ok(&lab, lab.viewer, "GET",
                      path_of("/api/v1/events?since=%lld&limit=1000", (long long)last), NULL);
        size_t n = json_array_size(json_at(page, "items"));
        for (size_t i = 0; i < n; i++) {
            ck_assert_int_eq(int_at(page, path_of("items.%zu.id", i)), next++);
            seen += strcmp(text_at(page, path_of("items.%zu.type", i)), "large") == 0;
        }
        more = json_is_string(json_at(page, "next_cursor"));
        if (more)
            last = strtoll(text_at(page, "next_cursor"), NULL, 10);
        json_decref(page);
    }
    ck_assert_int_eq(seen, LARGE_EVENTS);
    lab_close(&lab);
}
END_TEST

START_TEST(test_a_stream_ends_with_the_server)
{
    struct lab lab;
    struct http_client c;
    char piece[4096];
    char run[ID_SIZE];
    lab_open(&lab);
    lab_run(&lab, 1, 1, "", run);
    stream_open(&lab, &c, "/api/v1/events", "Accept: text/event-stream\r\n");
    lab_stop(&lab);
    while (http_client_read_chunk(&c, piece, sizeof piece) > 0)
        ;
    http_client_close(&c);
    lab_start(&lab);
    lab_close(&lab);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_a_stream_tells_what_happens_and_resumes,
                                  test_a_stream_can_begin_now,
                                  test_every_event_has_its_number,
                                  test_events_of_everything,
                                  test_which_of_the_two,
                                  test_a_stream_ends_with_its_token,
                                  test_a_place_that_is_not_here,
                                  test_events_of_any_size_come_whole,
                                  test_a_stream_ends_with_the_server};
    return unit_run("events", tests, sizeof tests / sizeof tests[0]);
}
