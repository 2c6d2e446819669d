#include <string.h>
#include "common/http/url.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/unit.h"

START_TEST(test_segments)
{
    struct buf path = BUF_INIT(1000);
    ck_assert_int_eq(buf_puts(&path, "/api/v1"), ERR_OK);
    ck_assert_int_eq(url_add_segment(&path, "runs"), ERR_OK);
    ck_assert_int_eq(url_add_segment(&path, "a/b c?#%&\xc3\xa4-._~Z9"), ERR_OK);
    ck_assert_str_eq(path.data, "/api/v1/runs/a%2Fb%20c%3F%23%25%26%C3%A4-._~Z9");
    size_t len = path.len;
    ck_assert_int_eq(url_add_segment(&path, ""), ERR_INVALID_FIELD);
    ck_assert_int_eq(url_add_segment(&path, "."), ERR_INVALID_FIELD);
    ck_assert_int_eq(url_add_segment(&path, ".."), ERR_INVALID_FIELD);
    ck_assert_uint_eq(path.len, len);
    ck_assert_int_eq(url_add_segment(&path, "..."), ERR_OK);
    buf_release(&path);
}
END_TEST

START_TEST(test_query)
{
    struct buf path = BUF_INIT(1000);
    ck_assert_int_eq(buf_puts(&path, "/x"), ERR_OK);
    ck_assert_int_eq(url_add_query(&path, "name", "a&b=c"), ERR_OK);
    ck_assert_int_eq(url_add_query(&path, "a b", ""), ERR_OK);
    ck_assert_int_eq(url_add_query_int(&path, "limit", -5), ERR_OK);
    ck_assert_str_eq(path.data, "/x?name=a%26b%3Dc&a%20b=&limit=-5");
    buf_release(&path);
    ck_assert_int_eq(url_add_query(&path, "a", "b"), ERR_OK);
    ck_assert_str_eq(path.data, "?a=b");
    buf_release(&path);
}
END_TEST

START_TEST(test_all_or_nothing)
{
    struct buf path = BUF_INIT(10);
    ck_assert_int_eq(buf_puts(&path, "/x"), ERR_OK);
    ck_assert_int_eq(url_add_segment(&path, "12345   "), ERR_PAYLOAD_TOO_LARGE);
    ck_assert_str_eq(path.data, "/x");
    ck_assert_int_eq(url_add_query(&path, "abc", "12345"), ERR_PAYLOAD_TOO_LARGE);
    ck_assert_str_eq(path.data, "/x");
    ck_assert_int_eq(url_add_query(&path, "12345678901", "1"), ERR_PAYLOAD_TOO_LARGE);
    ck_assert_str_eq(path.data, "/x");
    buf_release(&path);
    alloc_fail_at(0);
    ck_assert_int_eq(url_add_segment(&path, "a"), ERR_NO_MEMORY);
    ck_assert(alloc_fail_end());
    ck_assert_uint_eq(path.len, 0);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_segments, test_query, test_all_or_nothing};
    return unit_run("url", tests, sizeof tests / sizeof *tests);
}
