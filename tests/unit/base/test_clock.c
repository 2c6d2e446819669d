#include <string.h>
#include <time.h>
#include "common/base/clock.h"
#include "tests/support/unit.h"

static const struct {
    int64_t ms;
    const char *text;
} times[] = {
    {0, "1970-01-01T00:00:00.000Z"},
    {-1, "1969-12-31T23:59:59.999Z"},
    {951782400000, "2000-02-29T00:00:00.000Z"},
    {1767323045678, "2026-01-02T03:04:05.678Z"},
    {4107542400000, "2100-03-01T00:00:00.000Z"},
    {253402300799999, "9999-12-31T23:59:59.999Z"},
    {-62167219200000, "0000-01-01T00:00:00.000Z"},
    {-62162121600000, "0000-02-29T00:00:00.000Z"},
};

START_TEST(test_both_ways)
{
    char text[TIME_TEXT_SIZE];
    int64_t ms;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        time_format(times[i].ms, text);
        ck_assert_str_eq(text, times[i].text);
        ck_assert_int_eq(time_parse(text, &ms), ERR_OK);
        ck_assert_int_eq(ms, times[i].ms);
    }
}
END_TEST

START_TEST(test_every_day_of_some_centuries)
{
    char text[TIME_TEXT_SIZE];
    for (int64_t day = -200000; day < 200000; day += 17) {
        time_t seconds = (time_t)(day * 86400 + 3661);
        struct tm tm;
        char expected[64];
        int64_t ms;
        ck_assert_ptr_nonnull(gmtime_r(&seconds, &tm));
        ck_assert_uint_gt(strftime(expected, sizeof expected, "%Y-%m-%dT%H:%M:%S.000Z", &tm), 0);
        time_format((int64_t)seconds * 1000, text);
        ck_assert_str_eq(text, expected);
        ck_assert_int_eq(time_parse(text, &ms), ERR_OK);
        ck_assert_int_eq(ms, (int64_t)seconds * 1000);
    }
}
END_TEST

START_TEST(test_out_of_range_is_clamped)
{
    char text[TIME_TEXT_SIZE];
    time_format(INT64_MAX, text);
    ck_assert_str_eq(text, "9999-12-31T23:59:59.999Z");
    time_format(INT64_MIN, text);
    ck_assert_str_eq(text, "0000-01-01T00:00:00.000Z");
}
END_TEST

START_TEST(test_parse_other_spellings)
{
    static const struct {
        const char *text;
        int64_t ms;
    } rows[] = {
        {"2026-01-02T03:04:05Z", 1767323045000},          {"2026-01-02t03:04:05z", 1767323045000},
        {"2026-01-02T03:04:05.6Z", 1767323045600},        {"2026-01-02T03:04:05.678999999Z", 1767323045678},
        {"2026-01-02T05:04:05+02:00", 1767323045000},     {"2026-01-01T21:34:05-05:30", 1767323045000},
        {"2026-01-02T03:04:05.000+00:00", 1767323045000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t ms;
        ck_assert_msg(time_parse(rows[i].text, &ms) == ERR_OK, "%s", rows[i].text);
        ck_assert_int_eq(ms, rows[i].ms);
    }
}
END_TEST

START_TEST(test_parse_errors)
{
    static const char *const bad[] = {
        "",
        "2026-01-02",
        "2026-01-02T03:04:05",
        "2026-01-02 03:04:05Z",
        "2026-13-02T03:04:05Z",
        "2026-00-02T03:04:05Z",
        "2026-02-29T03:04:05Z",
        "1900-02-29T03:04:05Z",
        "2026-04-31T03:04:05Z",
        "2026-01-00T03:04:05Z",
        "2026-01-02T24:00:00Z",
        "2026-01-02T03:60:05Z",
        "2026-01-02T03:04:60Z",
        "2026-01-02T03:04:05.Z",
        "2026-01-02T03:04:05.1234567890Z",
        "2026-01-02T03:04:05Zx",
        "2026-01-02T03:04:05+0200",
        "2026-01-02T03:04:05+24:00",
        "2026-01-02T03:04:05+02:60",
        "26-01-02T03:04:05Z",
        "2026-1-02T03:04:05Z",
        "-026-01-02T03:04:05Z",
    };
    int64_t ms = 5;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(time_parse(bad[i], &ms) == ERR_INVALID_FIELD, "%s", bad[i]);
    ck_assert_int_eq(ms, 5);
}
END_TEST

START_TEST(test_clocks)
{
    struct clock_fake hand = {.ms = 5};
    struct clock fake = clock_fake(&hand), system = clock_system();
    ck_assert_int_eq(clock_now_ms(&fake), 5);
    hand.ms = 7;
    ck_assert_int_eq(clock_now_ms(&fake), 7);
    int64_t before = (int64_t)time(NULL) * 1000, now = clock_now_ms(&system);
    ck_assert_int_ge(now, before - 2000);
    ck_assert_int_le(now, before + 60000);
    for (int i = 0; i < 1000; i++) {
        int64_t next = clock_now_ms(&system);
        ck_assert_int_ge(next, now);
        now = next;
    }
    int64_t ns = mono_ns();
    ck_assert_int_ge(mono_ns(), ns);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_both_ways,
                                  test_every_day_of_some_centuries,
                                  test_out_of_range_is_clamped,
                                  test_parse_other_spellings,
                                  test_parse_errors,
                                  test_clocks};
    return unit_run("clock", tests, sizeof tests / sizeof *tests);
}
