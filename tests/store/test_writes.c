/* Transactions: all or nothing, in order, told after the commit; threads; the queue. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include "common/base/limits.h"
#include "tests/store/support.h"
#include "tests/support/unit.h"

#define ARENA ((size_t)1 << 20)

static const char *dir;
static struct store *store;

static void setup(int i)
{
    dir = make_dir();
    store = open_store(&backends[i], dir);
}

static void teardown(void)
{
    store->ops->close(store);
    remove_dir(dir);
}

/* --- rows to work with: experiments with a number in created_at --- */

static enum err set_number(struct store_txn *txn, const char *id, int64_t number)
{
    struct experiment_row row;
    record_init(RECORD_EXPERIMENT, &row);
    row.id = row.name = id;
    row.created_at = number;
    return store_put(txn, RECORD_EXPERIMENT, &row);
}

/* -1: there is none. */
static int64_t get_number(struct store_txn *txn, const char *id)
{
    struct arena arena = ARENA_INIT(ARENA);
    struct experiment_row row;
    record_init(RECORD_EXPERIMENT, &row);
    row.id = id;
    enum err e = store_get(txn, RECORD_EXPERIMENT, &arena, &row);
    ck_assert(e == ERR_OK || e == ERR_NOT_FOUND);
    arena_release(&arena);
    return e ? -1 : row.created_at;
}

struct number {
    const char *id;
    int64_t value;
};

static enum err read_number(struct store_txn *txn, void *arg)
{
    struct number *n = arg;
    n->value = get_number(txn, n->id);
    return ERR_OK;
}

static int64_t number_now(const char *id)
{
    struct number n = {id, 0};
    ck_err(store->ops->read(store, read_number, &n), ERR_OK);
    return n.value;
}

/* --- notifications --- */

#define MAX_HEARD 64
static struct {
    char topics[MAX_HEARD][64];
    int count;
    int64_t number; /* of the row "x" when the last topic came */
} heard;

static void hear(void *ctx, const char *topic)
{
    ck_assert_ptr_eq(ctx, &heard);
    ck_assert_int_lt(heard.count, MAX_HEARD);
    (void)snprintf(heard.topics[heard.count++], sizeof heard.topics[0], "%s", topic);
    heard.number = number_now("x");
}

static enum err change_and_fail(struct store_txn *txn, void *arg)
{
    (void)arg;
    ck_err(set_number(txn, "x", 2), ERR_OK);
    ck_err(set_number(txn, "y", 2), ERR_OK);
    struct experiment_row row;
    record_init(RECORD_EXPERIMENT, &row);
    row.id = "kept";
    ck_err(store_remove(txn, RECORD_EXPERIMENT, &row), ERR_OK);
    ck_err(store_notify(txn, "run:lost"), ERR_OK);
    ck_assert_int_eq(get_number(txn, "x"), 2);
    ck_assert_int_eq(get_number(txn, "kept"), -1);
    return ERR_STALE_ROUND;
}

static enum err change_and_tell(struct store_txn *txn, void *arg)
{
    static const char *const topics[] = {"run:1",  "events",  "run:1", "device:2",
                                         "events", "advance", "run:1"};
    for (size_t i = 0; i < sizeof topics / sizeof topics[0]; i++)
        ck_err(store_notify(txn, topics[i]), ERR_OK);
    return set_number(txn, "x", *(int64_t *)arg);
}

static enum err add_kept(struct store_txn *txn, void *arg)
{
    (void)arg;
    return set_number(txn, "kept", 7);
}

START_TEST(a_failing_operation_leaves_no_trace)
{
    setup(_i);
    heard.count = 0;
    store->ops->listen(store, hear, &heard);
    ck_err(store_write_wait(store, add_kept, NULL), ERR_OK);
    ck_err(store_write_wait(store, change_and_fail, NULL), ERR_STALE_ROUND);
    ck_assert_int_eq(number_now("x"), -1);
    ck_assert_int_eq(number_now("y"), -1);
    ck_assert_int_eq(number_now("kept"), 7);
    ck_assert_int_eq(heard.count, 0);
    teardown();
}
END_TEST

START_TEST(each_topic_is_told_once_after_the_commit)
{
    setup(_i);
    heard.count = 0;
    store->ops->listen(store, hear, &heard);
    int64_t value = 5;
    ck_err(store_write_wait(store, change_and_tell, &value), ERR_OK);
    ck_assert_int_eq(heard.count, 4);
    ck_assert_str_eq(heard.topics[0], "run:1");
    ck_assert_str_eq(heard.topics[1], "events");
    ck_assert_str_eq(heard.topics[2], "device:2");
    ck_assert_str_eq(heard.topics[3], "advance");
    ck_assert_int_eq(heard.number, 5);
    value = 6;
    ck_err(store_write_wait(store, change_and_tell, &value), ERR_OK);
    ck_assert_int_eq(heard.count, 8);
    ck_assert_int_eq(heard.number, 6);
    teardown();
}
END_TEST

/* --- order and acknowledgement --- */

#define NUM_ORDERED 2000
static int ran[NUM_ORDERED], finished[NUM_ORDERED];
static int num_ran, num_finished;
static sem_t all_done;

static enum err note_run(struct store_txn *txn, void *arg)
{
    ran[num_ran++] = *(int *)arg;
    return set_number(txn, "x", *(int *)arg);
}

static void note_done(void *ctx, enum err result)
{
    ck_err(result, ERR_OK);
    finished[num_finished++] = *(int *)ctx;
    /* What it acknowledges can be read: another connection sees it. */
    ck_assert_int_ge(number_now("x"), *(int *)ctx);
    if (num_finished == NUM_ORDERED)
        (void)sem_post(&all_done);
}

START_TEST(operations_run_and_finish_in_order)
{
    setup(_i);
    num_ran = num_finished = 0;
    ck_assert_int_eq(sem_init(&all_done, 0, 0), 0);
    static int numbers[NUM_ORDERED];
    for (int i = 0; i < NUM_ORDERED; i++) {
        numbers[i] = i;
        ck_err(store->ops->write(store, note_run, &numbers[i], note_done, &numbers[i]), ERR_OK);
    }
    (void)sem_wait(&all_done);
    for (int i = 0; i < NUM_ORDERED; i++) {
        ck_assert_int_eq(ran[i], i);
        ck_assert_int_eq(finished[i], i);
    }
    struct store_stats stats;
    store->ops->stats(store, &stats);
    ck_assert_int_eq(stats.operations, NUM_ORDERED);
    ck_assert_int_eq(stats.queued, 0);
    ck_assert_int_ge(stats.commits, 1);
    ck_assert_int_le(stats.commits, NUM_ORDERED);
    ck_assert_int_eq(stats.size_bytes > 0, backends[_i].is_durable);
    teardown();
}
END_TEST

/* A write may be started from `done`. */
static sem_t chained;
static void start_next(void *ctx, enum err result)
{
    int *left = ctx;
    ck_err(result, ERR_OK);
    if (--*left)
        ck_err(store->ops->write(store, add_kept, NULL, start_next, left), ERR_OK);
    else
        (void)sem_post(&chained);
}

START_TEST(done_may_start_the_next_write)
{
    setup(_i);
    ck_assert_int_eq(sem_init(&chained, 0, 0), 0);
    int left = 50;
    ck_err(store->ops->write(store, add_kept, NULL, start_next, &left), ERR_OK);
    (void)sem_wait(&chained);
    ck_assert_int_eq(left, 0);
    teardown();
}
END_TEST

/* --- before_commit --- */

struct gate {
    enum err answer;
    int calls;
};

static enum err pass_gate(void *ctx)
{
    struct gate *gate = ctx;
    gate->calls++;
    return gate->answer;
}

START_TEST(an_error_before_the_commit_fails_the_write)
{
    setup(_i);
    struct gate gate = {ERR_STORAGE_FULL, 0};
    heard.count = 0;
    store->ops->listen(store, hear, &heard);
    store->ops->before_commit(store, pass_gate, &gate);
    int64_t value = 3;
    ck_err(store_write_wait(store, change_and_tell, &value), ERR_STORAGE_FULL);
    ck_assert_int_eq(gate.calls, 1);
    ck_assert_int_eq(number_now("x"), -1);
    ck_assert_int_eq(heard.count, 0);
    gate.answer = ERR_OK;
    ck_err(store_write_wait(store, change_and_tell, &value), ERR_OK);
    ck_assert_int_eq(gate.calls, 2);
    ck_assert_int_eq(number_now("x"), 3);
    ck_assert_int_eq(heard.count, 4);
    teardown();
}
END_TEST

/* --- threads --- */

#define NUM_THREADS    8
#define NUM_PER_THREAD 200

/* Moves one from b to a; the odd call is undone. */
static enum err transfer(struct store_txn *txn, void *arg)
{
    int64_t a = get_number(txn, "a"), b = get_number(txn, "b");
    ck_err(set_number(txn, "a", a + 1), ERR_OK);
    ck_err(set_number(txn, "b", b - 1), ERR_OK);
    return *(int *)arg % 2 ? ERR_CANCELLED : ERR_OK;
}

static enum err check_sum(struct store_txn *txn, void *arg)
{
    (void)arg;
    return get_number(txn, "a") + get_number(txn, "b") == 1000 ? ERR_OK : ERR_CORRUPT;
}

static enum err begin_sums(struct store_txn *txn, void *arg)
{
    (void)arg;
    ck_err(set_number(txn, "a", 0), ERR_OK);
    return set_number(txn, "b", 1000);
}

static void *work(void *arg)
{
    (void)arg;
    for (int i = 0; i < NUM_PER_THREAD; i++) {
        ck_err(store_write_wait(store, transfer, &i), i % 2 ? ERR_CANCELLED : ERR_OK);
        ck_err(store->ops->read(store, check_sum, NULL), ERR_OK);
    }
    return NULL;
}

START_TEST(threads_write_and_read_at_once)
{
    setup(_i);
    ck_err(store_write_wait(store, begin_sums, NULL), ERR_OK);
    pthread_t threads[NUM_THREADS];
    for (int i = 0; i < NUM_THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work, NULL), 0);
    for (int i = 0; i < NUM_THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    ck_assert_int_eq(number_now("a"), NUM_THREADS * NUM_PER_THREAD / 2);
    teardown();
}
END_TEST

/* A read sees one state, however long it takes. */
static sem_t was_read, was_written;
static enum err read_twice(struct store_txn *txn, void *arg)
{
    (void)arg;
    int64_t first = get_number(txn, "x");
    (void)sem_post(&was_read);
    (void)sem_wait(&was_written);
    return get_number(txn, "x") == first ? ERR_OK : ERR_CORRUPT;
}

static void *read_in_thread(void *arg)
{
    *(enum err *)arg = store->ops->read(store, read_twice, NULL);
    return NULL;
}

START_TEST(a_read_sees_one_state)
{
    if (!backends[_i].has_queue)
        return; /* there the write would wait for the read */
    setup(_i);
    ck_assert_int_eq(sem_init(&was_read, 0, 0) | sem_init(&was_written, 0, 0), 0);
    int64_t value = 1;
    ck_err(store_write_wait(store, change_and_tell, &value), ERR_OK);
    enum err result = ERR_INTERNAL;
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, read_in_thread, &result), 0);
    (void)sem_wait(&was_read);
    value = 2;
    ck_err(store_write_wait(store, change_and_tell, &value), ERR_OK);
    ck_assert_int_eq(number_now("x"), 2);
    (void)sem_post(&was_written);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_err(result, ERR_OK);
    teardown();
}
END_TEST

/* --- the queue --- */

static sem_t is_held, may_go;
static enum err hold(struct store_txn *txn, void *arg)
{
    (void)txn;
    (void)arg;
    (void)sem_post(&is_held);
    (void)sem_wait(&may_go);
    return ERR_OK;
}

/* Returns once the writer is busy until may_go. */
static void hold_writer(void)
{
    ck_assert_int_eq(sem_init(&is_held, 0, 0) | sem_init(&may_go, 0, 0), 0);
    ck_err(store->ops->write(store, hold, NULL, NULL, NULL), ERR_OK);
    (void)sem_wait(&is_held);
}

static enum err count_up(struct store_txn *txn, void *arg)
{
    (void)arg;
    int64_t now = get_number(txn, "x");
    return set_number(txn, "x", now < 0 ? 1 : now + 1);
}

static void count_done(void *ctx, enum err result)
{
    ck_err(result, ERR_OK);
    ++*(int *)ctx;
}

START_TEST(what_waits_shares_a_commit)
{
    if (!backends[_i].has_queue)
        return;
    setup(_i);
    int num_done = 0;
    hold_writer();
    for (int i = 0; i < 2 * LIMIT_WRITER_BATCH; i++)
        ck_err(store->ops->write(store, count_up, NULL, count_done, &num_done), ERR_OK);
    struct store_stats stats;
    store->ops->stats(store, &stats);
    ck_assert_int_eq(stats.queued, 2 * LIMIT_WRITER_BATCH);
    (void)sem_post(&may_go);
    ck_err(store_write_wait(store, add_kept, NULL), ERR_OK);
    ck_assert_int_eq(num_done, 2 * LIMIT_WRITER_BATCH);
    ck_assert_int_eq(number_now("x"), 2 * LIMIT_WRITER_BATCH);
    store->ops->stats(store, &stats);
    ck_assert_int_le(stats.commits, 4);
    teardown();
}
END_TEST

START_TEST(one_failing_operation_does_not_touch_its_group)
{
    if (!backends[_i].has_queue)
        return;
    setup(_i);
    int num_done = 0;
    heard.count = 0;
    store->ops->listen(store, hear, &heard);
    ck_err(store_write_wait(store, add_kept, NULL), ERR_OK);
    hold_writer();
    int64_t value = 9;
    ck_err(store->ops->write(store, change_and_tell, &value, count_done, &num_done), ERR_OK);
    ck_err(store->ops->write(store, change_and_fail, NULL, NULL, NULL), ERR_OK);
    ck_err(store->ops->write(store, count_up, NULL, count_done, &num_done), ERR_OK);
    (void)sem_post(&may_go);
    ck_err(store_write_wait(store, add_kept, NULL), ERR_OK);
    ck_assert_int_eq(num_done, 2);
    ck_assert_int_eq(number_now("x"), 10);
    ck_assert_int_eq(number_now("y"), -1);
    ck_assert_int_eq(number_now("kept"), 7);
    ck_assert_int_eq(heard.count, 4);
    teardown();
}
END_TEST

static enum err do_nothing(struct store_txn *txn, void *arg)
{
    (void)txn;
    (void)arg;
    return ERR_OK;
}

static void must_not_be_called(void *ctx, enum err result)
{
    ck_abort_msg("done was called for a write that was refused (%s, %p)", err_name(result), ctx);
}

START_TEST(a_full_queue_refuses)
{
    if (!backends[_i].has_queue)
        return;
    setup(_i);
    hold_writer();
    for (int i = 0; i < LIMIT_WRITER_QUEUE; i++)
        ck_err(store->ops->write(store, do_nothing, NULL, NULL, NULL), ERR_OK);
    ck_err(store->ops->write(store, do_nothing, NULL, must_not_be_called, NULL), ERR_UNAVAILABLE);
    (void)sem_post(&may_go);
    teardown();
}
END_TEST

static void *close_in_thread(void *arg)
{
    (void)arg;
    store->ops->close(store);
    return NULL;
}

START_TEST(close_runs_what_is_queued_and_refuses_more)
{
    if (!backends[_i].has_queue)
        return;
    setup(_i);
    hold_writer();
    int num_queued = 0, num_done = 0;
    pthread_t thread;
    for (; num_queued < 500; num_queued++)
        ck_err(store->ops->write(store, count_up, NULL, count_done, &num_done), ERR_OK);
    ck_assert_int_eq(pthread_create(&thread, NULL, close_in_thread, NULL), 0);
    /* Until the other thread has come to it, writes are taken. */
    enum err e;
    while ((e = store->ops->write(store, count_up, NULL, count_done, &num_done)) == ERR_OK)
        num_queued++;
    ck_err(e, ERR_UNAVAILABLE);
    (void)sem_post(&may_go);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(num_done, num_queued);
    if (backends[_i].is_durable) {
        store = open_store(&backends[_i], dir);
        ck_assert_int_eq(number_now("x"), num_queued);
        store->ops->close(store);
    }
    remove_dir(dir);
}
END_TEST

static enum err many_topics(struct store_txn *txn, void *arg)
{
    (void)arg;
    for (int i = 0; i < 20000; i++) {
        char topic[32];
        (void)snprintf(topic, sizeof topic, "device:%d", i % 10000);
        ck_err(store_notify(txn, topic), ERR_OK);
    }
    return ERR_OK;
}

static void count_topic(void *ctx, const char *topic)
{
    int *count = ctx;
    char expected[32];
    (void)snprintf(expected, sizeof expected, "device:%d", *count);
    ck_assert_str_eq(topic, expected);
    ++*count;
}

START_TEST(ten_thousand_topics_are_told_once_each)
{
    setup(_i);
    int count = 0;
    store->ops->listen(store, count_topic, &count);
    ck_err(store_write_wait(store, many_topics, NULL), ERR_OK);
    ck_assert_int_eq(count, 10000);
    teardown();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("store writes");
    TCase *tc = unit_case("each backend");
    suite_add_tcase(s, tc);
    tcase_add_loop_test(tc, a_failing_operation_leaves_no_trace, 0, num_backends);
    tcase_add_loop_test(tc, each_topic_is_told_once_after_the_commit, 0, num_backends);
    tcase_add_loop_test(tc, operations_run_and_finish_in_order, 0, num_backends);
    tcase_add_loop_test(tc, done_may_start_the_next_write, 0, num_backends);
    tcase_add_loop_test(tc, an_error_before_the_commit_fails_the_write, 0, num_backends);
    tcase_add_loop_test(tc, threads_write_and_read_at_once, 0, num_backends);
    tcase_add_loop_test(tc, a_read_sees_one_state, 0, num_backends);
    tcase_add_loop_test(tc, what_waits_shares_a_commit, 0, num_backends);
    tcase_add_loop_test(tc, one_failing_operation_does_not_touch_its_group, 0, num_backends);
    tcase_add_loop_test(tc, a_full_queue_refuses, 0, num_backends);
    tcase_add_loop_test(tc, close_runs_what_is_queued_and_refuses_more, 0, num_backends);
    tcase_add_loop_test(tc, ten_thousand_topics_are_told_once_each, 0, num_backends);
    return run_suite(s);
}
