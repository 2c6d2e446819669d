#include <stdint.h>
#include <string.h>
#include "common/base/buf.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/unit.h"

START_TEST(test_append)
{
    struct buf b = BUF_INIT(1000);
    ck_assert_ptr_null(b.data);
    ck_assert_int_eq(buf_append(&b, "ab", 2), ERR_OK);
    ck_assert_int_eq(buf_append(&b, NULL, 0), ERR_OK);
    ck_assert_int_eq(buf_append(&b, "\0c", 2), ERR_OK);
    ck_assert_int_eq(buf_puts(&b, "de"), ERR_OK);
    ck_assert_uint_eq(b.len, 6);
    ck_assert_mem_eq(b.data, "ab\0cde", 7);
    buf_clear(&b);
    ck_assert_uint_eq(b.len, 0);
    ck_assert_str_eq(b.data, "");
    ck_assert_int_eq(buf_printf(&b, "%s-%d", "x", 7), ERR_OK);
    ck_assert_str_eq(b.data, "x-7");
    buf_release(&b);
    ck_assert_ptr_null(b.data);
    ck_assert_uint_eq(b.max, 1000);
    buf_clear(&b);
    buf_release(&b);
}
END_TEST

START_TEST(test_grows_to_its_maximum)
{
    struct buf b = BUF_INIT(1000);
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(buf_append(&b, "x", 1), ERR_OK);
    ck_assert_uint_le(b.cap, 1001);
    ck_assert_int_eq(buf_append(&b, "y", 1), ERR_PAYLOAD_TOO_LARGE);
    ck_assert_int_eq(buf_printf(&b, "y"), ERR_PAYLOAD_TOO_LARGE);
    ck_assert_int_eq(buf_reserve(&b, 1), ERR_PAYLOAD_TOO_LARGE);
    ck_assert_int_eq(buf_reserve(&b, SIZE_MAX), ERR_PAYLOAD_TOO_LARGE);
    ck_assert_int_eq(buf_append(&b, "", 0), ERR_OK);
    ck_assert_uint_eq(b.len, 1000);
    ck_assert_uint_eq(strspn(b.data, "x"), 1000);
    ck_assert_uint_eq(strlen(b.data), 1000);
    buf_release(&b);
}
END_TEST

START_TEST(test_no_room_at_all)
{
    struct buf b = {0};
    ck_assert_int_eq(buf_append(&b, "x", 1), ERR_PAYLOAD_TOO_LARGE);
    ck_assert_int_eq(buf_append(&b, "", 0), ERR_OK);
    buf_release(&b);
    buf_init(&b, SIZE_MAX);
    ck_assert_int_eq(buf_append(&b, "x", 1), ERR_OK);
    ck_assert_int_eq(buf_reserve(&b, SIZE_MAX - 1), ERR_PAYLOAD_TOO_LARGE);
    buf_release(&b);
}
END_TEST

START_TEST(test_reserve)
{
    struct buf b = BUF_INIT(100);
    ck_assert_int_eq(buf_reserve(&b, 10), ERR_OK);
    ck_assert_str_eq(b.data, "");
    memcpy(b.data, "0123456789", 10);
    b.len += 10;
    ck_assert_int_eq(buf_reserve(&b, 90), ERR_OK);
    ck_assert_uint_eq(b.cap, 101);
    ck_assert_mem_eq(b.data, "0123456789", 11);
    buf_release(&b);
}
END_TEST

START_TEST(test_take)
{
    struct buf b = BUF_INIT(100);
    char *data = NULL;
    size_t len = 99;
    ck_assert_int_eq(buf_take(&b, &data, &len), ERR_OK);
    ck_assert_str_eq(data, "");
    ck_assert_uint_eq(len, 0);
    free(data);
    ck_assert_int_eq(buf_puts(&b, "text"), ERR_OK);
    ck_assert_int_eq(buf_take(&b, &data, &len), ERR_OK);
    ck_assert_str_eq(data, "text");
    ck_assert_uint_eq(len, 4);
    free(data);
    ck_assert_ptr_null(b.data);
    ck_assert_uint_eq(b.max, 100);
}
END_TEST

START_TEST(test_no_memory)
{
    struct buf b = BUF_INIT(1000);
    char *data;
    size_t len;
    alloc_fail_at(0);
    ck_assert_int_eq(buf_take(&b, &data, &len), ERR_NO_MEMORY);
    ck_assert(alloc_fail_end());
    ck_assert_int_eq(buf_puts(&b, "text"), ERR_OK);
    alloc_fail_at(0);
    ck_assert_int_eq(buf_printf(&b, "%500d", 1), ERR_NO_MEMORY);
    ck_assert(alloc_fail_end());
    ck_assert_str_eq(b.data, "text");
    ck_assert_uint_eq(b.len, 4);
    ck_assert_int_eq(buf_printf(&b, "%500d", 1), ERR_OK);
    ck_assert_uint_eq(b.len, 504);
    buf_release(&b);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        test_append, test_grows_to_its_maximum, test_no_room_at_all, test_reserve, test_take, test_no_memory};
    return unit_run("buf", tests, sizeof tests / sizeof *tests);
}
