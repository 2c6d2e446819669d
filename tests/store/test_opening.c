/* Which files are opened, by whom, and where they may lie. */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "server/store/sqlite/location.h"
#include "tests/store/support.h"
#include "tests/support/unit.h"

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(fputs(text, f), 0);
    ck_assert_int_eq(fclose(f), 0);
}

static void make_foreign(const char *path)
{
    sqlite3 *db = NULL;
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, "CREATE TABLE t (x)", NULL, NULL, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}

typedef enum err (*try_open)(const char *path, struct fault *fault);

static const try_open openers[] = {try_store, try_blobs};

static void ck_not_opened(int opener, const char *path, enum err wanted, const char *words)
{
    struct fault fault = FAULT_NONE;
    ck_err(openers[opener](path, &fault), wanted);
    ck_assert_msg(strstr(fault.detail, path) && strstr(fault.detail, words), "\"%s\" lacks \"%s\"",
                  fault.detail, words);
}

START_TEST(other_files_are_refused_and_left_alone)
{
    const char *dir = make_dir(), *text = path_in(dir, "text"), *foreign = path_in(dir, "foreign"),
               *swapped = path_in(dir, "swapped");
    static const char words[] =
        "This is no database at all, though it is longer than the header of one would be.....";
    write_file(text, words);
    ck_not_opened(_i, text, ERR_BAD_FILE, "is not an SQLite database");
    struct stat st;
    ck_assert_int_eq(stat(text, &st), 0);
    ck_assert_int_eq(st.st_size, (off_t)strlen(words));
    make_foreign(foreign);
    ck_not_opened(_i, foreign, ERR_BAD_FILE, "of another kind");
    struct fault fault = FAULT_NONE;
    ck_err(openers[!_i](swapped, &fault), ERR_OK);
    ck_not_opened(_i, swapped, ERR_BAD_FILE, "of another kind");
    ck_err(openers[!_i](swapped, &fault), ERR_OK);
    remove_dir(dir);
}
END_TEST

/* --- where the file lies --- */

START_TEST(a_folder_that_cannot_be_written_is_named)
{
    const char *dir = make_dir(), *missing = path_in(dir, "nowhere/db"), *closed = path_in(dir, "closed/db");
    ck_not_opened(_i, missing, ERR_IO, "No such file or directory");
    ck_assert_int_eq(mkdir(path_in(dir, "closed"), 0500), 0);
    /* Root may write everywhere, so the test becomes somebody else. */
    if (geteuid() == 0) {
        ck_assert_int_eq(chmod(dir, 0755), 0);
        ck_assert_int_eq(seteuid(65534), 0);
    }
    ck_not_opened(_i, closed, ERR_IO, "Permission denied");
    if (getuid() == 0)
        ck_assert_int_eq(seteuid(0), 0);
    remove_dir(dir);
}
END_TEST

static int open_in_child(try_open opener, const char *path)
{
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        struct fault fault = FAULT_NONE;
        _exit((int)opener(path, &fault));
    }
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

START_TEST(a_second_user_of_the_file_is_refused)
{
    const char *dir = make_dir(), *meta = path_in(dir, "meta"), *weights = path_in(dir, "weights");
    struct store *s = NULL;
    struct blobs *b = NULL;
    struct fault fault = FAULT_NONE;
    ck_err(store_sqlite_open(meta, &s, &fault), ERR_OK);
    ck_err(blobs_sqlite_open(weights, &b, &fault), ERR_OK);
    char number[32];
    (void)snprintf(number, sizeof number, "number %ld:", (long)getpid());
    ck_not_opened(0, meta, ERR_CONFLICT, number);
    ck_not_opened(1, weights, ERR_CONFLICT, number);
    ck_assert_int_eq(open_in_child(try_store, meta), ERR_CONFLICT);
    ck_assert_int_eq(open_in_child(try_blobs, weights), ERR_CONFLICT);
    s->ops->close(s);
    b->ops->close(b);
    ck_assert_int_eq(open_in_child(try_store, meta), ERR_OK);
    ck_assert_int_eq(open_in_child(try_blobs, weights), ERR_OK);
    remove_dir(dir);
}
END_TEST

START_TEST(nobody_else_can_read_the_file)
{
    const char *dir = make_dir(), *meta = path_in(dir, "meta");
    struct store *s = NULL;
    struct fault fault = FAULT_NONE;
    (void)umask(0);
    ck_err(store_sqlite_open(meta, &s, &fault), ERR_OK);
    static const char *const names[] = {"meta", "meta-wal", "meta-shm", "meta.lock"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct stat st;
        ck_assert_int_eq(stat(path_in(dir, names[i]), &st), 0);
        ck_assert_uint_eq(st.st_mode & 077, 0);
    }
    s->ops->close(s);
    remove_dir(dir);
}
END_TEST

START_TEST(close_leaves_one_file_and_its_lock)
{
    const char *dir = make_dir();
    struct fault fault = FAULT_NONE;
    ck_err(try_store(path_in(dir, "meta"), &fault), ERR_OK);
    ck_assert_int_eq(access(path_in(dir, "meta"), F_OK), 0);
    ck_assert_int_ne(access(path_in(dir, "meta-wal"), F_OK), 0);
    ck_assert_int_ne(access(path_in(dir, "meta-shm"), F_OK), 0);
    remove_dir(dir);
}
END_TEST

START_TEST(network_file_systems_are_told_from_local_ones)
{
    ck_assert(filesystem_is_remote(0x6969UL, "nfs4"));
    ck_assert(filesystem_is_remote(0xff534d42UL, "cifs"));
    ck_assert(filesystem_is_remote(0xfe534d42UL, "smb3"));
    ck_assert(filesystem_is_remote(0x65735546UL, "fuse.sshfs"));
    ck_assert(filesystem_is_remote(0x65735546UL, "fuse.s3fs"));
    ck_assert(filesystem_is_remote(0x65735546UL, "fuse.glusterfs"));
    ck_assert(!filesystem_is_remote(0x65735546UL, "fuseblk"));
    ck_assert(!filesystem_is_remote(0x65735546UL, "fuse.fuse-overlayfs"));
    ck_assert(!filesystem_is_remote(0xef53UL, "ext4"));
    ck_assert(!filesystem_is_remote(0x58465342UL, "xfs"));
    ck_assert(!filesystem_is_remote(0x01021994UL, "tmpfs"));
    ck_assert(!filesystem_is_remote(0x794c7630UL, "overlay"));
    ck_assert(!filesystem_is_remote(0x9123683eUL, "btrfs"));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("store opening");
    TCase *tc = unit_case("sqlite");
    suite_add_tcase(s, tc);
    tcase_add_loop_test(tc, other_files_are_refused_and_left_alone, 0, 2);
    tcase_add_loop_test(tc, a_folder_that_cannot_be_written_is_named, 0, 2);
    tcase_add_test(tc, a_second_user_of_the_file_is_refused);
    tcase_add_test(tc, nobody_else_can_read_the_file);
    tcase_add_test(tc, close_leaves_one_file_and_its_lock);
    tcase_add_test(tc, network_file_systems_are_told_from_local_ones);
    return run_suite(s);
}
