/* Claims and reports: long-polls that wake, tasks that were lost, directives. */
#include <pthread.h>
#include <string.h>
#include "tests/api/lab.h"

/* ---- long-polls ---- */

struct poll {
    const struct lab *lab;
    const char *token;
    char path[160];
    struct http_answer answer;
};

static void *poll_run(void *arg)
{
    struct poll *p = arg;
    p->answer = lab_do(p->lab, p->token, "POST", p->path, NULL, "{}");
    return NULL;
}

static int64_t num_waiters(const struct lab *lab)
{
    struct http_answer a = lab_do(lab, lab->viewer, "GET", "/metrics", NULL, NULL);
    const char *at = strstr(a.body, "\nfedlane_waiters ");
    ck_assert_ptr_nonnull(at);
    int64_t n = (int64_t)strtod(at + 17, NULL);
    http_answer_release(&a);
    return n;
}

static void poll_start(struct poll *p, pthread_t *thread)
{
    ck_assert_int_eq(pthread_create(thread, NULL, poll_run, p), 0);
    while (num_waiters(p->lab) == 0)
        (void)sched_yield();
}

START_TEST(test_a_poll_wakes_when_there_is_work)
{
    struct lab lab;
    pthread_t thread;
    char run[ID_SIZE];
    lab_open(&lab);
    struct lab_device d = lab_device(&lab, 0);
    struct poll p = {.lab = &lab, .token = d.token};
    (void)snprintf(p.path, sizeof p.path, "/api/v1/devices/%s/tasks:claim?wait=60", d.id);
    poll_start(&p, &thread);
    lab_run(&lab, 1, 1, "", run);
    (void)pthread_join(thread, NULL);
    json_t *task = answer_json(&p.answer, 200);
    ck_assert_str_eq(text_at(task, "run_id"), run);
    ck_assert_int_eq(num_waiters(&lab), 0);
    json_decref(task);
    lab_close(&lab);
}
END_TEST

START_TEST(test_a_workers_poll_wakes)
{
    struct lab lab;
    pthread_t thread;
    char run[ID_SIZE], token[TOKEN_SIZE];
    lab_open(&lab);
    json_t *w =
        lab_ok(&lab, lab.enrollment, "POST", "/api/v1/workers",
               "{\"name\":\"w\",\"instance_id\":\"i\",\"devices\":[{\"dataset\":\"hand\",\"num_examples\":4},"
               "{\"dataset\":\"hand\",\"num_examples\":4}]}");
    (void)snprintf(token, sizeof token, "%s", text_at(w, "token"));
    struct poll p = {.lab = &lab, .token = token};
    (void)snprintf(p.path, sizeof p.path, "/api/v1/workers/%s/tasks:claim?wait=60", text_at(w, "worker_id"));
    poll_start(&p, &thread);
    lab_run(&lab, 2, 1, "", run);
    (void)pthread_join(thread, NULL);
    json_t *tasks = answer_json(&p.answer, 200);
    ck_assert_uint_eq(json_array_size(json_at(tasks, "items")), 1); /* max is 1 where nothing is said */
    /* The other one, and no third. */
    const char *claim = path_of("/api/v1/workers/%s/tasks:claim", text_at(w, "worker_id"));
    json_t *more = lab_ok(&lab, token, "POST", claim, "{\"max\":10}");
    ck_assert_uint_eq(json_array_size(json_at(more, "items")), 1);
    ck_assert_str_ne(text_at(more, "items.0.task_id"), text_at(tasks, "items.0.task_id"));
    struct http_answer a = lab_do(&lab, token, "POST", claim, NULL, "{\"max\":10}");
    ck_assert_int_eq(a.status, 204);
    http_answer_release(&a);
    /* One was lost on the way: it is offered again, as a new attempt. */
    json_t *lost = lab_ok(&lab, token, "POST", claim,
                          path_of("{\"max\":10,\"holding\":[\"%s\"]}", text_at(tasks, "items.0.task_id")));
    ck_assert_uint_eq(json_array_size(json_at(lost, "items")), 1);
    ck_assert_str_eq(text_at(lost, "items.0.task_id"), text_at(more, "items.0.task_id"));
    ck_assert_int_eq(int_at(lost, "items.0.attempt"), 2);
    /* A device of the worker may be asked for by its own path, too. */
    a = lab_do(&lab, token, "POST",
               path_of("/api/v1/devices/%s/tasks:claim", text_at(w, "devices.0.device_id")), NULL,
               path_of("{\"holding\":[\"%s\",\"%s\"]}", text_at(tasks, "items.0.task_id"),
                       text_at(more, "items.0.task_id")));
    ck_assert_int_eq(a.status, 204);
    http_answer_release(&a);
    json_decref(lost);
    json_decref(more);
    json_decref(tasks);
    json_decref(w);
    lab_close(&lab);
}
END_TEST

START_TEST(test_a_poll_ends_with_its_wait_and_with_the_server)
{
    struct lab lab;
    pthread_t thread;
    lab_open(&lab);
    struct lab_device d = lab_device(&lab, 0);
    struct http_answer a =
        lab_do(&lab, d.token, "POST", path_of("/api/v1/devices/%s/tasks:claim?wait=0.05", d.id), NULL, NULL);
    ck_assert_int_eq(a.status, 204);
    http_answer_release(&a);
    struct poll p = {.lab = &lab, .token = d.token};
    (void)snprintf(p.path, sizeof p.path, "/api/v1/devices/%s/tasks:claim?wait=60", d.id);
    poll_start(&p, &thread);
    lab_stop(&lab);
    (void)pthread_join(thread, NULL);
    ck_assert_int_eq(p.answer.status, 204);
    http_answer_release(&p.answer);
    lab_start(&lab);
    lab_close(&lab);
}
END_TEST

/* ---- what a task says ---- */

START_TEST(test_a_task_says_everything)
{
    struct lab lab;
    char run[ID_SIZE];
    lab_open(&lab);
    struct lab_device d = lab_device(&lab, 0);
    lab_run(&lab, 1, 1,
            ",\"seed\":7,\"strategy\":{\"params\":{\"proximal_mu\":0.5}},\"evaluation\":{\"gamma\":true},"
            "\"reporting\":{\"deadline_s\":60}",
            run);
    json_t *t = lab_claim(&lab, &d);
    ck_assert_str_eq(text_at(t, "run_id"), run);
    ck_assert_str_eq(text_at(t, "device_id"), d.id);
    ck_assert_str_eq(text_at(t, "type"), "train");
    ck_assert_str_eq(text_at(t, "dataset"), "hand");
    ck_assert_str_eq(text_at(t, "weights_url"), path_of("/api/v1/runs/%s/models/0/weights", run));
    ck_assert_uint_eq(strlen(text_at(t, "weights_sha256")), 64);
    ck_assert_int_eq(int_at(t, "attempt"), 1);
    ck_assert_int_eq(int_at(t, "num_examples"), 4);
    ck_assert_int_eq(int_at(t, "steps_assigned"), 4);
    ck_assert_int_eq(int_at(t, "budget.max_steps"), 4);
    ck_assert_int_eq(int_at(t, "config.local_epochs"), 1);
    ck_assert_int_eq(int_at(t, "config.batch_size"), 1);
    ck_assert_int_eq(int_at(t, "config.seed"), 7);
    ck_assert_int_eq(int_at(t, "config.round"), 0);
    ck_assert_int_eq(int_at(t, "config.ordinal"), 0);
    ck_assert_str_eq(text_at(t, "config.optimizer"), "sgd");
    ck_assert(json_is_null(json_at(t, "config.momentum")) && json_is_null(json_at(t, "config.beta1")));
    ck_assert(json_is_null(json_at(t, "config.beta2")) && json_is_null(json_at(t, "config.epsilon")));
    ck_assert(json_is_null(json_at(t, "config.clip_norm")));
    ck_assert_double_eq(json_number_value(json_at(t, "config.weight_decay")), 0);
    ck_assert_double_eq(json_number_value(json_at(t, "config.learning_rate")), 0.1);
    ck_assert_double_eq(json_number_value(json_at(t, "config.proximal_mu")), 0.5);
    ck_assert(json_is_true(json_at(t, "config.accept_partial")));
    ck_assert_int_eq(int_at(t, "model.input.0"), 2);
    ck_assert_str_eq(text_at(t, "want.0"), "evaluation");
    ck_assert_str_eq(text_at(t, "want.1"), "gamma");
    ck_assert(int_at(t, "time_left_ms") > 0 && int_at(t, "time_left_ms") <= 60000);
    ck_assert_ptr_nonnull(text_at(t, "deadline_at"));
    struct http_answer a = lab_do(&lab, d.token, "GET", text_at(t, "weights_url"), NULL, NULL);
    ck_assert_int_eq(a.status, 200);
    http_answer_release(&a);
    json_decref(t);
    lab_close(&lab);
}
END_TEST

/* ---- reports ---- */

static json_t *beat(const struct lab *lab, const struct lab_device *d, const char *task_id, int64_t steps)
{
    return lab_ok(lab, d->token, "POST", path_of("/api/v1/devices/%s/heartbeat", d->id),
                  path_of("{\"tasks\":[{\"task_id\":\"%s\",\"steps_done\":%lld,\"train_loss\":\"NaN\"}]}",
                          task_id, (long long)steps));
}

START_TEST(test_heartbeats_direct)
{
    struct lab lab;
    char run[ID_SIZE];
    lab_open(&lab);
    struct lab_device d = lab_device(&lab, 0), stranger = lab_device(&lab, 1);
    lab_run(&lab, 1, 1, ",\"reporting\":{\"deadline_s\":100,\"grace_s\":1000}", run);
    json_t *task = lab_claim(&lab, &d);
    const char *id = text_at(task, "task_id");
    json_t *reply = beat(&lab, &d, id, 2);
    ck_assert_uint_eq(json_array_size(json_at(reply, "directives")), 0);
    ck_assert_double_eq(json_number_value(json_at(reply, "next_heartbeat_s")), 1);
    ck_assert_ptr_nonnull(text_at(reply, "server_time"));
    json_decref(reply);
    json_t *shown = lab_ok(&lab, lab.viewer, "GET", path_of("/api/v1/tasks/%s", id), NULL);
    ck_assert_int_eq(int_at(shown, "steps_done"), 2);
    json_decref(shown);
    /* A stranger's report of it changes nothing, and it is told to drop it. */
    reply = beat(&lab, &stranger, id, 4);
    ck_assert_str_eq(text_at(reply, "directives.0.type"), "cancel");
    json_decref(reply);
    shown = lab_ok(&lab, lab.viewer, "GET", path_of("/api/v1/tasks/%s", id), NULL);
    ck_assert_int_eq(int_at(shown, "steps_done"), 2);
    json_decref(shown);
    lab_clock_add(101000);
    reply = beat(&lab, &d, id, 3);
    ck_assert_str_eq(text_at(reply, "directives.0.type"), "return_partial");
    ck_assert_str_eq(text_at(reply, "directives.0.task_id"), id);
    json_decref(reply);
    reply = lab_ok(&lab, d.token, "POST", path_of("/api/v1/tasks/%s/progress", id), "{\"steps_done\":3}");
    ck_assert_str_eq(text_at(reply, "directives.0.type"), "return_partial");
    json_decref(reply);
    lab_done(&lab, lab.runner, "POST", path_of("/api/v1/runs/%s/stop", run), NULL);
    reply = beat(&lab, &d, id, 3);
    ck_assert_str_eq(text_at(reply, "directives.0.type"), "cancel");
    json_decref(reply);
    json_decref(task);
    lab_close(&lab);
}
END_TEST

START_TEST(test_presence_over_http)
{
    struct lab lab;
    lab_open(&lab);
    struct lab_device d = lab_device(&lab, 0);
    const char *path = path_of("/api/v1/devices/%s", d.id);
    static const struct {
        int64_t after_ms;
        const char *status;
    } steps[] = {{0, "online"}, {3500, "suspect"}, {12500, "offline"}};
    for (size_t i = 0; i < 3; i++) {
        lab_clock_add(steps[i].after_ms);
        json_t *device = lab_ok(&lab, lab.viewer, "GET", path, NULL);
        ck_assert_str_eq(text_at(device, "status"), steps[i].status);
        json_decref(device);
        json_t *list =
            lab_ok(&lab, lab.viewer, "GET", path_of("/api/v1/devices?status=%s", steps[i].status), NULL);
        ck_assert_uint_eq(json_array_size(json_at(list, "items")), 1);
        json_decref(list);
        lab_done(&lab, d.token, "POST", path_of("%s/heartbeat", path), NULL);
        device = lab_ok(&lab, lab.viewer, "GET", path, NULL);
        ck_assert_str_eq(text_at(device, "status"), "online");
        json_decref(device);
    }
    lab_close(&lab);
}
END_TEST

/* No connection and no heartbeat while it trains: it is only thought to be away. */
START_TEST(test_half_an_hour_without_a_word)
{
    struct lab lab;
    char run[ID_SIZE];
    lab_open(&lab);
    struct lab_device d = lab_device(&lab, 0);
    lab_run(&lab, 1, 1, ",\"reporting\":{\"deadline_s\":3600}", run);
    json_t *task = lab_claim(&lab, &d);
    lab_clock_add(1800000);
    json_t *device = lab_ok(&lab, lab.viewer, "GET", path_of("/api/v1/devices/%s", d.id), NULL);
    ck_assert_str_eq(text_at(device, "status"), "offline");
    json_decref(device);
    struct http_answer a = lab_update(&lab, &d, task, 2);
    json_t *receipt = answer_json(&a, 200);
    ck_assert(json_is_true(json_at(receipt, "accepted")));
    json_decref(receipt);
    device = lab_ok(&lab, lab.viewer, "GET", path_of("/api/v1/devices/%s", d.id), NULL);
    ck_assert_str_eq(text_at(device, "status"), "online");
    json_decref(device);
    json_decref(task);
    lab_close(&lab);
}
END_TEST

START_TEST(test_resources_of_a_worker)
{
    struct lab lab;
    char token[TOKEN_SIZE];
    lab_open(&lab);
    json_t *w =
        lab_ok(&lab, lab.enrollment, "POST", "/api/v1/workers",
               "{\"name\":\"w\",\"instance_id\":\"i\",\"devices\":[{\"dataset\":\"x\",\"num_examples\":1}]}");
    (void)snprintf(token, sizeof token, "%s", text_at(w, "token"));
    const char *path = path_of("/api/v1/workers/%s", text_at(w, "worker_id"));
    lab_done(&lab, token, "POST", path_of("%s/heartbeat", path),
             "{\"resources\":{\"load\":0.5,\"gpu\":null}}");
    /* Written without anybody waiting: a write that comes later says when it is done. */
    lab_done(&lab, lab.admin, "POST", "/api/v1/experiments", "{\"name\":\"barrier\"}");
    json_t *shown = lab_ok(&lab, token, "GET", path, NULL);
    ck_assert_double_eq(json_number_value(json_at(shown, "resources.load")), 0.5);
    json_decref(shown);
    char *large = path_of("{\"resources\":{\"a\":\"%0*d\"}}", 4000, 0);
    lab_done(&lab, token, "POST", path_of("%s/heartbeat", path), large);
    struct buf body = BUF_INIT(MIB);
    ck_assert_int_eq(buf_puts(&body, "{\"resources\":{\"a\":\""), ERR_OK);
    for (int i = 0; i < 17 * 1024; i++)
        ck_assert_int_eq(buf_puts(&body, "x"), ERR_OK);
    ck_assert_int_eq(buf_puts(&body, "\"}}"), ERR_OK);
    lab_refused(&lab, token, "POST", path_of("%s/heartbeat", path), body.data, 400, "invalid_field",
                "resources");
    buf_release(&body);
    json_decref(w);
    lab_close(&lab);
}
END_TEST

START_TEST(test_fail_and_release)
{
    struct lab lab;
    char run[ID_SIZE];
    lab_open(&lab);
    struct lab_device one = lab_device(&lab, 0), two = lab_device(&lab, 1);
    lab_run(&lab, 2, 2, "", run);
    json_t *a = lab_claim(&lab, &one), *b = lab_claim(&lab, &two);
    json_t *released =
        lab_ok(&lab, one.token, "POST", path_of("/api/v1/tasks/%s/release", text_at(a, "task_id")), NULL);
    ck_assert_str_eq(text_at(released, "status"), "ready");
    json_decref(released);
    json_decref(a);
    a = lab_claim(&lab, &one);
    ck_assert_int_eq(int_at(a, "attempt"), 2);
    json_t *failed = lab_ok(&lab, one.token, "POST", path_of("/api/v1/tasks/%s/fail", text_at(a, "task_id")),
                            "{\"code\":\"incomplete\",\"detail\":\"slow\",\"attempt\":2,\"steps_done\":1,"
                            "\"eval_train_loss\":0.5,\"eval_train_examples\":4,\"train_loss_end\":\"NaN\"}");
    ck_assert_str_eq(text_at(failed, "status"), "dropped");
    ck_assert_str_eq(text_at(failed, "code"), "incomplete");
    json_decref(failed);
    /* An administrator's tool acts for the device. */
    failed = lab_ok(&lab, lab.admin, "POST", path_of("/api/v1/tasks/%s/fail", text_at(b, "task_id")),
                    "{\"code\":\"out_of_memory\"}");
    ck_assert_str_eq(text_at(failed, "status"), "failed");
    json_decref(failed);
    json_t *round = lab_ok(&lab, lab.viewer, "GET", path_of("/api/v1/runs/%s/rounds/0", run), NULL);
    ck_assert_int_eq(int_at(round, "dropped"), 1);
    ck_assert_int_eq(int_at(round, "failed"), 1);
    json_decref(round);
    struct buf file;
    file_of_model(&file, 1, META_WHOLE);
    struct http_answer answer =
        lab_put(&lab, lab.admin, path_of("/api/v1/tasks/%s/update", text_at(b, "task_id")), NULL, &file);
    answer_is_problem(&answer, 403, "forbidden", NULL); /* an update comes from the device that made it */
    buf_release(&file);
    json_decref(a);
    json_decref(b);
    lab_close(&lab);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_a_poll_wakes_when_there_is_work,
                                  test_a_workers_poll_wakes,
                                  test_a_poll_ends_with_its_wait_and_with_the_server,
                                  test_a_task_says_everything,
                                  test_heartbeats_direct,
                                  test_presence_over_http,
                                  test_half_an_hour_without_a_word,
                                  test_resources_of_a_worker,
                                  test_fail_and_release};
    return unit_run("claims", tests, sizeof tests / sizeof tests[0]);
}
