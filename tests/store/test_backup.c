/* A backup of what is written to meanwhile, where an operation fails beside one of its steps: then the writer
 * runs that step a second time. */
#include <sched.h>
#include <semaphore.h>
#include <sys/stat.h>
#include "server/store/backup.h"
#include "tests/store/writing.h"
#include "tests/support/unit.h"

#define BLOB_SIZE ((size_t)3 << 20) /* more than one step copies, less than two do */

static sem_t is_held;
static bool was_beside;

static enum err set_and_fail(struct store_txn *txn, void *arg)
{
    (void)arg;
    ck_err(set_number(txn, "x", 2), ERR_OK);
    return ERR_STALE_ROUND;
}

/* Keeps the writer until the step waits, and sees to it that what fails comes behind that, in its commit. */
static enum err hold(struct store_txn *txn, void *arg)
{
    struct store_stats stats = {0};
    (void)txn;
    (void)arg;
    (void)sem_post(&is_held);
    while (stats.queued < 1) {
        store->ops->stats(store, &stats);
        (void)sched_yield();
    }
    return store->ops->write(store, set_and_fail, NULL, NULL, NULL);
}

static bool before_the_last_step(void *ctx, int64_t done, int64_t total)
{
    (void)ctx;
    if (done == total || was_beside)
        return true;
    was_beside = true;
    ck_err(store->ops->write(store, hold, NULL, NULL, NULL), ERR_OK);
    (void)sem_wait(&is_held);
    return true;
}

static void put_blob(struct blobs *blobs)
{
    static unsigned char bytes[BLOB_SIZE];
    struct blob_put *put;
    int64_t id;
    make_bytes(1, 0, bytes, sizeof bytes);
    ck_err(blobs->ops->put_begin(blobs, &put), ERR_OK);
    ck_err(blobs->ops->put_write(put, bytes, sizeof bytes), ERR_OK);
    ck_err(blobs->ops->put_end(put, &id), ERR_OK);
    ck_err(blobs->ops->commit(blobs), ERR_OK);
}

START_TEST(a_step_beside_what_fails_is_run_again)
{
    const struct backup_watch watch = {before_the_last_step, NULL};
    struct fault fault = FAULT_NONE;
    struct backup_facts facts;
    struct blobs *blobs = NULL;
    const char *from = make_dir();
    ck_assert_int_eq(sem_init(&is_held, 0, 0), 0);
    ck_err(store_sqlite_open(path_in(from, STORE_FILE), &store, &fault), ERR_OK);
    ck_err(blobs_sqlite_open(path_in(from, BLOBS_FILE), &blobs, &fault), ERR_OK);
    ck_err(store_write_wait(store, add_kept, NULL), ERR_OK);
    put_blob(blobs);
    char to[700];
    (void)snprintf(to, sizeof to, "%s", path_in(from, "copy"));
    ck_assert_int_eq(mkdir(to, 0700), 0);
    enum err e = backup_online(store, blobs, from, to, &watch, &fault);
    ck_assert_msg(!e, "%s: %s", err_name(e), fault.detail);
    ck_assert(was_beside);
    e = backup_check(to, NULL, &facts, &fault);
    ck_assert_msg(!e, "%s: %s", err_name(e), fault.detail);
    ck_assert_int_eq(number_now("x"), -1);
    store->ops->close(store);
    blobs->ops->close(blobs);
    ck_err(store_sqlite_open(path_in(to, STORE_FILE), &store, &fault), ERR_OK);
    ck_assert_int_eq(number_now("kept"), 7);
    store->ops->close(store);
    remove_dir(from);
}
END_TEST

int main(void)
{
    TCase *tc = unit_case("backup");
    tcase_add_test(tc, a_step_beside_what_fails_is_run_again);
    return unit_run_case("store backup", tc);
}
