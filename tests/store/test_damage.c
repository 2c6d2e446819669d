/* Files whose content was damaged: the reader is told, and not with an error that asks to try again. */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/base/limits.h"
#include "tests/store/support.h"
#include "tests/support/unit.h"

/* A blob of several chunks, closed. */
static int64_t put_large(const char *dir, size_t size)
{
    struct fault fault = FAULT_NONE;
    struct blobs *blobs;
    struct blob_put *put;
    int64_t id;
    char *bytes = malloc(size);
    ck_assert_ptr_nonnull(bytes);
    memset(bytes, 'x', size);
    ck_err(blobs_sqlite_open(path_in(dir, "weights"), &blobs, &fault), ERR_OK);
    ck_err(blobs->ops->put_begin(blobs, &put), ERR_OK);
    ck_err(blobs->ops->put_write(put, bytes, size), ERR_OK);
    ck_err(blobs->ops->put_end(put, &id), ERR_OK);
    ck_err(blobs->ops->commit(blobs), ERR_OK);
    blobs->ops->close(blobs);
    free(bytes);
    return id;
}

static enum err read_large(const char *dir, int64_t id, int64_t offset, size_t n)
{
    struct fault fault = FAULT_NONE;
    struct blobs *blobs;
    char *bytes = malloc(n);
    ck_assert_ptr_nonnull(bytes);
    ck_err(blobs_sqlite_open(path_in(dir, "weights"), &blobs, &fault), ERR_OK);
    enum err e = blobs->ops->read(blobs, id, offset, bytes, n);
    blobs->ops->close(blobs);
    free(bytes);
    return e;
}

#define LARGE ((size_t)4 * LIMIT_BLOB_CHUNK)

/* Which cannot be made good by trying again, as a failing disk may be. */
START_TEST(weights_that_lack_a_part_are_corrupt)
{
    static const char *const damages[] = {
        "DELETE FROM chunk WHERE id = (SELECT min(id) FROM chunk)",
        "DELETE FROM chunk WHERE id = (SELECT id FROM chunk ORDER BY id LIMIT 1 OFFSET 2)",
        "DELETE FROM chunk WHERE id = (SELECT max(id) FROM chunk)",
        "UPDATE chunk SET data = substr(data, 1, 100) WHERE id = (SELECT max(id) FROM chunk)"};
    const char *dir = make_dir();
    int64_t id = put_large(dir, LARGE);
    ck_err(read_large(dir, id, 0, LARGE), ERR_OK);
    sqlite3 *db;
    ck_assert_int_eq(sqlite3_open(path_in(dir, "weights"), &db), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(db, damages[_i], NULL, NULL, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
    ck_assert_int_eq(sqlite3_changes(db), 1);
    (void)sqlite3_close(db);
    ck_err(read_large(dir, id, 0, LARGE), ERR_CORRUPT);
    remove_dir(dir);
}
END_TEST

START_TEST(a_file_with_wrong_pages_is_corrupt)
{
    const char *dir = make_dir(), *path = path_in(dir, "weights");
    int64_t id = put_large(dir, LARGE);
    static const char noise[32768] = {0x55, 0x55, 0x55};
    struct stat st;
    ck_assert_int_eq(stat(path, &st), 0);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    /* All but the first few pages, which hold the schema and the roots. */
    for (off_t at = 8 * (off_t)sizeof noise; at < st.st_size; at += (off_t)sizeof noise)
        ck_assert_int_eq(pwrite(fd, noise, sizeof noise, at), (ssize_t)sizeof noise);
    ck_assert_int_eq(close(fd), 0);
    ck_err(read_large(dir, id, 0, LARGE), ERR_CORRUPT);
    remove_dir(dir);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("store damage");
    TCase *tc = unit_case("sqlite");
    suite_add_tcase(s, tc);
    tcase_add_loop_test(tc, weights_that_lack_a_part_are_corrupt, 0, 4);
    tcase_add_test(tc, a_file_with_wrong_pages_is_corrupt);
    return run_suite(s);
}
