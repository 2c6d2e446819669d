/* The disk fails at every single write and sync in turn: what was acknowledged stays, what was refused can be
 * tried again. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include "common/base/limits.h"
#include "tests/store/fault_vfs.h"
#include "tests/store/numbered.h"
#include "tests/store/support.h"
#include "tests/support/unit.h"

static bool is_storage_error(enum err e)
{
    return e == ERR_STORAGE_FULL || e == ERR_UNAVAILABLE;
}

/* --- metadata --- */

#define NUM_EVENTS 12

/* One run of the program with the n-th disk call failing. False: it has no n-th call. */
static bool write_with_fault(enum disk_fault kind, int n, int count)
{
    const char *dir = make_dir();
    struct store *store = open_store(sqlite_backend(), dir);
    bool was_acked[NUM_EVENTS + 1] = {false};
    struct event event = {"r", 0, 0};
    fault_vfs_arm(kind, n, count);
    for (event.seq = 1; event.seq < NUM_EVENTS; event.seq++) {
        enum err e = store_write_wait(store, add_event, &event);
        ck_assert_msg(!e || is_storage_error(e), "fault %d: %s", n, err_name(e));
        was_acked[event.seq] = !e;
    }
    bool was_hit = fault_vfs_disarm();
    event.seq = NUM_EVENTS;
    ck_err(store_write_wait(store, add_event, &event), ERR_OK);
    was_acked[NUM_EVENTS] = true;
    static struct found found;
    found = (struct found){.run_id = "r"};
    for (int opened = 0; opened < 2; opened++) {
        ck_err(store->ops->read(store, find_events, &found), ERR_OK);
        for (int i = 1; i <= NUM_EVENTS; i++)
            ck_assert_msg(found.has[i] == was_acked[i], "fault %d, opened %d: event %d is %s", n, opened, i,
                          found.has[i] ? "there, though refused" : "lost");
        store->ops->close(store);
        if (opened == 0)
            store = open_store(sqlite_backend(), dir);
    }
    remove_dir(dir);
    return was_hit;
}

START_TEST(metadata_survives_every_single_disk_fault)
{
    fault_vfs_install();
    for (int kind = DISK_FULL; kind <= DISK_BROKEN; kind++) {
        int n = 0;
        while (write_with_fault((enum disk_fault)kind, n, 1))
            n += FAULT_STRIDE;
        ck_assert_int_gt(n, NUM_EVENTS);
        for (n = 0; n < 30; n += 3)
            ck_assert(write_with_fault((enum disk_fault)kind, n, 1000000));
    }
}
END_TEST

struct full_disk {
    struct store *store;
    struct found found;
};

/* While this reads, the log cannot be emptied. */
static enum err write_on_a_full_disk(struct store_txn *txn, void *arg)
{
    struct full_disk *f = arg;
    ck_err(find_events(txn, &f->found), ERR_OK);
    struct event event = {"r", 2, 0};
    fault_vfs_arm(DISK_FULL, 0, 1);
    ck_err(store_write_wait(f->store, add_event, &event), ERR_STORAGE_FULL);
    ck_err(store_write_wait(f->store, add_event, &event), ERR_OK);
    return ERR_OK;
}

/* The writer wants the log's space back, but those who wait for it come first. */
START_TEST(a_full_disk_makes_nobody_wait_for_a_reader)
{
    fault_vfs_install();
    const char *dir = make_dir();
    static struct full_disk f;
    f = (struct full_disk){.store = open_store(sqlite_backend(), dir), .found = {.run_id = "r"}};
    struct event event = {"r", 1, 0};
    ck_err(store_write_wait(f.store, add_event, &event), ERR_OK);
    int before = fault_vfs_sleeps();
    ck_err(f.store->ops->read(f.store, write_on_a_full_disk, &f), ERR_OK);
    ck_assert_int_eq(fault_vfs_sleeps(), before);
    f.store->ops->close(f.store);
    remove_dir(dir);
}
END_TEST

/* Also while it opens and migrates: refused with a fault, and whole at the next try. */
START_TEST(opening_survives_every_single_disk_fault)
{
    fault_vfs_install();
    bool was_hit = true;
    for (int n = 0; was_hit; n += FAULT_STRIDE) {
        const char *dir = make_dir();
        const struct backend *b = sqlite_backend();
        struct store *store = NULL;
        struct blobs *blobs = NULL;
        struct fault fault = FAULT_NONE;
        fault_vfs_arm(n % 2 ? DISK_FULL : DISK_BROKEN, n, 1);
        enum err e = b->open_store(dir, &store, &fault);
        ck_assert_msg(!e || (is_storage_error(e) && strstr(fault.detail, dir)), "fault %d: %s: %s", n,
                      err_name(e), fault.detail);
        enum err e2 = b->open_blobs(dir, &blobs, &fault);
        ck_assert_msg(!e2 || (is_storage_error(e2) && strstr(fault.detail, dir)), "fault %d: %s: %s", n,
                      err_name(e2), fault.detail);
        if (!e)
            store->ops->close(store);
        if (!e2)
            blobs->ops->close(blobs);
        was_hit = fault_vfs_disarm();
        store = open_store(b, dir);
        blobs = open_blobs(b, dir);
        struct event event = {"r", 1, 0};
        ck_err(store_write_wait(store, add_event, &event), ERR_OK);
        store->ops->close(store);
        blobs->ops->close(blobs);
        remove_dir(dir);
    }
}
END_TEST

/* --- blobs --- */

#define NUM_BLOBS 6
static size_t blob_sizes[NUM_BLOBS] = {31000, LIMIT_BLOB_CHUNK + 5, 0, 18 * LIMIT_BLOB_CHUNK, 31000, 70000};

/* A blob that was ended stays, though commits fail, and is durable once one succeeds. */
static bool blobs_with_fault(enum disk_fault kind, int n, int count, bool with_large)
{
    /* The large one is written in several transactions, while it is uploaded. */
    blob_sizes[3] = with_large ? 18 * LIMIT_BLOB_CHUNK : 100000;
    const char *dir = make_dir();
    struct blobs *blobs = open_blobs(sqlite_backend(), dir);
    int64_t ids[NUM_BLOBS] = {0}, total = 0;
    bool is_there[NUM_BLOBS] = {false};
    fault_vfs_arm(kind, n, count);
    for (int64_t i = 0; i < NUM_BLOBS; i++) {
        enum err e = put_blob(blobs, i, blob_sizes[i], &ids[i]);
        ck_assert(!e || is_storage_error(e));
        is_there[i] = !e;
        e = blobs->ops->commit(blobs);
        ck_assert(!e || is_storage_error(e));
        if (i == 1 && is_there[0]) {
            e = blobs->ops->remove(blobs, ids[0]);
            ck_assert(!e || is_storage_error(e));
            is_there[0] = e != ERR_OK;
        }
    }
    bool was_hit = fault_vfs_disarm();
    ck_err(blobs->ops->commit(blobs), ERR_OK);
    for (int opened = 0; opened < 2; opened++) {
        total = 0;
        for (int64_t i = 0; i < NUM_BLOBS; i++) {
            int64_t size;
            if (is_there[i])
                check_blob(blobs, ids[i], i, blob_sizes[i]);
            else if (ids[i])
                ck_err(blobs->ops->size(blobs, ids[i], &size), ERR_NOT_FOUND);
            total += is_there[i] ? (int64_t)blob_sizes[i] : 0;
        }
        ck_assert_int_eq(blobs->ops->total_bytes(blobs), total);
        blobs->ops->close(blobs);
        if (opened == 0)
            blobs = open_blobs(sqlite_backend(), dir);
    }
    remove_dir(dir);
    return was_hit;
}

START_TEST(blobs_survive_every_single_disk_fault)
{
    fault_vfs_install();
    for (int kind = DISK_FULL; kind <= DISK_BROKEN; kind++) {
        int n = 0;
        while (blobs_with_fault((enum disk_fault)kind, n, 1, false))
            n += FAULT_STRIDE;
        ck_assert_int_gt(n, 60);
        for (n = 0; n < 60; n += 7)
            ck_assert(blobs_with_fault((enum disk_fault)kind, n, 1000000, false));
        /* Its many calls are alike: one in some. */
        for (n = 0; blobs_with_fault((enum disk_fault)kind, n, 1, true);)
            n += 61 * FAULT_STRIDE;
        ck_assert_int_gt(n, 500);
    }
}
END_TEST

/* Several uploads at once on a disk that fails now and then: each ends well or is refused, and none harms
 * another. */
#define NUM_UPLOADERS    4
#define NUM_PER_UPLOADER 6
#define UPLOAD_SIZE      (9 * LIMIT_BLOB_CHUNK + 1000)

struct uploader {
    struct blobs *blobs;
    int64_t number, ids[NUM_PER_UPLOADER];
};
static atomic_int num_uploading;

static void *upload_some(void *arg)
{
    struct uploader *u = arg;
    for (int64_t i = 0; i < NUM_PER_UPLOADER; i++) {
        enum err e = put_blob(u->blobs, u->number * 100 + i, UPLOAD_SIZE, &u->ids[i]);
        ck_assert(!e || is_storage_error(e));
        u->ids[i] = e ? 0 : u->ids[i];
        e = u->blobs->ops->commit(u->blobs);
        ck_assert(!e || is_storage_error(e));
    }
    atomic_fetch_sub(&num_uploading, 1);
    return NULL;
}

static void check_uploads(struct blobs *b, const struct uploader *uploaders)
{
    for (int i = 0; i < NUM_UPLOADERS; i++)
        for (int64_t k = 0; k < NUM_PER_UPLOADER; k++)
            if (uploaders[i].ids[k])
                check_blob(b, uploaders[i].ids[k], uploaders[i].number * 100 + k, UPLOAD_SIZE);
}

START_TEST(uploads_on_a_failing_disk_do_not_harm_each_other)
{
    fault_vfs_install();
    const char *dir = make_dir();
    struct blobs *b = open_blobs(sqlite_backend(), dir);
    static struct uploader uploaders[NUM_UPLOADERS];
    pthread_t threads[NUM_UPLOADERS];
    atomic_store(&num_uploading, NUM_UPLOADERS);
    for (int i = 0; i < NUM_UPLOADERS; i++) {
        uploaders[i] = (struct uploader){.blobs = b, .number = i};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, upload_some, &uploaders[i]), 0);
    }
    for (int n = 0; atomic_load(&num_uploading); n = (n + 97) % 400) {
        fault_vfs_arm(n % 2 ? DISK_FULL : DISK_BROKEN, n, 1);
        while (atomic_load(&num_uploading) && !fault_vfs_hit())
            (void)sched_yield();
    }
    for (int i = 0; i < NUM_UPLOADERS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    (void)fault_vfs_disarm();
    check_uploads(b, uploaders);
    ck_err(b->ops->commit(b), ERR_OK);
    check_uploads(b, uploaders);
    b->ops->close(b);
    b = open_blobs(sqlite_backend(), dir);
    check_uploads(b, uploaders);
    b->ops->close(b);
    remove_dir(dir);
}
END_TEST

/* --- a full disk, by the system's own limit --- */

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

START_TEST(a_full_disk_is_storage_full_and_loses_nothing)
{
    (void)signal(SIGXFSZ, SIG_IGN);
    struct rlimit before;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    const char *dir = make_dir();
    struct store *store = open_store(sqlite_backend(), dir);
    struct blobs *blobs = open_blobs(sqlite_backend(), dir);
    store->ops->before_commit(store, begin_blobs, commit_blobs, blobs);
    limit_files(2 << 20);
    int64_t ids[200] = {0};
    struct event event = {"r", 0, 0};
    int num_kept = 0, num_refused = 0;
    while (event.seq < 150) {
        event.seq++;
        enum err e = put_blob(blobs, event.seq, 31000, &event.blob_id);
        ck_assert(!e || e == ERR_STORAGE_FULL);
        if (!e)
            e = store_write_wait(store, add_event, &event);
        ck_assert_msg(!e || e == ERR_STORAGE_FULL, "%s", err_name(e));
        ids[event.seq] = e ? 0 : event.blob_id;
        num_kept += !e;
        num_refused += e == ERR_STORAGE_FULL;
    }
    ck_assert_int_gt(num_kept, 10);
    ck_assert_int_gt(num_refused, 10);
    limit_files(before.rlim_cur);
    event.seq++;
    ck_err(put_blob(blobs, event.seq, 31000, &event.blob_id), ERR_OK);
    ck_err(store_write_wait(store, add_event, &event), ERR_OK);
    ids[event.seq] = event.blob_id;
    store->ops->close(store);
    blobs->ops->close(blobs);
    store = open_store(sqlite_backend(), dir);
    blobs = open_blobs(sqlite_backend(), dir);
    static struct found found;
    found = (struct found){.run_id = "r"};
    ck_err(store->ops->read(store, find_events, &found), ERR_OK);
    for (int64_t i = 1; i <= event.seq; i++) {
        ck_assert_int_eq(found.has[i], ids[i] != 0);
        if (ids[i])
            check_blob(blobs, ids[i], i, 31000);
    }
    store->ops->close(store);
    blobs->ops->close(blobs);
    remove_dir(dir);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("store faults");
    TCase *tc = unit_case("sqlite");
    suite_add_tcase(s, tc);
    tcase_add_test(tc, metadata_survives_every_single_disk_fault);
    tcase_add_test(tc, a_full_disk_makes_nobody_wait_for_a_reader);
    tcase_add_test(tc, opening_survives_every_single_disk_fault);
    tcase_add_test(tc, blobs_survive_every_single_disk_fault);
    tcase_add_test(tc, uploads_on_a_failing_disk_do_not_harm_each_other);
    tcase_add_test(tc, a_full_disk_is_storage_full_and_loses_nothing);
    return run_suite(s);
}
