/* The server is killed at any moment: what was acknowledged stays. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/base/rng.h"
#include "tests/store/numbered.h"
#include "tests/store/support.h"
#include "tests/support/unit.h"

#define NUM_KILLS    25
#define KILL_WRITERS 4
#define KILL_MAX     4000

struct killed {
    struct store *store;
    struct blobs *blobs;
    int pipe;
    int64_t first_seq;
    int writer;
};

static void *write_until_killed(void *arg)
{
    const struct killed *k = arg;
    struct event event = {"r", 0, 0};
    for (event.seq = k->first_seq + k->writer;; event.seq += KILL_WRITERS) {
        size_t size = event.seq % 20 == 0 ? 1500000 : 31000;
        if (put_blob(k->blobs, event.seq, size, &event.blob_id) ||
            store_write_wait(k->store, add_event, &event))
            _exit(3);
        /* Less than PIPE_BUF, so it is written whole. */
        if (write(k->pipe, &event.seq, sizeof event.seq) != sizeof event.seq)
            _exit(4);
    }
    return NULL;
}

static _Noreturn void child(const char *dir, int pipe_end, int64_t first_seq)
{
    struct killed k = {.pipe = pipe_end, .first_seq = first_seq};
    struct fault fault = FAULT_NONE;
    const struct backend *b = sqlite_backend();
    if (b->open_store(dir, &k.store, &fault) || b->open_blobs(dir, &k.blobs, &fault)) {
        (void)fprintf(stderr, "%s\n", fault.detail);
        _exit(2);
    }
    k.store->ops->before_commit(k.store, begin_blobs, commit_blobs, k.blobs);
    static struct killed writers[KILL_WRITERS];
    pthread_t thread;
    for (int i = 0; i < KILL_WRITERS; i++) {
        writers[i] = k;
        writers[i].writer = i;
        if (pthread_create(&thread, NULL, write_until_killed, &writers[i]))
            _exit(5);
    }
    for (;;)
        (void)pause();
}

/* Kills it after some acknowledgements; marks them all. Returns the highest. */
static int64_t run_and_kill(const char *dir, int64_t first_seq, uint64_t draw, bool *was_acked)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        (void)close(ends[0]);
        child(dir, ends[1], first_seq);
    }
    (void)close(ends[1]);
    int64_t seq, highest = first_seq;
    for (uint64_t left = 1 + draw % 60; left; left--) {
        ck_assert_msg(read(ends[0], &seq, sizeof seq) == sizeof seq, "the child ended by itself");
        was_acked[seq] = true;
        highest = seq > highest ? seq : highest;
    }
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    while (read(ends[0], &seq, sizeof seq) == sizeof seq) {
        was_acked[seq] = true;
        highest = seq > highest ? seq : highest;
    }
    (void)close(ends[0]);
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    return highest;
}

static bool is_in_list(void *ctx, int64_t id)
{
    const int64_t *ids = ctx;
    for (size_t i = 0; i < KILL_MAX; i++)
        if (ids[i] == id)
            return true;
    return false;
}

START_TEST(what_was_acknowledged_survives_kill_9)
{
    static bool was_acked[KILL_MAX + 1000];
    static int64_t blob_ids[KILL_MAX];
    static struct found found;
    found = (struct found){.run_id = "r", .blob_ids = blob_ids, .max = KILL_MAX};
    const char *dir = make_dir();
    int64_t next = 1;
    for (uint64_t i = 0; i < NUM_KILLS; i++) {
        int64_t highest = run_and_kill(dir, next, rng_u64(77, i), was_acked);
        next = highest + 2 * KILL_WRITERS; /* beyond what the others had begun */
        ck_assert_int_lt(next, KILL_MAX - 500);
        struct store *store = open_store(sqlite_backend(), dir);
        struct blobs *blobs = open_blobs(sqlite_backend(), dir);
        ck_err(store->ops->read(store, find_events, &found), ERR_OK);
        int64_t removed, total = 0;
        ck_err(blobs->ops->collect(blobs, is_in_list, blob_ids, &removed), ERR_OK);
        for (int64_t seq = 1; seq < KILL_MAX; seq++) {
            ck_assert_msg(!was_acked[seq] || found.has[seq], "kill %d: event %lld is lost", (int)i,
                          (long long)seq);
            if (!found.has[seq])
                continue;
            size_t size = seq % 20 == 0 ? 1500000 : 31000;
            check_blob(blobs, blob_ids[seq], seq, size);
            total += (int64_t)size;
            next = seq >= next ? seq + 1 : next;
        }
        ck_assert_int_eq(blobs->ops->total_bytes(blobs), total);
        store->ops->close(store);
        blobs->ops->close(blobs);
    }
    remove_dir(dir);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("store kill");
    TCase *tc = unit_case("sqlite");
    suite_add_tcase(s, tc);
    tcase_add_test(tc, what_was_acknowledged_survives_kill_9);
    return run_suite(s);
}
