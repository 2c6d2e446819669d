#include <arpa/inet.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include "server/httpd/peers.h"
#include "tests/unit/httpd/fixture.h"

static enum err start(const char *address, uint16_t port, const struct route *routes, size_t n,
                      struct httpd **out, struct fault *fault)
{
    const struct httpd_config config = {.address = address, .port = port, .threads = 2};
    const struct httpd_hooks hooks = {.ctx = NULL};
    return httpd_start(&config, routes, n, &hooks, out, fault);
}

START_TEST(a_taken_port_is_named)
{
    app_start(2, 10, 60);
    struct httpd *h = NULL;
    struct fault fault = FAULT_NONE;
    char port[16];
    ck_assert_int_eq(start("127.0.0.1", app.port, fixture_routes, num_fixture_routes, &h, &fault),
                     ERR_CONFLICT);
    (void)snprintf(port, sizeof port, "port %u", (unsigned)app.port);
    ck_assert_ptr_nonnull(strstr(fault.detail, "127.0.0.1"));
    ck_assert_ptr_nonnull(strstr(fault.detail, port));
    ck_assert_ptr_nonnull(strstr(fault.detail, "choose another port"));
    ck_assert_int_eq(start("0.0.0.0", app.port, fixture_routes, num_fixture_routes, &h, &fault),
                     ERR_CONFLICT);
    ck_assert_ptr_null(h);
    uint16_t former = app.port;
    app_stop();
    /* Free again at once, although connections of it are in TIME_WAIT. */
    ck_assert_int_eq(start("127.0.0.1", former, fixture_routes, num_fixture_routes, &h, &fault), ERR_OK);
    ck_assert_uint_eq(httpd_port(h), former);
    httpd_stop(h);
}
END_TEST

START_TEST(a_bad_address_is_named)
{
    struct httpd *h = NULL;
    struct fault fault = FAULT_NONE;
    ck_assert_int_eq(start("localhost", 0, fixture_routes, num_fixture_routes, &h, &fault), ERR_USAGE);
    ck_assert_ptr_nonnull(strstr(fault.detail, "localhost"));
    ck_assert_int_eq(start("203.0.113.7", 0, fixture_routes, num_fixture_routes, &h, &fault), ERR_USAGE);
    ck_assert_ptr_nonnull(strstr(fault.detail, "203.0.113.7"));
}
END_TEST

START_TEST(ipv6_is_served_where_the_machine_has_it)
{
    struct httpd *h = NULL;
    struct fault fault = FAULT_NONE;
    enum err e = start("::", 0, fixture_routes, num_fixture_routes, &h, &fault);
    if (e == ERR_USAGE || e == ERR_IO)
        return; /* no IPv6 here */
    ck_assert_int_eq(e, ERR_OK);
    ck_assert_int_eq(strncmp(httpd_url(h), "http://[::]:", 12), 0);
    struct http_answer a = http_do(httpd_port(h), "GET", "/hello", "", NULL);
    ck_assert_int_eq(a.status, 200);
    http_answer_release(&a);
    httpd_stop(h);
}
END_TEST

START_TEST(a_bad_route_table_does_not_start)
{
    static const char *const bad[] = {
        "items",   "/a//b",
        "/{",      "/{}",
        "/{a",     "/*",
        "/*a/b",   "/a*",
        "/{a}{b}", "/{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h}/{i}" /* LIMIT_PATH_PARAMS and one */};
    struct httpd *h = NULL;
    struct fault fault = FAULT_NONE;
    struct route routes[2];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        routes[0] = fixture_routes[0];
        routes[0].path = bad[i];
        ck_assert_msg(start("127.0.0.1", 0, routes, 1, &h, &fault) == ERR_USAGE, "%s", bad[i]);
        ck_assert_ptr_nonnull(strstr(fault.detail, routes[0].operation_id));
    }
    routes[0] = routes[1] = fixture_routes[0];
    ck_assert_int_eq(start("127.0.0.1", 0, routes, 2, &h, &fault), ERR_USAGE);
    routes[1].operation_id = "other";
    ck_assert_int_eq(start("127.0.0.1", 0, routes, 2, &h, &fault), ERR_USAGE);
    routes[0].path = "/x/{a}/y";
    routes[1].path = "/x/{b}/y";
    ck_assert_int_eq(start("127.0.0.1", 0, routes, 2, &h, &fault), ERR_USAGE);
    routes[1].body = BODY_STREAM;
    routes[1].path = "/z";
    ck_assert_int_eq(start("127.0.0.1", 0, routes, 2, &h, &fault), ERR_USAGE);
}
END_TEST

START_TEST(draining_answers_who_waits_and_lets_others_finish)
{
    app_start(2, 100, 60);
    struct http_client waiting[10], later, idle;
    struct http_answer a;
    answerer_hold(true);
    ck_assert(http_client_open(&later, app.port));
    ck_assert(http_client_print(&later, "GET /later HTTP/1.1\r\nHost: test\r\n\r\n"));
    app_await_held(1);
    for (size_t i = 0; i < 10; i++) {
        ck_assert(http_client_open(&waiting[i], app.port));
        ck_assert(http_client_print(&waiting[i], "GET /wait?wait=60 HTTP/1.1\r\nHost: test\r\n\r\n"));
    }
    app_await_waiters(10);
    ck_assert(http_client_open(&idle, app.port));
    a = http_client_do(&idle, "GET", "/hello", "", NULL);
    http_answer_release(&a);

    ck_assert(!httpd_drain(app.httpd, 100)); /* /later holds it up */
    for (size_t i = 0; i < 10; i++) {
        ck_assert(http_client_read(&waiting[i], false, &a));
        ck_assert_int_eq(a.status, 204);
        ck_assert_str_eq(http_answer_field(&a, "Connection"), "close");
        http_answer_release(&a);
        http_client_close(&waiting[i]);
    }
    /* No new connections; an open one is served once more. */
    struct http_client refused;
    ck_assert(!http_client_open(&refused, app.port));
    http_client_close(&refused);
    a = http_client_do(&idle, "GET", "/hello", "", NULL);
    ck_assert_int_eq(a.status, 200);
    ck_assert_str_eq(http_answer_field(&a, "Connection"), "close");
    http_answer_release(&a);
    http_client_close(&idle);
    answerer_hold(false);
    ck_assert(httpd_drain(app.httpd, 10000));
    ck_assert(http_client_read(&later, false, &a));
    ck_assert_int_eq(a.status, 200);
    http_answer_release(&a);
    http_client_close(&later);
    app_stop();
}
END_TEST

START_TEST(stopping_waits_for_deferred_requests_and_cuts_the_rest)
{
    app_start(2, 100, 60);
    struct http_client later[5], waiting, uploading, downloading, silent;
    struct http_answer a;
    answerer_hold(true);
    for (size_t i = 0; i < 5; i++) {
        ck_assert(http_client_open(&later[i], app.port));
        ck_assert(http_client_print(&later[i], "GET /later HTTP/1.1\r\nHost: test\r\n\r\n"));
    }
    app_await_held(5);
    ck_assert(http_client_open(&waiting, app.port));
    ck_assert(http_client_print(&waiting, "GET /wait?wait=60 HTTP/1.1\r\nHost: test\r\n\r\n"));
    app_await_waiters(1);
    atomic_store(&app.is_sink_full, 1);
    ck_assert(http_client_open(&uploading, app.port));
    ck_assert(http_client_print(&uploading, "PUT /upload HTTP/1.1\r\nHost: test\r\nContent-Length: 100\r\n"
                                            "Content-Type: application/octet-stream\r\n\r\nsome"));
    while (!atomic_load(&app.opened))
        (void)sched_yield();
    ck_assert(http_client_open(&downloading, app.port));
    ck_assert(http_client_print(&downloading, "GET /blob?wait=1 HTTP/1.1\r\nHost: test\r\n\r\n"));
    while (!atomic_load(&app.pulling))
        (void)sched_yield();
    ck_assert(http_client_open(&silent, app.port));
    answerer_hold(false);
    app_stop();
    for (size_t i = 0; i < 5; i++) {
        ck_assert(http_client_read(&later[i], false, &a));
        ck_assert_int_eq(a.status, 200);
        http_answer_release(&a);
        http_client_close(&later[i]);
    }
    ck_assert(http_client_read(&waiting, false, &a));
    ck_assert_int_eq(a.status, 204);
    http_answer_release(&a);
    http_client_close(&waiting);
    http_client_close(&uploading);
    http_client_close(&downloading);
    http_client_close(&silent);
    ck_assert_int_eq(app.aborted, 1);
    ck_assert_int_eq(app.released, 1);
}
END_TEST

/* Threads share the count: which of them a connection comes to does not matter. */
START_TEST(one_address_cannot_take_all_connections)
{
    struct httpd *h = NULL;
    struct fault fault = FAULT_NONE;
    const struct httpd_config config = {.address = "127.0.0.1", .threads = 3, .max_connections_per_ip = 8};
    const struct httpd_hooks hooks = {.ctx = NULL};
    ck_assert_int_eq(httpd_start(&config, fixture_routes, num_fixture_routes, &hooks, &h, &fault), ERR_OK);
    struct http_client c[12];
    struct http_answer a;
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < 12; i++) {
            ck_assert(http_client_open(&c[i], httpd_port(h)));
            a = http_client_do(&c[i], "GET", "/hello", "", NULL);
            ck_assert_int_eq(a.status, i < 8 ? 200 : 0);
            http_answer_release(&a);
        }
        for (size_t i = 0; i < 12; i++)
            http_client_close(&c[i]);
        /* Their places are free once the server has seen their end. */
        while (httpd_stats(h).connections > 0)
            (void)sched_yield();
    }
    httpd_stop(h);
}
END_TEST

START_TEST(who_waits_behind_the_last_connection_is_served)
{
    struct httpd *h = NULL;
    struct fault fault = FAULT_NONE;
    const struct httpd_config config = {.address = "127.0.0.1", .threads = 1, .max_connections = 1};
    const struct httpd_hooks hooks = {.ctx = NULL};
    static const char request[] = "GET /hello HTTP/1.1\r\nHost: test\r\n\r\n";
    ck_assert_int_eq(httpd_start(&config, fixture_routes, num_fixture_routes, &hooks, &h, &fault), ERR_OK);
    struct http_client c[3];
    struct http_answer a;
    for (size_t i = 0; i < 3; i++) {
        ck_assert(http_client_open(&c[i], httpd_port(h)));
        ck_assert(http_client_send(&c[i], request, sizeof request - 1));
    }
    for (size_t i = 0; i < 3; i++) {
        ck_assert_msg(http_client_read(&c[i], false, &a), "connection %zu got no answer", i);
        ck_assert_int_eq(a.status, 200);
        http_answer_release(&a);
        http_client_close(&c[i]);
    }
    httpd_stop(h);
}
END_TEST

static uint64_t network_of(const char *text)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
        return peers_network((const struct sockaddr *)(const void *)&v4);
    ck_assert_int_eq(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
    return peers_network((const struct sockaddr *)(const void *)&v6);
}

START_TEST(addresses_count_by_their_network)
{
    ck_assert(network_of("10.0.0.1") != network_of("10.0.0.2"));
    ck_assert(network_of("10.0.0.1") == network_of("::ffff:10.0.0.1"));
    ck_assert(network_of("2001:db8:1:2::1") == network_of("2001:db8:1:2:ffff::9"));
    ck_assert(network_of("2001:db8:1:2::1") != network_of("2001:db8:1:3::1"));
    ck_assert(network_of("::") != 0 && network_of("0.0.0.0") != 0 && peers_network(NULL) != 0);
}
END_TEST

/* libmicrohttpd's own thread stalls when exactly 128 connections are ready at once; ours must not. */
static void keep_busy(size_t num_clients, int num_requests)
{
    static struct http_client c[384];
    static const char request[] = "GET /hello HTTP/1.1\r\nHost: test\r\n\r\n";
    struct http_answer a;
    app_start(1, 10, 60);
    for (size_t i = 0; i < num_clients; i++)
        ck_assert(http_client_open(&c[i], app.port));
    for (int k = 0; k < num_requests; k++) {
        /* Every socket is written before one is read. */
        for (size_t i = 0; i < num_clients; i++)
            ck_assert(http_client_send(&c[i], request, sizeof request - 1));
        for (size_t i = 0; i < num_clients; i++) {
            ck_assert(http_client_read(&c[i], false, &a));
            ck_assert_int_eq(a.status, 200);
            http_answer_release(&a);
        }
    }
    ck_assert_uint_eq(httpd_stats(app.httpd).connections, num_clients);
    for (size_t i = 0; i < num_clients; i++)
        http_client_close(&c[i]);
    app_stop();
    ck_assert_int_eq(app.observed, (int)num_clients * num_requests);
}

START_TEST(many_busy_connections_never_stall)
{
    keep_busy(128, 20);
    keep_busy(256, 20);
    keep_busy(384, 20);
}
END_TEST

/* The same at its sharpest: while the only thread is held in a handler, exactly 128 requests arrive, so that
 * one epoll_wait finds them all. */
START_TEST(a_burst_of_128_is_served)
{
    static struct http_client c[128];
    static const char request[] = "GET /hello HTTP/1.1\r\nHost: test\r\n\r\n";
    struct http_client blocking;
    struct http_answer a;
    app_start(1, 200, 60);
    for (size_t i = 0; i < 128; i++) {
        ck_assert(http_client_open(&c[i], app.port));
        a = http_client_do(&c[i], "GET", "/hello", "", NULL);
        http_answer_release(&a);
    }
    for (int round = 0; round < 20; round++) {
        atomic_store(&app.is_blocked, 1);
        atomic_store(&app.calls, 0);
        ck_assert(http_client_open(&blocking, app.port));
        ck_assert(http_client_print(&blocking, "GET /block HTTP/1.1\r\nHost: test\r\n\r\n"));
        while (!atomic_load(&app.calls))
            (void)sched_yield();
        for (size_t i = 0; i < 128; i++)
            ck_assert(http_client_send(&c[i], request, sizeof request - 1));
        atomic_store(&app.is_blocked, 0);
        for (size_t i = 0; i < 128; i++) {
            ck_assert(http_client_read(&c[i], false, &a));
            ck_assert_int_eq(a.status, 200);
            http_answer_release(&a);
        }
        http_client_close(&blocking);
    }
    for (size_t i = 0; i < 128; i++)
        http_client_close(&c[i]);
    app_stop();
}
END_TEST

START_TEST(requests_on_one_connection_may_be_pipelined)
{
    app_start(1, 10, 60);
    struct http_client c;
    struct http_answer a;
    ck_assert(http_client_open(&c, app.port));
    for (int i = 0; i < 50; i++)
        ck_assert(http_client_print(&c, "GET /%s HTTP/1.1\r\nHost: test\r\n\r\n", i % 2 ? "later" : "hello"));
    for (int i = 0; i < 50; i++) {
        ck_assert(http_client_read(&c, false, &a));
        ck_assert_int_eq(a.status, 200);
        ck_assert_ptr_nonnull(strstr(a.body, i % 2 ? "another thread" : "world"));
        http_answer_release(&a);
    }
    http_client_close(&c);
    app_stop();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_taken_port_is_named,
        a_bad_address_is_named,
        ipv6_is_served_where_the_machine_has_it,
        a_bad_route_table_does_not_start,
        draining_answers_who_waits_and_lets_others_finish,
        stopping_waits_for_deferred_requests_and_cuts_the_rest,
        one_address_cannot_take_all_connections,
        who_waits_behind_the_last_connection_is_served,
        addresses_count_by_their_network,
        many_busy_connections_never_stall,
        a_burst_of_128_is_served,
        requests_on_one_connection_may_be_pipelined,
    };
    return unit_run("lifecycle", tests, sizeof tests / sizeof *tests);
}
