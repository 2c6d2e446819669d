/* Transactions: all or nothing, in order, told after the commit; threads. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include "common/base/limits.h"
#include "tests/store/writing.h"
#include "tests/support/unit.h"

START_TEST(a_failing_operation_leaves_no_trace)
{
    open_writing(_i);
    heard.count = 0;
    store->ops->listen(store, hear, &heard);
    ck_err(store_write_wait(store, add_kept, NULL), ERR_OK);
    ck_err(store_write_wait(store, change_and_fail, NULL), ERR_STALE_ROUND);
    ck_assert_int_eq(number_now("x"), -1);
    ck_assert_int_eq(number_now("y"), -1);
    ck_assert_int_eq(number_now("kept"), 7);
    ck_assert_int_eq(heard.count, 0);
    close_writing();
}
END_TEST

START_TEST(each_topic_is_told_once_after_the_commit)
{
    open_writing(_i);
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
    close_writing();
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
    open_writing(_i);
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
    close_writing();
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
    open_writing(_i);
    ck_assert_int_eq(sem_init(&chained, 0, 0), 0);
    int left = 50;
    ck_err(store->ops->write(store, add_kept, NULL, start_next, &left), ERR_OK);
    (void)sem_wait(&chained);
    ck_assert_int_eq(left, 0);
    close_writing();
}
END_TEST

/* --- before_commit --- */

struct gate {
    enum err answer;
    int begun, calls;
};

static void open_gate(void *ctx)
{
    struct gate *gate = ctx;
    gate->begun++;
}

static enum err pass_gate(void *ctx)
{
    struct gate *gate = ctx;
    gate->calls++;
    ck_assert_int_eq(gate->begun, gate->calls);
    return gate->answer;
}

START_TEST(an_error_before_the_commit_fails_the_write)
{
    open_writing(_i);
    struct gate gate = {.answer = ERR_STORAGE_FULL};
    heard.count = 0;
    store->ops->listen(store, hear, &heard);
    store->ops->before_commit(store, open_gate, pass_gate, &gate);
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
    close_writing();
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
    open_writing(_i);
    ck_err(store_write_wait(store, begin_sums, NULL), ERR_OK);
    pthread_t threads[NUM_THREADS];
    for (int i = 0; i < NUM_THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work, NULL), 0);
    for (int i = 0; i < NUM_THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    ck_assert_int_eq(number_now("a"), NUM_THREADS * NUM_PER_THREAD / 2);
    close_writing();
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
    open_writing(_i);
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
    close_writing();
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
    open_writing(_i);
    int count = 0;
    store->ops->listen(store, count_topic, &count);
    ck_err(store_write_wait(store, many_topics, NULL), ERR_OK);
    ck_assert_int_eq(count, 10000);
    close_writing();
}
END_TEST

/* As many as fit, and one. */
static enum err too_many_topics(struct store_txn *txn, void *arg)
{
    char topic[KIB];
    enum err *last = arg;
    memset(topic, 'x', sizeof topic - 1);
    topic[sizeof topic - 1] = '\0';
    for (size_t i = 0; i < LIMIT_TOPICS / sizeof topic; i++)
        ck_err(store_notify(txn, topic), ERR_OK);
    *last = store_notify(txn, "");
    return *last;
}

static void count_any(void *ctx, const char *topic)
{
    (void)topic;
    ++*(int *)ctx;
}

START_TEST(a_commit_has_so_much_to_tell)
{
    open_writing(_i);
    int count = 0;
    enum err last = ERR_OK;
    store->ops->listen(store, count_any, &count);
    ck_err(store_write_wait(store, too_many_topics, &last), ERR_PAYLOAD_TOO_LARGE);
    ck_err(last, ERR_PAYLOAD_TOO_LARGE);
    ck_assert_int_eq(count, 0);
    int64_t value = 3;
    ck_err(store_write_wait(store, change_and_tell, &value), ERR_OK);
    ck_assert_int_eq(number_now("x"), 3);
    ck_assert_int_gt(count, 0);
    close_writing();
}
END_TEST

/* --- the write-ahead log --- */

#define LONG_TEXT  (512 * 1024)
#define NUM_LONG   160 /* 80 MiB of log, which is copied into the database every 16 */
#define MOST_BYTES (48 * 1024 * 1024)

static enum err put_long(struct store_txn *txn, void *arg)
{
    struct idempotency_row row;
    record_init(RECORD_IDEMPOTENCY, &row);
    row.id = "one";
    row.reply = arg;
    return store_put(txn, RECORD_IDEMPOTENCY, &row);
}

/* A read may leave its transaction open for the next; the log must begin anew all the same. */
START_TEST(reads_between_all_writes_do_not_hold_the_log)
{
    static char text[LONG_TEXT];
    struct store_stats stats;
    open_writing(_i);
    for (int i = 0; i < NUM_LONG; i++) {
        memset(text, 'a' + i % 26, sizeof text - 1); /* pages that stay the same are not written */
        ck_err(store_write_wait(store, put_long, text), ERR_OK);
        ck_assert_int_eq(number_now("x"), -1);
    }
    store->ops->stats(store, &stats);
    ck_assert_int_lt(stats.size_bytes, MOST_BYTES);
    close_writing();
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
    tcase_add_loop_test(tc, ten_thousand_topics_are_told_once_each, 0, num_backends);
    tcase_add_loop_test(tc, a_commit_has_so_much_to_tell, 0, num_backends);
    tcase_add_loop_test(tc, reads_between_all_writes_do_not_hold_the_log, 0, num_backends);
    return run_suite(s);
}
