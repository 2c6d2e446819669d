#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/base/buf.h"
#include "common/base/file.h"
#include "common/base/limits.h"
#include "tests/support/unit.h"
#include "tests/unit/worker_agent/support.h"
#include "worker/state_dir.h"

static char *path_in(const char *dir, const char *name)
{
    char *path = NULL;
    ck_assert_int_gt(asprintf(&path, "%s/%s", dir, name), 0);
    return path;
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(fputs(text, f), 0);
    ck_assert_int_eq(fclose(f), 0);
}

START_TEST(the_identity_is_made_once)
{
    char *dir = support_dir_new(), *state = path_in(dir, "state");
    struct state_dir s;
    struct fault fault = FAULT_NONE;
    char first[ID_SIZE];
    ck_assert_msg(state_dir_open(state, &s, &fault) == ERR_OK, "%s", fault.detail);
    ck_assert(id_is_valid(s.instance_id));
    memcpy(first, s.instance_id, sizeof first);
    state_dir_close(&s);
    ck_assert_int_eq(state_dir_open(state, &s, &fault), ERR_OK);
    ck_assert_str_eq(s.instance_id, first);
    state_dir_close(&s);
    free(state);
    support_dir_free(dir);
}
END_TEST

START_TEST(two_directories_are_two_workers)
{
    char *dir = support_dir_new(), *one = path_in(dir, "one"), *two = path_in(dir, "two");
    struct state_dir a, b;
    struct fault fault = FAULT_NONE;
    ck_assert_int_eq(state_dir_open(one, &a, &fault), ERR_OK);
    ck_assert_int_eq(state_dir_open(two, &b, &fault), ERR_OK);
    ck_assert_str_ne(a.instance_id, b.instance_id);
    state_dir_close(&a);
    state_dir_close(&b);
    free(one);
    free(two);
    support_dir_free(dir);
}
END_TEST

/* Another process that opens the directory: its error. */
static int open_in_child(const char *state)
{
    int status = 0;
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        struct state_dir s;
        struct fault fault = FAULT_NONE;
        enum err e = state_dir_open(state, &s, &fault);
        _exit(e == ERR_DEVICE_BUSY && strstr(fault.detail, "device_busy") && strstr(fault.detail, state)
                  ? 7
                  : (int)e);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

START_TEST(one_process_at_a_time)
{
    char *dir = support_dir_new();
    struct state_dir s;
    struct fault fault = FAULT_NONE;
    ck_assert_int_eq(state_dir_open(dir, &s, &fault), ERR_OK);
    ck_assert_int_eq(open_in_child(dir), 7);
    state_dir_close(&s);
    ck_assert_int_eq(open_in_child(dir), 0);
    support_dir_free(dir);
}
END_TEST

START_TEST(nobody_else_may_read_it)
{
    char *dir = support_dir_new(), *state = path_in(dir, "state"), *token_path = path_in(state, "token");
    char token[TOKEN_SIZE], sha256[SHA256_HEX_SIZE], again[SHA256_HEX_SIZE], stored[200];
    struct state_dir s;
    struct stat st;
    struct fault fault = FAULT_NONE;
    /* One that was made too open is closed. */
    ck_assert_int_eq(mkdir(state, 0755), 0);
    ck_assert_int_eq(state_dir_open(state, &s, &fault), ERR_OK);
    ck_assert_int_eq(stat(state, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0700);
    ck_assert_int_eq(state_dir_new_token(&s, token, sha256, &fault), ERR_OK);
    ck_assert_int_eq(stat(token_path, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0600);
    ck_assert_int_eq(token_file_read(token_path, stored, sizeof stored, &fault), ERR_OK);
    ck_assert_str_eq(stored, token);
    ck_assert_int_eq(token_hash(token, again), ERR_OK);
    ck_assert_str_eq(again, sha256);
    /* Each start has its own. */
    ck_assert_int_eq(state_dir_new_token(&s, token, again, &fault), ERR_OK);
    ck_assert_str_ne(again, sha256);
    state_dir_close(&s);
    free(token_path);
    free(state);
    support_dir_free(dir);
}
END_TEST

START_TEST(a_damaged_identity_is_named)
{
    static const char *const bad[] = {"", "\n", "0123", "0123456789abcdef0123456789abcdeg\n",
                                      "0123456789abcdef0123456789abcdef0\n"};
    char *dir = support_dir_new(), *path = path_in(dir, "instance_id");
    struct state_dir s;
    struct fault fault = FAULT_NONE;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_file(path, bad[i]);
        ck_assert_msg(state_dir_open(dir, &s, &fault) == ERR_BAD_FILE, "\"%s\" was taken", bad[i]);
        ck_assert_ptr_nonnull(strstr(fault.detail, path));
    }
    /* The lock was given back each time. */
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(state_dir_open(dir, &s, &fault), ERR_OK);
    state_dir_close(&s);
    free(path);
    support_dir_free(dir);
}
END_TEST

START_TEST(a_place_where_no_directory_can_be)
{
    char *dir = support_dir_new(), *file = path_in(dir, "file"), *below = path_in(file, "state");
    struct state_dir s;
    struct fault fault = FAULT_NONE;
    write_file(file, "x");
    ck_assert_int_eq(state_dir_open(file, &s, &fault), ERR_IO);
    ck_assert_ptr_nonnull(strstr(fault.detail, file));
    ck_assert_int_eq(state_dir_open(below, &s, &fault), ERR_IO);
    ck_assert_ptr_nonnull(strstr(fault.detail, below));
    free(below);
    free(file);
    support_dir_free(dir);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {the_identity_is_made_once,   two_directories_are_two_workers,
                                  one_process_at_a_time,       nobody_else_may_read_it,
                                  a_damaged_identity_is_named, a_place_where_no_directory_can_be};
    return unit_run("state_dir", tests, sizeof tests / sizeof *tests);
}
