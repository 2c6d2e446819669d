/* The writer's queue: what waits shares a commit and stands alone in it; a full one refuses; closing runs it.
 */
#include <pthread.h>
#include <semaphore.h>
#include "common/base/limits.h"
#include "tests/store/writing.h"
#include "tests/support/unit.h"

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
    open_writing(_i);
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
    close_writing();
}
END_TEST

START_TEST(one_failing_operation_does_not_touch_its_group)
{
    if (!backends[_i].has_queue)
        return;
    open_writing(_i);
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
    close_writing();
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
    open_writing(_i);
    hold_writer();
    for (int i = 0; i < LIMIT_WRITER_QUEUE; i++)
        ck_err(store->ops->write(store, do_nothing, NULL, NULL, NULL), ERR_OK);
    ck_err(store->ops->write(store, do_nothing, NULL, must_not_be_called, NULL), ERR_UNAVAILABLE);
    (void)sem_post(&may_go);
    close_writing();
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
    open_writing(_i);
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
    store = NULL;
    if (backends[_i].is_durable) {
        reopen_writing(_i);
        ck_assert_int_eq(number_now("x"), num_queued);
    }
    close_writing();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("store queue");
    TCase *tc = unit_case("each backend");
    suite_add_tcase(s, tc);
    tcase_add_loop_test(tc, what_waits_shares_a_commit, 0, num_backends);
    tcase_add_loop_test(tc, one_failing_operation_does_not_touch_its_group, 0, num_backends);
    tcase_add_loop_test(tc, a_full_queue_refuses, 0, num_backends);
    tcase_add_loop_test(tc, close_runs_what_is_queued_and_refuses_more, 0, num_backends);
    return run_suite(s);
}
