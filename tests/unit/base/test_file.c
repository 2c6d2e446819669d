#include <string.h>
#include <unistd.h>
#include "common/base/file.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/unit.h"

static char path[64];

/* A fresh file with n bytes of 'x'. */
static void write_file(size_t n)
{
    (void)snprintf(path, sizeof path, "/tmp/fedlane-test-file-XXXXXX");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    FILE *file = fdopen(fd, "w");
    ck_assert_ptr_nonnull(file);
    for (size_t i = 0; i < n; i++)
        (void)fputc('x', file);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(test_read)
{
    static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 200000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct buf text = BUF_INIT(300000);
        struct fault fault = FAULT_NONE;
        write_file(sizes[i]);
        ck_assert_int_eq(buf_puts(&text, "ab"), ERR_OK);
        ck_assert_msg(file_read(path, &text, &fault) == ERR_OK, "%s", fault.detail);
        ck_assert_uint_eq(text.len, sizes[i] + 2);
        ck_assert_mem_eq(text.data, "ab", 2);
        ck_assert_uint_eq(strspn(text.data + 2, "x"), sizes[i]);
        ck_assert_int_eq(text.data[text.len], '\0');
        buf_release(&text);
        (void)unlink(path);
    }
}
END_TEST

START_TEST(test_maximum)
{
    struct buf text = BUF_INIT(100);
    struct fault fault = FAULT_NONE;
    write_file(100);
    ck_assert_int_eq(file_read(path, &text, &fault), ERR_OK);
    ck_assert_int_eq(file_read(path, &text, &fault), ERR_PAYLOAD_TOO_LARGE);
    ck_assert_uint_eq(text.len, 100);
    ck_assert_ptr_nonnull(strstr(fault.detail, path));
    buf_release(&text);
    text.max = 99;
    ck_assert_int_eq(file_read(path, &text, NULL), ERR_PAYLOAD_TOO_LARGE);
    ck_assert_uint_eq(text.len, 0);
    ck_assert_str_eq(text.data, "");
    buf_release(&text);
    (void)unlink(path);
}
END_TEST

START_TEST(test_errors)
{
    struct buf text = BUF_INIT(100);
    struct fault fault = FAULT_NONE;
    ck_assert_int_eq(file_read("/nonexistent/file", &text, &fault), ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(fault.detail, "/nonexistent/file: cannot open: No such file"));
    ck_assert_int_eq(file_read("/tmp", &text, &fault), ERR_IO);
    ck_assert_ptr_nonnull(strstr(fault.detail, "/tmp: cannot read"));
    ck_assert_int_eq(file_read("/dev/null/x", &text, &fault), ERR_IO);
    buf_release(&text);
    alloc_fail_at(0);
    ck_assert_int_eq(file_read("/dev/null", &text, &fault), ERR_NO_MEMORY);
    ck_assert(alloc_fail_end());
    ck_assert_int_eq(file_read("/dev/null", &text, &fault), ERR_OK);
    buf_release(&text);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_read, test_maximum, test_errors};
    return unit_run("file", tests, sizeof tests / sizeof *tests);
}
