/* The round strip's source: every state of a task, pages that end by rounds or by cells, and what is left
 * out. */
#include <math.h>
#include <string.h>
#include "server/store/records.h"
#include "tests/api/lab.h"

/* Rows as the core would leave them, without the hours of work. */
struct rows {
    const char *run;
    int64_t first_round, num_rounds, per_round;
    const struct task_row *tasks; /* of each round; NULL: per_round open ones */
    bool has_numbers;
};

static void put_numbers(struct round_row *round)
{
    round->opened_at = 1000;
    round->closed_at = 2500;
    round->bytes_in = INT64_C(9007199254740991);
    round->proximal_mu = 0.1;
    round->mean_gamma = INFINITY;
    round->dissimilarity_b = -INFINITY;
    round->grad_variance_weighted = 5e-324;
    round->grad_variance_uniform = NAN;
    round->metrics = "{\"train_loss\":\"NaN\",\"test_accuracy\":0.25,\"test_loss\":1}";
}

static enum err put_task(struct store_txn *txn, const struct rows *rows, int64_t round, int64_t k)
{
    char id[ID_SIZE];
    struct task_row task;
    record_init(RECORD_TASK, &task);
    if (rows->tasks) {
        task.type = rows->tasks[k].type;
        task.status = rows->tasks[k].status;
        task.is_partial = rows->tasks[k].is_partial;
        task.steps_done = rows->tasks[k].steps_done;
    }
    (void)snprintf(id, sizeof id, "%016llx%016llx", (unsigned long long)round, (unsigned long long)k);
    task.id = id;
    task.run_id = rows->run;
    task.round = round;
    /* Not in the order of their ordinals. */
    task.ordinal = rows->per_round - 1 - k;
    task.steps_assigned = 10;
    return store_insert(txn, RECORD_TASK, &task);
}

static enum err put_rounds(struct store_txn *txn, void *arg)
{
    const struct rows *rows = arg;
    enum err e = ERR_OK;
    for (int64_t n = rows->first_round; n < rows->first_round + rows->num_rounds && !e; n++) {
        struct round_row round;
        record_init(RECORD_ROUND, &round);
        round.run_id = rows->run;
        round.n = n;
        round.status = ROUND_CLOSED;
        round.outcome = n % 2 ? ROUND_SKIPPED : ROUND_COMPLETED;
        if (rows->has_numbers)
            put_numbers(&round);
        e = store_insert(txn, RECORD_ROUND, &round);
        for (int64_t k = 0; k < rows->per_round && !e; k++)
            e = put_task(txn, rows, n, k);
    }
    return e;
}

static void put(const struct lab *lab, struct rows *rows)
{
    ck_assert_int_eq(store_write_wait(service_store(lab->service), put_rounds, rows), ERR_OK);
}

static void open_with_run(struct lab *lab, char run[ID_SIZE])
{
    lab_open(lab);
    json_t *made =
        lab_ok(lab, lab->runner, "POST", "/api/v1/runs",
               "{" MODEL_PATCH ",\"num_rounds\":10,\"training\":{\"learning_rate\":1},\"autostart\":false}");
    (void)snprintf(run, ID_SIZE, "%s", text_at(made, "id"));
    json_decref(made);
}

static json_t *work(const struct lab *lab, const char *run, const char *query)
{
    return lab_ok(lab, lab->viewer, "GET", path_of("/api/v1/runs/%s/work%s", run, query), NULL);
}

static void cells_are(const json_t *page, size_t item, const char *wanted)
{
    char *got = json_dumps(json_at(page, path_of("items.%zu.cells", item)), JSON_COMPACT);
    ck_assert_str_eq(got, wanted);
    free(got);
}

START_TEST(test_every_state)
{
    static const struct task_row tasks[] = {
        {.status = TASK_READY},
        {.status = TASK_CLAIMED, .steps_done = 1},
        {.status = TASK_COMPLETED, .steps_done = 10},
        {.status = TASK_COMPLETED, .steps_done = 4, .is_partial = 1},
        {.status = TASK_DROPPED, .steps_done = 3},
        {.status = TASK_FAILED, .steps_done = 2},
        {.status = TASK_LATE, .steps_done = 9},
        {.status = TASK_CANCELLED},
        {.status = TASK_COMPLETED, .type = TASK_EVALUATE},
    };
    struct lab lab;
    char run[ID_SIZE];
    open_with_run(&lab, run);
    struct rows rows = {.run = run, .num_rounds = 2, .per_round = 9, .tasks = tasks};
    put(&lab, &rows);
    json_t *page = work(&lab, run, "");
    ck_assert_uint_eq(json_array_size(json_object_get(page, "items")), 2);
    ck_assert(json_is_null(json_object_get(page, "next_cursor")));
    ck_assert_str_eq(text_at(page, "items.0.type"), "train");
    ck_assert_str_eq(text_at(page, "items.0.status"), "closed");
    ck_assert_str_eq(text_at(page, "items.0.outcome"), "completed");
    ck_assert_str_eq(text_at(page, "items.1.outcome"), "skipped");
    for (size_t i = 0; i < 2; i++)
        cells_are(page, i,
                  "[[1,\"cancelled\",0,10],[2,\"late\",9,10],[3,\"failed\",2,10],[4,\"dropped\",3,10],"
                  "[5,\"partial\",4,10],[6,\"completed\",10,10],[7,\"open\",1,10],[8,\"open\",0,10]]");
    json_decref(page);
    lab_close(&lab);
}
END_TEST

/* The core's own rows, of a round that is open and one that was closed. */
START_TEST(test_a_run_at_work)
{
    struct lab lab;
    char run[ID_SIZE];
    lab_open(&lab);
    struct lab_device first = lab_device(&lab, 0), second = lab_device(&lab, 1);
    lab_run(&lab, 2, 3, "", run);
    json_t *task = lab_claim(&lab, &first), *other = lab_claim(&lab, &second);
    json_t *page = work(&lab, run, "");
    ck_assert_uint_eq(json_array_size(json_object_get(page, "items")), 1);
    ck_assert_str_eq(text_at(page, "items.0.status"), "training");
    ck_assert(json_is_null(json_at(page, "items.0.outcome")));
    cells_are(page, 0, "[[0,\"open\",0,4],[1,\"open\",0,4]]");
    ck_assert_ptr_null(json_at(page, "items.0.duration_ms"));
    json_decref(page);
    lab_done(&lab, second.token, "POST", path_of("/api/v1/tasks/%s/progress", text_at(other, "task_id")),
             "{\"steps_done\":3}");
    page = work(&lab, run, "");
    cells_are(page, 0, "[[0,\"open\",0,4],[1,\"open\",3,4]]");
    json_decref(page);
    struct http_answer a = lab_update(&lab, &first, task, 1);
    ck_assert_int_eq(a.status, 200);
    http_answer_release(&a);
    json_decref(task);
    lab_done(&lab, second.token, "POST", path_of("/api/v1/tasks/%s/fail", text_at(other, "task_id")),
             "{\"code\":\"out_of_memory\",\"steps_done\":1}");
    json_decref(other);
    json_decref(lab_claim(&lab, &first)); /* the next round is there */
    page = work(&lab, run, "");
    ck_assert_uint_eq(json_array_size(json_object_get(page, "items")), 2);
    ck_assert_str_eq(text_at(page, "items.0.outcome"), "completed");
    cells_are(page, 0, "[[0,\"completed\",4,4],[1,\"failed\",1,4]]");
    cells_are(page, 1, "[[0,\"open\",0,4],[1,\"open\",0,4]]");
    ck_assert_int_ge(int_at(page, "items.0.duration_ms"), 0);
    ck_assert_int_gt(int_at(page, "items.0.bytes_in"), 0);
    json_decref(page);
    lab_close(&lab);
}
END_TEST

/* What is not finite is a text, what is not known is missing, and all digits are there. */
START_TEST(test_numbers_of_a_round)
{
    struct lab lab;
    char run[ID_SIZE];
    open_with_run(&lab, run);
    struct rows rows = {.run = run, .num_rounds = 1, .has_numbers = true};
    put(&lab, &rows);
    json_t *page = work(&lab, run, "");
    ck_assert_int_eq(int_at(page, "items.0.duration_ms"), 1500);
    ck_assert_int_eq(int_at(page, "items.0.bytes_in"), INT64_C(9007199254740991));
    ck_assert_int_eq(int_at(page, "items.0.bytes_out"), 0);
    ck_assert_double_eq(json_number_value(json_at(page, "items.0.proximal_mu")), 0.1);
    ck_assert_str_eq(text_at(page, "items.0.mean_gamma"), "Infinity");
    ck_assert_str_eq(text_at(page, "items.0.dissimilarity_b"), "-Infinity");
    ck_assert_double_eq(json_number_value(json_at(page, "items.0.grad_variance_weighted")), 5e-324);
    ck_assert_ptr_null(json_at(page, "items.0.grad_variance_uniform"));
    ck_assert_str_eq(text_at(page, "items.0.train_loss"), "NaN");
    ck_assert_double_eq(json_number_value(json_at(page, "items.0.test_accuracy")), 0.25);
    ck_assert_ptr_null(json_at(page, "items.0.test_loss"));
    json_decref(page);
    lab_close(&lab);
}
END_TEST

START_TEST(test_pages_of_rounds)
{
    struct lab lab;
    char run[ID_SIZE];
    open_with_run(&lab, run);
    json_t *page = work(&lab, run, "");
    ck_assert_uint_eq(json_array_size(json_object_get(page, "items")), 0);
    ck_assert(json_is_null(json_object_get(page, "next_cursor")));
    json_decref(page);
    struct rows rows = {.run = run, .num_rounds = 25, .per_round = 2};
    put(&lab, &rows);
    char query[64] = "?limit=10&since_round=3";
    int64_t next = 3;
    while (query[0]) {
        page = work(&lab, run, query);
        const json_t *items = json_object_get(page, "items");
        for (size_t i = 0; i < json_array_size(items); i++)
            ck_assert_int_eq(int_at(page, path_of("items.%zu.round", i)), next++);
        const char *cursor = json_string_value(json_object_get(page, "next_cursor"));
        query[0] = '\0';
        if (cursor)
            (void)snprintf(query, sizeof query, "?limit=10&cursor=%s", cursor);
        json_decref(page);
    }
    ck_assert_int_eq(next, 25);
    page = work(&lab, run, "?since_round=25");
    ck_assert_uint_eq(json_array_size(json_object_get(page, "items")), 0);
    json_decref(page);
    lab_close(&lab);
}
END_TEST

START_TEST(test_a_page_ends_with_its_cells)
{
    struct lab lab;
    char run[ID_SIZE];
    open_with_run(&lab, run);
    struct rows rows = {.run = run, .num_rounds = 4, .per_round = 7000};
    put(&lab, &rows);
    json_t *page = work(&lab, run, "?limit=100");
    ck_assert_uint_eq(json_array_size(json_object_get(page, "items")), 3);
    ck_assert_str_eq(text_at(page, "next_cursor"), "2");
    json_decref(page);
    page = work(&lab, run, "?limit=100&cursor=2");
    ck_assert_uint_eq(json_array_size(json_object_get(page, "items")), 1);
    /* Read in pieces, each cell is there once. */
    const json_t *cells = json_at(page, "items.0.cells");
    ck_assert_uint_eq(json_array_size(cells), 7000);
    for (size_t k = 0; k < 7000; k++)
        ck_assert_int_eq(json_integer_value(json_array_get(json_array_get(cells, k), 0)), (int64_t)k);
    ck_assert(json_is_null(json_object_get(page, "next_cursor")));
    json_decref(page);
    lab_close(&lab);
}
END_TEST

START_TEST(test_bad_questions)
{
    static const struct {
        const char *query, *code, *field;
    } bad[] = {{"?limit=0", "invalid_field", "limit"},
               {"?limit=1001", "invalid_field", "limit"},
               {"?since_round=-1", "invalid_field", "since_round"},
               {"?since_round=x", "invalid_field", "since_round"},
               {"?cursor=x", "invalid_cursor", "cursor"},
               {"?cursor=-1", "invalid_cursor", "cursor"},
               {"?rounds=1", "unknown_field", "rounds"}};
    struct lab lab;
    char run[ID_SIZE];
    open_with_run(&lab, run);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        lab_refused(&lab, lab.viewer, "GET", path_of("/api/v1/runs/%s/work%s", run, bad[i].query), NULL, 400,
                    bad[i].code, bad[i].field);
    lab_refused(&lab, lab.viewer, "GET", "/api/v1/runs/00000000000000000000000000000000/work", NULL, 404,
                "not_found", NULL);
    lab_refused(&lab, lab.viewer, "GET", "/api/v1/runs/x/work", NULL, 404, "not_found", NULL);
    lab_close(&lab);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_every_state,
                                  test_a_run_at_work,
                                  test_numbers_of_a_round,
                                  test_pages_of_rounds,
                                  test_a_page_ends_with_its_cells,
                                  test_bad_questions};
    return unit_run("api_work", tests, sizeof tests / sizeof tests[0]);
}
