/* The course of each run in the list of runs: few values, the first and the newest always among them. */
#include <math.h>
#include <string.h>
#include "server/store/records.h"
#include "tests/api/lab.h"

/* Rounds `from` to `to` of a run were evaluated, every `step`-th: the loss of round n is n, the accuracy
 * n/100. */
struct course {
    const char *run;
    int64_t from, to, step;
    int64_t without; /* its metrics are missing; -1: none */
};

static enum err put_metric(struct store_txn *txn, const struct course *c, int64_t n, const char *name,
                           double value)
{
    struct metric_row row;
    record_init(RECORD_METRIC, &row);
    row.run_id = c->run;
    row.round = n;
    row.name = name;
    row.ordinal = -1;
    row.value = value;
    return store_insert(txn, RECORD_METRIC, &row);
}

static enum err put_course(struct store_txn *txn, void *arg)
{
    const struct course *c = arg;
    enum err e = ERR_OK;
    for (int64_t n = c->from; n <= c->to && !e; n++) {
        bool is_evaluated = (n - c->from) % c->step == 0 && n != c->without;
        struct round_row round;
        record_init(RECORD_ROUND, &round);
        round.run_id = c->run;
        round.n = n;
        round.metrics = is_evaluated ? "{\"train_loss\":1}" : "{\"update_norm\":1}";
        e = store_insert(txn, RECORD_ROUND, &round);
        if (!e && is_evaluated)
            e = put_metric(txn, c, n, "train_loss", n == 7 ? INFINITY : (double)n);
        if (!e && is_evaluated)
            e = put_metric(txn, c, n, "test_accuracy", (double)n / 100);
    }
    struct arena arena = ARENA_INIT(MIB);
    struct run_row run;
    record_init(RECORD_RUN, &run);
    run.id = c->run;
    if (!e)
        e = store_get(txn, RECORD_RUN, &arena, &run);
    run.round = c->to;
    if (!e)
        e = store_update(txn, RECORD_RUN, &run);
    arena_release(&arena);
    return e;
}

static void make_run(const struct lab *lab, const char *evaluation, char run[ID_SIZE])
{
    json_t *made = lab_ok(lab, lab->runner, "POST", "/api/v1/runs",
                          path_of("{" MODEL_PATCH ",\"num_rounds\":5000,\"training\":{\"learning_rate\":1},"
                                  "\"autostart\":false,\"evaluation\":%s}",
                                  evaluation));
    (void)snprintf(run, ID_SIZE, "%s", text_at(made, "id"));
    json_decref(made);
}

static void put(const struct lab *lab, struct course c)
{
    ck_assert_int_eq(store_write_wait(service_store(lab->service), put_course, &c), ERR_OK);
}

/* Of the newest run. */
static void lines_are(const struct lab *lab, int n, const char *losses, const char *accuracies)
{
    json_t *list = lab_ok(lab, lab->viewer, "GET", path_of("/api/v1/runs?limit=1&sparkline=%d", n), NULL);
    const struct {
        const char *path, *wanted;
    } lines[] = {{"items.0.sparklines.train_loss", losses}, {"items.0.sparklines.test_accuracy", accuracies}};
    for (size_t i = 0; i < 2; i++) {
        char *got = json_dumps(json_at(list, lines[i].path), JSON_COMPACT | JSON_REAL_PRECISION(5));
        ck_assert_ptr_nonnull(got);
        ck_assert_str_eq(got, lines[i].wanted);
        free(got);
    }
    json_decref(list);
}

START_TEST(test_evenly_spaced)
{
    struct lab lab;
    char run[ID_SIZE];
    lab_open(&lab);
    make_run(&lab, "{}", run);
    lines_are(&lab, 5, "[]", "[]");
    put(&lab, (struct course){.run = run, .from = 0, .to = 0, .step = 1, .without = -1});
    lines_are(&lab, 5, "[0.0]", "[0.0]");
    make_run(&lab, "{}", run);
    put(&lab, (struct course){.run = run, .from = 0, .to = 3, .step = 1, .without = -1});
    lines_are(&lab, 5, "[0.0,1.0,2.0,3.0]", "[0.0,0.01,0.02,0.03]");
    lines_are(&lab, 4, "[0.0,1.0,2.0,3.0]", "[0.0,0.01,0.02,0.03]");
    lines_are(&lab, 2, "[0.0,3.0]", "[0.0,0.03]");
    make_run(&lab, "{}", run);
    put(&lab, (struct course){.run = run, .from = 0, .to = 1000, .step = 1, .without = -1});
    lines_are(&lab, 5, "[0.0,250.0,500.0,750.0,1000.0]", "[0.0,2.5,5.0,7.5,10.0]");
    lines_are(&lab, 2, "[0.0,1000.0]", "[0.0,10.0]");
    lab_close(&lab);
}
END_TEST

START_TEST(test_what_was_not_evaluated)
{
    struct lab lab;
    char run[ID_SIZE];
    lab_open(&lab);
    /* Every 10th round, and the last one that was is a way back. */
    make_run(&lab, "{\"every\":10}", run);
    put(&lab, (struct course){.run = run, .from = 0, .to = 68, .step = 10, .without = -1});
    lines_are(&lab, 3, "[0.0,30.0,60.0]", "[0.0,0.3,0.6]");
    lines_are(&lab, 100, "[0.0,10.0,20.0,30.0,40.0,50.0,60.0]", "[0.0,0.1,0.2,0.3,0.4,0.5,0.6]");
    json_t *shown = lab_ok(&lab, lab.viewer, "GET", path_of("/api/v1/runs/%s", run), NULL);
    ck_assert_int_eq(int_at(shown, "metrics.round"), 60);
    json_decref(shown);
    /* One in the middle has none, nor has the first. */
    make_run(&lab, "{}", run);
    put(&lab, (struct course){.run = run, .from = 2, .to = 6, .step = 1, .without = 4});
    lines_are(&lab, 5, "[2.0,3.0,5.0,6.0]", "[0.02,0.03,0.05,0.06]");
    /* The newest has none. */
    make_run(&lab, "{}", run);
    put(&lab, (struct course){.run = run, .from = 0, .to = 6, .step = 1, .without = 6});
    lines_are(&lab, 2, "[0.0,5.0]", "[0.0,0.05]");
    /* What is not finite is said as everywhere. */
    make_run(&lab, "{}", run);
    put(&lab, (struct course){.run = run, .from = 6, .to = 8, .step = 1, .without = -1});
    lines_are(&lab, 3, "[6.0,\"Infinity\",8.0]", "[0.06,0.07,0.08]");
    lab_close(&lab);
}
END_TEST

START_TEST(test_only_where_asked_for)
{
    struct lab lab;
    char run[ID_SIZE];
    lab_open(&lab);
    make_run(&lab, "{}", run);
    json_t *list = lab_ok(&lab, lab.viewer, "GET", "/api/v1/runs", NULL);
    ck_assert_ptr_nonnull(json_at(list, "items.0"));
    ck_assert_ptr_null(json_at(list, "items.0.sparklines"));
    json_decref(list);
    static const char *const bad[] = {"1", "101", "x", "-1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        lab_refused(&lab, lab.viewer, "GET", path_of("/api/v1/runs?sparkline=%s", bad[i]), NULL, 400,
                    "invalid_field", "sparkline");
    for (int i = 0; i < 200; i++)
        make_run(&lab, "{}", run);
    list = lab_ok(&lab, lab.viewer, "GET", "/api/v1/runs?limit=1000&sparkline=2", NULL);
    ck_assert_uint_eq(json_array_size(json_object_get(list, "items")), 200);
    json_t *rest =
        lab_ok(&lab, lab.viewer, "GET",
               path_of("/api/v1/runs?limit=1000&sparkline=2&cursor=%s", text_at(list, "next_cursor")), NULL);
    ck_assert_uint_eq(json_array_size(json_object_get(rest, "items")), 1);
    json_decref(rest);
    json_decref(list);
    lab_close(&lab);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_evenly_spaced, test_what_was_not_evaluated, test_only_where_asked_for};
    return unit_run("api_sparkline", tests, sizeof tests / sizeof tests[0]);
}
