/* What must survive a power cut is synced before it gets its name, and the name after. */
#include "common/base/atomic_file.h"
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/base/file.h"
#include "common/crypto/token.h"
#include "tests/support/unit.h"

static char dir[64], path[96];
static char order[64]; /* f: a file is synced, d: a folder, r: renamed */
static ino_t synced_folder;
static char failing; /* the one of these that fails */

static int note(char what)
{
    size_t n = strlen(order);
    ck_assert_uint_lt(n + 1, sizeof order);
    order[n] = what;
    order[n + 1] = '\0';
    errno = EIO;
    return failing == what ? -1 : 0;
}

int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    struct stat st;
    ck_assert_int_eq(fstat(fd, &st), 0);
    if (S_ISDIR(st.st_mode))
        synced_folder = st.st_ino;
    return note(S_ISDIR(st.st_mode) ? 'd' : 'f');
}

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to)
{
    return note('r') ? -1 : __real_rename(from, to);
}

static bool knows_noreplace;        /* the file system */
static const char *comes_meanwhile; /* what somebody else gives the name, just before we do */

int __real_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
int __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
int __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    if (note('r'))
        return -1;
    if (comes_meanwhile) {
        FILE *f = fopen(to, "w");
        ck_assert(f && fputs(comes_meanwhile, f) >= 0 && fclose(f) == 0);
    }
    if (!knows_noreplace) {
        errno = EINVAL;
        return -1;
    }
    return __real_renameat2(from_dir, from, to_dir, to, flags);
}

static void setup(void)
{
    knows_noreplace = true;
    comes_meanwhile = NULL;
    (void)snprintf(dir, sizeof dir, "/tmp/fedlane-atomic-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/file", dir);
    order[0] = '\0';
    failing = 0;
}

static void teardown(void)
{
    (void)unlink(path);
    ck_assert_int_eq(rmdir(dir), 0); /* nothing else was left in it */
}

static void check_content(const char *wanted)
{
    struct buf text = BUF_INIT(100);
    ck_assert_int_eq(file_read(path, &text, NULL), ERR_OK);
    ck_assert_str_eq(text.data, wanted);
    buf_release(&text);
}

static enum err put(const char *text, bool must_survive_power_loss)
{
    struct fault fault = FAULT_NONE;
    const struct file_part parts[] = {{text, strlen(text)}, {"\n", 1}};
    enum err e = atomic_file_write(path, parts, 2, must_survive_power_loss, &fault);
    ck_assert(!e || strstr(fault.detail, path));
    return e;
}

START_TEST(test_order)
{
    ck_assert_int_eq(put("one", true), ERR_OK);
    ck_assert_str_eq(order, "frd");
    check_content("one\n");
    order[0] = '\0';
    ck_assert_int_eq(put("two", false), ERR_OK);
    ck_assert_str_eq(order, "r");
    check_content("two\n");
}
END_TEST

START_TEST(test_what_was_there_stays)
{
    ck_assert_int_eq(put("one", true), ERR_OK);
    for (const char *what = "fr"; *what; what++) {
        failing = *what;
        ck_assert_int_eq(put("two", true), ERR_IO);
        check_content("one\n");
    }
    failing = 'd'; /* there, but perhaps not after a power cut: that is an error, too */
    ck_assert_int_eq(put("two", true), ERR_IO);
    check_content("two\n");
}
END_TEST

/* A stranger who guesses the name beside it must neither read what is written nor choose where it goes. */
START_TEST(test_what_lies_in_the_way_is_not_written_to)
{
    struct stat st;
    char beside[104], elsewhere[104];
    (void)snprintf(beside, sizeof beside, "%s.tmp", path);
    (void)snprintf(elsewhere, sizeof elsewhere, "%s.other", path);
    ck_assert_int_eq(symlink(elsewhere, beside), 0);
    ck_assert_int_eq(put("one", true), ERR_OK);
    ck_assert_int_ne(access(elsewhere, F_OK), 0);
    ck_assert_int_eq(lstat(path, &st), 0);
    ck_assert(S_ISREG(st.st_mode));
    ck_assert_int_eq(mknod(beside, S_IFREG | 0666, 0), 0);
    ck_assert_int_eq(chmod(beside, 0666), 0);
    ck_assert_int_eq(put("two", true), ERR_OK);
    ck_assert_int_eq(lstat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0600);
    check_content("two\n");
}
END_TEST

START_TEST(test_name_sync)
{
    struct stat parent;
    struct fault fault = FAULT_NONE;
    char with_slash[96];
    ck_assert_int_eq(stat("/tmp", &parent), 0);
    ck_assert_int_eq(name_sync(dir, &fault), ERR_OK);
    ck_assert_uint_eq(synced_folder, parent.st_ino);
    synced_folder = 0;
    (void)snprintf(with_slash, sizeof with_slash, "%s//", dir);
    ck_assert_int_eq(name_sync(with_slash, &fault), ERR_OK);
    ck_assert_uint_eq(synced_folder, parent.st_ino);
    ck_assert_int_eq(stat(".", &parent), 0);
    ck_assert_int_eq(name_sync("relative", &fault), ERR_OK);
    ck_assert_uint_eq(synced_folder, parent.st_ino);
    ck_assert_int_eq(name_sync("/nonexistent/folder/file", &fault), ERR_IO);
}
END_TEST

/* A process that dies while it writes a token leaves no half one, which the next could not use. */
START_TEST(test_a_token_is_whole_or_not_there)
{
    struct fault fault = FAULT_NONE;
    failing = 'f';
    ck_assert_int_eq(token_file_write(path, "fl_abc", &fault), ERR_IO);
    ck_assert_int_ne(access(path, F_OK), 0);
    failing = 0;
    order[0] = '\0';
    ck_assert_int_eq(token_file_write(path, "fl_abc", &fault), ERR_OK);
    ck_assert_str_eq(order, "frd");
    check_content("fl_abc\n");
}
END_TEST

/* Whoever comes between the look and the write keeps his file, also where the file system knows no such
 * rename. */
START_TEST(test_a_token_takes_nobodys_place)
{
    struct fault fault = FAULT_NONE;
    knows_noreplace = _i;
    comes_meanwhile = "another's\n";
    ck_assert_int_eq(token_file_write(path, "fl_abc", &fault), ERR_CONFLICT);
    ck_assert_ptr_nonnull(strstr(fault.detail, "already exists"));
    check_content("another's\n");
    comes_meanwhile = NULL;
    ck_assert_int_eq(token_file_write(path, "fl_abc", &fault), ERR_CONFLICT);
    check_content("another's\n");
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(token_file_write(path, "fl_abc", &fault), ERR_OK);
    check_content("fl_abc\n");
}
END_TEST

START_TEST(test_rename_new_of_folders)
{
    char from[104];
    knows_noreplace = _i;
    (void)snprintf(from, sizeof from, "%s.new", path);
    ck_assert_int_eq(mkdir(from, 0700), 0);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(rename_new(from, path), -1);
    ck_assert_int_eq(rmdir(path), 0);
    ck_assert_int_eq(rename_new(from, path), 0);
    ck_assert_int_ne(access(from, F_OK), 0);
    ck_assert_int_eq(rmdir(path), 0);
}
END_TEST

int main(void)
{
    TCase *tc = unit_case("atomic file");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test_order);
    tcase_add_test(tc, test_what_was_there_stays);
    tcase_add_test(tc, test_what_lies_in_the_way_is_not_written_to);
    tcase_add_test(tc, test_name_sync);
    tcase_add_test(tc, test_a_token_is_whole_or_not_there);
    tcase_add_loop_test(tc, test_a_token_takes_nobodys_place, 0, 2);
    tcase_add_loop_test(tc, test_rename_new_of_folders, 0, 2);
    return unit_run_case("atomic file", tc);
}
