/* The store on this disk: durable operations alone and in groups, weights against a plain file that is synced
 * as often.
 *
 *     bench/bench_store FOLDER
 *
 * Figures depend on the disk; the ratios are what to compare. The folder must be empty; it is left with the
 * files. */
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/base/clock.h"
#include "common/base/limits.h"
#include "server/store/blobs.h"
#include "server/store/store.h"

#define NUM_ALONE  500
#define NUM_TASKS  100000
#define BLOB_BYTES 31000
#define NUM_BLOBS  4096

static _Noreturn void fail(const char *what, enum err e)
{
    (void)fprintf(stderr, "bench_store: %s: %s\n", what, err_name(e));
    exit(EXIT_FAILURE);
}

static void must(const char *what, enum err e)
{
    if (e)
        fail(what, e);
}

static double seconds_since(int64_t start_ns)
{
    return (double)(mono_ns() - start_ns) / 1e9;
}

/* --- metadata --- */

static void task_id(int64_t number, char out[40])
{
    (void)snprintf(out, 40, "0192f%027lld", (long long)number);
}

static enum err insert_task(struct store_txn *txn, void *arg)
{
    int64_t number = *(int64_t *)arg;
    char id[40];
    struct task_row row;
    record_init(RECORD_TASK, &row);
    task_id(number, id);
    row.id = id;
    row.run_id = "run";
    row.round = number / 1000;
    row.ordinal = number % 1000;
    row.device_id = row.worker_id = "0192aaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    return store_insert(txn, RECORD_TASK, &row);
}

static enum err complete_task(struct store_txn *txn, void *arg)
{
    struct arena arena = ARENA_INIT(MIB);
    char id[40];
    struct task_row row;
    record_init(RECORD_TASK, &row);
    task_id(*(int64_t *)arg, id);
    row.id = id;
    enum err e = store_get(txn, RECORD_TASK, &arena, &row);
    row.status = TASK_COMPLETED;
    row.steps_done = 10;
    if (!e)
        e = store_update(txn, RECORD_TASK, &row);
    arena_release(&arena);
    return e;
}

static enum err read_task(struct store_txn *txn, void *arg)
{
    struct arena arena = ARENA_INIT(MIB);
    char id[40];
    struct task_row row;
    record_init(RECORD_TASK, &row);
    task_id(*(int64_t *)arg, id);
    row.id = id;
    enum err e = store_get(txn, RECORD_TASK, &arena, &row);
    arena_release(&arena);
    return e;
}

static int64_t num_left;
static sem_t all_done;
static void count_done(void *ctx, enum err result)
{
    (void)ctx;
    must("a write", result);
    if (--num_left == 0)
        (void)sem_post(&all_done);
}

/* Operations per second when as many as the queue takes wait at once. */
static double run_queued(struct store *s, store_fn fn, int64_t *numbers, int64_t count)
{
    num_left = count;
    int64_t start = mono_ns();
    for (int64_t i = 0; i < count; i++)
        must("queueing", s->ops->write(s, fn, &numbers[i], count_done, NULL));
    (void)sem_wait(&all_done);
    return (double)count / seconds_since(start);
}

static void bench_store(struct store *s)
{
    static int64_t numbers[NUM_ALONE + NUM_TASKS], shuffled[NUM_TASKS];
    for (int64_t i = 0; i < NUM_ALONE + NUM_TASKS; i++)
        numbers[i] = i;
    for (int64_t i = 0; i < NUM_TASKS; i++)
        shuffled[i] = i * 7919 % NUM_TASKS;
    int64_t start = mono_ns();
    for (int64_t i = 0; i < NUM_ALONE; i++)
        must("a write", store_write_wait(s, insert_task, &numbers[i]));
    double alone = NUM_ALONE / seconds_since(start);
    double grouped = run_queued(s, insert_task, numbers + NUM_ALONE, NUM_TASKS);
    (void)printf("%-7s insert a task: alone %.0f/s, in groups %.0f/s, ratio %.1f\n", s->ops->name, alone,
                 grouped, grouped / alone);
    double near = run_queued(s, complete_task, numbers, NUM_TASKS / 2);
    double far = run_queued(s, complete_task, shuffled, NUM_TASKS / 2);
    (void)printf("%-7s get and update one of %d: in order %.0f/s, anywhere %.0f/s, ratio %.2f\n",
                 s->ops->name, NUM_TASKS, near, far, far / near);
    start = mono_ns();
    for (int64_t i = 0; i < NUM_TASKS; i++)
        must("a read", s->ops->read(s, read_task, &shuffled[i]));
    (void)printf("%-7s read one: %.0f/s\n", s->ops->name, NUM_TASKS / seconds_since(start));
}

/* --- weights --- */

static double blobs_rate(struct blobs *b, const void *bytes, int per_commit)
{
    int64_t start = mono_ns();
    for (int i = 1; i <= NUM_BLOBS; i++) {
        struct blob_put *put;
        int64_t id;
        must("put_begin", b->ops->put_begin(b, &put));
        must("put_write", b->ops->put_write(put, bytes, BLOB_BYTES));
        must("put_end", b->ops->put_end(put, &id));
        if (i % per_commit == 0)
            must("commit", b->ops->commit(b));
    }
    return (double)NUM_BLOBS * BLOB_BYTES / seconds_since(start) / 1e6;
}

static double plain_rate(const char *path, const void *bytes, int per_commit)
{
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        fail(path, ERR_IO);
    int64_t start = mono_ns();
    for (int i = 1; i <= NUM_BLOBS; i++) {
        if (write(fd, bytes, BLOB_BYTES) != BLOB_BYTES || (i % per_commit == 0 && fdatasync(fd)))
            fail(path, ERR_IO);
    }
    double rate = (double)NUM_BLOBS * BLOB_BYTES / seconds_since(start) / 1e6;
    (void)close(fd);
    return rate;
}

static bool is_never_named(void *ctx, int64_t id)
{
    (void)ctx;
    (void)id;
    return false;
}

static void bench_blobs(struct blobs *b, const char *plain)
{
    static char bytes[BLOB_BYTES];
    memset(bytes, 5, sizeof bytes);
    for (int pass = 0; pass < 2; pass++) {
        for (int per_commit = 8; per_commit <= 512; per_commit *= 8) {
            double ours = blobs_rate(b, bytes, per_commit), theirs = plain_rate(plain, bytes, per_commit);
            (void)printf(
                "%s pages, %3d weights of 31 KB per commit: %.0f MB/s, plain file %.0f MB/s, ratio %.2f\n",
                pass ? "used " : "fresh", per_commit, ours, theirs, ours / theirs);
        }
        int64_t removed;
        must("collect", b->ops->collect(b, is_never_named, NULL, &removed));
        while (b->ops->has_garbage(b))
            must("commit", b->ops->commit(b));
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fputs("usage: bench_store FOLDER\n", stderr);
        return 2;
    }
    char path[4096], plain[4096];
    struct fault fault = FAULT_NONE;
    struct store *s = NULL;
    struct blobs *b = NULL;
    (void)sem_init(&all_done, 0, 0);
    must("memory", store_memory_open(&s));
    bench_store(s);
    s->ops->close(s);
    (void)snprintf(path, sizeof path, "%s/meta.db", argv[1]);
    if (store_sqlite_open(path, &s, &fault))
        fail(fault.detail, fault.err);
    bench_store(s);
    s->ops->close(s);
    (void)snprintf(path, sizeof path, "%s/blobs.db", argv[1]);
    (void)snprintf(plain, sizeof plain, "%s/plain", argv[1]);
    if (blobs_sqlite_open(path, &b, &fault))
        fail(fault.detail, fault.err);
    bench_blobs(b, plain);
    b->ops->close(b);
    return EXIT_SUCCESS;
}
