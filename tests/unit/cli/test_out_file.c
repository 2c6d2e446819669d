#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cli/out_file.h"
#include "common/base/file.h"
#include "common/base/limits.h"
#include "tests/support/unit.h"

static char folder[64], path[128], part[160];

static void begin(void)
{
    (void)snprintf(folder, sizeof folder, "/tmp/fedlane-out-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/file", folder);
    (void)snprintf(part, sizeof part, "%s.part", path);
}

static void end(void)
{
    (void)unlink(path);
    ck_assert_msg(rmdir(folder) == 0, "something was left in %s", folder);
}

static void ck_content(const char *expected)
{
    struct buf text = BUF_INIT(1 * MIB);
    ck_assert_int_eq(file_read(path, &text, NULL), ERR_OK);
    ck_assert_str_eq(text.data, expected);
    buf_release(&text);
}

START_TEST(test_whole_or_not_there)
{
    struct out_file f;
    struct fault fault = FAULT_NONE;
    begin();
    ck_assert_int_eq(out_file_open(&f, path, &fault), ERR_OK);
    ck_assert_int_eq(out_file_write(&f, "abc", 3, &fault), ERR_OK);
    ck_assert_int_ne(access(path, F_OK), 0);
    ck_assert_int_eq(out_file_commit(&f, &fault), ERR_OK);
    out_file_release(&f);
    ck_content("abc");
    ck_assert_int_eq(out_file_put(path, "defg", 4, &fault), ERR_OK);
    ck_content("defg");
    /* One that is given up leaves the former. */
    ck_assert_int_eq(out_file_open(&f, path, &fault), ERR_OK);
    ck_assert_int_eq(out_file_write(&f, "half", 4, &fault), ERR_OK);
    out_file_release(&f);
    ck_content("defg");
    ck_assert_int_ne(access(part, F_OK), 0);
    end();
}
END_TEST

START_TEST(test_faults_name_the_file)
{
    struct fault fault = FAULT_NONE;
    begin();
    char below[192];
    (void)snprintf(below, sizeof below, "%s/none/file", folder);
    ck_assert_int_eq(out_file_put(below, "x", 1, &fault), ERR_IO);
    ck_assert_ptr_nonnull(strstr(fault.detail, below));
    /* A folder cannot be replaced; its part must not stay. */
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(out_file_put(path, "x", 1, &fault), ERR_IO);
    ck_assert_ptr_nonnull(strstr(fault.detail, path));
    ck_assert_int_eq(rmdir(path), 0);
    end();
}
END_TEST

START_TEST(test_interrupted)
{
    begin();
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        struct out_file f;
        (void)signal(SIGTERM, SIG_DFL);
        if (out_file_open(&f, path, NULL) == ERR_OK && out_file_write(&f, "x", 1, NULL) == ERR_OK)
            (void)raise(SIGTERM);
        _exit(1);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    end();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_whole_or_not_there, test_faults_name_the_file, test_interrupted};
    return unit_run("cli out file", tests, sizeof tests / sizeof *tests);
}
