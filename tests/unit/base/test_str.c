#include <locale.h>
#include <string.h>
#include "common/base/str.h"
#include "tests/support/unit.h"

START_TEST(test_copy_and_compare)
{
    char dst[4] = "zzz";
    ck_assert_int_eq(str_copy(dst, sizeof dst, "abcd"), ERR_INVALID_FIELD);
    ck_assert_str_eq(dst, "zzz");
    ck_assert_int_eq(str_copy(dst, sizeof dst, "abc"), ERR_OK);
    ck_assert_str_eq(dst, "abc");
    ck_assert_int_eq(str_copy(dst, 0, ""), ERR_INVALID_FIELD);
    ck_assert_int_eq(str_copy(dst, 1, ""), ERR_OK);
    ck_assert(str_eq("a", "a"));
    ck_assert(!str_eq("a", "b"));
    ck_assert(!str_eq("a", NULL));
    ck_assert(!str_eq(NULL, "a"));
    ck_assert(str_eq(NULL, NULL));
    ck_assert(str_has_prefix("abc", "ab"));
    ck_assert(str_has_prefix("abc", ""));
    ck_assert(!str_has_prefix("ab", "abc"));
}
END_TEST

START_TEST(test_u64)
{
    static const char *const bad[] = {
        "", "-1", "+1", " 1", "1 ", "0x1", "1.0", "18446744073709551616", "99999999999999999999"};
    uint64_t value = 5;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(str_to_u64(bad[i], &value) == ERR_INVALID_FIELD, "\"%s\"", bad[i]);
    ck_assert_uint_eq(value, 5);
    ck_assert_int_eq(str_to_u64("18446744073709551615", &value), ERR_OK);
    ck_assert_uint_eq(value, UINT64_MAX);
    ck_assert_int_eq(str_to_u64("007", &value), ERR_OK);
    ck_assert_uint_eq(value, 7);
    ck_assert_int_eq(str_to_u64("0", &value), ERR_OK);
    ck_assert_uint_eq(value, 0);
}
END_TEST

START_TEST(test_i64)
{
    static const char *const bad[] = {
        "", "-", "--1", "+1", " 1", "1e3", "9223372036854775808", "-9223372036854775809"};
    int64_t value = 5;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(str_to_i64(bad[i], &value) == ERR_INVALID_FIELD, "\"%s\"", bad[i]);
    ck_assert_int_eq(value, 5);
    ck_assert_int_eq(str_to_i64("9223372036854775807", &value), ERR_OK);
    ck_assert_int_eq(value, INT64_MAX);
    ck_assert_int_eq(str_to_i64("-9223372036854775808", &value), ERR_OK);
    ck_assert_int_eq(value, INT64_MIN);
    ck_assert_int_eq(str_to_i64("-42", &value), ERR_OK);
    ck_assert_int_eq(value, -42);
}
END_TEST

START_TEST(test_double)
{
    static const char *const bad[] = {"",     ".",   "-",   "e5",   "1e",    "1e+", " 1",    "1 ", "+1",
                                      "0x10", "nan", "inf", "-inf", "1e999", "1,5", "1.2.3", "1d"};
    static const struct {
        const char *text;
        double value;
    } good[] = {{"0", 0},     {"-1.5", -1.5},  {".5", 0.5},
                {"5.", 5},    {"1e-3", 0.001}, {"1E+2", 100},
                {"0.1", 0.1}, {"1e-999", 0},   {"123456789012345678", 123456789012345678.0}};
    double value = 5;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(str_to_double(bad[i], &value) == ERR_INVALID_FIELD, "\"%s\"", bad[i]);
    ck_assert_double_eq(value, 5);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ck_assert_msg(str_to_double(good[i].text, &value) == ERR_OK, "\"%s\"", good[i].text);
        ck_assert_double_eq(value, good[i].value);
    }
    /* A locale with a decimal comma, where this machine has one, changes nothing. */
    if (setlocale(LC_ALL, "de_DE.UTF-8")) {
        ck_assert_int_eq(str_to_double("1.5", &value), ERR_OK);
        ck_assert_double_eq(value, 1.5);
    }
}
END_TEST

START_TEST(test_hex)
{
    static const uint8_t bytes[] = {0, 0x1f, 0xa0, 0xff};
    char text[9];
    uint8_t back[4] = {1, 2, 3, 4};
    hex_encode(bytes, 4, text);
    ck_assert_str_eq(text, "001fa0ff");
    ck_assert_int_eq(hex_decode(text, back, 4), ERR_OK);
    ck_assert_mem_eq(back, bytes, 4);
    hex_encode(bytes, 0, text);
    ck_assert_str_eq(text, "");
    ck_assert_int_eq(hex_decode("", back, 0), ERR_OK);
    static const char *const bad[] = {"", "001fa0f", "001fa0ff0", "001fA0ff", "001fg0ff", " 01fa0ff"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(hex_decode(bad[i], back, 4) == ERR_INVALID_FIELD, "\"%s\"", bad[i]);
}
END_TEST

START_TEST(test_utf8)
{
    static const char *const good[] = {"",
                                       "abc",
                                       "\xc3\xa4",
                                       "\xe2\x82\xac",
                                       "\xf0\x9f\x98\x80",
                                       "\xf4\x8f\xbf\xbf",
                                       "\xed\x9f\xbf",
                                       "\xee\x80\x80"};
    static const char *const bad[] = {"\x80",
                                      "\xc0\x80",
                                      "\xc1\xbf",
                                      "\xc3",
                                      "\xc3(",
                                      "\xe0\x80\x80",
                                      "\xe2\x82",
                                      "\xed\xa0\x80",
                                      "\xf0\x80\x80\x80",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xff",
                                      "ab\xf0\x9f\x98"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ck_assert_msg(utf8_is_valid(good[i], strlen(good[i])), "%zu", i);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!utf8_is_valid(bad[i], strlen(bad[i])), "%zu", i);
    ck_assert(utf8_is_valid("a\0b", 3));
    ck_assert_uint_eq(utf8_sequence("\xe2\x82\xac!", 4), 3);
    ck_assert_uint_eq(utf8_sequence("\xe2\x82\xac!", 2), 0);
    ck_assert_uint_eq(utf8_sequence("", 0), 0);
}
END_TEST

START_TEST(test_distance)
{
    ck_assert_uint_eq(str_distance("", ""), 0);
    ck_assert_uint_eq(str_distance("abc", ""), 3);
    ck_assert_uint_eq(str_distance("kitten", "sitting"), 3);
    ck_assert_uint_eq(str_distance("sitting", "kitten"), 3);
    char longer[100];
    memset(longer, 'a', sizeof longer);
    longer[99] = '\0';
    ck_assert_uint_eq(str_distance(longer, longer), 0);
    ck_assert_uint_eq(str_distance(longer, "a"), 64);
    ck_assert(str_is_typo_of("proximal_nu", "proximal_mu"));
    ck_assert(str_is_typo_of("learning-rate", "learning_rate"));
    ck_assert(!str_is_typo_of("x", "mu"));
    ck_assert(!str_is_typo_of("batch_size", "seed"));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_copy_and_compare, test_u64, test_i64, test_double, test_hex, test_utf8,
                                  test_distance};
    return unit_run("str", tests, sizeof tests / sizeof *tests);
}
