/* A list of devices that is filtered holds what a plain look at the whole list leaves over, in its order,
 * however it is cut into pages: of random fleets and after random changes, in both stores. */
#include <string.h>
#include "tests/api/lab.h"

#define HEARTBEAT_MS  60000
#define JUMP_MS       ((int64_t)7 * HEARTBEAT_MS) /* silent once: suspect; twice: offline; never near a change */
#define MAX_KNOWN     512
#define MAX_QUESTIONS 20

struct known {
    char id[ID_SIZE], token[TOKEN_SIZE];
    int instance;         /* of a worker, */
    char device[ID_SIZE]; /* and its first device */
};
struct fleet {
    struct lab lab;
    uint64_t random;
    struct known workers[MAX_KNOWN], devices[MAX_KNOWN]; /* devices without a worker */
    size_t num_workers, num_devices;
    int num_instances;
    char run[ID_SIZE];
};
struct question {
    const char *status, *label, *value, *dataset, *worker;
    bool of_run;
};

static size_t draw(struct fleet *f, size_t below)
{
    f->random = f->random * 6364136223846793005U + 1442695040888963407U;
    return (size_t)(f->random >> 33) % below;
}

static const char *const names[] = {"site", "tier", "a b&c", "\xc3\xa4\\\"", "si"};
static const char *const values[] = {"north", "south", "", "=\"\\", "n"};
#define NUM(array) (sizeof(array) / sizeof(array)[0])

static json_t *some_labels(struct fleet *f)
{
    json_t *labels = json_object();
    for (size_t n = draw(f, 4); n > 0; n--)
        ck_assert(json_object_set_new(labels, names[draw(f, NUM(names))],
                                      json_string(values[draw(f, NUM(values))])) == 0);
    return labels;
}

static json_t *some_device(struct fleet *f, json_t *labels)
{
    return json_pack("{s:s, s:i, s:o}", "dataset", draw(f, 3) ? "one" : "two", "num_examples", 4, "labels",
                     labels);
}

/* Sends a body, which it releases. */
static json_t *send(struct fleet *f, const char *token, const char *method, const char *path, json_t *body)
{
    char *text = json_dumps(body, JSON_COMPACT);
    json_t *reply = lab_ok(&f->lab, token, method, path, text);
    free(text);
    json_decref(body);
    return reply;
}

static void know(struct known *k, const json_t *reply, const char *id_field)
{
    (void)snprintf(k->id, sizeof k->id, "%s", text_at(reply, id_field));
    (void)snprintf(k->token, sizeof k->token, "%s", text_at(reply, "token"));
}

/* ---- changes ---- */

static void add_device(struct fleet *f)
{
    ck_assert_uint_lt(f->num_devices, MAX_KNOWN);
    json_t *reply = send(f, f->lab.enrollment, "POST", "/api/v1/devices", some_device(f, some_labels(f)));
    know(&f->devices[f->num_devices++], reply, "device_id");
    json_decref(reply);
}

static void enrol(struct fleet *f, struct known *worker, size_t num_devices)
{
    json_t *devices = json_array();
    for (size_t i = 0; i < num_devices; i++)
        ck_assert(json_array_append_new(devices, some_device(f, some_labels(f))) == 0);
    json_t *body = json_pack("{s:s, s:s, s:s, s:o}", "name", "w", "instance_id",
                             path_of("instance-%d", worker->instance), "version", "1", "devices", devices);
    json_t *reply = send(f, f->lab.enrollment, "POST", "/api/v1/workers", body);
    know(worker, reply, "worker_id");
    (void)snprintf(worker->device, sizeof worker->device, "%s", text_at(reply, "devices.0.device_id"));
    json_decref(reply);
}

static void add_worker(struct fleet *f)
{
    ck_assert_uint_lt(f->num_workers, MAX_KNOWN);
    struct known *worker = &f->workers[f->num_workers++];
    worker->instance = ++f->num_instances;
    enrol(f, worker, 1 + draw(f, 5));
}

/* It comes back with other labels, and perhaps more or fewer devices. */
static void come_back(struct fleet *f)
{
    enrol(f, &f->workers[draw(f, f->num_workers)], 1 + draw(f, 5));
}

static void relabel(struct fleet *f)
{
    const struct known *d = &f->devices[draw(f, f->num_devices)];
    json_decref(send(f, d->token, "PATCH", path_of("/api/v1/devices/%s", d->id),
                     json_pack("{s:o}", "labels", some_labels(f))));
}

static void hear(struct fleet *f)
{
    const struct known *d = &f->devices[draw(f, f->num_devices)], *w = &f->workers[draw(f, f->num_workers)];
    lab_done(&f->lab, d->token, "POST", path_of("/api/v1/devices/%s/heartbeat", d->id), "{}");
    lab_done(&f->lab, w->token, "POST", path_of("/api/v1/workers/%s/heartbeat", w->id), "{}");
}

/* Of one device of a worker, which itself stays silent. */
static void hear_one(struct fleet *f)
{
    const struct known *w = &f->workers[draw(f, f->num_workers)];
    lab_done(&f->lab, w->token, "POST", path_of("/api/v1/devices/%s/heartbeat", w->device), "{}");
}

static void revoke(struct fleet *f)
{
    bool is_worker = draw(f, 3) == 0 && f->num_workers > 2;
    struct known *list = is_worker ? f->workers : f->devices;
    size_t *count = is_worker ? &f->num_workers : &f->num_devices, at;
    if (*count < 3)
        return;
    at = draw(f, *count);
    lab_done(&f->lab, f->lab.admin, "DELETE",
             path_of("/api/v1/%s/%s", is_worker ? "workers" : "devices", list[at].id), NULL);
    list[at] = list[--*count];
}

static void wait_long(struct fleet *f)
{
    (void)f;
    lab_clock_add(JUMP_MS);
}

static void restart(struct fleet *f)
{
    if (f->lab.is_in_memory)
        return;
    lab_stop(&f->lab);
    lab_start(&f->lab);
}

/* ---- the lists ---- */

static void append_text(char *path, size_t size, const char *text)
{
    size_t len = strlen(path);
    for (; *text; text++) {
        ck_assert_uint_lt(len + 4, size);
        len += (size_t)snprintf(path + len, size - len, "%%%02X", (unsigned char)*text);
    }
}

static void append_filter(char *path, size_t size, const char *name, const char *value)
{
    if (!value)
        return;
    size_t len = strlen(path);
    (void)snprintf(path + len, size - len, "&%s=", name);
    append_text(path, size, value);
}

static void path_of_question(const struct fleet *f, const struct question *q, char *out, size_t size)
{
    char label[64];
    (void)snprintf(label, sizeof label, "%s%s%s", q->label ? q->label : "", q->value ? "=" : "",
                   q->value ? q->value : "");
    *out = '\0';
    append_filter(out, size, "status", q->status);
    append_filter(out, size, "label", q->label ? label : NULL);
    append_filter(out, size, "dataset", q->dataset);
    append_filter(out, size, "worker", q->worker);
    append_filter(out, size, "run", q->of_run ? f->run : NULL);
}

/* All items of a list, page by page; each page but the last is full. */
static json_t *fetch(const struct fleet *f, const char *filters, size_t limit)
{
    json_t *all = json_array();
    char cursor[80] = "";
    do {
        json_t *page = lab_ok(&f->lab, f->lab.viewer, "GET",
                              path_of("/api/v1/devices?limit=%zu%s%s", limit, filters, cursor), NULL);
        const char *next = json_string_value(json_at(page, "next_cursor"));
        ck_assert(!next || json_array_size(json_at(page, "items")) == limit);
        (void)snprintf(cursor, sizeof cursor, "%s%s", next ? "&cursor=" : "", next ? next : "");
        ck_assert(json_array_extend(all, json_object_get(page, "items")) == 0);
        json_decref(page);
    } while (cursor[0]);
    return all;
}

static bool is_equal(const json_t *device, const char *field, const char *wanted)
{
    const char *is = json_string_value(json_object_get(device, field));
    return !wanted || (is && strcmp(is, wanted) == 0);
}

static bool is_asked_for(const json_t *device, const struct question *q)
{
    const json_t *value = q->label ? json_object_get(json_object_get(device, "labels"), q->label) : NULL;
    bool has_label = !q->label || (value && (!q->value || strcmp(json_string_value(value), q->value) == 0));
    return has_label && is_equal(device, "status", q->status) && is_equal(device, "dataset", q->dataset) &&
           is_equal(device, "worker_id", q->worker);
}

static void ck_answer(const struct fleet *f, const json_t *whole, const struct question *q, const json_t *got)
{
    char filters[600];
    const json_t *device;
    size_t n = 0;
    path_of_question(f, q, filters, sizeof filters);
    for (size_t i = 0; i < json_array_size(whole); i++) {
        device = json_array_get(whole, i);
        if (!is_asked_for(device, q))
            continue;
        const char *id = json_string_value(json_object_get(json_array_get(got, n++), "id"));
        ck_assert_msg(id && is_equal(device, "id", id), "%s: item %zu is %s, not %s", filters, n - 1,
                      id ? id : "missing", text_at(device, "id"));
    }
    ck_assert_msg(n == json_array_size(got), "%s: %zu items in place of %zu", filters, json_array_size(got),
                  n);
}

static const char *one_of(struct fleet *f, const char *const *texts, size_t count)
{
    size_t at = draw(f, count + 1);
    return at < count ? texts[at] : NULL;
}

static struct question some_question(struct fleet *f)
{
    static const char *const statuses[] = {"online", "suspect", "offline", "revoked"}, *const datasets[] = {
                                                                                           "one", "two",
                                                                                           "three"};
    struct question q = {.status = one_of(f, statuses, 4), .of_run = draw(f, 3) == 0};
    if (draw(f, 2))
        q.label = draw(f, 20) ? names[draw(f, NUM(names))] : "none has it";
    if (q.label)
        q.value = one_of(f, values, NUM(values));
    if (draw(f, 3) == 0)
        q.dataset = one_of(f, datasets, 3);
    if (draw(f, 4) == 0 && f->num_workers > 0)
        q.worker = f->workers[draw(f, f->num_workers)].id;
    return q;
}

/* The filtered lists first: a look at all rows tells the server what they say. */
static void ck_answers(struct fleet *f, size_t num_questions, size_t least_limit)
{
    struct question questions[MAX_QUESTIONS];
    json_t *answers[MAX_QUESTIONS];
    for (size_t i = 0; i < num_questions; i++) {
        char filters[600];
        questions[i] = some_question(f);
        path_of_question(f, &questions[i], filters, sizeof filters);
        answers[i] = fetch(f, filters, least_limit + draw(f, 6));
    }
    json_t *all = fetch(f, "", 1000), *of_run = fetch(f, path_of("&run=%s", f->run), 1000);
    for (size_t i = 0; i < num_questions; i++) {
        ck_answer(f, questions[i].of_run ? of_run : all, &questions[i], answers[i]);
        json_decref(answers[i]);
    }
    json_decref(of_run);
    json_decref(all);
}

/* ---- fleets ---- */

/* A run over data set "one" as it is now; paused, so that its members stay who they are. */
static void freeze_run(struct fleet *f)
{
    json_t *run = lab_ok(&f->lab, f->lab.runner, "POST", "/api/v1/runs",
                         "{\"num_rounds\":3,\"dataset\":\"one\"," MODEL_PATCH
                         ",\"training\":{\"local_epochs\":1,\"batch_size\":1,\"learning_rate\":0.1},"
                         "\"selection\":{\"devices_per_round\":1}}");
    (void)snprintf(f->run, sizeof f->run, "%s", text_at(run, "id"));
    const char *path = path_of("/api/v1/runs/%s", f->run);
    while (strcmp(text_at(run, "status"), "running") != 0) {
        json_decref(run);
        run = lab_ok(&f->lab, f->lab.runner, "GET", path, NULL);
    }
    json_decref(run);
    lab_done(&f->lab, f->lab.runner, "POST", path_of("%s/pause", path), NULL);
}

static struct fleet *fleet_new(bool is_in_memory, uint64_t seed)
{
    struct fleet *f = calloc(1, sizeof *f);
    ck_assert_ptr_nonnull(f);
    f->lab.heartbeat_ms = HEARTBEAT_MS;
    f->lab.is_in_memory = is_in_memory;
    f->random = seed;
    lab_open_as(&f->lab);
    return f;
}

static void fleet_free(struct fleet *f)
{
    lab_close(&f->lab);
    free(f);
}

/* _i: in memory or not. */
START_TEST(test_random_fleets)
{
    static void (*const changes[])(struct fleet *) = {add_device, add_worker, come_back, relabel,
                                                      hear,       revoke,     relabel,   hear,
                                                      hear_one,   wait_long,  restart};
    struct fleet *f = fleet_new(_i, 1 + (uint64_t)_i);
    for (int i = 0; i < 6; i++) {
        add_device(f);
        add_worker(f);
    }
    freeze_run(f);
    ck_answers(f, 20, 1);
    for (int step = 0; step < 40; step++) {
        for (int i = 0; i < 3; i++)
            changes[draw(f, NUM(changes))](f);
        ck_answers(f, 10, 1);
    }
    fleet_free(f);
}
END_TEST

/* More than are ever looked at one by one, of which some fell silent. */
START_TEST(test_a_large_fleet)
{
    struct fleet *f = fleet_new(_i, 7);
    for (int i = 0; i < 4; i++) {
        struct known *worker = &f->workers[f->num_workers++];
        worker->instance = ++f->num_instances;
        enrol(f, worker, 1500);
    }
    freeze_run(f);
    for (int i = 0; i < 3; i++) {
        wait_long(f);
        ck_answers(f, 8, 900);
        add_device(f);
        hear(f);
        relabel(f);
    }
    lab_done(&f->lab, f->lab.admin, "DELETE", path_of("/api/v1/workers/%s", f->workers[0].id), NULL);
    ck_answers(f, 8, 900);
    restart(f);
    ck_answers(f, 8, 900);
    fleet_free(f);
}
END_TEST

int main(void)
{
    TCase *tc = unit_case("device list");
    tcase_add_loop_test(tc, test_random_fleets, 0, 2);
    tcase_add_loop_test(tc, test_a_large_fleet, 0, 2);
    return unit_run_case("device list", tc);
}
