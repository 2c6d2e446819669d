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

static void open_flaky(struct lab *lab, struct flaky *f)
{
    struct store *store;
    struct blobs *blobs;
    ck_assert_int_eq(flaky_store_open(f, &store), ERR_OK);
    ck_assert_int_eq(flaky_blobs_open(f, &blobs), ERR_OK);
    lab_open_over(lab, store, blobs);
}

struct type_count {
    const char *type;
    size_t count;
};

static enum err count_type(struct store_txn *txn, void *arg)
{
    struct type_count *a = arg;
    struct arena arena = ARENA_INIT(MIB);
    struct event_row *rows;
    size_t count;
    enum err e = store_find(txn, QUERY_EVENTS, &arena, 0, &rows, &count, store_int(0));
    for (size_t i = 0; i < count && !e; i++)
        a->count += strcmp(rows[i].type, a->type) == 0;
    arena_release(&arena);
    return e;
}

/* Of all runs and of none. */
static size_t count_events(struct lab *lab, const char *type)
{
    struct type_count a = {.type = type};
    ck_assert_int_eq(lab->store->ops->read(lab->store, count_type, &a), ERR_OK);
    return a.count;
}

START_TEST(test_a_change_of_status_is_told_once_whatever_fails)
{
    int64_t failures = 1;
    for (int64_t n = 0; failures > 0; n++) {
        struct flaky f = {.left = -1};
        struct lab lab;
        open_flaky(&lab, &f);
        lab_devices(&lab, 2, 4);
        f.left = n;
        lab_wait(&lab, 30001);
        failures = f.failures;
        f.left = -1;
        ck_assert_msg(count_events(&lab, "device_status") == 2, "call %lld: %zu events", (long long)n,
                      count_events(&lab, "device_status"));
        lab_close(&lab);
        ck_assert_int_eq(failures > 0 || n > 5, 1);
    }
}
END_TEST

/* A round of two devices that has its updates, and whose average is still to be made. */
static const char *aggregating(struct lab *lab, struct op_task_update *last)
{
    struct task_offer offer;
    const char *id = lab_submit(lab, "{\"num_rounds\": 2}");
    for (int k = 0; k < 2; k++) {
        ck_assert(lab_claim(lab, k, &offer));
        struct task_report r = lab_report(lab, &offer, 4);
        ck_assert_int_eq(lab_send(lab, &offer, &r, 1, last), ERR_OK);
    }
    ck_assert_int_eq(lab_round(lab, id, 0).status, ROUND_AGGREGATING);
    return id;
}

START_TEST(test_a_run_that_cannot_go_on_holds_up_nobody_else)
{
    struct flaky f = {.left = -1};
    struct lab lab;
    struct op_task_update op, stopped_op;
    struct task_offer offer;
    int64_t next_ms, size;
    open_flaky(&lab, &f);
    lab_devices(&lab, 2, 4);
    const char *id = aggregating(&lab, &op);
    f.bad_blob = op.blob_id;
    f.bad_err = ERR_UNAVAILABLE;
    /* What another run left, and a device that is silent. */
    struct run_row other;
    ck_assert_int_eq(lab_create(&lab, "{}", &other), ERR_OK);
    ck_assert_int_eq(core_advance(lab.core, &next_ms), ERR_UNAVAILABLE);
    ck_assert(lab_claim(&lab, 0, &offer));
    ck_assert_str_eq(offer.task.run_id, other.id);
    struct task_report r = lab_report(&lab, &offer, 4);
    ck_assert_int_eq(lab_send(&lab, &offer, &r, 1, &stopped_op), ERR_OK);
    struct op_run_action stop = {.base = {.core = lab.core, .arena = &lab.arena, .caller = "tester"},
                                 .run_id = other.id,
                                 .action = RUN_ACTION_STOP};
    ck_assert_int_eq(store_write_wait(lab.store, op_run_action, &stop), ERR_OK);
    lab.clock.ms += 30001;
    ck_assert_int_eq(core_advance(lab.core, &next_ms), ERR_UNAVAILABLE);
    ck_assert_int_le(next_ms, lab.clock.ms + 1000);
    ck_assert_int_eq(lab.blobs->ops->size(lab.blobs, stopped_op.blob_id, &size), ERR_NOT_FOUND);
    ck_assert_uint_ge(count_events(&lab, "device_status"), 1);
    /* The storage is there again: nothing was lost. */
    ck_assert_int_eq(lab_round(&lab, id, 0).status, ROUND_AGGREGATING);
    f.bad_blob = 0;
    lab_advance(&lab);
    ck_assert_int_eq(lab_round(&lab, id, 0).outcome, ROUND_COMPLETED);
    ck_assert_int_eq(lab_round(&lab, id, 0).received, 2);
    lab_close(&lab);
}
END_TEST

START_TEST(test_a_damaged_update_fails_its_round)
{
    struct flaky f = {.left = -1};
    struct lab lab;
    struct op_task_update op;
    open_flaky(&lab, &f);
    lab_devices(&lab, 2, 4);
    const char *id = aggregating(&lab, &op);
    f.bad_blob = op.blob_id;
    f.bad_err = ERR_CORRUPT;
    lab_advance(&lab);
    struct round_row round = lab_round(&lab, id, 0);
    ck_assert_int_eq(round.status, ROUND_CLOSED);
    ck_assert_int_eq(round.outcome, ROUND_FAILED);
    ck_assert_str_eq(lab_model(&lab, id, 0).weights_sha256, lab_model(&lab, id, 1).weights_sha256);
    lab_work_all(&lab, 2);
    ck_assert_int_eq(lab_run(&lab, id).outcome, RUN_COMPLETED);
    ck_assert_int_eq(lab_round(&lab, id, 1).outcome, ROUND_COMPLETED);
    lab_close(&lab);
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
    const TTest *const tests[] = {
        test_the_nth_call_fails, test_a_change_of_status_is_told_once_whatever_fails,
        test_a_run_that_cannot_go_on_holds_up_nobody_else, test_a_damaged_update_fails_its_round,
        test_memory_that_ends_leaves_nothing_behind};
    log_init(LOG_ERROR, LOG_TEXT);
    return unit_run("failures", tests, sizeof tests / sizeof *tests);
}
