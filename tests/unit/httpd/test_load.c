/* Many connections at a time. What a lost wake-up or a stalled thread leaves behind is not a slow answer but
 * one that never comes: the server cuts its connection in the end, and the count of answers is short. */
#include "bench/load_client.h"
#include "tests/unit/httpd/fixture.h"

#define PATIENCE_NS (300 * (int64_t)1000000000)
#define MAX_CLIENTS 1000

struct crowd {
    const char *head;
    size_t num_clients;
    int num_requests;         /* each may send */
    int sent[MAX_CLIENTS];    /* by each */
    int answers, good;        /* with status 200 */
    size_t num_content_bytes; /* of all answers */
};

static bool next(void *ctx, size_t connection, struct load_request *out)
{
    struct crowd *c = ctx;
    if (c->sent[connection] == c->num_requests)
        return false;
    c->sent[connection]++;
    *out = (struct load_request){.head = c->head, .head_size = strlen(c->head)};
    return true;
}

static void done(void *ctx, size_t connection, const struct load_answer *answer)
{
    struct crowd *c = ctx;
    (void)connection;
    c->answers++;
    c->good += answer->status == 200;
    c->num_content_bytes += answer->body_size;
}

static struct load *crowd_open(struct crowd *c)
{
    struct fault fault = FAULT_NONE;
    struct load *l = NULL;
    const struct load_config config = {.port = app.port,
                                       .num_connections = c->num_clients,
                                       .num_sources = 2,
                                       .keep_body = 4096,
                                       .ctx = c,
                                       .next = next,
                                       .done = done};
    enum err e = load_new(&config, &l, &fault);
    ck_assert_msg(!e, "%s", fault.detail);
    return l;
}

static void expect_all_good(const struct crowd *c, struct load *l)
{
    struct load_stats stats = load_stats(l);
    int all = (int)c->num_clients * c->num_requests;
    ck_assert_int_eq(c->answers, all);
    ck_assert_int_eq(c->good, all);
    ck_assert_uint_eq(stats.num_ended, 0);
    ck_assert_uint_eq(stats.num_reopened, 0);
    ck_assert_uint_eq(stats.in_flight, 0);
}

/* libmicrohttpd takes 128 events at a time, and its own loop goes astray when it gets exactly so many. */
START_TEST(connections_that_fill_whole_batches_of_events_never_stall)
{
    static const size_t sizes[] = {128, 256, 384};
    static struct crowd c;
    app_start((unsigned)_i + 1, 100, 20);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        c = (struct crowd){
            .head = "GET /hello HTTP/1.1\r\nHost: test\r\n\r\n", .num_clients = sizes[i], .num_requests = 40};
        struct load *l = crowd_open(&c);
        load_run(l, PATIENCE_NS);
        expect_all_good(&c, l);
        ck_assert_uint_gt(c.num_content_bytes, 0);
        load_free(l);
    }
    app_stop();
}
END_TEST

/* Each loses its place in the line of suspended connections and takes a new one, three times over. */
START_TEST(a_thousand_parked_requests_all_wake)
{
    static struct crowd c;
    app_start((unsigned)_i + 1, MAX_CLIENTS, 60);
    c = (struct crowd){.head = "GET /wait?wait=60&topic=all HTTP/1.1\r\nHost: test\r\n\r\n",
                       .num_clients = MAX_CLIENTS};
    struct load *l = crowd_open(&c);
    for (c.num_requests = 1; c.num_requests <= 3; c.num_requests++) {
        atomic_store(&app.state, 0);
        while (waiters_count(app.hub) < MAX_CLIENTS && load_stats(l).num_ended == 0)
            load_run(l, 1000000);
        ck_assert_int_eq(c.answers, MAX_CLIENTS * (c.num_requests - 1));
        atomic_store(&app.state, 1);
        waiters_notify(app.hub, topic_of("state", "all"));
        ck_assert(load_drain(l, PATIENCE_NS));
        expect_all_good(&c, l);
    }
    load_free(l);
    app_stop();
}
END_TEST

int main(void)
{
    TCase *tc = unit_case("httpd_load");
    tcase_add_loop_test(tc, connections_that_fill_whole_batches_of_events_never_stall, 0, 2);
    tcase_add_loop_test(tc, a_thousand_parked_requests_all_wake, 0, 2);
    return unit_run_case("httpd_load", tc);
}
