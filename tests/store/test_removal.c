/* Blobs leave the file in pieces, so that no commit takes long; what a crash leaves of one is found again. */
#include "server/store/sqlite/blobs.h"
#include "tests/store/support.h"
#include "tests/support/unit.h"

static const char *dir;
static struct blobs *blobs;

static void setup(void)
{
    dir = make_dir();
    blobs = open_blobs(sqlite_backend(), dir);
}

static void teardown(void)
{
    blobs->ops->close(blobs);
    remove_dir(dir);
}

static int64_t put_blob(size_t size)
{
    static unsigned char bytes[LIMIT_BLOB_CHUNK];
    struct blob_put *put;
    int64_t id = 0;
    ck_err(blobs->ops->put_begin(blobs, &put), ERR_OK);
    for (size_t at = 0; at < size; at += sizeof bytes) {
        size_t n = size - at < sizeof bytes ? size - at : sizeof bytes;
        make_bytes(size, at, bytes, n);
        ck_err(blobs->ops->put_write(put, bytes, n), ERR_OK);
    }
    ck_err(blobs->ops->put_end(put, &id), ERR_OK);
    return id;
}

static int64_t in_file(const char *sql)
{
    struct sqlite_blobs *b = (struct sqlite_blobs *)blobs;
    int64_t n = -1;
    (void)pthread_mutex_lock(&b->io); /* the flusher has the same connection */
    ck_err(db_int(b->db, sql, &n), ERR_OK);
    (void)pthread_mutex_unlock(&b->io);
    return n;
}

/* Until the flusher has done what uploads asked of it: it takes a piece of what is removed along. */
static void wait_for_flusher(void)
{
    struct sqlite_blobs *b = (struct sqlite_blobs *)blobs;
    (void)pthread_mutex_lock(&b->state);
    while (b->is_flush_asked || b->is_room_asked || b->is_flush_running)
        (void)pthread_cond_wait(&b->flusher_changed, &b->state);
    (void)pthread_mutex_unlock(&b->state);
}

static int64_t bytes_in_file(void)
{
    return in_file("SELECT coalesce(sum(length(data)), 0) FROM chunk");
}

/* Commits until all is given back; none gives back more than it may. The number of commits. */
static int drain(void)
{
    int commits = 0;
    while (blobs->ops->has_garbage(blobs)) {
        int64_t bytes = bytes_in_file(), objects = in_file("SELECT count(*) FROM object");
        ck_err(blobs->ops->commit(blobs), ERR_OK);
        ck_assert_int_le(bytes - bytes_in_file(), DROP_BYTES);
        ck_assert_int_le(objects - in_file("SELECT count(*) FROM object"), (int64_t)DROP_BLOBS);
        ck_assert_int_lt(++commits, 1000);
    }
    return commits;
}

START_TEST(a_large_blob_goes_in_pieces)
{
    setup();
    int64_t large = put_blob(100 * MIB + 12345), small = put_blob(5000), size;
    ck_err(blobs->ops->commit(blobs), ERR_OK);
    wait_for_flusher();
    ck_err(blobs->ops->remove(blobs, large), ERR_OK);
    ck_err(blobs->ops->remove(blobs, large), ERR_NOT_FOUND);
    ck_assert_int_eq(blobs->ops->total_bytes(blobs), 5000);
    ck_assert_int_ge(drain(), 13);
    ck_assert_int_eq(bytes_in_file(), 5000);
    ck_err(blobs->ops->size(blobs, small, &size), ERR_OK);
    teardown();
}
END_TEST

START_TEST(many_small_blobs_go_in_pieces)
{
    setup();
    int64_t first = 0, last = 0;
    for (int i = 0; i < 600; i++) {
        last = put_blob(31000);
        first = first ? first : last;
    }
    ck_err(blobs->ops->commit(blobs), ERR_OK);
    wait_for_flusher();
    for (int64_t id = first; id <= last; id++)
        ck_err(blobs->ops->remove(blobs, id), ERR_OK);
    ck_assert_int_ge(drain(), 5);
    ck_assert_int_eq(bytes_in_file(), 0);
    ck_assert_int_eq(in_file("SELECT count(*) FROM object"), 0);
    teardown();
}
END_TEST

START_TEST(uploads_go_on_between_the_pieces)
{
    setup();
    int64_t large = put_blob(40 * MIB), size;
    ck_err(blobs->ops->commit(blobs), ERR_OK);
    wait_for_flusher();
    ck_err(blobs->ops->remove(blobs, large), ERR_OK);
    int commits = 0;
    while (blobs->ops->has_garbage(blobs)) {
        unsigned char got[31000], wanted[31000];
        int64_t id = put_blob(sizeof got);
        ck_err(blobs->ops->commit(blobs), ERR_OK);
        ck_err(blobs->ops->read(blobs, id, 0, got, sizeof got), ERR_OK);
        make_bytes(sizeof wanted, 0, wanted, sizeof wanted);
        ck_assert_int_eq(memcmp(got, wanted, sizeof got), 0);
        ck_err(blobs->ops->size(blobs, large, &size), ERR_NOT_FOUND);
        commits++;
    }
    ck_assert_int_ge(commits, 5);
    ck_assert_int_eq(bytes_in_file(), commits * 31000);
    teardown();
}
END_TEST

static bool is_named(void *ctx, int64_t id)
{
    return id == *(int64_t *)ctx;
}

/* Ends with a piece, as a crash after it would. */
START_TEST(a_removal_cut_short_is_found_again)
{
    setup();
    int64_t large = put_blob(60 * MIB), kept = put_blob(7000), size, removed = 0;
    ck_err(blobs->ops->commit(blobs), ERR_OK);
    wait_for_flusher();
    ck_err(blobs->ops->remove(blobs, large), ERR_OK);
    ck_err(blobs->ops->commit(blobs), ERR_OK);
    blobs->ops->close(blobs);
    blobs = open_blobs(sqlite_backend(), dir);
    ck_assert_int_gt(bytes_in_file(), 7000);
    ck_err(blobs->ops->size(blobs, large, &size), ERR_NOT_FOUND);
    ck_assert_int_eq(blobs->ops->total_bytes(blobs), 7000);
    ck_assert(!blobs->ops->has_garbage(blobs));
    ck_err(blobs->ops->collect(blobs, is_named, &kept, &removed), ERR_OK);
    ck_assert_int_eq(removed, 1);
    ck_assert_int_ge(drain(), 5);
    ck_assert_int_eq(bytes_in_file(), 7000);
    ck_err(blobs->ops->size(blobs, kept, &size), ERR_OK);
    teardown();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("removal of blobs");
    TCase *tc = unit_case("pieces");
    suite_add_tcase(s, tc);
    tcase_add_test(tc, a_large_blob_goes_in_pieces);
    tcase_add_test(tc, many_small_blobs_go_in_pieces);
    tcase_add_test(tc, uploads_go_on_between_the_pieces);
    tcase_add_test(tc, a_removal_cut_short_is_found_again);
    return run_suite(s);
}
