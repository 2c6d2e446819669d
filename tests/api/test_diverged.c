/* NaN and infinity of a device that diverged: each reply tells them, and tells them from what was not said.
 */
#include "tests/api/lab.h"

struct scene {
    struct lab lab;
    struct lab_device device;
    char run[ID_SIZE];
    json_t *offer;
};

static void scene_open(struct scene *s)
{
    lab_open(&s->lab);
    s->device = lab_device(&s->lab, 0);
    lab_run(&s->lab, 1, 1, "", s->run);
    s->offer = lab_claim(&s->lab, &s->device);
}

static void scene_close(struct scene *s)
{
    json_decref(s->offer);
    lab_close(&s->lab);
}

static json_t *get(const struct scene *s, const char *path)
{
    return lab_ok(&s->lab, s->lab.viewer, "GET", path, NULL);
}

static json_t *get_task(const struct scene *s)
{
    return get(s, path_of("/api/v1/tasks/%s", text_at(s->offer, "task_id")));
}

static void ck_is(const json_t *json, const char *path, const char *expected)
{
    const char *text = json_string_value(json_at(json, path));
    ck_assert_msg(text && strcmp(text, expected) == 0, "%s is %s", path, text ? text : "no text");
}

/* The item of a list whose `key` is `value`. */
static const json_t *item(const json_t *page, const char *key, const char *value)
{
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(page, "items"), i, one)
    {
        if (strcmp(text_at(one, key), value) == 0)
            return one;
    }
    ck_abort_msg("nothing has the %s %s", key, value);
}

static void report_progress(const struct scene *s, const char *body)
{
    json_t *reply = lab_ok(&s->lab, s->device.token, "POST",
                           path_of("/api/v1/tasks/%s/progress", text_at(s->offer, "task_id")), body);
    json_decref(reply);
}

START_TEST(test_progress)
{
    static const struct {
        const char *said, *shown; /* NULL: null */
    } cases[] = {
        {"{\"steps_done\":1,\"train_loss\":\"NaN\"}", "NaN"},
        {"{\"steps_done\":2,\"train_loss\":\"Infinity\"}", "Infinity"},
        {"{\"steps_done\":3,\"train_loss\":null}", NULL},
        {"{\"steps_done\":3,\"train_loss\":\"-Infinity\"}", "-Infinity"},
        {"{\"steps_done\":4}", NULL},
    };
    struct scene s;
    scene_open(&s);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        report_progress(&s, cases[i].said);
        json_t *task = get_task(&s);
        if (cases[i].shown)
            ck_is(task, "train_loss", cases[i].shown);
        else
            ck_assert(json_is_null(json_object_get(task, "train_loss")));
        json_decref(task);
    }
    scene_close(&s);
}
END_TEST

/* All that it can say; a time that is NaN is as good as none. */
static void send_update(const struct scene *s)
{
    struct buf file;
    file_of_model(&file, 1, META_WHOLE);
    struct http_answer a = lab_put(
        &s->lab, s->device.token,
        path_of("/api/v1/tasks/%s/update?train_loss_start=0.5&train_loss_end=NaN&grad_norm_start=Infinity"
                "&grad_norm_end=NaN&gamma=NaN&eval_train_loss=NaN&eval_train_examples=4"
                "&eval_test_loss=-Infinity&eval_test_examples=1&compute_ms=NaN",
                text_at(s->offer, "task_id")),
        NULL, &file);
    json_decref(answer_json(&a, 200));
    buf_release(&file);
}

static void check_task(const struct scene *s)
{
    json_t *task = get_task(s);
    ck_assert_double_eq(json_number_value(json_at(task, "report.train_loss_start")), 0.5);
    ck_is(task, "report.train_loss_end", "NaN");
    ck_is(task, "report.grad_norm_start", "Infinity");
    ck_is(task, "report.grad_norm_end", "NaN");
    ck_is(task, "report.gamma", "NaN");
    ck_is(task, "report.eval_train_loss", "NaN");
    ck_is(task, "report.eval_test_loss", "-Infinity");
    ck_assert_ptr_null(json_at(task, "report.update_norm"));
    ck_assert_ptr_null(json_at(task, "report.compute_ms"));
    json_decref(task);
}

static void check_events(const struct scene *s)
{
    json_t *events =
        lab_ok(&s->lab, s->lab.viewer, "GET", path_of("/api/v1/runs/%s/events?limit=1000", s->run), NULL);
    const json_t *accepted = item(events, "type", "update_accepted"),
                 *closed = item(events, "type", "round_closed");
    ck_is(accepted, "data.gamma", "NaN");
    ck_is(accepted, "data.train_loss_end", "NaN");
    ck_is(closed, "data.mean_gamma", "NaN");
    ck_is(closed, "data.metrics.gamma", "NaN");
    ck_is(closed, "data.metrics.test_loss", "-Infinity");
    ck_assert_ptr_null(json_at(closed, "data.dissimilarity_b"));
    json_decref(events);
}

static void check_metrics(const struct scene *s)
{
    static const struct {
        const char *name, *value;
    } metrics[] = {{"train_loss", "NaN"},    {"test_loss", "-Infinity"}, {"train_loss_end", "NaN"},
                   {"grad_norm_end", "NaN"}, {"gamma", "NaN"},           {"grad_norm_start", "Infinity"}};
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++) {
        json_t *page = get(s, path_of("/api/v1/runs/%s/metrics?name=%s", s->run, metrics[i].name));
        /* Of all devices, and of this one. */
        ck_assert_uint_eq(json_array_size(json_object_get(page, "items")), 2);
        ck_is(page, "items.0.value", metrics[i].value);
        ck_is(page, "items.1.value", metrics[i].value);
        json_decref(page);
    }
    json_t *page = get(s, path_of("/api/v1/runs/%s/metrics?name=update_norm", s->run));
    ck_assert_uint_eq(json_array_size(json_object_get(page, "items")), 0);
    json_decref(page);
}

static void check_csv(const struct scene *s)
{
    static const char *const parts[] = {",train_loss,0,", ",NaN,4,20", ",-Infinity,1,20", ",Infinity,1,20"};
    struct http_answer a = lab_do(&s->lab, s->lab.viewer, "GET", path_of("/api/v1/runs/%s/metrics", s->run),
                                  "Accept: text/csv\r\n", NULL);
    ck_assert_int_eq(a.status, 200);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        ck_assert_msg(strstr(a.body, parts[i]), "no %s in %s", parts[i], a.body);
    ck_assert_ptr_null(strstr(a.body, "nan"));
    ck_assert_ptr_null(strstr(a.body, "inf"));
    http_answer_release(&a);
}

/* Examples without a loss are no evaluation whose loss is NaN. */
START_TEST(test_an_evaluation_without_losses)
{
    struct scene s;
    struct buf file;
    scene_open(&s);
    file_of_model(&file, 1, META_WHOLE);
    struct http_answer a =
        lab_put(&s.lab, s.device.token,
                path_of("/api/v1/tasks/%s/update?eval_train_examples=4&eval_test_examples=1"
                        "&eval_test_correct=1",
                        text_at(s.offer, "task_id")),
                NULL, &file);
    json_decref(answer_json(&a, 200));
    buf_release(&file);
    json_decref(lab_claim(&s.lab, &s.device));
    json_t *round = get(&s, path_of("/api/v1/runs/%s/rounds/0", s.run));
    ck_assert_ptr_null(json_at(round, "metrics.train_loss"));
    ck_assert_ptr_null(json_at(round, "metrics.test_loss"));
    ck_assert_double_eq(json_number_value(json_at(round, "metrics.test_accuracy")), 1);
    json_decref(round);
    scene_close(&s);
}
END_TEST

START_TEST(test_an_update)
{
    struct scene s;
    scene_open(&s);
    send_update(&s);
    /* Round 1 evaluates the last model: its task means that round 0 is closed. */
    json_decref(lab_claim(&s.lab, &s.device));
    check_task(&s);
    check_events(&s);
    check_metrics(&s);
    check_csv(&s);
    json_t *round = get(&s, path_of("/api/v1/runs/%s/rounds/0", s.run)),
           *work = get(&s, path_of("/api/v1/runs/%s/work", s.run)),
           *tasks = get(&s, path_of("/api/v1/devices/%s/tasks?type=train", s.device.id));
    ck_is(round, "mean_gamma", "NaN");
    ck_is(round, "metrics.train_loss", "NaN");
    ck_assert(json_is_null(json_object_get(round, "dissimilarity_b")));
    ck_is(work, "items.0.mean_gamma", "NaN");
    ck_is(work, "items.0.train_loss", "NaN");
    ck_assert_ptr_null(json_at(work, "items.0.dissimilarity_b"));
    ck_is(tasks, "items.0.report.gamma", "NaN");
    json_t *curve = get(&s, path_of("/api/v1/runs/%s/metrics?number=mean_gamma", s.run));
    ck_is(curve, "items.0.value", "NaN");
    json_decref(curve);
    json_decref(round);
    json_decref(work);
    json_decref(tasks);
    scene_close(&s);
}
END_TEST

START_TEST(test_what_nobody_measured_is_null)
{
    struct scene s;
    scene_open(&s);
    struct http_answer a = lab_update(&s.lab, &s.device, s.offer, 1);
    json_decref(answer_json(&a, 200));
    json_decref(lab_claim(&s.lab, &s.device));
    json_t *round = get(&s, path_of("/api/v1/runs/%s/rounds/0", s.run)),
           *work = get(&s, path_of("/api/v1/runs/%s/work", s.run)), *task = get_task(&s);
    ck_assert(json_is_null(json_object_get(round, "mean_gamma")));
    ck_assert_ptr_null(json_at(work, "items.0.mean_gamma"));
    ck_assert_ptr_null(json_at(task, "report.gamma"));
    json_t *curve = get(&s, path_of("/api/v1/runs/%s/metrics?number=mean_gamma", s.run));
    ck_assert_uint_eq(json_array_size(json_object_get(curve, "items")), 0);
    json_decref(curve);
    json_decref(round);
    json_decref(work);
    json_decref(task);
    scene_close(&s);
}
END_TEST

/* An echo that is no number is not what the task said. */
START_TEST(test_echoes)
{
    static const char *const fields[] = {"proximal_mu", "learning_rate"};
    struct scene s;
    struct buf file;
    scene_open(&s);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        file_of_model(&file, 1, META_WHOLE);
        struct http_answer a = lab_put(
            &s.lab, s.device.token,
            path_of("/api/v1/tasks/%s/update?%s=NaN", text_at(s.offer, "task_id"), fields[i]), NULL, &file);
        answer_is_problem(&a, 409, "config_mismatch", fields[i]);
        buf_release(&file);
    }
    scene_close(&s);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_progress, test_an_update, test_an_evaluation_without_losses,
                                  test_what_nobody_measured_is_null, test_echoes};
    return unit_run("api_diverged", tests, sizeof tests / sizeof tests[0]);
}
