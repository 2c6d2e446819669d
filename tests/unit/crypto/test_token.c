#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/base/str.h"
#include "common/crypto/token.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/unit.h"

static char dir[] = "/tmp/fedlane-test-token-XXXXXX";
static char path[64];

static void setup(void)
{
    ck_assert_ptr_nonnull(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/token", dir);
}

static void teardown(void)
{
    (void)unlink(path);
    (void)rmdir(dir);
}

START_TEST(test_new)
{
    char token[TOKEN_SIZE], other[TOKEN_SIZE], hash[SHA256_HEX_SIZE], again[SHA256_HEX_SIZE];
    ck_assert_int_eq(token_new(token, hash), ERR_OK);
    ck_assert_uint_eq(strlen(token), TOKEN_SIZE - 1);
    ck_assert(str_has_prefix(token, "fl_"));
    ck_assert_uint_eq(strspn(token + 3, "0123456789abcdef"), 64);
    ck_assert_int_eq(token_hash(token, again), ERR_OK);
    ck_assert_str_eq(hash, again);
    ck_assert_int_eq(token_new(other, again), ERR_OK);
    ck_assert_str_ne(token, other);
    ck_assert_str_ne(hash, again);
}
END_TEST

START_TEST(test_file)
{
    char token[TOKEN_SIZE];
    struct fault fault = FAULT_NONE;
    struct stat info;
    ck_assert_msg(token_file_write(path, "fl_abc", &fault) == ERR_OK, "%s", fault.detail);
    ck_assert_int_eq(stat(path, &info), 0);
    ck_assert_uint_eq(info.st_mode & 0777, 0600);
    ck_assert_int_eq(token_file_read(path, token, sizeof token, &fault), ERR_OK);
    ck_assert_str_eq(token, "fl_abc");
    ck_assert_int_eq(token_file_write(path, "fl_other", &fault), ERR_CONFLICT);
    ck_assert_ptr_nonnull(strstr(fault.detail, path));
    ck_assert_ptr_null(strstr(fault.detail, "fl_other"));
    ck_assert_int_eq(token_file_read(path, token, sizeof token, &fault), ERR_OK);
    ck_assert_str_eq(token, "fl_abc");
    ck_assert_int_eq(token_file_write("/nonexistent/token", "x", &fault), ERR_IO);
    ck_assert_ptr_nonnull(strstr(fault.detail, "/nonexistent/token.tmp: cannot create: No such file"));
}
END_TEST

START_TEST(test_full_disk)
{
    /* The link is what exists: nothing is ever written through a link. */
    struct fault fault = FAULT_NONE;
    ck_assert_int_eq(symlink("/dev/full", path), 0);
    ck_assert_int_eq(token_file_write(path, "x", &fault), ERR_CONFLICT);
}
END_TEST

static const struct {
    const char *content;
    enum err err;
    const char *token, *detail;
} files[] = {
    {"abc", ERR_OK, "abc", ""},
    {" \tabc \t\r\nsecond line\n", ERR_OK, "abc", ""},
    {"123456789", ERR_OK, "123456789", ""},
    {"1234567890", ERR_BAD_FILE, "", "10 bytes; a token has at most 9"},
    {"", ERR_BAD_FILE, "", "first line is empty"},
    {"  \nabc", ERR_BAD_FILE, "", "first line is empty"},
    {"a b", ERR_BAD_FILE, "", "blanks"},
    {"a\tb", ERR_BAD_FILE, "", "blanks"},
    {"\xc3\xa4", ERR_BAD_FILE, "", "other bytes"},
};

START_TEST(test_file_contents)
{
    char token[10] = "";
    struct fault fault = FAULT_NONE;
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(files[_i].content, file), 0);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(token_file_read(path, token, sizeof token, &fault), files[_i].err);
    ck_assert_str_eq(token, files[_i].token);
    ck_assert_msg(strstr(fault.detail, files[_i].detail) != NULL, "%s", fault.detail);
    if (files[_i].err)
        ck_assert_ptr_nonnull(strstr(fault.detail, path));
}
END_TEST

START_TEST(test_unreadable)
{
    char token[10];
    struct fault fault = FAULT_NONE;
    ck_assert_int_eq(token_file_read(path, token, sizeof token, &fault), ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(fault.detail, path));
    ck_assert_int_eq(token_file_read(dir, token, sizeof token, &fault), ERR_IO);
    alloc_fail_at(0);
    ck_assert_int_eq(token_file_read("/dev/null", token, sizeof token, &fault), ERR_NO_MEMORY);
    ck_assert(alloc_fail_end());
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("token");
    TCase *tc = unit_case("token");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test_new);
    tcase_add_test(tc, test_file);
    tcase_add_test(tc, test_full_disk);
    tcase_add_loop_test(tc, test_file_contents, 0, (int)(sizeof files / sizeof *files));
    tcase_add_test(tc, test_unreadable);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
