/* What two rounds leave, as people and programs read it: rounds, tasks, models, metrics. */
#include <string.h>
#include "common/base/str.h"
#include "tests/api/pages.h"

static void update(const struct lab *lab, const struct lab_device *d, float value, double loss)
{
    struct buf file;
    json_t *task = lab_claim(lab, d);
    file_of_model(
        &file, value,
        path_of("\"attempt\":\"1\",\"steps_done\":\"4\",\"eval_train_loss\":\"%g\",\"eval_train_examples\":"
                "\"4\",\"compute_ms\":\"2.5\"",
                loss));
    struct http_answer a =
        lab_put(lab, d->token, path_of("/api/v1/tasks/%s/update", text_at(task, "task_id")), NULL, &file);
    ck_assert_msg(a.status == 200, "%s", a.body);
    http_answer_release(&a);
    buf_release(&file);
    json_decref(task);
}

static void two_rounds(struct lab *lab, struct lab_device devices[3], char run[ID_SIZE])
{
    lab_open(lab);
    for (int i = 0; i < 3; i++)
        devices[i] = lab_device(lab, i);
    lab_run(lab, 3, 3, ",\"evaluation\":{\"on\":\"selected\"}", run);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++)
            update(lab, &devices[i], (float)i, (double)(i + 10 * round));
    }
    json_decref(lab_claim(lab, &devices[0])); /* round 2 is open */
}

START_TEST(test_rounds_tasks_and_models)
{
    struct lab lab;
    struct lab_device devices[3];
    char run[ID_SIZE];
    two_rounds(&lab, devices, run);
    json_t *round = lab_ok(&lab, lab.viewer, "GET", path_of("/api/v1/runs/%s/rounds/1", run), NULL);
    ck_assert_str_eq(text_at(round, "status"), "closed");
    ck_assert_str_eq(text_at(round, "outcome"), "completed");
    ck_assert_int_eq(int_at(round, "selected"), 3);
    ck_assert_int_eq(int_at(round, "received"), 3);
    ck_assert_int_eq(int_at(round, "steps_assigned"), 12);
    ck_assert_int_eq(int_at(round, "steps_done"), 12);
    ck_assert_int_eq(int_at(round, "model_version_in"), 1);
    ck_assert_int_eq(int_at(round, "model_version_out"), 2);
    ck_assert_double_eq(json_number_value(json_at(round, "metrics.train_loss")), 11);
    ck_assert_uint_eq(strlen(text_at(round, "aggregate_sha256")), 64);
    ck_assert_int_ge(int_at(round, "duration_ms"), 0);
    ck_assert_str_eq(text_at(round, "config.training.optimizer"), "sgd");
    json_decref(round);
    char *list = path_of("/api/v1/runs/%s/rounds", run);
    json_t *rounds = lab_ok(&lab, lab.viewer, "GET", path_of("%s?limit=2", list), NULL);
    ck_assert_uint_eq(json_array_size(json_at(rounds, "items")), 2);
    json_t *rest =
        lab_ok(&lab, lab.viewer, "GET", path_of("%s?cursor=%s", list, text_at(rounds, "next_cursor")), NULL);
    ck_assert_int_eq(int_at(rest, "items.0.round"), 2);
    ck_assert(json_is_null(json_at(rest, "items.0.model_version_out")));
    ck_assert(json_is_null(json_at(rest, "next_cursor")));
    json_decref(rounds);
    json_decref(rest);
    pages_agree(&lab, path_of("/api/v1/runs/%s/rounds/0/tasks", run), 3);
    pages_agree(&lab, path_of("/api/v1/runs/%s/rounds/0/tasks?status=completed&type=train", run), 3);
    pages_agree(&lab, path_of("/api/v1/runs/%s/rounds/2/tasks?status=claimed", run), 1);
    json_t *tasks = lab_ok(&lab, lab.viewer, "GET", path_of("/api/v1/runs/%s/rounds/1/tasks", run), NULL);
    ck_assert_str_eq(text_at(tasks, "items.1.device_id"), devices[1].id);
    ck_assert_double_eq(json_number_value(json_at(tasks, "items.1.report.compute_ms")), 2.5);
    static const char *const times[] = {"created_at", "claimed_at", "downloaded_at", "trained_at",
                                        "uploaded_at"};
    for (size_t i = 0; i < 5; i++)
        ck_assert_ptr_nonnull(text_at(tasks, path_of("items.1.%s", times[i])));
    json_decref(tasks);
    json_t *models = lab_ok(&lab, lab.viewer, "GET", path_of("/api/v1/runs/%s/models", run), NULL);
    ck_assert_int_eq(int_at(models, "items.0.version"), 2);
    ck_assert_int_eq(int_at(models, "items.2.version"), 0);
    json_decref(models);
    json_t *latest = lab_ok(&lab, lab.viewer, "GET", path_of("/api/v1/runs/%s/models/latest", run), NULL);
    ck_assert_int_eq(int_at(latest, "version"), 2);
    ck_assert(json_is_true(json_at(latest, "available")));
    json_decref(latest);
    json_t *r = lab_ok(&lab, lab.viewer, "GET", path_of("/api/v1/runs/%s", run), NULL);
    ck_assert_int_eq(int_at(r, "round"), 2);
    ck_assert_int_eq(int_at(r, "metrics.round"), 1);
    ck_assert_double_eq(json_number_value(json_at(r, "metrics.values.train_loss")), 11);
    json_decref(r);
    pages_agree(&lab, path_of("/api/v1/devices?run=%s", run), 3);
    lab_close(&lab);
}
END_TEST

/* A device's tasks of all runs or of one, newest first; and its open ones beside itself. */
START_TEST(test_history_of_a_device)
{
    struct lab lab;
    struct lab_device devices[3];
    char run[ID_SIZE];
    two_rounds(&lab, devices, run);
    const char *list = path_of("/api/v1/devices/%s/tasks", devices[1].id);
    pages_agree(&lab, list, 3);
    pages_agree(&lab, path_of("%s?run=%s&type=train", list, run), 3);
    pages_agree(&lab, path_of("%s?type=evaluate", list), 0);
    pages_agree(&lab, path_of("%s?run=%s", list, devices[0].id), 0);
    json_t *tasks = lab_ok(&lab, lab.viewer, "GET", list, NULL);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(int_at(tasks, path_of("items.%d.round", i)), 2 - i);
        ck_assert_str_eq(text_at(tasks, path_of("items.%d.device_id", i)), devices[1].id);
        ck_assert_str_eq(text_at(tasks, path_of("items.%d.run_id", i)), run);
    }
    ck_assert_str_eq(text_at(tasks, "items.2.status"), "completed");
    ck_assert_int_eq(int_at(tasks, "items.2.steps_done"), 4);
    json_t *device = lab_ok(&lab, lab.viewer, "GET", path_of("/api/v1/devices/%s", devices[1].id), NULL);
    ck_assert_uint_eq(json_array_size(json_at(device, "open_tasks")), 1);
    ck_assert_str_eq(text_at(device, "open_tasks.0.id"), text_at(tasks, "items.0.id"));
    ck_assert_str_eq(text_at(device, "open_tasks.0.id"), text_at(device, "task_ids.0"));
    ck_assert_str_eq(text_at(device, "open_tasks.0.run_id"), run);
    ck_assert_int_eq(int_at(device, "open_tasks.0.round"), 2);
    ck_assert_str_eq(text_at(device, "open_tasks.0.type"), "train");
    ck_assert_str_eq(text_at(device, "open_tasks.0.status"), text_at(tasks, "items.0.status"));
    json_decref(device);
    json_decref(tasks);
    lab_done(&lab, devices[1].token, "GET", list, NULL);
    lab_refused(&lab, devices[0].token, "GET", list, NULL, 403, "forbidden", NULL);
    lab_refused(&lab, lab.viewer, "GET", path_of("%s?type=x", list), NULL, 400, "invalid_field", "type");
    lab_refused(&lab, lab.viewer, "GET", path_of("%s?status=ready", list), NULL, 400, "unknown_field",
                "status");
    lab_refused(&lab, lab.viewer, "GET", path_of("%s?cursor=1", list), NULL, 400, "invalid_cursor", "cursor");
    lab_refused(&lab, lab.viewer, "GET", path_of("/api/v1/devices/%s/tasks", run), NULL, 404, "not_found",
                NULL);
    lab_close(&lab);
}
END_TEST

START_TEST(test_weights_that_retention_removed)
{
    struct lab lab;
    struct lab_device d;
    char run[ID_SIZE];
    lab_open(&lab);
    d = lab_device(&lab, 0);
    lab_run(&lab, 1, 4, ",\"retention\":{\"keep_models\":\"last:1\"},\"evaluation\":{\"on\":\"none\"}", run);
    for (int i = 0; i < 3; i++)
        update(&lab, &d, 1, 1);
    json_decref(lab_claim(&lab, &d));
    const char *path = path_of("/api/v1/runs/%s/models/0", run);
    json_t *model = NULL;
    do { /* removed in the background, soon after the round */
        json_decref(model);
        model = lab_ok(&lab, lab.viewer, "GET", path, NULL);
    } while (json_is_true(json_at(model, "available")));
    json_decref(model);
    lab_refused(&lab, lab.viewer, "GET", path_of("%s/weights", path), NULL, 404, "not_found", NULL);
    lab_close(&lab);
}
END_TEST

/* Pages of any size hold the points of all that have this name (NULL: any) and ordinal (-1: of all devices,
 * -2: any), in the order of the whole list. */
static void metric_pages_agree(const struct lab *lab, const char *run, const char *query, const char *name,
                               int64_t ordinal)
{
    char list[128]; /* path_of() has only so many buffers */
    (void)snprintf(list, sizeof list, "/api/v1/runs/%s/metrics", run);
    json_t *whole = lab_ok(lab, lab->viewer, "GET", list, NULL), *wanted = json_array(), *point;
    size_t i;
    json_array_foreach(json_at(whole, "items"), i, point)
    {
        const json_t *its = json_at(point, "ordinal");
        bool is_one = ordinal == -2 || (json_is_null(its) ? -1 : json_integer_value(its)) == ordinal;
        if (is_one && (!name || strcmp(text_at(point, "name"), name) == 0))
            ck_assert_int_eq(json_array_append(wanted, point), 0);
    }
    for (size_t limit = 1; limit < 6; limit++) {
        char cursor[64] = "";
        size_t at = 0;
        do {
            json_t *page = lab_ok(
                lab, lab->viewer, "GET",
                path_of("%s?limit=%zu&%s%s%s", list, limit, query, cursor[0] ? "&cursor=" : "", cursor),
                NULL);
            json_array_foreach(json_at(page, "items"), i, point)
                ck_assert(json_equal(point, json_array_get(wanted, at++)));
            const char *next = json_string_value(json_at(page, "next_cursor"));
            (void)snprintf(cursor, sizeof cursor, "%s", next ? next : "");
            json_decref(page);
        } while (cursor[0]);
        ck_assert_uint_eq(at, json_array_size(wanted));
    }
    json_decref(wanted);
    json_decref(whole);
}

/* What the rounds say of themselves, as curves. */
static void numbers_of_rounds(struct lab *lab, const char *run, const char *list)
{
    static const char *const names[] = {"proximal_mu", "duration_ms", "bytes_in", "bytes_out"};
    json_t *work = lab_ok(lab, lab->viewer, "GET", path_of("/api/v1/runs/%s/work", run), NULL);
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        json_t *m = lab_ok(lab, lab->viewer, "GET",
                           path_of("%s?number=%s&total_steps=true&max_points=100", list, names[k]), NULL);
        size_t i, at = 0;
        json_t *round;
        json_array_foreach(json_at(work, "items"), i, round)
        {
            const json_t *p = json_array_get(json_at(m, "items"), at);
            if (!str_eq(text_at(round, "status"), "closed"))
                continue;
            ck_assert_int_eq(int_at(p, "round"), int_at(round, "round"));
            ck_assert_str_eq(text_at(p, "name"), names[k]);
            ck_assert_double_eq(json_number_value(json_at(p, "value")),
                                json_number_value(json_object_get(round, names[k])));
            ck_assert_int_eq(int_at(p, "total_steps"), 12 * int_at(round, "round"));
            ck_assert(json_is_null(json_at(p, "ordinal")) && json_is_null(json_at(p, "weight")));
            at++;
        }
        ck_assert_uint_eq(at, json_array_size(json_at(m, "items")));
        ck_assert_uint_ge(at, 2);
        json_decref(m);
    }
    json_decref(work);
    json_t *one = lab_ok(lab, lab->viewer, "GET", path_of("%s?number=duration_ms&limit=1", list), NULL);
    json_t *next =
        lab_ok(lab, lab->viewer, "GET",
               path_of("%s?number=duration_ms&limit=1&cursor=%s", list, text_at(one, "next_cursor")), NULL);
    ck_assert_int_eq(int_at(one, "items.0.round"), 0);
    ck_assert_int_eq(int_at(next, "items.0.round"), 1);
    json_decref(one);
    json_decref(next);
    lab_refused(lab, lab->viewer, "GET", path_of("%s?number=train_loss", list), NULL, 400, "invalid_field",
                "number");
    lab_refused(lab, lab->viewer, "GET", path_of("%s?number=bytes_in&name=gamma", list), NULL, 400,
                "invalid_field", "name");
    lab_refused(lab, lab->viewer, "GET", path_of("%s?number=bytes_in&device=1", list), NULL, 400,
                "invalid_field", "device");
}

START_TEST(test_metrics)
{
    struct lab lab;
    struct lab_device devices[3];
    char run[ID_SIZE];
    two_rounds(&lab, devices, run);
    char list[128];
    (void)snprintf(list, sizeof list, "/api/v1/runs/%s/metrics", run);
    json_t *m = lab_ok(&lab, lab.viewer, "GET", path_of("%s?name=train_loss", list), NULL);
    ck_assert_uint_eq(json_array_size(json_at(m, "items")), 8); /* 3 devices and their mean, 2 rounds */
    ck_assert(json_is_null(json_at(m, "items.0.ordinal")) && json_is_null(json_at(m, "items.0.device_id")));
    ck_assert_double_eq(json_number_value(json_at(m, "items.0.value")), 1);
    ck_assert_str_eq(text_at(m, "items.3.device_id"), devices[2].id);
    json_decref(m);
    const char *const filters[] = {devices[2].id, "2"};
    for (size_t i = 0; i < 2; i++) {
        m = lab_ok(&lab, lab.viewer, "GET",
                   path_of("%s?name=train_loss&device=%s&since_round=1", list, filters[i]), NULL);
        ck_assert_uint_eq(json_array_size(json_at(m, "items")), 1);
        ck_assert_double_eq(json_number_value(json_at(m, "items.0.value")), 12);
        json_decref(m);
    }
    m = lab_ok(&lab, lab.viewer, "GET", path_of("%s?device=aggregate", list), NULL);
    ck_assert_uint_ge(json_array_size(json_at(m, "items")), 2);
    json_decref(m);
    metric_pages_agree(&lab, run, "since_round=0", NULL, -2);
    metric_pages_agree(&lab, run, "name=train_loss", "train_loss", -2);
    metric_pages_agree(&lab, run, "device=aggregate", NULL, -1);
    metric_pages_agree(&lab, run, "name=train_loss&device=aggregate", "train_loss", -1);
    metric_pages_agree(&lab, run, "name=train_loss&device=1", "train_loss", 1);
    metric_pages_agree(&lab, run, "name=nothing&device=1", "nothing", 1);
    struct http_answer a =
        lab_do(&lab, lab.viewer, "GET", path_of("%s?name=train_loss", list), "Accept: text/csv\r\n", NULL);
    ck_assert_int_eq(a.status, 200);
    ck_assert_ptr_nonnull(strstr(http_answer_field(&a, "Content-Type"), "text/csv"));
    ck_assert_ptr_nonnull(
        strstr(a.body, "round,name,ordinal,device_id,value,weight,at\r\n0,train_loss,,,1,12,"));
    ck_assert_ptr_nonnull(strstr(a.body, path_of("\r\n1,train_loss,2,%s,12,4,", devices[2].id)));
    http_answer_release(&a);
    m = lab_ok(&lab, lab.viewer, "GET", path_of("%s?name=train_loss&max_points=2", list), NULL);
    ck_assert_uint_eq(json_array_size(json_at(m, "items")), 8); /* no curve has more than two */
    ck_assert_int_eq(int_at(m, "items.1.round"), 1);            /* by curve */
    json_decref(m);
    /* Steps before the round: each of the three devices does 4 in a round. */
    m = lab_ok(&lab, lab.viewer, "GET",
               path_of("%s?name=train_loss&device=aggregate&total_steps=true&max_points=2", list), NULL);
    ck_assert_int_eq(int_at(m, "items.0.total_steps"), 0);
    ck_assert_int_eq(int_at(m, "items.1.total_steps"), 12);
    json_decref(m);
    a = lab_do(&lab, lab.viewer, "GET", path_of("%s?name=train_loss&total_steps=true", list),
               "Accept: text/csv\r\n", NULL);
    ck_assert_ptr_nonnull(strstr(a.body, "value,weight,at,total_steps\r\n0,train_loss,,,1,12,"));
    ck_assert_ptr_nonnull(strstr(a.body, path_of("Z,%d\r\n", 12)));
    http_answer_release(&a);
    lab_refused(&lab, lab.viewer, "GET", path_of("%s?total_steps=1", list), NULL, 400, "invalid_field",
                "total_steps");
    numbers_of_rounds(&lab, run, list);
    lab_refused(&lab, lab.viewer, "GET", path_of("%s?max_points=2&cursor=0.1", list), NULL, 400,
                "invalid_field", "cursor");
    lab_close(&lab);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_rounds_tasks_and_models, test_history_of_a_device,
                                  test_weights_that_retention_removed, test_metrics};
    return unit_run("history", tests, sizeof tests / sizeof tests[0]);
}
