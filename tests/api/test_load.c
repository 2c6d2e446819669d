/* 200 devices at once, each on a connection of its own: they register, beat, claim by long-poll, report and
 * update, while streams of events are read, runs are paused, resumed, changed and stopped, devices and tokens
 * are revoked, and at last the server stops under those who wait. What the clients were told was accepted is
 * what the rounds count: no more, no less. Above all this is for the thread sanitizer. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include "common/base/str.h"
#include "tests/api/lab.h"

#define DEVICES 200
#define STREAMS 6
#define IDLERS  14
#define RUNS    2
#define ROUND   40 /* devices of one round */

struct load {
    struct lab lab;
    long wanted; /* accepted updates */
    atomic_long accepted, refused, failed;
    atomic_bool is_over; /* the clients are to end */
    char runs[RUNS][ID_SIZE];
    char names[DEVICES][ID_SIZE]; /* of the devices, "" before they registered */
    pthread_mutex_t lock;         /* guards names */
    atomic_size_t num_registered;
};

struct client {
    struct load *load;
    int number;
    struct http_client http;
    struct http_answer answer; /* of the last request */
    char token[TOKEN_SIZE], id[ID_SIZE];
};

/* On the client's connection, opened anew where the last answer closed it. 0: no answer, the server is gone.
 * Of its own memory alone, and without Check's asserts: both are for one thread. */
static int ask(struct client *c, const char *token, const char *method, const char *path, const char *media,
               const void *body, size_t n)
{
    http_answer_release(&c->answer);
    c->answer = (struct http_answer){.status = 0};
    if (c->http.fd < 0 && !http_client_open(&c->http, c->load->lab.port))
        return 0;
    bool is_sent = http_client_print(&c->http,
                                     "%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
                                     "Content-Type: %s\r\nContent-Length: %zu\r\n\r\n",
                                     method, path, token, media, n) &&
                   (n == 0 || http_client_send(&c->http, body, n));
    bool is_read = is_sent && http_client_read(&c->http, false, &c->answer);
    if (!is_read || strstr(c->answer.head, "Connection: close"))
        http_client_close(&c->http);
    return is_read ? c->answer.status : 0;
}

static int ask_json(struct client *c, const char *token, const char *method, const char *path,
                    const char *body)
{
    return ask(c, token, method, path, "application/json", body, body ? strlen(body) : 0);
}

static void client_init(struct client *c, struct load *load, int number)
{
    *c = (struct client){.load = load, .number = number, .http = {.fd = -1}};
}

static void client_release(struct client *c)
{
    http_answer_release(&c->answer);
    http_client_close(&c->http);
}

/* The client's mistake, or the server's: either ends the test. */
static void complain(struct client *c, const char *what)
{
    (void)fprintf(stderr, "client %d: %s: %d %s\n", c->number, what, c->answer.status,
                  c->answer.body ? c->answer.body : "");
    atomic_fetch_add(&c->load->failed, 1);
}

/* ---- a device ---- */

static bool register_device(struct client *c, const char *dataset)
{
    char body[300];
    (void)snprintf(body, sizeof body,
                   "{\"name\":\"load-%d\",\"ordinal\":%d,\"dataset\":\"%s\",\"num_examples\":4,"
                   "\"num_test_examples\":1,\"input\":[2],\"classes\":2}",
                   c->number, c->number, dataset);
    if (ask_json(c, c->load->lab.enrollment, "POST", "/api/v1/devices", body) != 201) {
        complain(c, "register");
        return false;
    }
    json_t *reply = json_loads(c->answer.body, 0, NULL);
    (void)snprintf(c->id, sizeof c->id, "%s", json_string_value(json_object_get(reply, "device_id")));
    (void)snprintf(c->token, sizeof c->token, "%s", json_string_value(json_object_get(reply, "token")));
    json_decref(reply);
    return true;
}

/* Weights of the model of six parameters. */
static size_t weights(int number, char out[400])
{
    static const char header[] = "{\"0.weight\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]},"
                                 "\"0.bias\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[16,24]}}";
    const float values[6] = {(float)number, 1, 2, 3, 4, 5};
    const size_t n = sizeof header - 1;
    memset(out, 0, 8);
    out[0] = (char)n;
    memcpy(out + 8, header, n);
    memcpy(out + 8 + n, values, sizeof values);
    return 8 + n + sizeof values;
}

/* Only what the run's or the device's end explains. */
static void count_answer(struct client *c, int status)
{
    if (status == 200)
        atomic_fetch_add(&c->load->accepted, 1);
    else if (status == 401 || status == 403 || status == 409)
        atomic_fetch_add(&c->load->refused, 1);
    else if (status != 0)
        complain(c, "update");
}

static void work_on(struct client *c, const char *task_id, int64_t attempt)
{
    char path[200], file[400], body[200];
    size_t n = weights(c->number, file);
    if (c->number % 3 == 0) {
        (void)snprintf(body, sizeof body,
                       "{\"tasks\":[{\"task_id\":\"%s\",\"steps_done\":2,\"train_loss\":0.5}]}", task_id);
        (void)snprintf(path, sizeof path, "/api/v1/devices/%s/heartbeat", c->id);
        (void)ask_json(c, c->token, "POST", path, body);
    } else if (c->number % 3 == 1) {
        (void)snprintf(path, sizeof path, "/api/v1/tasks/%s/progress", task_id);
        (void)ask_json(c, c->token, "POST", path, "{\"steps_done\":1,\"train_loss\":1.5}");
    }
    (void)snprintf(path, sizeof path, "/api/v1/tasks/%s/update?attempt=%lld&steps_done=4", task_id,
                   (long long)attempt);
    int status = ask(c, c->token, "PUT", path, "application/vnd.safetensors", file, n);
    count_answer(c, status);
    /* The same again counts no second time. */
    if (status == 200 && c->number % 5 == 0) {
        status = ask(c, c->token, "PUT", path, "application/vnd.safetensors", file, n);
        if (status == 200 && !strstr(c->answer.body, "\"duplicate\":true"))
            complain(c, "a repeated update is no duplicate");
    }
}

static void claim_and_work(struct client *c)
{
    char path[128];
    (void)snprintf(path, sizeof path, "/api/v1/devices/%s/tasks:claim?wait=1", c->id);
    int status = ask_json(c, c->token, "POST", path, NULL);
    if (status != 200) {
        if (status != 204 && status != 401 && status != 0)
            complain(c, "claim");
        if (status == 401)
            c->token[0] = '\0'; /* revoked */
        return;
    }
    json_t *task = json_loads(c->answer.body, 0, NULL);
    const char *id = json_string_value(json_object_get(task, "task_id"));
    if (id)
        work_on(c, id, json_integer_value(json_object_get(task, "attempt")));
    else
        complain(c, "a claim without a task");
    json_decref(task);
}

static void *device_run(void *arg)
{
    struct client *c = arg;
    struct load *load = c->load;
    if (register_device(c, "load")) {
        (void)pthread_mutex_lock(&load->lock);
        memcpy(load->names[c->number], c->id, ID_SIZE);
        (void)pthread_mutex_unlock(&load->lock);
    }
    atomic_fetch_add(&load->num_registered, 1);
    while (c->token[0] && !atomic_load(&load->is_over))
        claim_and_work(c);
    client_release(c);
    return NULL;
}

/* ---- those who only wait: until the server is gone ---- */

static void *stream_run(void *arg)
{
    struct client *c = arg;
    char piece[4096], path[128] = "/api/v1/events";
    struct http_answer head;
    if (c->number % 2)
        (void)snprintf(path, sizeof path, "/api/v1/runs/%s/events", c->load->runs[0]);
    if (!http_client_open(&c->http, c->load->lab.port) ||
        !http_client_print(
            &c->http,
            "GET %s HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nAuthorization: Bearer %s\r\n\r\n",
            path, c->load->lab.viewer) ||
        !http_client_read_head(&c->http, &head) || head.status != 200)
        complain(c, "stream");
    else
        while (http_client_read_chunk(&c->http, piece, sizeof piece) > 0)
            ;
    client_release(c);
    return NULL;
}

static void *idler_run(void *arg)
{
    struct client *c = arg;
    char path[128];
    int status = register_device(c, "idle") ? 204 : 0;
    (void)snprintf(path, sizeof path, "/api/v1/devices/%s/tasks:claim?wait=20", c->id);
    while (status == 204)
        status = ask_json(c, c->token, "POST", path, NULL);
    if (status != 0 && status != 503)
        complain(c, "idle");
    client_release(c);
    return NULL;
}

/* ---- who rules ---- */

static void make_run(struct load *load, char out_id[ID_SIZE])
{
    json_t *run = lab_ok(&load->lab, load->lab.runner, "POST", "/api/v1/runs",
                         path_of("{\"num_rounds\":100000,\"dataset\":\"load\"," MODEL_PATCH
                                 ",\"training\":{\"local_epochs\":1,\"batch_size\":1,\"learning_rate\":0.1},"
                                 "\"selection\":{\"devices_per_round\":%d}}",
                                 ROUND));
    (void)snprintf(out_id, ID_SIZE, "%s", text_at(run, "id"));
    json_decref(run);
}

static void act(struct load *load, const char *run, const char *action)
{
    struct http_answer a =
        lab_do(&load->lab, load->lab.runner, "POST", path_of("/api/v1/runs/%s/%s", run, action), NULL, NULL);
    ck_assert_msg(a.status == 200 || a.status == 409, "%s: %d %s", action, a.status, a.body);
    http_answer_release(&a);
}

static void look(const struct load *load, const char *run)
{
    const struct lab *lab = &load->lab;
    lab_done(lab, lab->viewer, "GET", "/api/v1/devices?limit=50", NULL);
    lab_done(lab, lab->viewer, "GET", path_of("/api/v1/runs/%s/rounds?limit=20", run), NULL);
    lab_done(lab, lab->viewer, "GET", path_of("/api/v1/runs/%s/metrics?max_points=10", run), NULL);
    struct http_answer a = lab_do(lab, lab->viewer, "GET", "/metrics", NULL, NULL);
    ck_assert_int_eq(a.status, 200);
    http_answer_release(&a);
    a = lab_do(lab, lab->viewer, "GET", path_of("/api/v1/runs/%s/models/latest/weights", run), NULL, NULL);
    ck_assert_msg(a.status == 200, "weights: %d %s", a.status, a.body);
    http_answer_release(&a);
}

static void revoke_device(struct load *load, int number)
{
    char id[ID_SIZE];
    (void)pthread_mutex_lock(&load->lock);
    memcpy(id, load->names[number], ID_SIZE);
    (void)pthread_mutex_unlock(&load->lock);
    lab_done(&load->lab, load->lab.admin, "DELETE", path_of("/api/v1/devices/%s", id), NULL);
}

static void make_and_revoke_token(const struct load *load)
{
    json_t *made =
        lab_ok(&load->lab, load->lab.admin, "POST", "/api/v1/tokens", "{\"name\":\"t\",\"role\":\"viewer\"}");
    lab_done(&load->lab, load->lab.admin, "DELETE", path_of("/api/v1/tokens/%s", text_at(made, "id")), NULL);
    json_decref(made);
}

/* Until enough was accepted. One device in eight is revoked on the way. */
static void rule(struct load *load)
{
    for (int i = 0; atomic_load(&load->accepted) < load->wanted && !atomic_load(&load->failed); i++) {
        const char *run = load->runs[i % RUNS];
        struct fault fault = FAULT_NONE;
        char spare[ID_SIZE];
        act(load, run, "pause");
        look(load, run);
        act(load, run, "resume");
        lab_done(&load->lab, load->lab.runner, "PATCH", path_of("/api/v1/runs/%s/config", run),
                 path_of("{\"training\":{\"learning_rate\":0.%d}}", 1 + i % 9));
        make_and_revoke_token(load);
        ck_assert_int_eq(service_reload_tls(load->lab.service, &fault), ERR_OK);
        if (i % 4 == 0) {
            make_run(load, spare);
            act(load, spare, "stop");
        }
        if (i < DEVICES / 8)
            revoke_device(load, i * 8);
    }
}

/* ---- the books ---- */

/* What the rounds of all runs say that was received. */
static int64_t add_rounds(const struct load *load, const char *run)
{
    int64_t received = 0;
    size_t i;
    json_t *round;
    const char *cursor = NULL;
    char at[80] = "";
    do {
        json_t *page = lab_ok(&load->lab, load->lab.viewer, "GET",
                              path_of("/api/v1/runs/%s/rounds?limit=1000%s", run, at), NULL);
        json_array_foreach(json_object_get(page, "items"), i, round)
        {
            int64_t answered = int_at(round, "received") + int_at(round, "dropped") +
                               int_at(round, "failed") + int_at(round, "late");
            if (str_eq(text_at(round, "status"), "closed"))
                ck_assert_int_eq(answered, int_at(round, "selected"));
            received += int_at(round, "received");
        }
        cursor = json_string_value(json_object_get(page, "next_cursor"));
        (void)snprintf(at, sizeof at, "&cursor=%s", cursor ? cursor : "");
        json_decref(page);
    } while (cursor);
    return received;
}

static void check_books(struct load *load)
{
    int64_t received = 0;
    json_t *runs = lab_ok(&load->lab, load->lab.viewer, "GET", "/api/v1/runs?limit=1000", NULL);
    size_t i;
    json_t *run;
    json_array_foreach(json_object_get(runs, "items"), i, run)
    {
        received += add_rounds(load, text_at(run, "id"));
    }
    json_decref(runs);
    ck_assert_int_eq(received, atomic_load(&load->accepted));
}

/* ---- all of it ---- */

static void start(pthread_t *threads, struct client *clients, struct load *load, int first, int count,
                  void *(*run)(void *))
{
    for (int i = 0; i < count; i++) {
        client_init(&clients[i], load, first + i);
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run, &clients[i]), 0);
    }
}

static void join(const pthread_t *threads, int count)
{
    for (int i = 0; i < count; i++)
        (void)pthread_join(threads[i], NULL);
}

START_TEST(test_two_hundred_devices)
{
    enum { WAITERS = STREAMS + IDLERS };
    static struct load load = {.lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t devices[DEVICES], waiters[WAITERS];
    struct client *clients = calloc(DEVICES + WAITERS, sizeof *clients);
    ck_assert_ptr_nonnull(clients);
    load.wanted = unit_is_full() ? 20000 : 600;
    lab_open(&load.lab);
    for (int i = 0; i < RUNS; i++)
        make_run(&load, load.runs[i]);
    start(waiters, clients + DEVICES, &load, DEVICES, STREAMS, stream_run);
    start(waiters + STREAMS, clients + DEVICES + STREAMS, &load, DEVICES + STREAMS, IDLERS, idler_run);
    start(devices, clients, &load, 0, DEVICES, device_run);
    while (atomic_load(&load.num_registered) < DEVICES)
        (void)sched_yield();
    rule(&load);
    for (int i = 0; i < RUNS; i++)
        act(&load, load.runs[i], "stop");
    atomic_store(&load.is_over, true);
    join(devices, DEVICES);
    check_books(&load);
    lab_stop(&load.lab);
    join(waiters, WAITERS);
    ck_assert_int_eq(atomic_load(&load.failed), 0);
    lab_start(&load.lab);
    check_books(&load);
    lab_close(&load.lab);
    free(clients);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_two_hundred_devices};
    return unit_run("API under load", tests, sizeof tests / sizeof *tests);
}
