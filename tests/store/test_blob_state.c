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
    struct buf buf = BUF_INIT(CHUNK);
    ck_assert_uint_le(n, sizeof bytes);
    make_bytes(5, (size_t)object->size, bytes, n);
    ck_err(buf_append(&buf, bytes, n), ERR_OK);
    ck_err(object_append(&blobs, object, &buf), ERR_OK);
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
    ck_assert_int_eq(blobs.pending_bytes, (int64_t)(size - in_file));
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
    ck_assert_int_eq(blobs.pending_bytes, 0);
    ck_assert_int_eq(blobs.num_open, 0);
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
            ck_assert_int_eq(blobs.pending_bytes, 0);
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
    return run_suite(s);
}
