/* The n-th call of the store or of the blobs fails, for n = 1, 2, ...: whoever asked tries again, and in the
 * end everything is as if nothing had failed. */
#include "common/base/log.h"
#include "tests/unit/core/flaky_store.h"
#include "tests/unit/core/lab.h"

struct outcome {
    char sha[SHA256_HEX_SIZE];
    int64_t events, bytes, received, dropped, failed, late;
    size_t metrics;
};

struct count_arg {
    const char *run_id;
    int64_t events;
    struct arena *arena;
    size_t metrics;
};

static enum err count_rows(struct store_txn *txn, void *arg)
{
    struct count_arg *a = arg;
    struct metric_row *rows;
    enum err e = store_count(txn, QUERY_EVENTS_OF_RUN, &a->events, store_text(a->run_id), store_any);
    return e ? e
             : store_find(txn, QUERY_METRICS, a->arena, 0, &rows, &a->metrics, store_text(a->run_id),
                          store_any, store_any, store_int(0));
}

static void look(struct lab *lab, const char *id, struct outcome *out)
{
    struct count_arg a = {.run_id = id, .arena = &lab->arena};
    ck_assert_int_eq(lab->store->ops->read(lab->store, count_rows, &a), ERR_OK);
    *out = (struct outcome){
        .events = a.events, .metrics = a.metrics, .bytes = lab->blobs->ops->total_bytes(lab->blobs)};
    struct run_row run = lab_run(lab, id);
    ck_assert_int_eq(run.outcome, RUN_COMPLETED);
    ck_assert_int_eq(run.last_event, a.events);
    for (int64_t t = 0; t <= run.num_rounds; t++) {
        struct round_row r = lab_round(lab, id, t);
        ck_assert_int_eq(r.status, ROUND_CLOSED);
        ck_assert_int_eq(r.selected, r.received + r.dropped + r.failed + r.late);
        out->received += r.received;
        out->dropped += r.dropped;
        out->failed += r.failed;
        out->late += r.late;
        memcpy(out->sha, r.aggregate_sha256, sizeof out->sha);
    }
}

/* Two rounds of three devices: one is dropped, one fails, one is late; the run is paused, resumed and changed
 * in between. */
static void scenario(struct flaky *f, struct outcome *out)
{
    struct lab lab;
    struct task_offer offer;
    struct store *store;
    struct blobs *blobs;
    int64_t left = f->left;
    f->left = -1;
    ck_assert_int_eq(flaky_store_open(f, &store), ERR_OK);
    ck_assert_int_eq(flaky_blobs_open(f, &blobs), ERR_OK);
    lab_open_over(&lab, store, blobs);
    f->left = left;
    f->calls = 0;
    lab_devices(&lab, 3, 4);
    const char *id = lab_submit(
        &lab, "{\"selection\": {\"devices_per_round\": 3, \"population\": 3}, \"evaluation\": {\"on\": "
              "\"selected\"}, \"retention\": {\"keep_models\": \"last:1\"}}");
    lab_work(&lab, 0, 1, 1);
    ck_assert_int_eq(lab_action(&lab, id, RUN_ACTION_PAUSE), ERR_OK);
    ck_assert(lab_claim(&lab, 1, &offer));
    struct task_report r = lab_report(&lab, &offer, 2);
    ck_assert_int_eq(lab_fail(&lab, &offer, "incomplete", &r), ERR_OK);
    lab_advance(&lab);
    ck_assert(lab_claim(&lab, 2, &offer));
    r = lab_report(&lab, &offer, 1);
    ck_assert_int_eq(lab_fail(&lab, &offer, "broken", &r), ERR_OK);
    lab_advance(&lab);
    ck_assert_int_eq(lab_config(&lab, id, "{\"training\": {\"learning_rate\": 0.5}}"), ERR_OK);
    ck_assert_int_eq(lab_action(&lab, id, RUN_ACTION_RESUME), ERR_OK);
    lab_work(&lab, 2, 2, 1);
    lab_work(&lab, 0, 4, 1);
    lab_wait(&lab, 65000);
    lab_work_all(&lab, 3);
    int64_t calls = f->calls;
    f->left = -1;
    look(&lab, id, out);
    f->calls = calls;
    lab_close(&lab);
}

START_TEST(test_the_nth_call_fails)
{
    struct flaky f = {.left = -1};
    struct outcome expected, got;
    scenario(&f, &expected);
    int64_t calls = f.calls;
    ck_assert_int_gt(calls, 300);
    ck_assert_int_eq(expected.received, 3);
    ck_assert_int_eq(expected.dropped, 1);
    ck_assert_int_eq(expected.failed, 1);
    ck_assert_int_eq(expected.late, 1);
    for (int64_t n = 0; n < calls; n++) {
        f = (struct flaky){.left = n};
        scenario(&f, &got);
        ck_assert_int_eq(f.failures, 1);
        ck_assert_str_eq(got.sha, expected.sha);
        ck_assert_msg(got.events == expected.events, "call %lld: %lld events, not %lld", (long long)n,
                      (long long)got.events, (long long)expected.events);
        ck_assert_uint_eq(got.metrics, expected.metrics);
        ck_assert_int_eq(got.received, expected.received);
        ck_assert_int_eq(got.late, expected.late);
        ck_assert_msg(got.bytes == expected.bytes, "call %lld: %lld bytes of weights, not %lld", (long long)n,
                      (long long)got.bytes, (long long)expected.bytes);
    }
}
END_TEST

/* Memory that ends after `max` bytes, wherever an operation is. */
static enum err create_within(struct lab *lab, size_t max)
{
    struct arena arena = ARENA_INIT(max);
    struct op_run_create op = {.base = {.core = lab->core, .arena = &arena}, .spec = lab_spec("{}")};
    enum err e = store_write_wait(lab->store, op_run_create, &op);
    json_decref(op.spec);
    arena_release(&arena);
    return e;
}

static enum err claim_within(struct lab *lab, size_t max)
{
    struct arena arena = ARENA_INIT(max);
    struct op_task_claim op = {.base = {.core = lab->core, .arena = &arena},
                               .worker_id = "",
                               .device_id = lab->devices[0],
                               .max = 1};
    enum err e = store_write_wait(lab->store, op_task_claim, &op);
    ck_assert(e || op.out_count == 1);
    arena_release(&arena);
    return e;
}

static enum err fail_within(struct lab *lab, const struct task_offer *offer, size_t max)
{
    struct arena arena = ARENA_INIT(max);
    struct op_task_fail op = {.base = {.core = lab->core, .arena = &arena},
                              .task_id = offer->task.id,
                              .worker_id = "",
                              .device_id = lab->devices[1],
                              .code = "broken",
                              .detail = ""};
    task_report_init(&op.report);
    enum err e = store_write_wait(lab->store, op_task_fail, &op);
    arena_release(&arena);
    return e;
}

START_TEST(test_memory_that_ends_leaves_nothing_behind)
{
    struct lab lab;
    struct task_offer offer;
    lab_open(&lab);
    lab_devices(&lab, 2, 4);
    size_t max = 0, refused = 0;
    for (enum err e = ERR_NO_MEMORY; e; max += 64) {
        ck_assert_uint_eq(lab_count_runs(&lab), 0);
        e = create_within(&lab, max);
        ck_assert(e == ERR_OK || e == ERR_NO_MEMORY);
        refused += e != ERR_OK;
    }
    ck_assert_uint_gt(refused, 5);
    ck_assert_uint_eq(lab_count_runs(&lab), 1);
    lab_advance(&lab);
    refused = 0;
    max = 0;
    for (enum err e = ERR_NO_MEMORY; e; max += 64) {
        e = claim_within(&lab, max);
        ck_assert(e == ERR_OK || e == ERR_NO_MEMORY);
        refused += e != ERR_OK;
    }
    ck_assert_uint_gt(refused, 5);
    ck_assert(lab_claim(&lab, 0, &offer));
    ck_assert_int_eq(offer.task.attempt, 2); /* of all the tries before, one has counted */
    ck_assert(lab_claim(&lab, 1, &offer));
    refused = 0;
    max = 0;
    for (enum err e = ERR_NO_MEMORY; e; max += 64) {
        ck_assert_int_eq(lab_round(&lab, offer.task.run_id, 0).failed, 0);
        ck_assert_uint_eq(lab_count_events(&lab, offer.task.run_id, "task_failed"), 0);
        e = fail_within(&lab, &offer, max);
        ck_assert(e == ERR_OK || e == ERR_NO_MEMORY);
        refused += e != ERR_OK;
    }
    ck_assert_uint_gt(refused, 5);
    ck_assert_int_eq(lab_round(&lab, offer.task.run_id, 0).failed, 1);
    ck_assert_uint_eq(lab_count_events(&lab, offer.task.run_id, "task_failed"), 1);
    lab_close(&lab);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_the_nth_call_fails, test_memory_that_ends_leaves_nothing_behind};
    log_init(LOG_ERROR, LOG_TEXT);
    return unit_run("failures", tests, sizeof tests / sizeof *tests);
}
