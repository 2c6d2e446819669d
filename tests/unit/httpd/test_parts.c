#include <string.h>
#include "server/httpd/range.h"
#include "server/httpd/timers.h"
#include "server/httpd/waiters.h"
#include "tests/support/unit.h"

START_TEST(timers_come_in_order)
{
    struct timers t = {.heap = NULL};
    static struct timer timers[500];
    unsigned long long state = 1;
    for (size_t i = 0; i < 500; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        ck_assert_int_eq(timer_arm(&t, &timers[i], (int64_t)(state >> 54)), ERR_OK);
    }
    for (size_t i = 0; i < 500; i += 3)
        timer_disarm(&t, &timers[i]);
    timer_disarm(&t, &timers[0]); /* twice is fine */
    for (size_t i = 1; i < 500; i += 3)
        ck_assert_int_eq(timer_arm(&t, &timers[i], timers[i].due_ns / 2), ERR_OK); /* anew */
    int64_t former = -1;
    size_t count = 0;
    ck_assert_ptr_null(timers_pop(&t, -1));
    for (struct timer *next; (next = timers_pop(&t, INT64_MAX - 1)); count++) {
        ck_assert_int_ge(next->due_ns, former);
        ck_assert_uint_eq(next->place, 0);
        former = next->due_ns;
    }
    ck_assert_uint_eq(count, 500 - 167);
    ck_assert_int_eq(timers_next_ns(&t), INT64_MAX);
    timers_release(&t);
}
END_TEST

START_TEST(ranges_of_nothing)
{
    uint64_t offset, length;
    ck_assert_int_eq(range_parse("bytes=0-", 0, &offset, &length), RANGE_UNSATISFIABLE);
    ck_assert_int_eq(range_parse("bytes=-1", 0, &offset, &length), RANGE_UNSATISFIABLE);
    ck_assert_int_eq(range_parse(NULL, 10, &offset, &length), RANGE_WHOLE);
    ck_assert_int_eq(range_parse("bytes=1-2x", 10, &offset, &length), RANGE_WHOLE);
    ck_assert_int_eq(range_parse("BYTES=9-9 ", 10, &offset, &length), RANGE_PART);
    ck_assert_uint_eq(offset, 9);
    ck_assert_uint_eq(length, 1);
    ck_assert_int_eq(range_parse("bytes=18446744073709551615-", UINT64_MAX, &offset, &length),
                     RANGE_UNSATISFIABLE);
}
END_TEST

START_TEST(etags_are_compared_as_the_rfc_says)
{
    ck_assert(etag_matches("\"a\"", "a", true));
    ck_assert(!etag_matches("W/\"a\"", "a", true));
    ck_assert(etag_matches("W/\"a\"", "a", false));
    ck_assert(etag_matches(" \"b\" ,\"a\"", "a", false));
    ck_assert(!etag_matches("\"ab\"", "a", false));
    ck_assert(!etag_matches("a", "a", false));
    ck_assert(!etag_matches("\"a", "a", false));
    ck_assert(!etag_matches("", "a", false));
    ck_assert(!etag_matches(NULL, "a", false));
    ck_assert(!etag_matches("*", NULL, false));
    ck_assert(etag_matches("*", "a", false));
}
END_TEST

START_TEST(topics_differ)
{
    ck_assert(topic_of("run", "1") != topic_of("run", "2"));
    ck_assert(topic_of("ab", "c") != topic_of("a", "bc"));
    ck_assert(topic_of("run", NULL) == topic_of("run", ""));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {timers_come_in_order, ranges_of_nothing, etags_are_compared_as_the_rfc_says,
                                  topics_differ};
    return unit_run("parts", tests, sizeof tests / sizeof *tests);
}
