/* Every allocation fails once: nothing crashes, leaks or is half done. The linker sends our code's
 * allocations here (--wrap), and those of the test library too, so nothing is asserted while they may fail.
 * SQLite's own are refused by its heap limit. */
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/limits.h"
#include "tests/store/support.h"
#include "tests/support/unit.h"

#define ARENA ((size_t)4 << 20)

void *__real_malloc(size_t n);
void *__real_calloc(size_t count, size_t n);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t count, size_t n);
void *__wrap_realloc(void *p, size_t n);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int calls_left = -1; /* before the one that fails; negative: none fails */

static bool fails(void)
{
    (void)pthread_mutex_lock(&mutex);
    bool is_failing = calls_left == 0;
    if (calls_left >= 0)
        calls_left--;
    (void)pthread_mutex_unlock(&mutex);
    return is_failing;
}

void *__wrap_malloc(size_t n)
{
    return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t count, size_t n)
{
    return fails() ? NULL : __real_calloc(count, n);
}

void *__wrap_realloc(void *p, size_t n)
{
    return fails() ? NULL : __real_realloc(p, n);
}

static void arm(int n)
{
    (void)pthread_mutex_lock(&mutex);
    calls_left = n;
    (void)pthread_mutex_unlock(&mutex);
}

/* Whether the call came. */
static bool disarm(void)
{
    (void)pthread_mutex_lock(&mutex);
    bool was_hit = calls_left < 0;
    calls_left = -1;
    (void)pthread_mutex_unlock(&mutex);
    return was_hit;
}

/* --- the store --- */

/* One operation changes several rows; all of them carry its number, so half an operation shows. */
#define NUM_ROWS 3
static enum err set_all(struct store_txn *txn, void *arg)
{
    enum err e = ERR_OK;
    for (int i = 0; i < NUM_ROWS && !e; i++) {
        char id[16], topic[24];
        (void)snprintf(id, sizeof id, "run-%d", i);
        (void)snprintf(topic, sizeof topic, "run:%s", id);
        struct run_row run;
        record_init(RECORD_RUN, &run);
        run.id = id;
        run.seed = *(int *)arg;
        e = *(int *)arg == 0 ? store_insert(txn, RECORD_RUN, &run) : store_put(txn, RECORD_RUN, &run);
        struct event_row event;
        record_init(RECORD_EVENT, &event);
        event.run_id = id;
        event.seq = *(int *)arg + 1;
        if (!e)
            e = store_insert(txn, RECORD_EVENT, &event);
        if (!e)
            e = store_notify(txn, topic);
    }
    return e;
}

struct state {
    int number; /* -1: no rows */
    bool is_whole;
};

static enum err read_all(struct store_txn *txn, void *arg)
{
    struct state *state = arg;
    struct arena arena = ARENA_INIT(ARENA);
    struct run_row *rows;
    struct event_row *events;
    size_t count, num_events;
    enum err e = store_find(txn, QUERY_RUNS, &arena, 0, &rows, &count, store_any, store_any, store_any);
    if (!e)
        e = store_find(txn, QUERY_EVENTS, &arena, 0, &events, &num_events, store_any);
    if (!e) {
        state->number = count ? (int)rows[0].seed : -1;
        state->is_whole = count == 0 || count == NUM_ROWS;
        for (size_t i = 0; i < count; i++)
            state->is_whole = state->is_whole && rows[i].seed == state->number;
        struct run_row one;
        record_init(RECORD_RUN, &one);
        one.id = "run-1";
        e = store_get(txn, RECORD_RUN, &arena, &one);
        if (!e)
            state->is_whole = state->is_whole && one.seed == state->number;
        if (e == ERR_NOT_FOUND && !count)
            e = ERR_OK;
    }
    arena_release(&arena);
    return e;
}

static bool is_memory_error(enum err e)
{
    return e == ERR_NO_MEMORY || e == ERR_UNAVAILABLE;
}

#define NUM_WRITES 6
static bool store_with_fault(const struct backend *b, int n)
{
    const char *dir = make_dir();
    struct store *s = NULL;
    struct fault fault = FAULT_NONE;
    enum err written[NUM_WRITES], read[NUM_WRITES];
    struct state states[NUM_WRITES], last = {0};
    arm(n);
    enum err opened = b->open_store(dir, &s, &fault);
    for (int i = 0; i < NUM_WRITES && s; i++) {
        written[i] = store_write_wait(s, set_all, &i);
        read[i] = s->ops->read(s, read_all, &states[i]);
    }
    bool was_hit = disarm();
    ck_assert_msg(!opened || is_memory_error(opened), "%s: %s", err_name(opened), fault.detail);
    int acked = -1;
    for (int i = 0; i < NUM_WRITES && s; i++) {
        ck_assert(!written[i] || is_memory_error(written[i]));
        acked = written[i] ? acked : i;
        ck_assert(!read[i] || is_memory_error(read[i]));
        ck_assert(read[i] || (states[i].is_whole && states[i].number == acked));
    }
    if (s) {
        int number = NUM_WRITES;
        ck_err(store_write_wait(s, set_all, &number), ERR_OK);
        ck_err(s->ops->read(s, read_all, &last), ERR_OK);
        ck_assert(last.is_whole && last.number == number);
        s->ops->close(s);
    }
    remove_dir(dir);
    return was_hit;
}

START_TEST(the_store_survives_every_failing_allocation)
{
    int n = 0;
    while (store_with_fault(&backends[_i], n))
        n += FAULT_STRIDE;
    ck_assert_int_gt(n, 20);
}
END_TEST

/* --- blobs --- */

static enum err put(struct blobs *b, const unsigned char *bytes, size_t size, int64_t *out_id)
{
    struct blob_put *p;
    enum err e = b->ops->put_begin(b, &p);
    if (e)
        return e;
    e = b->ops->put_write(p, bytes, size);
    if (e)
        b->ops->put_abort(p);
    return e ? e : b->ops->put_end(p, out_id);
}

/* In two parts. What a failure leaves of it nobody names. No assert: Check itself needs memory. */
static enum err put_in_parts(struct blobs *b, const unsigned char *bytes, size_t size, int64_t *out_id)
{
    struct blob_put *p;
    int64_t id = 0, paused_at = 0, resumed_at = 0;
    enum err e = b->ops->put_begin(b, &p);
    if (e)
        return e;
    e = b->ops->put_write(p, bytes, size / 2);
    enum err paused = b->ops->put_pause(p, &id, &paused_at);
    e = e ? e : paused;
    if (!e)
        e = b->ops->put_resume(b, id, &p, &resumed_at);
    if (e)
        return e;
    if (resumed_at != (int64_t)(size / 2))
        e = ERR_CORRUPT;
    if (!e)
        e = b->ops->put_write(p, bytes + size / 2, size - size / 2);
    enum err ended = e ? b->ops->put_pause(p, &id, &paused_at) : b->ops->put_end(p, out_id);
    return e ? e : ended;
}

static bool is_named(void *ctx, int64_t id)
{
    return id != *(int64_t *)ctx;
}

#define NUM_BLOBS 5
static bool blobs_with_fault(const struct backend *backend, int n)
{
    static unsigned char bytes[2 * 1024 * 1024], got[sizeof bytes];
    static const size_t sizes[NUM_BLOBS] = {10, 40000, sizeof bytes, 0, 70000};
    make_bytes(1, 0, bytes, sizeof bytes);
    const char *dir = make_dir();
    struct blobs *b = NULL;
    struct fault fault = FAULT_NONE;
    int64_t ids[NUM_BLOBS] = {0}, total = 0, removed = 0;
    enum err ended[NUM_BLOBS], committed[NUM_BLOBS], collected = ERR_OK;
    arm(n);
    enum err opened = backend->open_blobs(dir, &b, &fault);
    for (int i = 0; i < NUM_BLOBS && b; i++) {
        ended[i] = i == 4 ? put_in_parts(b, bytes, sizes[i], &ids[i]) : put(b, bytes, sizes[i], &ids[i]);
        committed[i] = b->ops->commit(b);
    }
    if (b)
        collected = b->ops->collect(b, is_named, &ids[1], &removed);
    bool was_hit = disarm();
    ck_assert_msg(!opened || is_memory_error(opened), "%s: %s", err_name(opened), fault.detail);
    ck_assert(!collected || is_memory_error(collected));
    for (int i = 0; i < NUM_BLOBS && b; i++) {
        ck_assert(!ended[i] || is_memory_error(ended[i]));
        ck_assert(!committed[i] || is_memory_error(committed[i]));
        ids[i] = ended[i] ? 0 : ids[i];
        total += ended[i] ? 0 : (int64_t)sizes[i];
    }
    if (b) {
        ck_err(b->ops->collect(b, is_named, &ids[1], &removed), ERR_OK);
        total -= ids[1] ? (int64_t)sizes[1] : 0;
        for (int i = 0; i < NUM_BLOBS; i++) {
            if (!ids[i] || i == 1)
                continue;
            ck_err(b->ops->read(b, ids[i], 0, got, sizes[i]), ERR_OK);
            ck_assert_int_eq(memcmp(got, bytes, sizes[i]), 0);
        }
        ck_assert_int_eq(b->ops->total_bytes(b), total);
        b->ops->close(b);
    }
    remove_dir(dir);
    return was_hit;
}

START_TEST(blobs_survive_every_failing_allocation)
{
    int n = 0;
    while (blobs_with_fault(&backends[_i], n))
        n += FAULT_STRIDE;
    ck_assert_int_gt(n, NUM_BLOBS);
}
END_TEST

/* --- SQLite's own memory --- */

START_TEST(sqlite_without_memory_loses_nothing)
{
    const struct backend *b = &backends[_i];
    if (!b->is_durable)
        return;
    const char *dir = make_dir();
    struct store *s = open_store(b, dir);
    int acked = 0, num_refused = 0, i = 0;
    ck_err(store_write_wait(s, set_all, &i), ERR_OK);
    struct state state = {0};
    for (i = 1; i < 400; i++) {
        /* So little that some statement of the operation, or its commit, runs out. */
        sqlite3_int64 limit = sqlite3_memory_used() + i % 100 * 2048;
        (void)sqlite3_hard_heap_limit64(limit);
        enum err e = store_write_wait(s, set_all, &i);
        (void)sqlite3_hard_heap_limit64(0);
        ck_assert_msg(!e || e == ERR_NO_MEMORY, "%s", err_name(e));
        acked = e ? acked : i;
        num_refused += e == ERR_NO_MEMORY;
        ck_err(s->ops->read(s, read_all, &state), ERR_OK);
        ck_assert(state.is_whole && state.number == acked);
    }
    ck_assert_int_gt(num_refused, 10);
    ck_assert_int_gt(acked, 0);
    s->ops->close(s);
    remove_dir(dir);
}
END_TEST

START_TEST(sqlite_without_memory_keeps_blobs)
{
    const struct backend *backend = &backends[_i];
    if (!backend->is_durable)
        return;
    static unsigned char bytes[50000], got[sizeof bytes];
    make_bytes(3, 0, bytes, sizeof bytes);
    const char *dir = make_dir();
    struct blobs *b = open_blobs(backend, dir);
    int64_t ids[200] = {0};
    int num_refused = 0;
    for (int i = 0; i < 200; i++) {
        (void)sqlite3_hard_heap_limit64(sqlite3_memory_used() + i % 100 * 1024);
        enum err e = put(b, bytes, sizeof bytes, &ids[i]);
        enum err committed = b->ops->commit(b);
        (void)sqlite3_hard_heap_limit64(0);
        ck_err(e, ERR_OK); /* it only waits in memory that is ours */
        ck_assert(!committed || committed == ERR_NO_MEMORY);
        num_refused += committed == ERR_NO_MEMORY;
    }
    ck_assert_int_gt(num_refused, 10);
    ck_err(b->ops->commit(b), ERR_OK);
    b->ops->close(b);
    b = open_blobs(backend, dir);
    for (int i = 0; i < 200; i++) {
        ck_err(b->ops->read(b, ids[i], 0, got, sizeof got), ERR_OK);
        ck_assert_int_eq(memcmp(got, bytes, sizeof got), 0);
    }
    b->ops->close(b);
    remove_dir(dir);
}
END_TEST

int main(void)
{
    (void)sqlite3_initialize(); /* before db.c's settings, with which it would count no memory and have no
                                   limit */
    Suite *s = suite_create("store without memory");
    TCase *tc = unit_case("each backend");
    suite_add_tcase(s, tc);
    tcase_add_loop_test(tc, the_store_survives_every_failing_allocation, 0, num_backends);
    tcase_add_loop_test(tc, blobs_survive_every_failing_allocation, 0, num_backends);
    tcase_add_loop_test(tc, sqlite_without_memory_loses_nothing, 0, num_backends);
    tcase_add_loop_test(tc, sqlite_without_memory_keeps_blobs, 0, num_backends);
    return run_suite(s);
}
