/* Weights: any size, any range, several uploads at once, nothing left behind. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/limits.h"
#include "common/base/rng.h"
#include "tests/store/support.h"
#include "tests/support/unit.h"

static const char *dir;
static const struct backend *backend;
static struct blobs *blobs;

static void setup(int i)
{
    backend = &backends[i];
    dir = make_dir();
    blobs = open_blobs(backend, dir);
}

static void teardown(void)
{
    blobs->ops->close(blobs);
    remove_dir(dir);
}

/* What a durable backend has after a restart, and what it had before. */
static void reopen(void)
{
    if (!backend->is_durable)
        return;
    blobs->ops->close(blobs);
    blobs = open_blobs(backend, dir);
}

static enum err write_bytes(struct blob_put *put, uint64_t seed, size_t *offset, size_t n)
{
    unsigned char piece[8192];
    enum err e = ERR_OK;
    while (n && !e) {
        size_t take = n < sizeof piece ? n : sizeof piece;
        make_bytes(seed, *offset, piece, take);
        e = blobs->ops->make_room(blobs);
        if (!e)
            e = blobs->ops->put_write(put, piece, take);
        *offset += take;
        n -= take;
    }
    return e;
}

static int64_t put_blob(uint64_t seed, size_t size)
{
    struct blob_put *put;
    size_t offset = 0;
    int64_t id = 0;
    ck_err(blobs->ops->put_begin(blobs, &put), ERR_OK);
    ck_err(write_bytes(put, seed, &offset, size), ERR_OK);
    ck_err(blobs->ops->put_end(put, &id), ERR_OK);
    ck_assert_int_gt(id, 0);
    return id;
}

static void check_range(int64_t id, uint64_t seed, size_t offset, size_t n)
{
    unsigned char *got = malloc(2 * n + 1), *wanted = got + n;
    ck_assert_ptr_nonnull(got);
    make_bytes(seed, offset, wanted, n);
    ck_err(blobs->ops->read(blobs, id, (int64_t)offset, got, n), ERR_OK);
    ck_assert_msg(memcmp(got, wanted, n) == 0, "blob %lld: wrong bytes in [%zu, +%zu)", (long long)id, offset,
                  n);
    free(got);
}

static void check_blob(int64_t id, uint64_t seed, size_t size)
{
    int64_t found = -1;
    ck_err(blobs->ops->size(blobs, id, &found), ERR_OK);
    ck_assert_int_eq(found, (int64_t)size);
    check_range(id, seed, 0, size);
    for (uint64_t i = 0; i < 20 && size; i++) {
        size_t offset = rng_u64(seed, 2 * i) % size;
        check_range(id, seed, offset, rng_u64(seed, 2 * i + 1) % (size - offset + 1));
    }
    char byte;
    ck_err(blobs->ops->read(blobs, id, (int64_t)size, &byte, 0), ERR_OK);
    ck_err(blobs->ops->read(blobs, id, (int64_t)size, &byte, 1), ERR_RANGE_NOT_SATISFIABLE);
    ck_err(blobs->ops->read(blobs, id, -1, &byte, 1), ERR_RANGE_NOT_SATISFIABLE);
    ck_err(blobs->ops->read(blobs, id, INT64_MAX, &byte, 1), ERR_RANGE_NOT_SATISFIABLE);
    ck_err(blobs->ops->read(blobs, id, 0, &byte, SIZE_MAX), ERR_RANGE_NOT_SATISFIABLE);
}

static void check_missing(int64_t id)
{
    int64_t size;
    char byte;
    ck_err(blobs->ops->size(blobs, id, &size), ERR_NOT_FOUND);
    ck_err(blobs->ops->read(blobs, id, 0, &byte, 1), ERR_NOT_FOUND);
    ck_err(blobs->ops->remove(blobs, id), ERR_NOT_FOUND);
}

static const size_t sizes[] = {0,
                               1,
                               31000,
                               32767,
                               32768,
                               32769,
                               LIMIT_BLOB_CHUNK - 1,
                               LIMIT_BLOB_CHUNK,
                               LIMIT_BLOB_CHUNK + 1,
                               3 * LIMIT_BLOB_CHUNK + 12345,
                               20 * LIMIT_BLOB_CHUNK + 7};
#define NUM_SIZES (sizeof sizes / sizeof sizes[0])

START_TEST(every_size_comes_back)
{
    setup(_i);
    int64_t ids[NUM_SIZES], total = 0;
    for (size_t i = 0; i < NUM_SIZES; i++) {
        ids[i] = put_blob(i, sizes[i]);
        check_blob(ids[i], i, sizes[i]);
        total += (int64_t)sizes[i];
        ck_assert_int_eq(blobs->ops->total_bytes(blobs), total);
    }
    ck_err(blobs->ops->commit(blobs), ERR_OK);
    for (size_t i = 0; i < NUM_SIZES; i++)
        check_blob(ids[i], i, sizes[i]);
    reopen();
    for (size_t i = 0; i < NUM_SIZES; i++)
        check_blob(ids[i], i, sizes[i]);
    ck_assert_int_eq(blobs->ops->total_bytes(blobs), total);
    for (size_t i = 0; i < NUM_SIZES; i++) {
        ck_err(blobs->ops->remove(blobs, ids[i]), ERR_OK);
        check_missing(ids[i]);
    }
    ck_assert_int_eq(blobs->ops->total_bytes(blobs), 0);
    ck_err(blobs->ops->commit(blobs), ERR_OK);
    reopen();
    for (size_t i = 0; i < NUM_SIZES; i++)
        check_missing(ids[i]);
    ck_assert_int_eq(blobs->ops->total_bytes(blobs), 0);
    teardown();
}
END_TEST

#define NUM_UPLOADS 40

START_TEST(uploads_may_take_turns)
{
    setup(_i);
    struct blob_put *puts[NUM_UPLOADS];
    size_t offsets[NUM_UPLOADS] = {0};
    int64_t ids[NUM_UPLOADS];
    for (size_t i = 0; i < NUM_UPLOADS; i++)
        ck_err(blobs->ops->put_begin(blobs, &puts[i]), ERR_OK);
    for (uint64_t step = 0; step < 400; step++) {
        uint64_t draw = rng_u64(5, step);
        size_t i = draw % NUM_UPLOADS;
        ck_err(write_bytes(puts[i], i, &offsets[i], draw / 64 % 300000), ERR_OK);
        if (step % 50 == 49)
            ck_err(blobs->ops->commit(blobs), ERR_OK);
    }
    int64_t total = 0;
    for (size_t i = 0; i < NUM_UPLOADS; i++) {
        if (i % 4 == 3) {
            blobs->ops->put_abort(puts[i]);
            continue;
        }
        ck_err(blobs->ops->put_end(puts[i], &ids[i]), ERR_OK);
        total += (int64_t)offsets[i];
        for (size_t k = 0; k < i; k++)
            ck_assert(k % 4 == 3 || ids[k] != ids[i]);
    }
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < NUM_UPLOADS; i++)
            if (i % 4 != 3)
                check_blob(ids[i], i, offsets[i]);
        ck_assert_int_eq(blobs->ops->total_bytes(blobs), total);
        if (round == 0)
            ck_err(blobs->ops->commit(blobs), ERR_OK);
        else
            reopen();
    }
    teardown();
}
END_TEST

static bool is_never_named(void *ctx, int64_t id)
{
    (void)ctx;
    (void)id;
    return false;
}

START_TEST(an_aborted_upload_leaves_nothing)
{
    setup(_i);
    static const size_t abort_after[] = {0, 10, LIMIT_BLOB_CHUNK, 40 * LIMIT_BLOB_CHUNK};
    for (size_t i = 0; i < sizeof abort_after / sizeof abort_after[0]; i++) {
        struct blob_put *put;
        size_t offset = 0;
        ck_err(blobs->ops->put_begin(blobs, &put), ERR_OK);
        ck_err(write_bytes(put, i, &offset, abort_after[i]), ERR_OK);
        blobs->ops->put_abort(put);
    }
    ck_assert_int_eq(blobs->ops->total_bytes(blobs), 0);
    do
        ck_err(blobs->ops->commit(blobs), ERR_OK);
    while (blobs->ops->has_garbage(blobs));
    reopen();
    int64_t removed = -1;
    ck_err(blobs->ops->collect(blobs, is_never_named, NULL, &removed), ERR_OK);
    ck_assert_int_eq(removed, 0);
    teardown();
}
END_TEST

static bool is_even(void *ctx, int64_t id)
{
    ++*(int *)ctx;
    return id % 2 == 0;
}

#define NUM_COLLECTED 60

START_TEST(collect_removes_what_is_not_named)
{
    setup(_i);
    int64_t ids[NUM_COLLECTED], num_odd = 0;
    for (size_t i = 0; i < NUM_COLLECTED; i++) {
        ids[i] = put_blob(i, 100 * i);
        num_odd += ids[i] % 2;
        if (i == NUM_COLLECTED / 2)
            ck_err(blobs->ops->commit(blobs), ERR_OK);
    }
    int64_t removed = -1;
    int asked = 0;
    ck_err(blobs->ops->collect(blobs, is_even, &asked, &removed), ERR_OK);
    ck_assert_int_eq(asked, NUM_COLLECTED);
    ck_assert_int_eq(removed, num_odd);
    for (int round = 0; round < 2; round++) {
        int64_t total = 0;
        for (size_t i = 0; i < NUM_COLLECTED; i++) {
            if (ids[i] % 2)
                check_missing(ids[i]);
            else
                check_blob(ids[i], i, 100 * i);
            total += ids[i] % 2 ? 0 : (int64_t)(100 * i);
        }
        ck_assert_int_eq(blobs->ops->total_bytes(blobs), total);
        reopen();
    }
    teardown();
}
END_TEST

START_TEST(a_number_is_never_given_twice)
{
    setup(_i);
    int64_t highest = 0;
    for (uint64_t i = 0; i < 10; i++) {
        int64_t id = put_blob(i, 10);
        ck_assert_int_gt(id, highest);
        highest = id;
        ck_err(blobs->ops->commit(blobs), ERR_OK);
        ck_err(blobs->ops->remove(blobs, id), ERR_OK);
        ck_err(blobs->ops->commit(blobs), ERR_OK);
        reopen();
    }
    check_missing(0);
    check_missing(-1);
    check_missing(highest + 1);
    check_missing(INT64_MAX);
    teardown();
}
END_TEST

START_TEST(a_blob_that_is_too_large_is_refused)
{
    setup(_i);
    struct blob_put *put;
    size_t offset = 0;
    ck_err(blobs->ops->put_begin(blobs, &put), ERR_OK);
    ck_err(write_bytes(put, 1, &offset, 100), ERR_OK);
    /* Its address is never read. */
    ck_err(blobs->ops->put_write(put, &offset, (size_t)LIMIT_BLOB_BYTES), ERR_PAYLOAD_TOO_LARGE);
    int64_t id;
    ck_err(blobs->ops->put_end(put, &id), ERR_OK);
    check_blob(id, 1, 100);
    teardown();
}
END_TEST

/* --- uploads in parts --- */

static int64_t pause_put(struct blob_put *put, size_t size)
{
    int64_t id = 0, paused_at = -1;
    ck_err(blobs->ops->put_pause(put, &id, &paused_at), ERR_OK);
    ck_assert_int_eq(paused_at, (int64_t)size);
    return id;
}

static struct blob_put *resume_put(int64_t id, size_t size)
{
    struct blob_put *put = NULL, *other = NULL;
    int64_t resumed_at = -1;
    ck_err(blobs->ops->put_resume(blobs, id, &put, &resumed_at), ERR_OK);
    ck_assert_int_eq(resumed_at, (int64_t)size);
    ck_assert(blobs->ops->put_resume(blobs, id, &other, &resumed_at) != ERR_OK);
    return put;
}

START_TEST(an_upload_in_parts_is_one_blob)
{
    setup(_i);
    static const size_t parts[] = {
        0, 1, 31000, 1767, 32768, 100, 3 * LIMIT_BLOB_CHUNK + 5, 40000, 7, 0, 20 * LIMIT_BLOB_CHUNK};
    struct blob_put *put = NULL;
    size_t offset = 0;
    int64_t id = 0, removed = 0, ended = 0, first = put_blob(1, 10);
    ck_err(blobs->ops->put_begin(blobs, &put), ERR_OK);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        ck_err(write_bytes(put, 9, &offset, parts[i]), ERR_OK);
        id = pause_put(put, offset);
        int64_t size;
        ck_err(blobs->ops->size(blobs, id, &size), ERR_NOT_FOUND);
        if (i % 2)
            ck_err(blobs->ops->commit(blobs), ERR_OK);
        if (i % 3 == 2) {
            reopen();
            ck_err(blobs->ops->collect(blobs, is_even, &(int){0}, &removed), ERR_OK);
            ck_assert_int_eq(removed, i == 2); /* the first */
        }
        put = resume_put(id, offset);
    }
    ck_err(blobs->ops->put_end(put, &ended), ERR_OK);
    ck_assert_int_eq(ended, id);
    ck_assert_int_eq(id, first + 1);
    check_blob(id, 9, offset);
    ck_err(blobs->ops->commit(blobs), ERR_OK);
    reopen();
    check_blob(id, 9, offset);
    int64_t size;
    ck_err(blobs->ops->put_resume(blobs, id, &put, &size), ERR_NOT_FOUND);
    ck_err(blobs->ops->remove(blobs, id), ERR_OK);
    ck_err(blobs->ops->put_resume(blobs, id, &put, &size), ERR_NOT_FOUND);
    teardown();
}
END_TEST

START_TEST(a_paused_upload_can_be_dropped)
{
    setup(_i);
    for (int i = 0; i < 3; i++) {
        struct blob_put *put = NULL;
        size_t offset = 0;
        int64_t size;
        ck_err(blobs->ops->put_begin(blobs, &put), ERR_OK);
        ck_err(write_bytes(put, 9, &offset, 3 * LIMIT_BLOB_CHUNK + 10), ERR_OK);
        int64_t id = pause_put(put, offset);
        if (i > 0)
            ck_err(blobs->ops->commit(blobs), ERR_OK);
        if (i > 1)
            reopen();
        ck_err(blobs->ops->remove(blobs, id), ERR_OK);
        ck_err(blobs->ops->put_resume(blobs, id, &put, &size), ERR_NOT_FOUND);
        ck_assert_int_eq(blobs->ops->total_bytes(blobs), 0);
    }
    teardown();
}
END_TEST

START_TEST(an_upload_that_is_removed_while_it_runs_is_dropped_at_its_end)
{
    setup(_i);
    for (int i = 0; i < 2 && backend->is_durable; i++) {
        struct blob_put *put = NULL;
        size_t offset = 0;
        int64_t size, id;
        ck_err(blobs->ops->put_begin(blobs, &put), ERR_OK);
        ck_err(write_bytes(put, 9, &offset, 40000), ERR_OK);
        id = pause_put(put, offset);
        put = resume_put(id, offset);
        ck_err(blobs->ops->remove(blobs, id), ERR_OK);
        ck_err(blobs->ops->remove(blobs, id), ERR_NOT_FOUND);
        ck_err(write_bytes(put, 9, &offset, 40000), ERR_OK);
        ck_err(i ? blobs->ops->put_end(put, &id) : blobs->ops->put_pause(put, &id, &size), ERR_NOT_FOUND);
        check_missing(id);
        ck_err(blobs->ops->put_resume(blobs, id, &put, &size), ERR_NOT_FOUND);
        ck_assert_int_eq(blobs->ops->total_bytes(blobs), 0);
    }
    teardown();
}
END_TEST

/* --- threads: uploads, reads and removals while another commits --- */

#define NUM_THREADS 8

static void *upload_and_check(void *arg)
{
    uint64_t seed = *(uint64_t *)arg;
    for (uint64_t i = 0; i < 40; i++) {
        uint64_t draw = rng_u64(seed, i);
        size_t size = draw % 10 == 0 ? 3 * LIMIT_BLOB_CHUNK + draw % 1000 : draw % 70000;
        int64_t id = put_blob(draw, size);
        check_range(id, draw, 0, size);
        if (draw % 3 == 0) {
            ck_err(blobs->ops->remove(blobs, id), ERR_OK);
            check_missing(id);
        } else {
            check_range(id, draw, size / 3, size / 2);
        }
    }
    return NULL;
}

static void *commit_often(void *arg)
{
    (void)arg;
    for (int i = 0; i < 100; i++)
        ck_err(blobs->ops->commit(blobs), ERR_OK);
    return NULL;
}

START_TEST(threads_upload_read_and_remove_at_once)
{
    setup(_i);
    pthread_t threads[NUM_THREADS], committer;
    uint64_t seeds[NUM_THREADS];
    ck_assert_int_eq(pthread_create(&committer, NULL, commit_often, NULL), 0);
    for (uint64_t i = 0; i < NUM_THREADS; i++) {
        seeds[i] = i + 1;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, upload_and_check, &seeds[i]), 0);
    }
    for (size_t i = 0; i < NUM_THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    ck_assert_int_eq(pthread_join(committer, NULL), 0);
    do /* what is removed and still in the file comes back, until somebody collects it */
        ck_err(blobs->ops->commit(blobs), ERR_OK);
    while (blobs->ops->has_garbage(blobs));
    int64_t total = blobs->ops->total_bytes(blobs);
    reopen();
    ck_assert_int_eq(blobs->ops->total_bytes(blobs), total);
    int64_t removed;
    ck_err(blobs->ops->collect(blobs, is_never_named, NULL, &removed), ERR_OK);
    ck_assert_int_gt(removed, 0);
    ck_assert_int_eq(blobs->ops->total_bytes(blobs), 0);
    teardown();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("blobs");
    TCase *tc = unit_case("each backend");
    suite_add_tcase(s, tc);
    tcase_add_loop_test(tc, every_size_comes_back, 0, num_backends);
    tcase_add_loop_test(tc, uploads_may_take_turns, 0, num_backends);
    tcase_add_loop_test(tc, an_aborted_upload_leaves_nothing, 0, num_backends);
    tcase_add_loop_test(tc, collect_removes_what_is_not_named, 0, num_backends);
    tcase_add_loop_test(tc, a_number_is_never_given_twice, 0, num_backends);
    tcase_add_loop_test(tc, a_blob_that_is_too_large_is_refused, 0, num_backends);
    tcase_add_loop_test(tc, an_upload_in_parts_is_one_blob, 0, num_backends);
    tcase_add_loop_test(tc, a_paused_upload_can_be_dropped, 0, num_backends);
    tcase_add_loop_test(tc, an_upload_that_is_removed_while_it_runs_is_dropped_at_its_end, 0, num_backends);
    tcase_add_loop_test(tc, threads_upload_read_and_remove_at_once, 0, num_backends);
    return run_suite(s);
}
