/* What a blob's object becomes when an upload goes on, ends or is given up while a flush works on it. */
#include <string.h>
#include "server/store/sqlite/blobs.h"
#include "tests/store/support.h"
#include "tests/support/unit.h"

#define CHUNK ((size_t)32768)

static struct sqlite_blobs blobs;
static struct blob_object *object;

static void append(size_t n)
{
    unsigned char bytes[CHUNK];
    ck_assert_uint_le(n, sizeof bytes);
    make_bytes(5, (size_t)object->size, bytes, n);
    ck_err(object_write(&blobs, object, bytes, n), ERR_OK);
    ck_err(object_seal(&blobs, object, n), ERR_OK);
}

static void setup(void)
{
    blobs = (struct sqlite_blobs){0};
    struct blob_object values = {.id = 7, .wanted = OBJECT_OPEN};
    ck_err(object_add(&blobs, &values, &object), ERR_OK);
    append(CHUNK);
}

/* The bytes from `in_file` on lie in memory, in order. */
static void ck_in_memory(size_t in_file)
{
    static unsigned char got[4 * CHUNK], wanted[sizeof got];
    size_t size = (size_t)object->size;
    make_bytes(5, 0, wanted, size);
    memset(got, 0, sizeof got);
    ck_assert_uint_eq(object_read(object, 0, got, size), in_file);
    ck_assert_int_eq(memcmp(got + in_file, wanted + in_file, size - in_file), 0);
    ck_assert_int_eq(blobs.held_bytes, (int64_t)(size - in_file));
    for (size_t i = 0; i + 1000 < size; i += 997) {
        size_t expected = i >= in_file ? 0 : in_file - i < 1000 ? in_file - i : 1000;
        ck_assert_uint_eq(object_read(object, (int64_t)i, got, 1000), expected);
        ck_assert_int_eq(memcmp(got + expected, wanted + i + expected, 1000 - expected), 0);
    }
}

static void ck_gone(void)
{
    ck_assert_ptr_null(idmap_get(&blobs.objects, 7));
    ck_assert_ptr_null(blobs.open.first);
    ck_assert_ptr_null(blobs.waiting.first);
    ck_assert_ptr_null(blobs.garbage.first);
    ck_assert_int_eq(blobs.held_bytes, 0);
    ck_assert_int_eq(blobs.num_listed, 0);
    objects_release(&blobs);
}

START_TEST(a_failed_flush_keeps_what_came_before_and_during_it)
{
    setup();
    object_take(object);
    append(CHUNK);
    append(CHUNK);
    ck_in_memory(0);
    object_flushed(&blobs, object, OBJECT_OPEN, ERR_STORAGE_FULL);
    ck_in_memory(0);
    append(100);
    ck_in_memory(0);
    object_take(object);
    object_flushed(&blobs, object, OBJECT_OPEN, ERR_OK);
    ck_in_memory(3 * CHUNK + 100);
    object_want(&blobs, object, OBJECT_ENDED);
    object_take(object);
    object_flushed(&blobs, object, OBJECT_ENDED, ERR_OK);
    ck_gone();
}
END_TEST

START_TEST(a_flush_of_a_part_leaves_the_rest)
{
    setup();
    object_take(object);
    append(10);
    object_flushed(&blobs, object, OBJECT_OPEN, ERR_OK);
    ck_assert(object->is_in_file);
    ck_in_memory(CHUNK);
    object_want(&blobs, object, OBJECT_ENDED);
    ck_in_memory(CHUNK);
    object_take(object);
    object_flushed(&blobs, object, OBJECT_ENDED, ERR_UNAVAILABLE);
    ck_in_memory(CHUNK);
    object_take(object);
    object_flushed(&blobs, object, OBJECT_ENDED, ERR_OK);
    ck_gone();
}
END_TEST

START_TEST(an_upload_that_ends_during_a_flush_waits_for_the_next)
{
    setup();
    object_take(object);
    append(10);
    object_want(&blobs, object, OBJECT_ENDED);
    object_flushed(&blobs, object, OBJECT_OPEN, ERR_OK);
    ck_assert_ptr_eq(blobs.waiting.first, object);
    ck_in_memory(CHUNK);
    object_take(object);
    object_flushed(&blobs, object, OBJECT_ENDED, ERR_OK);
    ck_gone();
}
END_TEST

START_TEST(an_upload_given_up_before_any_flush_is_gone_at_once)
{
    setup();
    object_want(&blobs, object, OBJECT_DROPPED);
    ck_gone();
}
END_TEST

START_TEST(an_upload_given_up_during_a_flush_is_dropped_after_it)
{
    for (int has_failed = 0; has_failed < 2; has_failed++) {
        setup();
        object_take(object);
        append(10);
        object_want(&blobs, object, OBJECT_DROPPED);
        object_flushed(&blobs, object, OBJECT_OPEN, has_failed ? ERR_STORAGE_FULL : ERR_OK);
        if (!has_failed) {
            /* Its rows reached the file: the next flush takes them out. */
            ck_assert_ptr_eq(blobs.garbage.first, object);
            ck_assert_int_eq(blobs.held_bytes, 0);
            object_take(object);
            object_flushed(&blobs, object, OBJECT_DROPPED, ERR_STORAGE_FULL);
            ck_assert_ptr_eq(blobs.garbage.first, object);
            object_take(object);
            object_flushed(&blobs, object, OBJECT_DROPPED, ERR_OK);
        }
        ck_gone();
    }
}
END_TEST

START_TEST(a_blob_removed_while_it_is_written_is_dropped_after_it)
{
    setup();
    object_want(&blobs, object, OBJECT_ENDED);
    object_take(object);
    object_want(&blobs, object, OBJECT_DROPPED);
    object_flushed(&blobs, object, OBJECT_ENDED, ERR_OK);
    ck_assert_ptr_eq(blobs.garbage.first, object);
    ck_assert_int_eq((int)object->wanted, OBJECT_DROPPED);
    object_take(object);
    object_flushed(&blobs, object, OBJECT_DROPPED, ERR_OK);
    ck_gone();
}
END_TEST

/* --- all uploads together --- */

#define NUM_UPLOADS ((size_t)300)
#define MODEL_BYTES ((size_t)150001)

static int64_t held_bytes(struct sqlite_blobs *b)
{
    (void)pthread_mutex_lock(&b->state);
    int64_t held = b->held_bytes;
    (void)pthread_mutex_unlock(&b->state);
    return held;
}

/* As a request does it that may wait. */
static void bring(struct blobs *b, struct blob_put *put, const unsigned char *bytes, size_t n)
{
    if (!b->ops->put_has_room(put, n))
        ck_err(b->ops->make_room(b), ERR_OK);
    ck_err(b->ops->put_write(put, bytes, n), ERR_OK);
    ck_assert_int_lt(held_bytes((struct sqlite_blobs *)b), HELD_BYTES + (int64_t)FULL_CHUNK);
}

/* Each of so many uploads has begun a large chunk that would not fit for all: what is begun is written, too,
 * and all get on. */
START_TEST(many_uploads_hold_no_more_than_their_common_share)
{
    static struct blob_put *puts[NUM_UPLOADS];
    static unsigned char bytes[MODEL_BYTES], got[MODEL_BYTES];
    const char *dir = make_dir();
    struct blobs *b = open_blobs(sqlite_backend(), dir);
    make_bytes(5, 0, bytes, sizeof bytes);
    ck_assert_int_gt((int64_t)(NUM_UPLOADS * FULL_CHUNK), 2 * HELD_BYTES);
    for (size_t i = 0; i < NUM_UPLOADS; i++)
        ck_err(b->ops->put_begin(b, &puts[i]), ERR_OK);
    for (size_t at = 0, n; at < sizeof bytes; at += n) {
        n = sizeof bytes - at < 40000 ? sizeof bytes - at : 40000;
        for (size_t i = 0; i < NUM_UPLOADS; i++)
            bring(b, puts[i], bytes + at, n);
    }
    for (size_t i = 0; i < NUM_UPLOADS; i++) {
        int64_t id;
        ck_err(b->ops->put_end(puts[i], &id), ERR_OK);
        ck_err(b->ops->read(b, id, 0, got, sizeof got), ERR_OK);
        ck_assert_int_eq(memcmp(got, bytes, sizeof bytes), 0);
    }
    ck_err(b->ops->commit(b), ERR_OK);
    ck_assert_int_eq(held_bytes((struct sqlite_blobs *)b), 0);
    b->ops->close(b);
    remove_dir(dir);
}
END_TEST

/* Large ones have taken all memory, and nobody writes it out: one of few bytes has its own. */
START_TEST(a_small_upload_never_waits_for_large_ones)
{
    static unsigned char bytes[CHUNK];
    const char *dir = make_dir();
    struct blobs *b = open_blobs(sqlite_backend(), dir);
    struct sqlite_blobs *state = (struct sqlite_blobs *)b;
    struct blob_put *large, *small;
    ck_err(b->ops->put_begin(b, &large), ERR_OK);
    ck_err(b->ops->put_begin(b, &small), ERR_OK);
    (void)pthread_mutex_lock(&state->io); /* so that nothing is written */
    while (!b->ops->is_full(b) || b->ops->put_has_room(large, sizeof bytes))
        ck_err(b->ops->put_write(large, bytes, sizeof bytes), ERR_OK);
    ck_assert(b->ops->put_has_room(small, sizeof bytes));
    ck_err(b->ops->put_write(small, bytes, sizeof bytes), ERR_OK);
    ck_assert(!b->ops->put_has_room(small, 1));
    (void)pthread_mutex_unlock(&state->io);
    ck_err(b->ops->make_room(b), ERR_OK);
    ck_assert(!b->ops->is_full(b));
    b->ops->put_abort(large);
    b->ops->put_abort(small);
    b->ops->close(b);
    remove_dir(dir);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("blob state");
    TCase *tc = unit_case("objects");
    suite_add_tcase(s, tc);
    tcase_add_test(tc, a_failed_flush_keeps_what_came_before_and_during_it);
    tcase_add_test(tc, a_flush_of_a_part_leaves_the_rest);
    tcase_add_test(tc, an_upload_that_ends_during_a_flush_waits_for_the_next);
    tcase_add_test(tc, an_upload_given_up_before_any_flush_is_gone_at_once);
    tcase_add_test(tc, an_upload_given_up_during_a_flush_is_dropped_after_it);
    tcase_add_test(tc, a_blob_removed_while_it_is_written_is_dropped_after_it);
    tc = unit_case("uploads");
    suite_add_tcase(s, tc);
    tcase_add_test(tc, many_uploads_hold_no_more_than_their_common_share);
    tcase_add_test(tc, a_small_upload_never_waits_for_large_ones);
    return run_suite(s);
}
