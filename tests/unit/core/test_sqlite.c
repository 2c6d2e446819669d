/* The core over SQLite: the same bits as over memory, also where the files are closed and opened again in the
 * middle of rounds. */
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
#include "tests/unit/core/lab.h"

#define SPEC                                                                                                 \
    "{\"num_rounds\": 3, \"model\": {\"init\": \"glorot_uniform\"}, \"selection\": {\"devices_per_round\": " \
    "3, \"population\": 4},"                                                                                 \
    "\"evaluation\": {\"on\": \"all_devices\", \"gamma\": true, \"dissimilarity\": true}, \"strategy\": "    \
    "{\"params\": {\"proximal_mu\": "                                                                        \
    "{\"dynamic\": {\"start\": 0.5}}}}, \"systems\": {\"straggler_fraction\": 0.5}, \"training\": "          \
    "{\"local_epochs\": 4},"                                                                                 \
    "\"retention\": {\"keep_models\": \"last:2\"}}"

static void files_open(const char *dir, struct store **out_store, struct blobs **out_blobs)
{
    char path[256];
    struct fault fault = FAULT_NONE;
    (void)snprintf(path, sizeof path, "%s/meta.db", dir);
    ck_assert_msg(store_sqlite_open(path, out_store, &fault) == ERR_OK, "%s", fault.detail);
    (void)snprintf(path, sizeof path, "%s/blobs.db", dir);
    ck_assert_msg(blobs_sqlite_open(path, out_blobs, &fault) == ERR_OK, "%s", fault.detail);
}

static void files_remove(const char *dir)
{
    static const char *const names[] = {"meta.db",  "meta.db-wal",      "meta.db-shm",  "meta.db.lock",
                                        "blobs.db", "blobs.db-journal", "blobs.db.lock"};
    char path[300];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        (void)unlink(path);
    }
    ck_assert_int_eq(rmdir(dir), 0);
}

/* dir NULL: over memory. */
static void run_to_end(const char *dir, int reopen_every, char out_sha[SHA256_HEX_SIZE])
{
    struct lab lab;
    struct task_offer offer;
    struct op_task_update op;
    int answers = 0;
    if (dir) {
        struct store *store;
        struct blobs *blobs;
        files_open(dir, &store, &blobs);
        lab_open_over(&lab, store, blobs);
    } else {
        lab_open(&lab);
    }
    for (int k = 0; k < 4; k++)
        ck_assert_int_eq(lab_register(&lab, k, 3 + k), ERR_OK);
    const char *id = lab_submit(&lab, SPEC);
    for (bool any = true; any;) {
        any = false;
        for (int k = 0; k < 4; k++) {
            if (!lab_claim(&lab, k, &offer))
                continue;
            any = true;
            struct task_report r = lab_report(&lab, &offer, offer.task.max_steps);
            r.gamma = 0.5;
            r.eval_train_loss = 1.0 / (1 + k) + 0.1 * (double)offer.task.round;
            r.eval_train_examples = offer.task.num_examples;
            ck_assert_int_eq(lab_send(&lab, &offer, &r, 0.1f * (float)(1 + k) + (float)offer.task.round, &op),
                             ERR_OK);
            if (reopen_every > 0 && ++answers % reopen_every == 0) {
                lab_close_files(&lab);
                files_open(dir, &lab.store, &lab.blobs);
                lab_open_again(&lab);
            }
            lab_advance(&lab);
        }
    }
    struct run_row run = lab_run(&lab, id);
    ck_assert_int_eq(run.outcome, RUN_COMPLETED);
    ck_assert_int_eq(run.is_deterministic, 1);
    struct round_row last = lab_round(&lab, id, 3);
    memcpy(out_sha, last.aggregate_sha256, SHA256_HEX_SIZE);
    ck_assert(lab_round(&lab, id, 2).proximal_mu > 0.69); /* the loss rose twice */
    ck_assert(last.dissimilarity_b >= 1);
    ck_assert(lab_round(&lab, id, 0).mean_gamma == 0.5);
    ck_assert_int_eq(lab.blobs->ops->total_bytes(lab.blobs) > 0, 1);
    lab_close(&lab);
}

START_TEST(test_sqlite_gives_the_same_bits)
{
    char expected[SHA256_HEX_SIZE], got[SHA256_HEX_SIZE];
    run_to_end(NULL, 0, expected);
    for (int every = 0; every <= 4; every++) {
        char dir[] = "/tmp/fedlane-core-XXXXXX";
        ck_assert_ptr_nonnull(mkdtemp(dir));
        run_to_end(dir, every, got);
        ck_assert_str_eq(got, expected);
        files_remove(dir);
    }
}
END_TEST

struct stopping {
    struct op_run_action op;
    struct lab *lab;
    sem_t has_run, is_done;
    atomic_bool is_advanced;
};

/* Stops the run, and commits that only after core_advance has ended, or waits for the writer. */
static enum err stop_late(struct store_txn *txn, void *arg)
{
    struct stopping *s = arg;
    struct store_stats stats = {0};
    enum err e = op_run_action(txn, &s->op);
    (void)sem_post(&s->has_run);
    while (!atomic_load(&s->is_advanced) && !stats.queued) {
        s->lab->store->ops->stats(s->lab->store, &stats);
        (void)sched_yield();
    }
    return e;
}

static void stopped(void *ctx, enum err result)
{
    struct stopping *s = ctx;
    ck_assert_int_eq(result, ERR_OK);
    (void)sem_post(&s->is_done);
}

START_TEST(test_a_stop_that_is_not_committed_yet_leaves_no_files)
{
    char dir[] = "/tmp/fedlane-core-XXXXXX";
    struct lab lab;
    struct store *store;
    struct blobs *blobs;
    struct task_offer offer;
    struct op_task_update update;
    int64_t next_ms, size;
    ck_assert_ptr_nonnull(mkdtemp(dir));
    files_open(dir, &store, &blobs);
    lab_open_over(&lab, store, blobs);
    lab_devices(&lab, 2, 4);
    const char *id = lab_submit(&lab, "{}");
    ck_assert(lab_claim(&lab, 0, &offer));
    struct task_report r = lab_report(&lab, &offer, offer.task.max_steps);
    ck_assert_int_eq(lab_send(&lab, &offer, &r, 1, &update), ERR_OK);
    struct stopping s = {.lab = &lab,
                         .op = {.base = lab_base(&lab), .run_id = id, .action = RUN_ACTION_STOP}};
    ck_assert_int_eq(sem_init(&s.has_run, 0, 0) | sem_init(&s.is_done, 0, 0), 0);
    ck_assert_int_eq(store->ops->write(store, stop_late, &s, stopped, &s), ERR_OK);
    (void)sem_wait(&s.has_run);
    ck_assert_int_eq(core_advance(lab.core, &next_ms), ERR_OK);
    atomic_store(&s.is_advanced, true);
    (void)sem_wait(&s.is_done);
    lab_advance(&lab);
    ck_assert_int_eq(lab_run(&lab, id).outcome, RUN_STOPPED);
    ck_assert_int_eq(blobs->ops->size(blobs, update.blob_id, &size), ERR_NOT_FOUND);
    lab_close(&lab);
    files_remove(dir);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_sqlite_gives_the_same_bits,
                                  test_a_stop_that_is_not_committed_yet_leaves_no_files};
    return unit_run("sqlite", tests, sizeof tests / sizeof *tests);
}
