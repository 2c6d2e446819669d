#include "tests/unit/httpd/fixture.h"
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/log.h"

struct app app;

static void *answerer_run(void *arg)
{
    struct answerer *a = arg;
    (void)pthread_mutex_lock(&a->mutex);
    for (;;) {
        while ((a->head == a->tail || a->is_held) && !a->is_stopping)
            (void)pthread_cond_wait(&a->more, &a->mutex);
        if (a->head == a->tail)
            break;
        struct request *rq = a->queue[a->head++ % 4096];
        route_handler *step = a->step;
        (void)pthread_mutex_unlock(&a->mutex);
        if (step) {
            request_continue(rq, step);
        } else {
            if (reply_json(rq, 200, json_pack("{s:s}", "from", "another thread")))
                reply_fault(rq, &(struct fault){.err = ERR_NO_MEMORY});
            request_complete(rq);
        }
        (void)pthread_mutex_lock(&a->mutex);
    }
    (void)pthread_mutex_unlock(&a->mutex);
    return NULL;
}

void answerer_put(struct request *rq)
{
    struct answerer *a = &app.answerer;
    (void)pthread_mutex_lock(&a->mutex);
    a->queue[a->tail++ % 4096] = rq;
    (void)pthread_cond_signal(&a->more);
    (void)pthread_mutex_unlock(&a->mutex);
}

void answerer_hold(bool is_held)
{
    struct answerer *a = &app.answerer;
    (void)pthread_mutex_lock(&a->mutex);
    a->is_held = is_held;
    (void)pthread_cond_signal(&a->more);
    (void)pthread_mutex_unlock(&a->mutex);
}

void app_await_held(size_t n)
{
    struct answerer *a = &app.answerer;
    for (size_t held = n + 1; held != n;) {
        (void)pthread_mutex_lock(&a->mutex);
        held = a->tail - a->head;
        (void)pthread_mutex_unlock(&a->mutex);
        (void)sched_yield();
    }
}

void app_await_waiters(size_t n)
{
    while (waiters_count(app.hub) != n)
        (void)sched_yield();
}

static void answerer_stop(void)
{
    struct answerer *a = &app.answerer;
    (void)pthread_mutex_lock(&a->mutex);
    a->is_stopping = true;
    (void)pthread_cond_signal(&a->more);
    (void)pthread_mutex_unlock(&a->mutex);
    (void)pthread_join(a->thread, NULL);
}

static enum err authenticate(void *ctx, struct request *rq, const struct route *route, struct fault *fault)
{
    (void)ctx;
    const char *given = request_header(rq, "Authorization");
    if (!route->roles)
        return ERR_OK;
    if (!given || strncmp(given, "Bearer ", 7) != 0)
        return fault_set(fault, ERR_UNAUTHORIZED, NULL, "send the header Authorization: Bearer TOKEN");
    if (strcmp(given + 7, "good") != 0)
        return fault_set(fault, ERR_FORBIDDEN, NULL, "this token may not do that");
    char *name = strdup("a caller");
    request_set(rq, REQUEST_CALLER, name, free);
    return name ? ERR_OK : ERR_NO_MEMORY;
}

static void observe(void *ctx, const struct route *route, int status, int64_t duration_ns, uint64_t bytes_in,
                    uint64_t bytes_out)
{
    (void)ctx;
    (void)route;
    (void)duration_ns;
    atomic_store(&app.last_status, status);
    atomic_store(&app.last_bytes_in, bytes_in);
    atomic_store(&app.last_bytes_out, bytes_out);
    atomic_fetch_add(&app.observed, 1);
}

void app_start(unsigned threads, size_t max_waiters, unsigned timeout_s)
{
    struct fault fault = FAULT_NONE;
    log_init(LOG_ERROR, LOG_TEXT);
    memset(&app, 0, sizeof app);
    (void)pthread_mutex_init(&app.answerer.mutex, NULL);
    (void)pthread_cond_init(&app.answerer.more, NULL);
    ck_assert_int_eq(pthread_create(&app.answerer.thread, NULL, answerer_run, &app.answerer), 0);
    ck_assert_int_eq(waiters_new(max_waiters, &app.hub), ERR_OK);
    struct httpd_config config = {
        .address = "127.0.0.1", .threads = threads, .timeout_s = timeout_s, .waiters = app.hub};
    struct httpd_hooks hooks = {.ctx = &app, .authenticate = authenticate, .observe = observe};
    enum err e = httpd_start(&config, fixture_routes, num_fixture_routes, &hooks, &app.httpd, &fault);
    ck_assert_msg(!e, "%s", fault.detail);
    app.port = httpd_port(app.httpd);
}

void app_stop(void)
{
    answerer_stop();
    httpd_stop(app.httpd);
    app.httpd = NULL;
    ck_assert_uint_eq(waiters_count(app.hub), 0);
    waiters_free(app.hub);
    (void)pthread_mutex_destroy(&app.answerer.mutex);
    (void)pthread_cond_destroy(&app.answerer.more);
}

int status_of(const char *method, const char *path, const char *headers, const char *body)
{
    struct http_answer answer = http_do(app.port, method, path, headers, body);
    http_answer_release(&answer);
    return answer.status;
}

void expect_problem(struct http_answer *answer, int status, const char *code, const char *field)
{
    ck_assert_int_eq(answer->status, status);
    ck_assert_str_eq(http_answer_field(answer, "Content-Type"), "application/problem+json");
    json_t *body = json_loads(answer->body, 0, NULL);
    ck_assert_msg(body, "no JSON: %s", answer->body);
    const char *got_field = json_string_value(json_object_get(body, "field"));
    ck_assert_str_eq(json_string_value(json_object_get(body, "code")), code);
    ck_assert_int_eq((int)json_integer_value(json_object_get(body, "status")), status);
    ck_assert_str_eq(json_string_value(json_object_get(body, "request_id")),
                     http_answer_field(answer, "X-Request-Id"));
    ck_assert_int_gt((int)strlen(json_string_value(json_object_get(body, "detail"))), 0);
    ck_assert_int_gt((int)strlen(json_string_value(json_object_get(body, "title"))), 0);
    if (field)
        ck_assert_str_eq(got_field, field);
    json_decref(body);
    http_answer_release(answer);
}
